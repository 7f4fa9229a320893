"""The layers that refuse clients.

Those whose User-Agent starts with `python`, and those that ask too often.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import cycle

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from registerwatch_standins.register.answers import json_response
from registerwatch_standins.register.faults import Kind, kind_of
from registerwatch_standins.register.wire.pages import Window, envelope

_WINDOW_SECONDS = 60.0
_SEARCHES = frozenset({"search", "actor-search", "certificates"})
_PAGE = "<html><head><title>{0}</title></head><body><h1>{0}</h1></body></html>"


class ClientCheck:
    """Answers 502 to a User-Agent that starts with `python`, as the live gateway does."""

    def __init__(self, app: ASGIApp, *, refuses_python: bool = True) -> None:
        self._app = app
        self.refuses_python = refuses_python

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse the request."""
        if scope["type"] == "http" and self.refuses_python:
            agent = Headers(scope=scope).get("user-agent", "")
            if agent.lower().startswith("python"):
                await HTMLResponse(_PAGE.format("502 Bad Gateway"), 502)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class Throttle:
    """Lets so many requests a minute pass for each client address, half as many to `/eos`; `None`: all.

    What is too much is refused in turn in the ways of the live service: 429 without `Retry-After`, an empty
    page that contradicts its total (429 where no page was asked for), 429 with `Retry-After`, 307 with HTML.
    """

    def __init__(
        self,
        app: ASGIApp,
        requests_per_minute: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self.requests_per_minute = requests_per_minute
        self._clock = clock
        self._passed: dict[tuple[str, bool], deque[float]] = {}
        self._refusals: Iterator[Callable[[Kind], Response]] = cycle(
            (_plain_429, _empty_page, _patient_429, _redirect_307)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse the request."""
        if scope["type"] == "http" and self.requests_per_minute is not None and not self._passes(scope):
            await next(self._refusals)(kind_of(scope["path"]))(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _passes(self, scope: Scope) -> bool:
        """Whether the client has asked seldom enough in the last 60 seconds; if so, this request counts."""
        address = scope["client"][0] if scope.get("client") else ""
        is_eos = kind_of(scope["path"]) == "actor-search"
        allowed = self.requests_per_minute or 0
        allowed = allowed // 2 if is_eos else allowed
        passed, now = self._passed.setdefault((address, is_eos), deque()), self._clock()
        while passed and passed[0] <= now - _WINDOW_SECONDS:
            passed.popleft()
        if len(passed) >= allowed:
            return False
        passed.append(now)
        return True


def _plain_429(kind: Kind) -> Response:
    return HTMLResponse(_PAGE.format("429 Too Many Requests"), 429)


def _empty_page(kind: Kind) -> Response:
    if kind not in _SEARCHES:
        return _plain_429(kind)
    return json_response(envelope([], 1, Window(0, 20)))


def _patient_429(kind: Kind) -> Response:
    return HTMLResponse(_PAGE.format("429 Too Many Requests"), 429, {"retry-after": "60"})


def _redirect_307(kind: Kind) -> Response:
    return HTMLResponse(_PAGE.format("Please wait"), 307, {"location": "/eudamed/busy"})
