"""The log of requests, which counts all of them."""

from collections import Counter, deque

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from registerwatch_standins.register.faults import kind_of

_RECORD_KINDS = frozenset({"detail", "basic"})


class LoggedRequest(Struct, frozen=True):
    """A request as it came, and the status of its answer (`0`: none)."""

    kind: str
    method: str
    path: str
    query: str
    headers: dict[str, str]
    status: int


class RequestLog:
    """A layer around an application. It counts all requests and keeps the last 1,000."""

    def __init__(self, app: ASGIApp, kept: int = 1000) -> None:
        self._app = app
        self.requests: deque[LoggedRequest] = deque(maxlen=kept)
        self.recent_devices: deque[str] = deque(maxlen=200)
        self.total = 0
        self.kinds: Counter[str] = Counter()

    def clear(self) -> None:
        """Forget all requests."""
        self.requests.clear()
        self.recent_devices.clear()
        self.kinds.clear()
        self.total = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve and log the request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            self._note(scope, status)

    def _note(self, scope: Scope, status: int) -> None:
        kind, path = kind_of(scope["path"]), scope["path"]
        self.total += 1
        self.kinds[kind] += 1
        if kind in _RECORD_KINDS and status == 200:
            self.recent_devices.append(path.rpartition("/")[2])
        query, headers = scope["query_string"].decode(), dict(Headers(scope=scope))
        self.requests.append(LoggedRequest(kind, scope["method"], path, query, headers, status))
