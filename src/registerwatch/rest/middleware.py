"""What happens to every request before a route sees it. Plain ASGI, because all of it is on the hot path."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from registerwatch.errors import RegisterwatchError
from registerwatch.register.devices import DeviceService
from registerwatch.register.identifiers import MAX_LENGTH
from registerwatch.web.body_limits import declared_length
from registerwatch.web.rate_limits import RateLimits, noted_headers
from registerwatch.web.responses import CACHE_NOTHING_YET, CACHE_RECORD, error_response, matches

OPEN_PATHS = ("/v1/", "/mcp")
ALLOWED_METHODS = b"GET, POST, DELETE, OPTIONS"
ALLOWED_HEADERS = b"Content-Type, X-API-Key, Authorization"
ALLOWED_TOOL_HEADERS = ALLOWED_HEADERS + b", MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name"
"""What tool clients in browsers send of themselves after they have begun; without it no browser would let them."""
EXPOSED_HEADERS = (
    b"ETag, Retry-After, X-Request-Id, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy"
)
PREFLIGHT_SECONDS = b"86400"

EMPTY_POST = "A POST needs a body. Send `{}` with `Content-Type: application/json` when there are no fields."


class OpenCors:
    """Lets any web page call the JSON interface: `/v1/*` and `/mcp`.

    The header is on every answer, requested or not, so that a shared cache never keeps an answer without it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(OPEN_PATHS):
            await self._app(scope, receive, send)
            return

        async def send_open(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_OPEN]
            await send(message)

        if scope["method"] == "OPTIONS":
            headers = _PREFLIGHT if scope["path"].startswith("/v1/") else _TOOL_PREFLIGHT
            await send_open({"type": "http.response.start", "status": 204, "headers": list(headers)})
            await send({"type": "http.response.body", "body": b""})
            return
        await self._app(scope, receive, send_open)


_OPEN = ((b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", EXPOSED_HEADERS))
_ANY_PREFLIGHT = (
    (b"access-control-allow-methods", ALLOWED_METHODS),
    (b"access-control-max-age", PREFLIGHT_SECONDS),
)
_PREFLIGHT = (*_ANY_PREFLIGHT, (b"access-control-allow-headers", ALLOWED_HEADERS))
_TOOL_PREFLIGHT = (*_ANY_PREFLIGHT, (b"access-control-allow-headers", ALLOWED_TOOL_HEADERS))


class HeadAsGet:
    """Answers HEAD as GET; the server leaves out the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, send)


class BodyRequired:
    """Refuses a POST without a body under `/v1` with 403, as the contract says."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_post = scope["type"] == "http" and scope["method"] == "POST" and scope["path"].startswith("/v1/")
        if not is_post or declared_length(scope):
            await self._app(scope, receive, send)
            return
        first = await receive()
        while first["type"] == "http.request" and not first.get("body"):
            if not first.get("more_body"):
                await error_response(EMPTY_POST, 403, "body-missing")(scope, receive, send)
                return
            first = await receive()
        pending: list[Message] = [first]

        async def replayed() -> Message:
            return pending.pop() if pending else await receive()

        await self._app(scope, replayed, send)


class StoredDevices:
    """Answers `GET /v1/devices/{udi}` straight from the copy; the rest, and any query, is left to the route.

    The route gives the same answer, several times slower; this is the fast path of the most frequent read.
    """

    PREFIX = "/v1/devices/"

    def __init__(self, app: ASGIApp, devices: DeviceService, limits: RateLimits) -> None:
        self._app = app
        self._devices = devices
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_read = scope["type"] == "http" and scope["method"] == "GET" and not scope["query_string"]
        if is_read and scope["path"].startswith(self.PREFIX):
            udi = scope["path"][len(self.PREFIX) :]
            if len(udi) <= MAX_LENGTH and await self._answered(udi, scope, send):
                return
        await self._app(scope, receive, send)

    async def _answered(self, udi: str, scope: Scope, send: Send) -> bool:
        if any(name == b"prefer" for name, _ in scope["headers"]):
            return False  # who prefers to wait is kept waiting by the route
        try:
            answer = await self._devices.stored(udi, client=lambda: self._limits.address_of(Request(scope)))
        except (RegisterwatchError, UnicodeEncodeError):
            return False  # the route meets the same error and answers it
        if answer is None:
            return False
        cache = _CACHE if answer.in_full else _CACHE_NOTHING_YET
        headers = [(b"etag", answer.tag), (b"cache-control", cache), _VARY]
        if any(
            name == b"if-none-match" and matches(value.decode("latin-1"), answer.tag.decode())
            for name, value in scope["headers"]
        ):
            await send({"type": "http.response.start", "status": 304, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return True
        headers += [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer.body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})
        return True


_CACHE, _CACHE_NOTHING_YET = CACHE_RECORD.encode(), CACHE_NOTHING_YET.encode()
_VARY = b"vary", b"Prefer"


class LimitHeaders:
    """Adds `RateLimit-*` to the answer of a request that was counted, whatever the answer is.

    The innermost one, so that what is answered before it pays nothing.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})  # shared with whatever copies the scope further in

        async def send_noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_raw(noted_headers(scope))]
            await send(message)

        await self._app(scope, receive, send_noted)


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]
