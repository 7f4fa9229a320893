"""Servers in this process: the service behind a real socket, and how to end one so that nothing outlives its loop.

A connection that is accepted while `asyncio.Server` is closed is left open until it is collected, and is then a warning
in whatever test runs: with Python 3.11 its transport's constructor fails.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn
from anyio.from_thread import start_blocking_portal

from registerwatch.web.limits.http_server import SideServer
from tests.support.harness import ServiceHarness, running_harness


class _LocalServer(SideServer):
    """A server on asyncio's own loop, where connections that are accepted as it ends would stay open."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for each in self.servers:
            await _accept_no_more(each)
        await super().shutdown(sockets)


@asynccontextmanager
async def serving(config: uvicorn.Config) -> AsyncIterator[int]:
    """A server in this loop; gives its port."""
    server = _LocalServer(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield int(server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.end()
        await task


@contextmanager
def served_harness(database_url: str, data_dir: Path, **options: Any) -> Iterator[tuple[str, ServiceHarness]]:
    """A service with a filled copy that runs in a thread, and the address that it is served at."""

    @asynccontextmanager
    async def served() -> AsyncIterator[tuple[str, ServiceHarness]]:
        async with running_harness(database_url, data_dir, background=True, **options) as harness:
            await harness.fill_copy()
            config = uvicorn.Config(harness.app, host="127.0.0.1", port=0, lifespan="off", log_config=None)
            async with serving(config) as port:
                yield f"http://127.0.0.1:{port}", harness

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(served()) as address_and_harness:
        yield address_and_harness


async def _accept_no_more(server: asyncio.Server) -> None:
    """Stop listening, and let those in that were accepted: a protocol hears of them two steps of the loop later."""
    loop = asyncio.get_running_loop()
    for each in server.sockets:
        loop.remove_reader(each.fileno())
    for _ in range(3):
        await asyncio.sleep(0)


async def end(server: asyncio.Server, connections: Iterable[asyncio.BaseTransport]) -> None:
    """Close a server and break off its connections, to which those still being let in are added meanwhile."""
    await _accept_no_more(server)
    server.close()
    for each in connections:
        if isinstance(each, asyncio.WriteTransport):
            with suppress(AttributeError):  # Python 3.11.2: of a TLS transport that was closed twice, and so is gone
                each.abort()
    await asyncio.sleep(0)
