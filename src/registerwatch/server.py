"""Running the application under uvicorn."""

import uvicorn
from starlette.types import ASGIApp

from registerwatch import logs
from registerwatch.app import create_app
from registerwatch.settings import Settings


def serve(settings: Settings, host: str, port: int, *, background: bool = True) -> None:
    """Serve until interrupted; requests under way are finished first."""
    logs.set_up(settings.log_format)
    uvicorn.Server(server_config(create_app(settings, background=background), host, port)).run()


def server_config(app: ASGIApp, host: str, port: int) -> uvicorn.Config:
    """How an application is served: no proxy headers (the settings say whom to believe), no access log."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        loop="uvloop",
        http="httptools",
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=15,
        h11_max_incomplete_event_size=32_768,
    )
