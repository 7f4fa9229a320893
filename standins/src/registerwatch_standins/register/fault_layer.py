"""The layer that shows faults: some replace the register's answer, some spoil it, some ask it something else."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from urllib.parse import parse_qsl, unquote_plus, urlencode

import anyio
import msgspec
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from registerwatch_standins.register.drift import RENAMES, renamed_answer
from registerwatch_standins.register.faults import Drift, Faults, Mode, Rule, Slowness, kind_of
from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.records import CertificateListing, Registration
from registerwatch_standins.register.responses import (
    gateway_page,
    json_response,
    no_such_record,
    response_of,
    with_body,
)
from registerwatch_standins.register.transport import begin_answer, drop_connection, never_answer
from registerwatch_standins.register.world import World

Sleep = Callable[[float], Awaitable[object]]
"""Lets so many seconds pass."""
_PAGING = frozenset({"page", "pageSize", "size", "iso2Code", "languageIso2Code"})
_HUGE_TOTAL = 3_200_000
_FEW_ROWS = 3
_WAIT_PAGE = "<!doctype html><html><head><title>EUDAMED</title></head><body>Please wait</body></html>"
_WEB_FILTER = "Web Filter – Access Denied"
_PIECES = 20
_BEGINNING = b'{"content":['
_CHUNK = b" " * 65_536


class FaultLayer:
    """Asks for each request whether a rule decides it."""

    def __init__(self, app: ASGIApp, faults: Faults, world: World, sleep: Sleep = anyio.sleep) -> None:
        self._app = app
        self._faults = faults
        self._world = world
        self._sleep = sleep

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, with its fault."""
        target = f"{scope['path']}?{unquote_plus(scope['query_string'].decode())}"
        kind = kind_of(scope["path"])
        self._faults.arrive(kind, target)
        rule = self._faults.take(kind, target)
        if rule is None:
            await self._app(scope, receive, send)
        elif rule.mode in ("timeout", "stalled-body", "connection-reset"):
            await _break_off(rule.mode, scope, receive, send)
        else:
            await (await self._response(rule, scope, receive))(scope, receive, send)

    async def _response(self, rule: Rule, scope: Scope, receive: Receive) -> Response:
        """The response that shows this rule's fault."""
        if rule.mode in ("ignored-filter", "wrong-rows"):
            return await self._unfiltered(rule.mode, scope, receive)
        if rule.mode == "renamed-filter":
            return await response_of(self._app, _without(scope, rule.names), receive)
        if rule.mode == "wrong-record":
            return await self._of_another(scope, receive)
        if rule.mode in ("slow-answer", "slow-body"):
            return await self._slow(rule, scope, receive)
        if rule.mode not in _SPOILS and rule.mode not in RENAMES:
            return _replacement(rule)
        response = await response_of(self._app, scope, receive)
        if response.status_code != 200:
            return response
        body = bytes(response.body)
        rename = RENAMES.get(rule.mode)
        return with_body(response, renamed_answer(body, rename, rule.names) if rename else _SPOILS[rule.mode](body))

    async def _slow(self, rule: Rule, scope: Scope, receive: Receive) -> Response:
        """The true answer, late or piece by piece."""
        response = await response_of(self._app, scope, receive)
        if rule.mode == "slow-answer":
            await self._sleep(rule.seconds)
            return response
        slowly = StreamingResponse(self._pieces(bytes(response.body), rule.seconds), response.status_code)
        slowly.raw_headers = response.raw_headers
        return slowly

    async def _pieces(self, body: bytes, seconds: float) -> AsyncIterator[bytes]:
        """A body in so many pieces, with pauses before each."""
        length = -(-len(body) // _PIECES) or 1
        for start in range(0, len(body), length):
            await self._sleep(seconds / _PIECES)
            yield body[start : start + length]

    async def _unfiltered(self, mode: Mode, scope: Scope, receive: Receive) -> Response:
        """The page that comes when the filters are left out; `wrong-rows` claims to be a small answer."""
        query = parse_qsl(scope["query_string"].decode())
        asked = {value for name, value in query if name not in _PAGING}
        response = await response_of(self._app, _without(scope, ()), receive)
        page = msgspec.json.decode(response.body)
        if "content" not in page:  # neither a bare list nor a record has a filter
            return response
        if mode == "ignored-filter":
            page["totalElements"] = max(page["totalElements"], _HUGE_TOTAL)
        else:
            page["content"] = [row for row in page["content"] if not asked & _texts(row)][:_FEW_ROWS]
            page["totalElements"] = page["numberOfElements"] = len(page["content"])
        page["totalPages"] = -(-page["totalElements"] // page["size"])
        page["last"] = page["number"] >= page["totalPages"] - 1
        return json_response(page)

    async def _of_another(self, scope: Scope, receive: Receive) -> Response:
        """The record of another uuid than the one that is asked for."""
        path = str(scope["path"])
        uuid = path.rpartition("/")[2]
        rows: Sequence[Registration | CertificateListing] = self._world.newest(0, 2)
        if kind_of(path) == "certificate":
            rows = self._world.search_certificates(CertificateFilter(), 0, 2)[1]
        found = (row.uuid for row in rows if row.uuid != uuid)
        other = path.replace(uuid, next(found, uuid))
        return await response_of(self._app, {**scope, "path": other, "raw_path": other.encode()}, receive)


def _without(scope: Scope, names: Sequence[str]) -> Scope:
    """The request without these filters, or without any."""
    query = parse_qsl(scope["query_string"].decode(), keep_blank_values=True)
    kept = [(name, value) for name, value in query if name in _PAGING or (names and name not in names)]
    return {**scope, "query_string": urlencode(kept).encode()}


def _texts(row: dict[str, object]) -> set[str]:
    return {value for value in row.values() if isinstance(value, str)}


def _empty_page(body: bytes) -> bytes:
    """Nothing in `content` (or `value`), while the totals say that there is something."""
    page = msgspec.json.decode(body)
    if isinstance(page, list):
        return b"[]"
    if "value" in page:
        return msgspec.json.encode({**page, "value": []})
    totals = {name: max(1, page.get(name, 1)) for name in ("totalElements", "totalPages")}
    return msgspec.json.encode({"content": [], **totals, "last": False})


def _no_rows(body: bytes) -> bytes:
    """A page of a search that found nothing, whatever was asked for."""
    page = msgspec.json.decode(body)
    if isinstance(page, list):
        return b"[]"
    found = {"content": [], "totalElements": 0, "totalPages": 0, "numberOfElements": 0}
    return msgspec.json.encode({**page, **found, "first": True, "last": True})


def _null_fields(body: bytes) -> bytes:
    """All fields are there, and null."""
    answer = msgspec.json.decode(body)
    nulls = [dict.fromkeys(row) for row in answer] if isinstance(answer, list) else dict.fromkeys(answer)
    return msgspec.json.encode(nulls)


_SPOILS: Mapping[str, Callable[[bytes], bytes]] = {
    "empty-page": _empty_page,
    "no-rows": _no_rows,
    "broken-json": lambda body: body[: len(body) // 2],
    "json-of-wrong-shape": lambda body: b"[" + body + b"]",
    "json-of-null-fields": _null_fields,
}


def _replacement(rule: Rule) -> Response:
    """An answer that has nothing to do with what was asked."""
    match rule.mode:
        case "redirect-302":
            return no_such_record()
        case "html-200":
            return HTMLResponse(_WAIT_PAGE)
        case "web-filter-200" | "web-filter-403":
            return HTMLResponse(gateway_page(_WEB_FILTER), int(rule.mode.rpartition("-")[2]))
        case "throttled-307-html":
            return HTMLResponse(gateway_page("Network Error"), 307, {"location": "/eudamed/busy"})
        case "throttled-429":
            headers = {} if rule.retry_after is None else {"retry-after": str(rule.retry_after)}
            return Response(b"", 429, headers)
        case "huge-body":
            return StreamingResponse(_padding(rule.size), media_type="application/json")
        case "http-400":
            return json_response({"status": 400, "error": "Bad Request"}, 400)
    status = int(rule.mode.removeprefix("http-"))
    return HTMLResponse(gateway_page(f"{status} Error"), status)


async def _padding(size: int) -> AsyncIterator[bytes]:
    """Valid JSON of about this many bytes, sent in chunks."""
    yield _BEGINNING
    for _ in range(size // len(_CHUNK)):
        yield _CHUNK
    yield b'],"totalElements":0}'


async def _break_off(mode: Mode | Drift | Slowness, scope: Scope, receive: Receive, send: Send) -> None:
    """No answer at all, or the first bytes of a body that never ends, or whose connection does."""
    if mode == "connection-reset":
        await drop_connection(scope, send, _BEGINNING)
        return
    if mode == "stalled-body":
        await begin_answer(scope, send, _BEGINNING)
    await never_answer(scope, receive)
