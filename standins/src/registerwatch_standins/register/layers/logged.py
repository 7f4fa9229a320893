"""The layer that remembers what was asked."""

from collections import Counter, deque
from datetime import UTC, datetime

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from registerwatch_standins.register.faults import kind_of

_RECORD_KINDS = frozenset({"detail", "basic"})


class LoggedRequest(Struct, frozen=True):
    """A request as it came, and the status that it got (`0`: none)."""

    time: str
    kind: str
    method: str
    path: str
    query: str
    headers: dict[str, str]
    status: int


class RequestLog:
    """Counts all requests and keeps the last 1,000."""

    def __init__(self, app: ASGIApp, kept: int = 1000) -> None:
        self._app = app
        self.requests: deque[LoggedRequest] = deque(maxlen=kept)
        self.total = 0
        self.kinds: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.open = 0
        self.most_open = 0
        self.recent_devices: deque[str] = deque(maxlen=200)

    def clear(self) -> None:
        """Forget all requests but those that are open."""
        self.requests.clear()
        self.recent_devices.clear()
        self.kinds.clear()
        self.statuses.clear()
        self.total, self.most_open = 0, self.open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve and remember the request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            await self._app(scope, receive, noting)
        finally:
            self.open -= 1
            self._note(scope, status)

    def _note(self, scope: Scope, status: int) -> None:
        kind = kind_of(scope["path"])
        self.total += 1
        self.kinds[kind] += 1
        self.statuses[status] += 1
        if kind in _RECORD_KINDS and status == 200:
            self.recent_devices.append(scope["path"].rpartition("/")[2])
        self.requests.append(
            LoggedRequest(
                time=datetime.now(UTC).isoformat(timespec="milliseconds"),
                kind=kind,
                method=scope["method"],
                path=scope["path"],
                query=scope["query_string"].decode(),
                headers=dict(Headers(scope=scope)),
                status=status,
            )
        )
