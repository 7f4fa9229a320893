"""A request whose body is a file of a list, as CSV or as a workbook, whatever its content type says."""

from collections.abc import Callable, Coroutine
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.rest.auth import caller_of
from registerwatch.rest.idempotency import IdempotentRoute
from registerwatch.web.injection import counted
from registerwatch.web.large_bodies import place_of_body
from registerwatch.web.rate_limits import Limit

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
FILE_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "text/csv": {"schema": {"type": "string"}, "example": "Article;GTIN\n4711;04012345678901\n"},
            XLSX: {"schema": {"type": "string", "format": "binary"}},
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
"""For `openapi_extra` of a route of this kind."""

_count = counted(Limit.ACCOUNT)


class FileBodyRoute(IdempotentRoute):
    """Receives the file of an account that may send one, when there is a place for it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of the route; of a POST behind the place of its body."""
        handle = super().get_route_handler()
        if "POST" not in (self.methods or ()):
            return handle

        async def handle_in_place(request: Request) -> Response:
            await _count(request)
            caller = await caller_of(request)
            async with place_of_body(request, caller.account.id) as placed:
                return await handle(placed)

        return handle_in_place
