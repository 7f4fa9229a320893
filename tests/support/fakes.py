"""What stands in memory for time, slow password hashing, the network to the register and receivers of webhooks."""

import asyncio
import json
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpcore2
import httpx2
from argon2 import PasswordHasher, Type

from registerwatch.accounts.passwords.passwords import Passwords


class SteppedClock:
    """Stands still until it is moved; sleeping moves it at once."""

    def __init__(self, now: float | None = None) -> None:
        self._now = time.time() if now is None else now
        self._put_forward = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        """Unix seconds."""
        return self._now

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds

    def put(self, seconds: float) -> None:
        """Put the clock forward, or back, while no time passes."""
        self._now += seconds
        self._put_forward += seconds

    def monotonic(self) -> float:
        """Seconds that only go forward."""
        return self._now - self._put_forward

    async def sleep(self, seconds: float) -> None:
        """Let time pass for everybody, without waiting."""
        self.slept.append(seconds)
        self._now += seconds
        await asyncio.sleep(0)


def quick_passwords(*, refuses_common: bool = False) -> Passwords:
    """argon2id with the least work that it can do."""
    hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1, type=Type.ID)
    return Passwords(hasher, refuses_common=refuses_common)


class HeldTransport(httpx2.AsyncBaseTransport):
    """Leads to the register. A test holds some requests back, or has them meet a defect."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner
        self.held: set[str] = set()
        """Parts of addresses; a request for such an address waits until `let` is set."""
        self.held_answers: set[str] = set()
        """The same for answers: the register has answered already, and it arrives when `let` is set."""
        self.broken: set[str] = set()
        """Parts of addresses; a request for such an address meets a defect."""
        self.rewrites: dict[str, Callable[[Any], Any]] = {}
        """What becomes of the JSON that an address with this part is answered with."""
        self.reached, self.let = asyncio.Event(), asyncio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Carry one request."""
        address = str(request.url)
        if any(part in address for part in self.broken):
            raise LookupError("a defect that nobody thought of")
        if any(part in address for part in self.held):
            self.reached.set()
            await self.let.wait()
        response = await self._inner.handle_async_request(request)
        if any(part in address for part in self.held_answers):
            self.reached.set()
            await self.let.wait()
        for rewrite in [rewrite for part, rewrite in self.rewrites.items() if part in address]:
            response = httpx2.Response(response.status_code, json=rewrite(json.loads(await response.aread())))
        return response


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

    An answer is a status, or an error instead of one, with the host's `headers`. A host in `delays` answers when its
    event is set.
    """

    requests: list[ReceivedRequest] = field(default_factory=list)
    answers: defaultdict[str, list[int | Exception]] = field(default_factory=lambda: defaultdict(list))
    headers: dict[str, dict[str, str]] = field(default_factory=dict)
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
        return httpcore2.Response(answer, headers=list(self.headers.get(host, {}).items()), content=b"ok")

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
