"""Ending a server on this machine so that nothing of it outlives its loop.

A connection that is accepted while `asyncio.Server` is closed is left open until it is collected, and is then a warning
in whatever test runs: with Python 3.11 its transport's constructor fails.
"""

import asyncio
from collections.abc import Iterable
from typing import Any


class Noted(asyncio.BaseProtocol):
    """A protocol, beside one that speaks, that adds its transport to `connections`."""

    def __init__(self, connections: list[asyncio.BaseTransport], *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._connections = connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._connections.append(transport)
        super().connection_made(transport)


async def accept_no_more(server: asyncio.Server) -> None:
    """Stop listening, and let those in that were accepted: a protocol hears of them two steps of the loop later."""
    loop = asyncio.get_running_loop()
    for each in server.sockets:
        loop.remove_reader(each.fileno())
    for _ in range(3):
        await asyncio.sleep(0)


async def end(server: asyncio.Server, connections: Iterable[asyncio.BaseTransport]) -> None:
    """Close a server and break off its connections, to which those still being let in are added meanwhile."""
    await accept_no_more(server)
    server.close()
    for each in connections:
        if isinstance(each, asyncio.WriteTransport):
            each.abort()
    await asyncio.sleep(0)
