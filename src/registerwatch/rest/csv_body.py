"""A request whose body is a list in `text/csv`, where a route takes a JSON object with the field `csv`."""

from collections.abc import Callable, Coroutine
from email.message import Message as MimeHeaders
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from registerwatch.errors import InvalidInput
from registerwatch.rest.idempotency import IdempotentRoute

CSV = "text/csv"
CSV_BODY = {
    "requestBody": {
        "content": {
            CSV: {
                "schema": {"description": "The list itself, in UTF-8 unless it says so. Any text is one."},
                "example": "udi\n04012345678901\n",
            }
        }
    }
}
"""For `openapi_extra` of a route of this kind."""


class CsvBodyRoute(IdempotentRoute):
    """Takes `text/csv` as well: the endpoint sees the JSON object that would hold it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of the route, behind one that rewrites such a request."""
        handle = super().get_route_handler()

        async def handle_either(request: Request) -> Response:
            kind = MimeHeaders()
            kind["content-type"] = request.headers.get("content-type", "")
            if kind.get_content_type() == CSV:
                request = await _as_json(request, kind.get_content_charset("utf-8"))
            return await handle(request)

        return handle_either


async def _as_json(request: Request, charset: str) -> Request:
    content = msgspec.json.encode({"csv": _text_of(await request.body(), charset)})
    others = [each for each in request.scope["headers"] if each[0] not in (b"content-type", b"content-length")]
    request.scope["headers"] = [*others, (b"content-type", b"application/json")]

    async def receive() -> Message:
        return {"type": "http.request", "body": content, "more_body": False}

    return Request(request.scope, receive)


def _text_of(body: bytes, charset: str) -> str:
    """The text of a body. Raises `InvalidInput`."""
    try:
        return body.decode(charset)
    except (LookupError, ValueError):  # of a charset that is none of text, too
        raise InvalidInput(
            f"The list cannot be read as {charset[:40]}. Send it in UTF-8, or name its charset in Content-Type."
        ) from None
