"""What sweeps do in a simulated year: turns of manufacturers, lists of certificates, scopes, ends of certificates.

Some are cancelled in their midst, some are held up while others go on, and some lose their lease to the other node.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

from registerwatch.bootstrap import Service
from registerwatch_standins.register.faults import Kind
from tests.journeys.event_checks import ENDS, EventChecks, Stored
from tests.journeys.expiry_checks import Ends, ExpiryChecks
from tests.journeys.news_checks import NewsChecks
from tests.journeys.register_reads import SWEEP, RegisterReads, SweepHold, is_srn
from tests.support.fakes import SteppedClock

TURN_SECONDS = 700
"""After so long every manufacturer is due again, and a lease has run out."""
LIST_SECONDS = 3_700
"""The same of the list of certificates."""
MAX_TURNS = 300
MAX_SOUGHT = 12
"""Turns until one is interrupted that somebody is told of."""

Interruption = Literal["none", "cancelled", "held", "overtaken"]
_INTERRUPTIONS: Sequence[Interruption] = ("none", "cancelled", "held", "overtaken")
Start = Callable[[Service], Coroutine[Any, Any, object]]


@dataclass
class YearSweeps:
    """Sweeps by two nodes, and the judgement of what they tell."""

    nodes: Sequence[Service]
    rng: Random
    reads: RegisterReads
    clock: SteppedClock
    checks: EventChecks
    news: NewsChecks
    ends: ExpiryChecks
    changing: Callable[[], AbstractContextManager[None]]
    """The register may change between requests in the block."""
    change_lists: Callable[[str], None]
    """Changes what lists show of a manufacturer, or of certificates where none is named."""
    meanwhile: Callable[[Service, str, Sequence[str]], Awaitable[None]]
    """What another node does while a sweep of a manufacturer is held up that was shown these devices."""
    _expected_ends: Counter[Ends] = field(default_factory=Counter)
    _was_interrupted: bool = False
    """Whether the last sweep came to where it was to be interrupted."""

    async def judge(self, events: Sequence[Stored]) -> None:
        """Judge events that no read brought."""
        expected, self._expected_ends = self._expected_ends, Counter()
        self.ends.compare(expected, [event for event in events if event.changes[0][0] == ENDS])
        await self.news.judge(events)

    async def device_sweep(self) -> None:
        """Some turns, by both nodes, one of which may be interrupted."""
        await self._node().device_sweep.refresh_queue()
        self.clock.move(TURN_SECONDS)
        how, turns = self.rng.choices(_INTERRUPTIONS, (3, 1, 3, 3))[0], self.rng.randint(1, 4)
        for taken in range(1, MAX_SOUGHT):
            result = await self._sweep("devices", _turn, how)
            how = "none" if self._was_interrupted else how
            if result is None or (taken >= turns and how in ("none", "cancelled")):
                break

    async def certificate_sweep(self) -> None:
        """The list of certificates, once or until it was seen in full."""
        for _ in range(self.rng.randint(1, 3)):
            self.clock.move(LIST_SECONDS)
            await self._sweep("certificates", _list, self.rng.choices(_INTERRUPTIONS, (4, 1, 1, 2))[0])

    async def scopes(self) -> None:
        """Some scopes that are due."""
        with self.changing():
            await self._node().certificate_sweep.read_due_scopes()
        await self.checks.settle()

    async def look_for_ends(self) -> None:
        """Both nodes look for certificates that end soon, at once."""
        self._expected_ends = await self.ends.expected(self.clock.now(), self.checks.active)
        await asyncio.gather(*(node.watches.expiry.run() for node in self.nodes))
        await self.checks.settle(is_recheck=True)

    async def sweep_all(self) -> None:
        """Every manufacturer and all certificates, by each node."""
        for node in self.nodes:
            self.clock.move(TURN_SECONDS)
            await node.device_sweep.refresh_queue()
            for _ in range(MAX_TURNS):
                if await self._sweep("devices", _turn, "none", node) is None:
                    break
            else:
                raise AssertionError("the calm sweep never ends")
            self.clock.move(LIST_SECONDS)
            result = await self._sweep("certificates", _list, "none", node)
            assert not getattr(result, "problem", "no result"), result

    # Inside

    async def _sweep(self, what: str, start: Start, how: Interruption, node: Service | None = None) -> object:
        """One sweep; what came of it, None where nothing was due or it was cancelled. Of a given node it is calm."""
        await self.news.begin()
        first = node or self._node()
        name = f"{SWEEP}{what} {self.checks.outcome.turns.total()}"
        self._was_interrupted = False
        self.reads.sweep_hold = None if how == "none" else self._hold(name, what, how)
        with self.changing() if node is None else nullcontext():
            task = asyncio.create_task(start(first), name=name)
            if (hold := self.reads.sweep_hold) is not None:
                await self._interrupt(task, hold, first, how)
            result = (await asyncio.gather(task, return_exceptions=how == "cancelled"))[0]
        self.reads.sweep_hold = None
        await first.refresher.settled()
        await self.checks.settle()
        self.checks.outcome.turns[_ended(what, how, result)] += 1
        return None if isinstance(result, BaseException) else result

    async def _interrupt(
        self, task: "asyncio.Task[object]", hold: SweepHold, first: Service, how: Interruption
    ) -> None:
        """Let a sweep come to where it is held up, if it comes there; then let something else happen first."""
        coming = asyncio.ensure_future(hold.has_come.wait())
        await asyncio.wait([task, coming], return_when=asyncio.FIRST_COMPLETED)
        coming.cancel()
        if task.done():
            return
        self._was_interrupted = True
        if how == "cancelled":
            task.cancel()
        else:
            rows = list(self.reads.listed)  # some pages are stored, and one that was answered will be
            await self.checks.settle()
            self.reads.sweep_hold = None
            self.clock.move(2)
            srn = self.reads.manufacturer_of(hold.key)
            if how == "overtaken":
                self.change_lists(srn)
                self.clock.move(LIST_SECONDS)
                await self._overtake(next(node for node in self.nodes if node is not first), srn)
            else:
                await self.meanwhile(first, srn, [row.udi for row in rows if self.reads.is_alone(row.udi)])
            self.reads.listed = rows + self.reads.listed
        hold.may_go.set()

    async def _overtake(self, other: Service, srn: str) -> None:
        """The other node takes turns until it has swept this manufacturer, then it reads the list of certificates."""
        for _ in range(MAX_TURNS):
            turn = await _in_task(f"{SWEEP}other", _turn(other))
            await self.checks.settle()
            if turn is None or getattr(turn, "srn", None) == srn or not srn:
                break
        await _in_task(f"{SWEEP}other", _list(other))
        await self.checks.settle()

    def _hold(self, name: str, what: str, how: Interruption) -> SweepHold:
        """Somewhere in a sweep; mostly where it was just shown the end of a list that somebody is told, and is about to
        store that.
        """
        if how == "cancelled" or self.rng.random() < 0.2:
            return SweepHold(name, self.rng.randint(0, 5), self.rng.random() < 0.7)
        if what == "certificates":
            ends: Sequence[Kind] = ("certificates", "certificate")
            return SweepHold(name, 0, after=True, last_of=self.rng.choice(ends))
        of = self.news.told_portfolios() if how == "overtaken" else self._of_watched()
        return SweepHold(name, 0, after=True, last_of="search", of=of)

    def _of_watched(self) -> set[str]:
        """Devices of which a row can tell somebody, and their manufacturers."""
        watched = [(account, subject) for (account, subject), told in self.checks.told.items() if told is not None]
        udis = {subject for account, subject in watched if account in self.checks.active and not is_srn(subject)}
        udis = {udi for udi in udis if self.reads.is_alone(udi)}
        return udis | {self.reads.manufacturer_of(udi) for udi in udis}

    def _node(self) -> Service:
        return self.rng.choice(self.nodes)


async def _turn(node: Service) -> object:
    return await node.device_sweep.run_next()


async def _list(node: Service) -> object:
    return await node.certificate_sweep.run_where_due()


async def _in_task(name: str, work: Coroutine[Any, Any, object]) -> object:
    return await asyncio.create_task(work, name=name)


def _ended(what: str, how: Interruption, result: object) -> str:
    """How a sweep ended, in words."""
    if isinstance(result, asyncio.CancelledError):
        return f"{what} cancelled"
    if isinstance(result, BaseException):
        raise result
    if result is None:
        return f"{what} not due"
    return f"{what} {how}: {'failed' if getattr(result, 'problem', '') else 'done'}"
