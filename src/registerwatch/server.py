"""Running the application under uvicorn."""

import sys
import time
from types import FrameType

import uvicorn

from registerwatch.app import create_app
from registerwatch.platform import logs
from registerwatch.platform.collector import paused_collector
from registerwatch.rest.health.system import Readiness
from registerwatch.settings import Settings
from registerwatch.web.limits.connections import raise_file_limit
from registerwatch.web.limits.http_server import server_config

SWITCH_SECONDS = 0.0005
"""How long a thread, such as one that makes a file, keeps the interpreter while the event loop waits for it. Python's
default is 5 ms, for each step of a request (docs/performance.md).
"""


def serve(settings: Settings, host: str, port: int, *, background: bool = True) -> None:
    """Serve until interrupted; running requests are finished first."""
    logs.set_up(settings.log_format)
    raise_file_limit()
    sys.setswitchinterval(SWITCH_SECONDS)
    with paused_collector():
        app = create_app(settings, background=background)
        config = server_config(app, host, port)
    DrainingServer(config, app.state.readiness, settings.drain_seconds).run()


class DrainingServer(uvicorn.Server):
    """A server that ends in two steps: `/ready` answers 503, and it serves on until load balancers have noticed.

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
