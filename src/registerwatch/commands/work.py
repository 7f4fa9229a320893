"""`registerwatch work`: background work without the web server."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import typer

from registerwatch.bootstrap import Service, build_service, working
from registerwatch.commands.display.confinement import protect_this_process
from registerwatch.commands.display.contact import warn_without_contact
from registerwatch.platform import logs
from registerwatch.settings import Settings, load_settings


def work(
    port: Annotated[
        int | None,
        typer.Option(help="Port of `/metrics` and `/live`; without it nothing is listened to.", min=1, max=65535),
    ] = None,
    host: Annotated[str, typer.Option(help="Address of that port.")] = "127.0.0.1",
) -> None:
    """Do the work in the background and nothing else: recheck, deliver, tidy. Any number may run beside `serve`."""
    settings = load_settings()
    logs.set_up(settings.log_format)
    protect_this_process()
    warn_without_contact(settings)
    asyncio.run(_work(settings, host, port))


async def _work(settings: Settings, host: str, port: int | None) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with working(build_service(settings)) as service, _watched(service, host, port):
        await ended.wait()


@asynccontextmanager
async def _watched(service: Service, host: str, port: int | None) -> AsyncIterator[None]:
    """Serve the service's metrics, if there is a port for them."""
    if port is None:
        yield
        return
    from registerwatch.app import work_app  # the other commands need not load the application
    from registerwatch.web.limits.http_server import SideServer, server_config

    config = server_config(work_app(service), host, port)
    config.loop = "none"
    server = SideServer(config)
    serving = asyncio.create_task(server.serve())
    try:
        yield
    finally:
        server.end()
        await serving
