"""The whole service behind a real socket, in a thread, for clients that need one."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from anyio.from_thread import start_blocking_portal

from registerwatch.server import SideServer
from tests.support.closing_server import accept_no_more
from tests.support.harness import ServiceHarness, running_harness


class _LocalServer(SideServer):
    """A server on asyncio's own loop, where connections that are accepted as it ends would stay open."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for each in self.servers:
            await accept_no_more(each)
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
