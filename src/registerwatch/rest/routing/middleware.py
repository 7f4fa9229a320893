"""Checks and fast answers before the router. Plain ASGI, because every request passes through them."""

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from registerwatch.lookup.devices import DeviceService
from registerwatch.register.identifiers import MAX_LENGTH
from registerwatch.web.compression import MIN_BYTES, PACKED, VARIES_BY, pack, takes_packed
from registerwatch.web.limits.body_limits import declared_length
from registerwatch.web.limits.rate_limits import RateLimits
from registerwatch.web.responses import CACHE_NOTHING_YET, CACHE_RECORD, JSON, error_response, matches

EMPTY_POST = "A POST needs a body. Send `{}` with `Content-Type: application/json` when there are no fields."


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
    """Answers `GET /v1/devices/{udi}` straight from the copy; other requests, and any query, are left to the route.

    This is the fast path of the most frequent read: the route gives the same answer, several times slower. It comes
    before `Compression`, so it compresses its own answers.
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
        known = b""
        for name, value in scope["headers"]:
            if name == b"prefer":
                return False  # the route handles `Prefer: wait`
            if name == b"if-none-match":
                known = b"%b,%b" % (known, value) if known else value
        try:
            answer = await self._devices.stored(udi, client=lambda: self._limits.address_of(Request(scope)))
        except Exception:  # noqa: BLE001  # the route meets the same error, and answers and logs it
            return False
        if answer is None:
            return False
        headers = [(b"etag", answer.tag), _CACHED if answer.in_full else _NOT_CACHED_YET, _VARY]
        if known and matches(known.decode("latin-1"), answer.tag.decode()):
            status, body = 304, b""
        else:
            status, body = 200, answer.body
            if len(body) >= MIN_BYTES and takes_packed(scope["headers"]):
                body = pack(body)
                headers.append(PACKED)
            headers += [_JSON, (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        return True


_CACHED, _NOT_CACHED_YET = ((b"cache-control", each.encode()) for each in (CACHE_RECORD, CACHE_NOTHING_YET))
_JSON = b"content-type", JSON.encode()
_VARY = b"vary", f"Prefer, {VARIES_BY}".encode()
