"""Limits the size of a request's body, whatever the method and however it is sent."""

from collections.abc import Mapping

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from registerwatch.errors import InvalidInput

MAX_BODY_BYTES = 64 * 1024
"""The largest body of a path without a limit of its own. A batch of 20 tool calls has a few."""
LARGER_BODIES: Mapping[str, int] = {
    "/v1/import": 2 * 1024 * 1024,
    "/app/import": 2 * 1024 * 1024,
    "/v1/lists": 10 * 1024 * 1024,
    "/app/lists": 10 * 1024 * 1024 + 64 * 1024,  # a file of that length, and the fields beside it
    "/app/scan": 10 * 1024 * 1024,  # a photo as a phone takes it
    "/v1/billing/webhook": 256 * 1024,  # the provider's longest events, invoices of many lines, have some 100 KiB
}
"""Paths with a higher limit, in bytes."""
BROKEN_OFF = "The body broke off before its end."


class BodyLimits:
    """Limits what inner applications can receive: beyond the limit, receiving raises `InvalidInput`.

    A body whose declared length is too large is not received at all.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            receive = _bounded(scope, receive)
        await self._app(scope, receive, send)


def max_body_bytes(path: str) -> int:
    """How many bytes a body may have at a path."""
    return LARGER_BODIES.get(path, MAX_BODY_BYTES)


def too_large(path: str) -> str:
    """The message for a body that is too large for a path."""
    return f"The body has more than {max_body_bytes(path) // 1024:,} KiB, and nothing here needs as much."


def declared_length(scope: Scope) -> int:
    """The declared length of the request's body, in bytes; 0 for none."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() and len(value) < 20 else 0
    return 0


def refuse_declared_excess(request: Request) -> None:
    """Raises `InvalidInput` for a body whose declared length is too large; nothing of it is received."""
    path = request.scope["path"]
    if declared_length(request.scope) > max_body_bytes(path):
        raise InvalidInput(too_large(path))


async def received_body(request: Request) -> bytes:
    """The whole body. Raises `InvalidInput` where it is too large or breaks off."""
    try:
        return await request.body()
    except ClientDisconnect:
        raise InvalidInput(BROKEN_OFF) from None


def _bounded(scope: Scope, receive: Receive) -> Receive:
    received = 0

    async def bounded() -> Message:
        nonlocal received
        path = scope["path"]
        if received == 0 and declared_length(scope) > max_body_bytes(path):
            raise InvalidInput(too_large(path))
        message = await receive()
        received += len(message.get("body", b""))
        if received > max_body_bytes(path):
            raise InvalidInput(too_large(path))
        return message

    return bounded
