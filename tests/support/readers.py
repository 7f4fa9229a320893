"""Clients that take an answer when a test lets them."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.types import Message

from tests.support.harness import ServiceHarness


@dataclass
class HeldReader:
    """A client at an address that takes the head of an answer, and no more until it is let."""

    harness: ServiceHarness
    path: str
    address: str = "192.0.2.7"
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 0
    body: bytes = b""
    has_head: asyncio.Event = field(default_factory=asyncio.Event)
    let: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self) -> bytes:
        """The body, once it is let."""
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": self.path,
            "raw_path": self.path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(b"host", b"test"), *((n.lower().encode(), v.encode()) for n, v in self.headers.items())],
            "server": ("test", 80),
            "client": (self.address, 1),
        }
        await self.harness.app(scope, self._receive, self._send)
        return self.body

    async def _receive(self) -> Message:
        await asyncio.Event().wait()
        raise AssertionError("nobody leaves")

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        self.has_head.set()
        await self.let.wait()
        self.body += message.get("body", b"")
