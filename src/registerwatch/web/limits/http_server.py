"""The configuration of uvicorn for an application. Loads nothing of the application itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import uvicorn
from starlette.types import ASGIApp

from registerwatch.web.limits.connections import ConnectionTable, max_connections
from registerwatch.web.limits.http_limits import BoundedHttpProtocol
from registerwatch.web.limits.refusal_log import RefusalLog

KEEP_ALIVE_SECONDS = 75
"""Limit of idle connections: longer than that of reverse proxies, so that they never send on a closed connection."""


def server_config(app: ASGIApp, host: str, port: int) -> uvicorn.Config:
    """The configuration of uvicorn: no proxy headers (the settings name trusted proxies), no access log.

    `limit_concurrency` is not set: it answers 503 to all while one client has too many connections.
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
