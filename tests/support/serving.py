"""The whole service behind a real socket, in a thread, for clients that need one."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from registerwatch.billing.provider import PaymentProvider
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
def served_harness(
    database_url: str, data_dir: Path, *, provider: PaymentProvider | None = None, **overrides: Any
) -> Iterator[tuple[str, ServiceHarness]]:
    """A filled harness and the address that it is served at. `overrides` are settings."""
    started, stop = threading.Event(), asyncio.Event()
    address: list[str] = []
    stages: list[ServiceHarness] = []
    failures: list[BaseException] = []
    loop = asyncio.new_event_loop()

    async def run() -> None:
        async with running_harness(database_url, data_dir, provider=provider, **overrides) as harness:
            await harness.fill_copy()
            config = uvicorn.Config(harness.app, host="127.0.0.1", port=0, lifespan="off", log_config=None)
            async with serving(config) as port:
                address.append(f"http://127.0.0.1:{port}")
                stages.append(harness)
                started.set()
                await stop.wait()

    def target() -> None:
        try:
            loop.run_until_complete(run())
        except BaseException as error:  # noqa: BLE001  # told to the thread that waits
            failures.append(error)
        finally:
            started.set()
            loop.close()

    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    started.wait(30)
    if failures:
        raise failures[0]
    try:
        yield address[0], stages[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
