"""The log of requests, which counts all of them."""

from collections import Counter, deque

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from registerwatch_standins.register.faults import kind_of


class LoggedRequest(Struct, frozen=True):
    """A request as it came."""

    kind: str
    path: str
    query: str
    headers: dict[str, str]


class RequestLog:
    """A layer around an application. It counts all requests and keeps the last 1,000."""

    def __init__(self, app: ASGIApp, kept: int = 1000) -> None:
        self._app = app
        self.requests: deque[LoggedRequest] = deque(maxlen=kept)
        self.kinds: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """How many requests came."""
        return self.kinds.total()

    def recent_devices(self) -> list[str]:
        """The uuids of the devices that were read lately."""
        return [each.path.rpartition("/")[2] for each in self.requests if each.kind in ("detail", "basic")]

    def clear(self) -> None:
        """Forget all requests."""
        self.requests.clear()
        self.kinds.clear()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve and log the request."""
        try:
            await self._app(scope, receive, send)
        finally:
            self._note(scope)

    def _note(self, scope: Scope) -> None:
        kind, path = kind_of(scope["path"]), scope["path"]
        self.kinds[kind] += 1
        query, headers = scope["query_string"].decode(), dict(Headers(scope=scope))
        self.requests.append(LoggedRequest(kind, path, query, headers))
