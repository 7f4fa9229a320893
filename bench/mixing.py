"""A mixed load: `python -m bench.mixing PLAN RESULT` asks as fast as it is answered, in many ways side by side.

Each of sixteen connections draws what it does next by its weight and goes on as soon as it is answered, so the mix is
the same however fast the service is. Beside them the register changes what is watched.
"""

import asyncio
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import msgspec
import uvloop

from bench.connection import Refused, Request
from bench.exchange import Line, line
from bench.figures import percentile

CONNECTIONS = 16
CHANGES_EVERY = 1.0
RETRY_POLICIES = 120.0
"""Seconds within which everything is answered; later counts as unexpected."""
PAUSE_AFTER_TROUBLE = 0.2
NO_ANSWER = 0
"""The status of a request that got none."""

READS = {
    "device read": 430,
    "device, unchanged": 250,
    "search": 120,
    "actor read": 50,
    "tool call": 80,
    "account": 20,
    "list of watches": 30,
}
"""Weights of requests that change nothing."""
CHANGES = {"login": 5, "sync": 3, "import": 2}
"""Weights of the others. An import is followed by a look at the list and by ending each of its watches."""
EXPECTED = {"device, unchanged": (200, 304)}
"""Statuses besides 200: a device that changed meanwhile is told anew."""


class Customer(msgspec.Struct, frozen=True):
    """An account's requests."""

    headers: dict[str, str]
    logins: list[bytes]
    watched: list[str]


class Plan(msgspec.Struct, frozen=True):
    """What is asked, of whom, for how long."""

    port: int
    register_port: int
    seconds: float
    seed: int
    reads: dict[str, list[bytes]]
    """By kind, in the names of `READS`."""
    customers: list[Customer]
    """All sync but the last one, which imports."""
    imported: list[list[str]]


class Outcome(msgspec.Struct, frozen=True):
    """How requests of a kind went. Times are in milliseconds."""

    requests: int
    p50: float
    p99: float
    max: float
    unexpected: dict[str, int]
    """Answers that should not be, by their status; no answer at all is `0`."""


class Mixing:
    """One run."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._random = Random(plan.seed)
        self._times: dict[str, list[float]] = defaultdict(list)
        self._unexpected: dict[str, Counter[str]] = defaultdict(Counter)
        self._ends = time.perf_counter() + plan.seconds

    async def run(self) -> dict[str, Outcome]:
        """Ask until the time is over; each kind's outcome."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(CONNECTIONS):
                tasks.create_task(self._ask())
            tasks.create_task(self._change())
        return {kind: self._outcome(kind, times) for kind, times in sorted(self._times.items())}

    def _outcome(self, kind: str, seconds: Sequence[float]) -> Outcome:
        spread = percentile(seconds, 50) * 1e3, percentile(seconds, 99) * 1e3, max(seconds) * 1e3
        return Outcome(len(seconds), *spread, dict(self._unexpected[kind]))

    async def _ask(self) -> None:
        weights = READS | CHANGES
        async with self._asking() as asking:
            while time.perf_counter() < self._ends:
                kind = self._random.choices(list(weights), list(weights.values()))[0]
                if kind == "import":
                    await self._import(asking)
                else:
                    await asking.ask(kind, self._request(kind))

    def _request(self, kind: str) -> bytes:
        """One of that kind."""
        *sync_service, _ = customers = self._plan.customers
        if kind == "sync":
            return Request("/v1/sync", self._random.choice(sync_service).headers, b"{}").as_sent()
        if kind == "login":
            return self._random.choice(self._random.choice(customers).logins)
        return self._random.choice(self._plan.reads[kind])

    async def _import(self, asking: "_Asking") -> None:
        """Import a list, look at it, stop watching all of it: the account is as before."""
        headers = self._plan.customers[-1].headers
        body = msgspec.json.encode({"csv": "\n".join(self._random.choice(self._plan.imported))})
        await asking.ask("import", Request("/v1/import", headers, body).as_sent())
        told = await asking.ask("list of watches", Request("/v1/watches", headers).as_sent())
        for watch in msgspec.json.decode(told)["watches"] if told else []:
            request = Request(f"/v1/watches/{watch['id']}", headers, method="DELETE")
            await asking.ask("stop watching", request.as_sent())

    async def _change(self) -> None:
        """Let the register change something that is watched, again and again."""
        watched = sorted({subject for customer in self._plan.customers for subject in customer.watched})
        body = msgspec.json.encode({"n": 2, "among": watched})
        request = Request("/_control/random-changes", body=body).as_sent()
        while time.perf_counter() < self._ends:
            async with line(self._plan.register_port) as register:
                await register.ask(request)
            await asyncio.sleep(CHANGES_EVERY)

    @asynccontextmanager
    async def _asking(self) -> "AsyncIterator[_Asking]":
        asking = _Asking(self._plan.port, self._times, self._unexpected)
        try:
            yield asking
        finally:
            asking.close()


class _Asking:
    """One connection, made anew after trouble, that notes how each request went."""

    def __init__(self, port: int, times: dict[str, list[float]], unexpected: dict[str, Counter[str]]) -> None:
        self._port = port
        self._times = times
        self._unexpected = unexpected
        self._line: Line | None = None

    async def ask(self, kind: str, request: bytes) -> bytes:
        """The body of the answer; empty where it is not what it should be."""
        began = time.perf_counter()
        status, body = await self._answer(request)
        self._times[kind].append(time.perf_counter() - began)
        if status in EXPECTED.get(kind, (200,)):
            return body
        self._unexpected[kind][str(status)] += 1
        await asyncio.sleep(PAUSE_AFTER_TROUBLE)
        return b""

    async def _answer(self, request: bytes) -> tuple[int, bytes]:
        try:
            async with asyncio.timeout(RETRY_POLICIES):
                if self._line is None:
                    _, self._line = await asyncio.get_running_loop().create_connection(Line, "127.0.0.1", self._port)
                return await self._line.ask(request), self._line.body
        except (OSError, Refused, TimeoutError):
            self.close()
            return NO_ANSWER, b""

    def close(self) -> None:
        """Hang up."""
        if self._line is not None:
            self._line.hang_up()
            self._line = None


def main() -> None:
    """Run the plan of the first file, write the outcomes into the second."""
    plan = msgspec.msgpack.decode(Path(sys.argv[1]).read_bytes(), type=Plan)
    outcomes = uvloop.run(Mixing(plan).run())
    Path(sys.argv[2]).write_bytes(msgspec.json.encode(outcomes))


if __name__ == "__main__":
    main()
