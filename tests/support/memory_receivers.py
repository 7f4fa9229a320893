"""Receivers of webhooks without sockets: what a pool of connections would have sent."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterable
from dataclasses import dataclass, field

import httpcore2


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request that arrived."""

    method: str
    url: str
    headers: dict[str, str]
    content: bytes


@dataclass
class MemoryReceivers:
    """Every host there is: keeps what arrives, and answers 200 or what `answers` says.

    An answer is a status, or an error instead of one. A host in `delays` answers when its event is set.
    """

    requests: list[ReceivedRequest] = field(default_factory=list)
    answers: defaultdict[str, list[int | Exception]] = field(default_factory=lambda: defaultdict(list))
    delays: dict[str, asyncio.Event] = field(default_factory=dict)
    in_progress: Counter[str] = field(default_factory=Counter)
    max_in_progress: Counter[str] = field(default_factory=Counter)
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        """Take one request, as a pool of connections does."""
        received = await _received(request)
        host = received.headers["Host"]
        async with self.arrived:
            self.requests.append(received)
            self.arrived.notify_all()
        self.in_progress[host] += 1
        self.max_in_progress[host] = max(self.max_in_progress[host], self.in_progress[host])
        try:
            if host in self.delays:
                await self.delays[host].wait()
        finally:
            self.in_progress[host] -= 1
        answer = self.answers[host].pop(0) if self.answers[host] else 200
        if isinstance(answer, Exception):
            raise answer
        return httpcore2.Response(answer, content=b"ok")

    def at(self, host: str) -> list[ReceivedRequest]:
        """What arrived at one host."""
        return [request for request in self.requests if request.headers["Host"] == host]

    async def wait_for(self, host: str, count: int = 1) -> list[ReceivedRequest]:
        """What arrived at one host, once there are `count` requests."""
        async with asyncio.timeout(10), self.arrived:
            await self.arrived.wait_for(lambda: len(self.at(host)) >= count)
        return self.at(host)


async def _received(request: httpcore2.Request) -> ReceivedRequest:
    assert isinstance(request.stream, AsyncIterable)
    content = b"".join([chunk async for chunk in request.stream])
    headers = {name.decode(): value.decode() for name, value in request.headers}
    return ReceivedRequest(request.method.decode(), bytes(request.url).decode(), headers, content)
