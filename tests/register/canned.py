"""A register that answers what a test wrote, for answers that the stand-in would never give."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2

Answer = Callable[[httpx2.Request], httpx2.Response | Awaitable[httpx2.Response]]


class CannedRegister(httpx2.AsyncBaseTransport):
    """Answers each request by a function and remembers it. The function may raise what a network raises."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.asked: list[httpx2.Request] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request."""
        self.asked.append(request)
        answer = self._answer(request)
        return answer if isinstance(answer, httpx2.Response) else await answer


def in_turn(*answers: httpx2.Response | Exception) -> CannedRegister:
    """These answers, one a request; the last one for good."""
    left = list(answers)

    def answer(_request: httpx2.Request) -> httpx2.Response:
        this = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(this, Exception):
            raise this
        return httpx2.Response(this.status_code, headers=this.headers, content=this.content)

    return CannedRegister(answer)


def a_page(*rows: Any, total: int | None = None, last: bool | None = True) -> dict[str, Any]:
    """A Spring page of these rows."""
    return {"content": list(rows), "totalElements": len(rows) if total is None else total, "last": last}


def one_device(row: dict[str, Any], *, more_rows: tuple[Any, ...] = ()) -> CannedRegister:
    """A register with this one row in its device search, and a detail and a Basic UDI-DI record behind it."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        path, query = request.url.path, request.url.params
        if "/basicUdiData/" in path:
            return ok({"basicUdi": {"code": "B-1"}, "legislation": {"code": "refdata.applicable-legislation.mdr"}})
        if path.endswith("/devices/udiDiData"):
            known = query.get("primaryDi") in (None, row["primaryDi"])
            return ok(a_page(row, *more_rows) if known else a_page())
        if "/udiDiData/" in path:
            return ok({"uuid": row["uuid"], "versionNumber": row.get("versionNumber")})
        return ok(a_page())

    return CannedRegister(answer)


def ok(content: object) -> httpx2.Response:
    """A 200 with JSON."""
    return httpx2.Response(200, content=json.dumps(content).encode())
