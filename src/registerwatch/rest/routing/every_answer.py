"""The outermost application: it adds headers to every answer, those to unexpected errors too, and logs requests.

All of it is one step, since it takes part in the most frequent read.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence

import structlog
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from registerwatch.settings import Network
from registerwatch.web.limits.client_address import client_address
from registerwatch.web.limits.rate_limits import noted_headers
from registerwatch.web.request_ids import HEADER, begin_request, loggable_path
from registerwatch.web.security_headers import (
    ANY_SITE,
    NO_CAMERA,
    NOTHING_ALLOWED,
    OPENER,
    RESOURCE_POLICY,
    THIS_SITE,
)

OPEN_PATHS = ("/v1/", "/mcp")
ALLOWED_METHODS = b"GET, POST, DELETE, OPTIONS"
ALLOWED_HEADERS = b"Content-Type, X-API-Key, Authorization"
ALLOWED_TOOL_HEADERS = ALLOWED_HEADERS + b", MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name"
"""Headers of tool clients in browsers; browsers do not send headers that are not listed."""
EXPOSED_HEADERS = (
    b"ETag, Retry-After, X-Request-Id, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy"
)
PREFLIGHT_SECONDS = b"86400"
METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"})
NOTED_ERROR = "registerwatch.noted_error"
"""In the state of a request whose unexpected error is answered and logged, so that the server need not log it again."""
HOT_ROUTES = (("/v1/devices/", "/v1/devices/{udi:path}"), ("/mcp", "/mcp"))
"""Routes that are answered before the router, by the beginning of their paths."""

RequestCounts = Counter[tuple[str, str, int]]
"""Requests of one application by method, route and status."""

access_log = structlog.get_logger("registerwatch.access")


class EveryAnswer:
    """Adds to each answer its request's id, `always`, the rest of its limit, and policies if it has none.

    Any web page may read answers at `/v1/*` and `/mcp`. Each has the headers for that, so that no shared cache stores
    an answer without them. HEAD is answered as GET; the server leaves out the body. Requests are counted in a plain
    counter. With `logs` each request is logged, with the client address that `trusted_proxies` give.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        always: Mapping[str, str],
        counts: RequestCounts,
        logs: bool = False,
        trusted_proxies: Sequence[Network] = (),
    ) -> None:
        self._app = app
        self._closed = _raw(always)
        self._open = [*_OPEN, *self._closed]
        self._counts = counts
        self._logs = logs
        self._trusted_proxies = trusted_proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method, path = scope["method"], scope["path"]
        scope.setdefault("state", {})  # shared with inner applications that copy the scope
        inner = {**scope, "method": "GET"} if method == "HEAD" else scope
        request_id = begin_request(scope)
        is_open = path.startswith(OPEN_PATHS)
        added, unless_there = (self._open, _OPEN_UNLESS_THERE) if is_open else (self._closed, _CLOSED_UNLESS_THERE)

        async def send_complete(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._counts[_method_of(method), _route_of(inner), message["status"]] += 1
                headers = [*message["headers"], (_ID, request_id), *added, *_raw(noted_headers(scope))]
                names = [name for name, _ in headers]
                message["headers"] = headers + [each for each in unless_there if each[0] not in names]
            await send(message)

        app = _preflight if method == "OPTIONS" and is_open else self._app
        try:
            if self._logs:
                await self._logged(app, inner, receive, send_complete, method)
            else:
                await app(inner, receive, send_complete)
        except Exception:
            if NOTED_ERROR not in scope["state"]:
                raise

    async def _logged(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send, method: str) -> None:
        """A line for one request: method, path, status, milliseconds, client address.

        The query is left out, because it holds what people search for, and the tokens of feeds and mailed links. Tokens
        in paths are left out, too.
        """
        status, started = 500, time.perf_counter()  # an exception that passes here is answered with 500

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await app(scope, receive, send_noted)
        finally:
            access_log.info(
                "request",
                method=method,
                path=loggable_path(scope["path"]),
                status=status,
                milliseconds=round((time.perf_counter() - started) * 1000, 1),
                client=client_address(Request(scope), self._trusted_proxies),
            )


async def _preflight(scope: Scope, _receive: Receive, send: Send) -> None:
    """The answer to a CORS preflight request."""
    headers = _PREFLIGHT if scope["path"].startswith("/v1/") else _TOOL_PREFLIGHT
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


def _route_of(scope: Scope) -> str:
    path = scope["path"]
    for start, name in HOT_ROUTES:
        if path.startswith(start):
            return name
    route = scope.get("route")
    return "other" if route is None else str(route.path)


def _method_of(method: str) -> str:
    return method if method in METHODS else "other"


_ID = HEADER.lower().encode()
_OPEN = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", EXPOSED_HEADERS),
    *_raw({RESOURCE_POLICY: ANY_SITE}),
)
_OPEN_UNLESS_THERE = _raw(dict([NOTHING_ALLOWED]))
_CLOSED_UNLESS_THERE = _raw(dict([NOTHING_ALLOWED, (RESOURCE_POLICY, THIS_SITE), OPENER, NO_CAMERA]))
_ANY_PREFLIGHT = (
    (b"access-control-allow-methods", ALLOWED_METHODS),
    (b"access-control-max-age", PREFLIGHT_SECONDS),
)
_PREFLIGHT = (*_ANY_PREFLIGHT, (b"access-control-allow-headers", ALLOWED_HEADERS))
_TOOL_PREFLIGHT = (*_ANY_PREFLIGHT, (b"access-control-allow-headers", ALLOWED_TOOL_HEADERS))
