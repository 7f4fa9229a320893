"""Detects a reverse proxy that the settings do not name: behind it all clients count as one."""

from dataclasses import dataclass

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

FORWARDED = frozenset({b"x-forwarded-for", b"forwarded", b"x-real-ip"})
UNKNOWN_PROXY = (
    "A request came with a header of a reverse proxy, and REGISTERWATCH_TRUSTED_PROXIES is not set: all clients of the"
    " proxy count as one for rate limits."
)

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class ForwardedHeaders:
    """Whether a request had such a header. `are_trusted`: whether the settings name a proxy."""

    are_trusted: bool
    were_seen: bool = False

    @property
    def warning(self) -> str | None:
        """A warning for the operator; None without one."""
        return UNKNOWN_PROXY if self.were_seen and not self.are_trusted else None


class NoticeForwardedHeaders:
    """Logs the first request with such a header. Only for applications without trusted proxies."""

    def __init__(self, app: ASGIApp, forwarded: ForwardedHeaders) -> None:
        self._app = app
        self._forwarded = forwarded

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._forwarded.were_seen:
            self._look_at(scope)
        await self._app(scope, receive, send)

    def _look_at(self, scope: Scope) -> None:
        header = next((name for name, _ in scope["headers"] if name in FORWARDED), None)
        if header is not None:
            self._forwarded.were_seen = True
            peer = scope["client"][0] if scope.get("client") else ""
            log.warning(UNKNOWN_PROXY, header=header.decode(), sent_by=peer)
