"""Running the application under uvicorn."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from registerwatch import logs
from registerwatch.app import create_app
from registerwatch.collector import paused_collector
from registerwatch.rest.system import Readiness
from registerwatch.settings import Settings
from registerwatch.web.connections import ConnectionTable, max_connections, raise_file_limit
from registerwatch.web.http_limits import BoundedHttpProtocol
from registerwatch.web.refusal_log import RefusalLog

KEEP_ALIVE_SECONDS = 75
"""For idle connections: longer than reverse proxies keep theirs, so that a proxy never sends on a closed connection."""


def serve(settings: Settings, host: str, port: int, *, background: bool = True) -> None:
    """Serve until interrupted; requests under way are finished first."""
    logs.set_up(settings.log_format)
    raise_file_limit()
    with paused_collector():
        app = create_app(settings, background=background)
        config = server_config(app, host, port)
    DrainingServer(config, app.state.readiness, settings.drain_seconds).run()


def server_config(app: ASGIApp, host: str, port: int) -> uvicorn.Config:
    """The configuration of uvicorn: no proxy headers (the settings name trusted proxies), no access log.

    Without `limit_concurrency`, which answers 503 to everybody while one client has too many connections.
    """
    protocol = partial(BoundedHttpProtocol, table=ConnectionTable(max_connections()), refusal_log=RefusalLog())
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        loop="uvloop",
        http=protocol,  # type: ignore[arg-type]  # called like the class that it makes
        ws="none",
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_config=None,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=15,
    )


class SideServer(uvicorn.Server):
    """A server beside others in one process; the process handles the signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def end(self) -> None:
        """Finish the requests under way, then stop."""
        self.should_exit = True


class DrainingServer(uvicorn.Server):
    """Ends in two steps: `/ready` answers 503 first, and it serves on until load balancers have noticed.

    A second signal ends it at once.
    """

    def __init__(self, config: uvicorn.Config, readiness: Readiness, seconds: float) -> None:
        super().__init__(config)
        self._readiness = readiness
        self._seconds = seconds
        self._serves_until = 0.0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._serves_until = 0.0 if self._readiness.is_ending else time.monotonic() + self._seconds
        self._readiness.is_ending = True
        super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) and time.monotonic() >= self._serves_until
