"""One run of the device sweep, for one manufacturer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec
import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy import actor_lists, portfolio, row_comparison, sweeps
from registerwatch.copy.records import RecordStore
from registerwatch.copy.row_comparison import AGAIN_SECONDS, ActorValue, StoredActor, StoredRecord
from registerwatch.copy.sweeps import DeviceSweep
from registerwatch.errors import RegisterwatchError
from registerwatch.ingest import portfolio_walk
from registerwatch.ingest.checks.check_rules import CheckedList
from registerwatch.ingest.checks.register_checks import ListingChecks
from registerwatch.ingest.sweeps import sweep_steps
from registerwatch.ingest.sweeps.sweep_steps import ListedPage, PageStep, SearchStep, Step
from registerwatch.ingest.watched_subjects import WatchedSubjects
from registerwatch.platform.clock import Clock, is_recent
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.run_uncancelled import run_uncancelled
from registerwatch.platform.leases import Lease, LeaseLost
from registerwatch.platform.structs import replace
from registerwatch.register.models import DeviceReading
from registerwatch.register.observation import NewsObserver
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.source import DeviceListing

log = structlog.get_logger(__name__)

MAX_REQUESTS = 10
"""Requests of one run; after them other manufacturers follow."""
MAX_READS = 10
"""Subjects that a run reads in full."""
MAX_FAILING_READS = 5
"""Subjects among these whose last read failed; the bound leaves room for other pages."""
DEFECT = "Listing its devices met a fault of this service, which is in the log."


class KnownDevices(Protocol):
    """Counts a manufacturer's devices in the copy."""

    async def count(self, srn: str) -> int:
        """The number of a manufacturer's devices known to be listed, at least."""


class SweepAdapters(msgspec.Struct, frozen=True):
    """A run's adapters."""

    database: Database
    records: RecordStore
    listing: DeviceListing
    watched: WatchedSubjects
    news: NewsObserver
    checks: ListingChecks
    copy: KnownDevices
    clock: Clock

    @property
    def now(self) -> int:
        """Unix seconds."""
        return int(self.clock.now())


class SweepRunResult(msgspec.Struct, frozen=True):
    """The result of a run: answered requests for lists, watched subjects that differed, changes of the list.

    `problem` says why it ended early, or is empty; `has_ended` says that the walk came to its end.
    """

    srn: str
    requests: int
    differing: int
    news: int
    has_ended: bool
    problem: str


class _Answer(msgspec.Struct, frozen=True):
    """An answer, with the copy's revision and the instant before its request. The page of a search is None.

    `known` is how many devices the copy has of the manufacturer, where a first list may end with the page.
    """

    readings: Sequence[DeviceReading]
    revision: int
    asked_at: int
    page: ListedPage | None = None
    known: int = 0


class RefutedValues:
    """Values in lists that manufacturers' own records did not confirm. For a while these records are not read again for
    them.
    """

    def __init__(self) -> None:
        self._refuted_at: dict[tuple[str, ActorValue], int] = {}
        """Unix seconds, by SRN and value."""

    def __len__(self) -> int:
        return len(self._refuted_at)

    def note(self, srn: str, values: Iterable[ActorValue], now: int) -> None:
        """Note a manufacturer's values (`now` in unix seconds), and forget those noted long ago."""
        kept = {key: at for key, at in self._refuted_at.items() if is_recent(at, now, AGAIN_SECONDS)}
        self._refuted_at = kept | {(srn, value): now for value in values}

    def of(self, srn: str, now: int) -> frozenset[ActorValue]:
        """The noted values of a manufacturer."""
        return frozenset(
            value
            for (of_srn, value), at in self._refuted_at.items()
            if of_srn == srn and is_recent(at, now, AGAIN_SECONDS)
        )


@dataclass(slots=True)
class SweepRun:
    """A run for a leased manufacturer. `refuted` is shared by all runs of the sweeper."""

    adapters: SweepAdapters
    sweep: DeviceSweep
    refuted: RefutedValues
    requests: int = 0
    differing: int = 0
    news: int = 0
    has_ended: bool = False
    _udis: Sequence[str] = field(default=(), init=False)
    _reads: int = field(default=0, init=False)
    _failing_reads: int = field(default=0, init=False)
    _is_actor_read: bool = field(default=False, init=False)
    _contradictions: frozenset[ActorValue] = field(default=frozenset(), init=False)
    """Values in lists for which the manufacturer's record was read in this run."""
    _actor: StoredActor | None = field(default=None, init=False)
    _lease: Lease = field(init=False)

    def __post_init__(self) -> None:
        self._lease = sweeps.lease_of(self.adapters.database, self.adapters.clock, self.sweep)

    async def run(self) -> SweepRunResult:
        """Continue the walk. Changes are passed on at the end, however the run ends."""
        before, has_waited = self.sweep.problem, False
        try:
            async with self._lease.renewed():
                await self._walk()
        except LeaseLost:
            log.info("a sweep was taken over by another node, or is wanted no more", srn=self.sweep.srn)
        except RegisterFailure as failure:
            has_waited = not failure.is_asked
            self.sweep = replace(self.sweep, problem=before if has_waited else failure.reason)
        except RegisterwatchError:
            self.sweep = replace(self.sweep, problem=DEFECT)
            raise
        except Exception:
            log.exception("the devices of a manufacturer could not be listed", srn=self.sweep.srn)
            self.sweep = replace(self.sweep, problem=DEFECT)
        finally:
            await run_uncancelled(self._end(has_waited=has_waited))
        if self.sweep.problem != before:
            log.info("sweep of a manufacturer", srn=self.sweep.srn, problem=self.sweep.problem or "none any more")
        return SweepRunResult(
            self.sweep.srn, self.requests, self.differing, self.news, self.has_ended, self.sweep.problem
        )

    async def _walk(self) -> None:
        """Send requests until the walk has ended, or the run has had its requests. Raises `LeaseLost`."""
        page_size = self.adapters.listing.page_size
        self._udis = sorted(await self.adapters.watched.devices_of(self.sweep.srn))
        while self.requests < MAX_REQUESTS:
            self.sweep = sweep_steps.begun(self.sweep, page_size, self.adapters.now)
            step = sweep_steps.next_step(self.sweep, self._udis, page_size)
            if step is None:
                await self._end_searches()
                return
            answer = await self._ask(step)
            self.requests += 1
            rows = await self._read_differing(step, answer)
            await self._store(step, answer, rows)
            if self.has_ended:
                return

    async def _ask(self, step: Step) -> _Answer:
        """Send one request. Raises `RegisterFailure`, also where a failed check forbids storing the answer."""
        is_search = isinstance(step, SearchStep)
        changed = await self.adapters.checks.problem(
            CheckedList.DEVICES_BY_DI if is_search else CheckedList.DEVICES_OF_MANUFACTURER
        )
        if changed is not None:
            raise RegisterFailure(changed)
        revision, asked_at = await self.adapters.records.revision(), self.adapters.now
        if isinstance(step, SearchStep):
            return _Answer(await self.adapters.listing.records(step.udi), revision, asked_at)
        page = await self.adapters.listing.page(self.sweep.srn, step.number)
        may_end = self._makes_baseline and (page.is_last or step.is_again)
        known = await self.adapters.copy.count(self.sweep.srn) if may_end else 0
        self.sweep = sweep_steps.with_unreadable(self.sweep, page.unreadable)
        listed = ListedPage(page.total, page.is_last)
        return _Answer(page.rows, revision, asked_at, listed, known)

    async def _read_differing(self, step: Step, answer: _Answer) -> list[DeviceReading]:
        """Read in full the watched subjects for which the answer differs from the copy, then those that an earlier run
        found changed and could not read. Returns the rows to store: of subjects that were not read only rows that prove
        what they say. The others are left out, so that the next walk finds them again.
        """
        stored = await self._stored(step, answer)
        differing = [*self._differing_actor(answer), *_differing(step, answer.readings, stored)]
        self.differing += len(differing)
        waiting = [udi for udi, records in stored.items() if row_comparison.wait_for_read(records, self.adapters.now)]
        to_read = list(dict.fromkeys([*differing, *waiting]))
        chosen = await self._chosen(to_read) if to_read else ()
        read = await self.adapters.watched.read(dict.fromkeys(chosen, answer.asked_at)) if chosen else ()
        if self.sweep.srn in read:
            await self._note_refuted()
        left = set(differing).difference(read)
        return [each for each in answer.readings if each.device.udi not in left or _proves(each, stored)]

    async def _chosen(self, subjects: Sequence[str]) -> Sequence[str]:
        """The subjects that this run reads: first those that can be read, as far as is known."""
        due = await self.adapters.watched.due(subjects)
        sound = due.sound[: MAX_READS - self._reads]
        self._reads += len(sound)
        failing = due.failing[: min(MAX_READS - self._reads, MAX_FAILING_READS - self._failing_reads)]
        self._reads += len(failing)
        self._failing_reads += len(failing)
        return [*sound, *failing]

    async def _stored(self, step: Step, answer: _Answer) -> Mapping[str, Mapping[str, StoredRecord]]:
        """The stored records of the watched UDI-DIs in an answer, and the manufacturer's."""
        asked = [step.udi] if isinstance(step, SearchStep) else []
        shown = {reading.device.udi for reading in answer.readings}.intersection(self._udis)
        async with self.adapters.database.reading() as connection:
            self._actor = await row_comparison.stored_actor(connection, self.sweep.srn)
            return await row_comparison.stored_records(connection, sorted(shown.union(asked)))

    def _differing_actor(self, answer: _Answer) -> list[str]:
        """The manufacturer, where it is watched itself and the answer differs from its record: once a run."""
        if answer.page is None or not self.sweep.lists_all or self._is_actor_read:
            return []
        found = row_comparison.shown_of_actor(answer.readings, answer.page.total)
        found -= row_comparison.recorded_of_actor(self._actor)
        if found <= self.refuted.of(self.sweep.srn, self.adapters.now):
            return []
        self._is_actor_read, self._contradictions = True, found
        return [self.sweep.srn]

    async def _note_refuted(self) -> None:
        """Note the listed values that the manufacturer's own record, which was read, does not have."""
        async with self.adapters.database.reading() as connection:
            actor = await row_comparison.stored_actor(connection, self.sweep.srn)
        refuted = self._contradictions - row_comparison.recorded_of_actor(actor)
        self.refuted.note(self.sweep.srn, refuted, self.adapters.now)

    async def _store(self, step: Step, answer: _Answer, rows: Sequence[DeviceReading]) -> None:
        """Store rows of an answer and the next position, in one transaction."""
        now = self.adapters.now
        async with self.adapters.database.transaction() as connection:
            await self._lease.hold(connection)
            await self.adapters.records.store_in(
                connection, rows, read_at=answer.asked_at, now=now, since=answer.revision
            )
            if isinstance(step, SearchStep):
                after, news = sweep_steps.after_search(self.sweep, step), 0
            else:
                after, news = await self._store_page(connection, step, answer, now)
            await sweeps.keep(connection, after)
        self.sweep = after
        self.news += news
        self.has_ended = self.sweep.walk_began_at is None

    async def _store_page(
        self, connection: AsyncConnection, step: PageStep, answer: _Answer, now: int
    ) -> tuple[DeviceSweep, int]:
        """Store a page's values for all devices, where they are watched; the sweep after it, and changes."""
        assert answer.page is not None, "what a page step asks for is a page"
        sweep, page, news = self.sweep, answer.page, 0
        if page.total:
            await actor_lists.end_doubt(connection, sweep.srn)
        if sweep.lists_all:
            stored = await portfolio_walk.store_page(
                connection, sweep, answer.readings, asked_at=answer.asked_at, now=now
            )
            is_near_end = page.is_last or step.is_again
            listed = await portfolio.count_listed(connection, sweep.srn, sweep.walk) if is_near_end else None
            is_unsettled = (
                self._makes_baseline
                and is_near_end
                and step != PageStep(0)
                and await portfolio.has_unsettled(connection, sweep.srn, sweep.walk)
            )
            page, news = replace(page, listed=listed, new=stored.new, is_unsettled=is_unsettled), stored.news
        after, is_complete = sweep_steps.after_page(sweep, step, page, await self._known(connection, answer))
        if is_complete:
            began_at = sweep.walk_began_at or now
            news += await portfolio_walk.end_complete_walk(
                connection, sweep, is_one_page=step == PageStep(0), began_at=began_at, now=now
            )
            await actor_lists.note_walk(connection, sweep.srn, sweep.walk, page.total, answer.asked_at)
        return after, news

    async def _known(self, connection: AsyncConnection, answer: _Answer) -> int:
        """How many devices a complete list should have: the most of the manufacturer's own record, the copy, and
        incomplete lists.
        """
        listed = await portfolio.count_known(connection, self.sweep.srn) if self._makes_baseline else 0
        reported = self._actor.actor.device_total if self._actor is not None else None
        return max(reported or 0, answer.known, listed)

    @property
    def _makes_baseline(self) -> bool:
        """Whether the devices are listed for the first time."""
        return self.sweep.lists_all and self.sweep.complete_at is None

    async def _end_searches(self) -> None:
        """Note that every watched UDI-DI was searched."""
        async with self.adapters.database.transaction() as connection:
            await self._lease.hold(connection)
            ended = replace(sweep_steps.ended(self.sweep), problem="")
            await sweeps.keep(connection, ended)
        self.sweep, self.has_ended = ended, True

    async def _end(self, *, has_waited: bool) -> None:
        """Pass on changes, and end the lease."""
        try:
            if self.sweep.lists_all and (self.has_ended or self.news):
                async with self.adapters.database.transaction() as connection:
                    await self.adapters.news.notify_portfolio(connection, self.sweep.srn, now=self.adapters.now)
        finally:
            async with self.adapters.database.transaction() as connection:
                await sweeps.release(connection, self.sweep, has_waited=has_waited)


def _differing(
    step: Step, readings: Sequence[DeviceReading], stored: Mapping[str, Mapping[str, StoredRecord]]
) -> list[str]:
    """The UDI-DIs whose rows differ from the stored ones. Only a search shows that records are gone."""
    shown: dict[str, list[DeviceReading]] = {udi: [] for udi in stored}
    for reading in readings:
        if reading.device.udi in shown:
            shown[reading.device.udi].append(reading)
    return [
        udi
        for udi, of_udi in shown.items()
        if any(row_comparison.differs(each, stored[udi]) for each in of_udi)
        or (isinstance(step, SearchStep) and row_comparison.are_gone(of_udi, stored[udi]))
    ]


def _proves(reading: DeviceReading, stored: Mapping[str, Mapping[str, StoredRecord]]) -> bool:
    return row_comparison.proves_itself(reading, stored[reading.device.udi])
