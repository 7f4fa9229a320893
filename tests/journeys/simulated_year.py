"""A simulated year of watching, in injected time, over the stand-in register.

Two nodes serve one database. By a seed the register changes, between requests too; requests fail in every way; accounts
expire and come back, watches come and go; syncs, rechecks, sweeps, refreshes by strangers and fills alternate, and what
was held up ends after what began later. Every step is judged.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random

from sqlalchemy import ColumnElement, func, update

from registerwatch.accounts import repository
from registerwatch.accounts.models import Account, Caller, Role
from registerwatch.accounts.plans import PlanName, plans
from registerwatch.bootstrap import Service, build_service
from registerwatch.platform.db.migrate import upgrade
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.requests import RetryPolicy, ignore
from registerwatch.watches.models import Watch, WatchPatch
from registerwatch.watches.options import OptionChange
from registerwatch.watches.service import WatchService
from registerwatch.watches.tables import watches
from registerwatch_standins.register.app import create_app
from registerwatch_standins.register.faults import Kind
from registerwatch_standins.register.filters import DeviceFilter
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.identifiers import sibling_udi_di
from registerwatch_standins.register.records import BRUSSELS, CertificateListing
from registerwatch_standins.register.transport import InProcessTransport
from registerwatch_standins.register.world import World
from tests.journeys.device_certificates import DeviceCertificates
from tests.journeys.event_checks import FORMER_WORDS, EventChecks, Outcome
from tests.journeys.event_readers import EventReaders
from tests.journeys.expiry_checks import ExpiryChecks
from tests.journeys.history_checks import HistoryChecks
from tests.journeys.manufacturers_past import ManufacturersPast
from tests.journeys.news_checks import CERTIFICATES, PORTFOLIO, NewsChecks
from tests.journeys.register_changes import RegisterChanges
from tests.journeys.register_reads import FEWEST_ROWS, Hold, RegisterReads, is_srn, row_fields
from tests.journeys.year_sweeps import YearSweeps
from tests.support.fakes import SteppedClock, quick_passwords
from tests.support.harness import PACE, harness_settings

BEGINS = datetime(2026, 1, 1, 8, tzinfo=BRUSSELS).timestamp()
DAY = 86_400.0
LONG_AGO, FOR_EVER = int(BEGINS - 4_000 * DAY), int(BEGINS + 4_000 * DAY)
"""Whatever the clock says."""
PATIENT = {priority: RetryPolicy(tries=2, pause=1.0, limit=3_600.0) for priority in RequestPriority}
PAGE = 300
REPROBE_SECONDS = 400
"""After so long no odd answer to a control probe counts any more."""
SHORT_BUDGET = 6
"""Requests a minute of the node that can read only some watches in a sync."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a year is made of.

    `share` is the part of requests that fail, `odd_probes` that of control probes with an odd answer; `changes` are
    those of the register in a step.
    """

    seed: int
    days: int = 365
    steps: int = 100
    """Syncs, rechecks and whatever else happens, spread over the days."""
    accounts: int = 4
    watches: int = 20
    devices: int = 100
    share: float = 0.1
    odd_probes: float = 0.25
    changes: float = 4.0
    basic_udi_filter_works: bool = True
    sweeps: bool = True
    """Whether lists of devices and certificates are swept, and change accordingly."""
    scopes: bool = False
    """Whether scopes of certificates name devices."""
    keeps_journal: bool = False
    """Whether history is held against what was stored after each step. Then nobody puts the clock."""
    page_size: int = FEWEST_ROWS
    """Rows of a page of these lists: few, so that pages shift."""


class _WorldWithoutScopes(GeneratedWorld):
    """A register whose certificates name no device."""

    def scope(self, row: CertificateListing) -> tuple[str, ...]:
        """Nothing, whatever the certificate covers."""
        return ()


@asynccontextmanager
async def year_over(database_url: str, folder: Path, plan: Plan) -> AsyncIterator["Year"]:
    """A year that is about to begin over an empty database."""
    clock = SteppedClock(BEGINS)
    world = (GeneratedWorld if plan.scopes else _WorldWithoutScopes)(
        plan.devices,
        plan.seed,
        future_codes=True,
        clock=lambda: datetime.fromtimestamp(clock.monotonic(), BRUSSELS).replace(tzinfo=None),
    )
    works = plan.basic_udi_filter_works
    reads = RegisterReads(
        world,
        Random(f"faults {plan.seed}"),
        clock.now,
        share=plan.share,
        odd_probes=plan.odd_probes,
        basic_udi_filter_works=works,
    )
    register = create_app(world, reads, basic_udi_filter_works=works, datalake_lag=timedelta(hours=8))
    build = partial(_node, database_url, clock=clock, reads=reads, register=register, page_size=plan.page_size)
    nodes = [build(folder / f"node-{number}") for number in range(2)]
    nodes.append(build(folder / "short", requests_per_minute=SHORT_BUDGET))
    await upgrade(nodes[0].database)
    try:
        yield Year(plan, nodes, world, reads, clock)
    finally:
        for node in nodes:
            await node.close()


def _node(
    database_url: str,
    data_dir: Path,
    *,
    clock: SteppedClock,
    reads: RegisterReads,
    register: object,
    page_size: int,
    requests_per_minute: int = PACE,
) -> Service:
    data_dir.mkdir(parents=True)
    is_short = requests_per_minute == SHORT_BUDGET
    settings = harness_settings(
        database_url,
        data_dir,
        register_timeout=60.0,
        register_requests_per_minute=requests_per_minute,
        sync_time_limit=120.0 if is_short else 600.0,
    )
    inner = InProcessTransport(register)  # type: ignore[arg-type]  # it is an application
    return build_service(
        settings,
        clock=clock,
        transport=reads.transport(inner, is_short=is_short),
        retry_policies=PATIENT,
        passwords=quick_passwords(),
        page_size=page_size,
        start_pace=PACE,
    )


class Year:
    """One year."""

    def __init__(
        self, plan: Plan, nodes: Sequence[Service], world: World, reads: RegisterReads, clock: SteppedClock
    ) -> None:
        self._plan, self._world, self._reads, self._clock = plan, world, reads, clock
        self._nodes, self._short = nodes[:2], nodes[2]
        self._rng = Random(f"year {plan.seed}")
        self._database = nodes[0].database
        self.checks = EventChecks(
            world, self._database, reads, certificates=DeviceCertificates(world) if plan.scopes else None
        )
        self._readers = EventReaders()
        self._accounts: list[int] = []
        self._of_actors: set[int] = set()
        """Accounts that watch actors alone: reading an actor and its devices at once has no order to judge by."""
        self._subjects: list[str] = []
        self._written = 0
        self._changes = RegisterChanges(world, self._rng)
        self._past = ManufacturersPast(world)
        self.news = NewsChecks(self.checks, self._past, self._database, plan.page_size)
        self._sweeps = YearSweeps(
            self._nodes,
            self._rng,
            reads,
            clock,
            self.checks,
            self.news,
            ExpiryChecks(self._database),
            changing=self._changing_between,
            change_lists=self._change_lists,
            meanwhile=self._while_held,
        )
        self.checks.judge_news, self.checks.list_began = self._sweeps.judge, self.news.list_began
        self._history = HistoryChecks(self._database, Random(f"history {plan.seed}"))

    async def run(self) -> Outcome:
        """Let the year pass, judge all of it. Raises `WrongYear`."""
        await self._begin()
        steps = self._weighted_steps()
        names, weights = list(steps), [weight for weight, _ in steps.values()]
        for _ in range(self._plan.steps):
            self._clock.move(1 + self._rng.expovariate(1) * self._plan.days * DAY / self._plan.steps)
            self._change_world(self._rng.choice(range(round(2 * self._plan.changes) + 1)))
            name = self._rng.choices(names, weights)[0]
            self.checks.outcome.steps[name] += 1
            await steps[name][1]()
            await self.checks.agree()
            if self._plan.keeps_journal:
                await self._history.note(self._subjects, self._clock.now())
            for account in self._accounts:
                await self._readers.read_page(self._nodes[-1].watches.service, self._caller(account))
        await self._end()
        return self._outcome()

    def _weighted_steps(self) -> dict[str, tuple[int, Callable[[], Awaitable[None]]]]:
        return {
            "recheck": (22, self._recheck),
            "sync": (18, self._sync),
            "refresh": (16, self._refresh_any),
            "add": (9, self._add),
            "remove": (4, self._remove),
            "rename": (3, self._rename),
            "import": (2, self._import),
            "expire": (4, partial(self._set_any_active, is_active=False)),
            "return": (5, partial(self._set_any_active, is_active=True)),
            "datalake": (4, self._fill_from_datalake),
            "walk": (6, lambda: self._walk(self._node())),
            "held read": (5, self._held_read),
            "overtaken read": (4, self._overtaken_read),
            "crossed reads": (3, self._crossed_reads),
            "former words": (1, self._former_words),
            "clock": (0 if self._plan.keeps_journal else 5, self._put_clock),
            "short sync": (7 if self._plan.basic_udi_filter_works else 0, self._short_sync),
            **(self._sweep_steps() if self._plan.sweeps else {}),
        }

    def _sweep_steps(self) -> dict[str, tuple[int, Callable[[], Awaitable[None]]]]:
        return {
            "device sweep": (24, self._sweeps.device_sweep),
            "certificate sweep": (14, self._sweeps.certificate_sweep),
            "scopes": (4, self._sweeps.scopes),
            "ends": (8, self._sweeps.look_for_ends),
            "options": (4, self._set_options),
        }

    # Beginning and end

    async def _begin(self) -> None:
        rng, plan = self._rng, self._plan
        records = self._world.oldest(0, self._world.count)
        self.checks.note_world({record.primary_di for record in records})
        srns = sorted({record.manufacturer.srn for record in records})
        represented = sorted({r.authorised_representative.srn for r in records if r.authorised_representative})
        chosen = rng.sample(sorted({record.primary_di for record in records}), min(len(records) // 2, plan.watches))
        unknown = [sibling_udi_di(each, 9_999) for each in chosen[:3]]
        actors = [*rng.sample(srns, min(len(srns), 8)), *represented[:2], "DE-MF-999999999"]
        self._subjects = [*chosen, *unknown, *actors]
        if plan.sweeps:
            self._changes.manufacturers = [each for each in actors if each in srns]
        self._past.note(srns, self._reads.steps)
        for number in range(plan.accounts):
            async with self._database.transaction() as connection:
                opened = await repository.add_account(
                    connection,
                    email=f"{number}@acme.example",
                    name="Acme",
                    plan=PlanName.OPERATOR,
                    expires_at=FOR_EVER,
                    now=int(self._clock.now()),
                )
            self._accounts.append(opened.id)
            self.checks.active.add(opened.id)
        self._of_actors = {self._accounts[0]}
        for _ in range(plan.watches):
            await self._add()

    async def _end(self) -> None:
        """Calm days after two on which nothing is proven any more: everything is read once, then nothing is new. First
        lists that contradict what is known are believed after a day of them.
        """
        self._reads.share = self._reads.odd_probes = 0.0
        self._world.release_details()
        self._clock.move(2 * DAY)
        for account in self._accounts:
            await self._set_active(account, is_active=True)
        if self._plan.sweeps:
            await self._sweeps.sweep_all()
            self._clock.move(DAY)
            await self._sweeps.sweep_all()
        for last in (False, True):
            for account in self._accounts:
                synced = await self._nodes[0].watches.sync.sync(self._caller(account))
                ids = [event.id for event in synced.events]
                await self.checks.settle(sync_of=account, listed=ids)
                assert not (last and ids), "the calm end tells something twice"
        if self._plan.sweeps:
            told = self.checks.outcome.events
            await self._sweeps.sweep_all()
            assert self.checks.outcome.events == told, "the calm end is swept twice, and tells something twice"
            self.news.agree_with_world()
        await self.checks.agree()
        self.checks.agree_with_world()
        if self.checks.certificates is not None and self._plan.basic_udi_filter_works:
            self.checks.certificates.agree_with_world(each for each in self.checks.told if not is_srn(each[1]))
        await self._history.compare()
        callers = {account: self._caller(account) for account in self._accounts}
        await self._readers.check(self._nodes[0].watches.service, callers)

    def _outcome(self) -> Outcome:
        outcome = self.checks.outcome
        outcome.world_changes, outcome.requests = self._world.change_log.written, self._reads.requests
        outcome.kinds, outcome.histories = self._changes.made, self._history.compared
        outcome.faults = {f"{kind}: {mode}": count for (kind, mode), count in sorted(self._reads.faults.items())}
        return outcome

    # What happens

    async def _recheck(self) -> None:
        with self._changing_between():
            await self._node().watches.recheck.run()
        await self.checks.settle(is_recheck=True)

    async def _sync(self) -> None:
        account = self._active_account()
        if account is None:
            return
        with self._changing_between(unless=account in self._of_actors):
            synced = await self._node().watches.sync.sync(self._caller(account))
        await self.checks.settle(sync_of=account, listed=[event.id for event in synced.events])

    async def _short_sync(self) -> None:
        """A sync that can ask for only some watches. What it began goes on after it; the next sync lists that."""
        account = self._active_account()
        if account is None:
            return
        self._clock.move(REPROBE_SECONDS)
        synced = await self._short.watches.sync.sync(self._caller(account))
        self.checks.outcome.unread += synced.unread
        await self._short.refresher.settled()
        await self.checks.settle(sync_of=account, listed=[event.id for event in synced.events], is_short=True)

    async def _refresh_any(self) -> None:
        with self._changing_between():
            await self._refresh(self._node(), self._rng.choice(self._subjects))

    async def _refresh(self, node: Service, subject: str) -> None:
        await node.refresher.refresh(subject)
        await self._settle(node)

    async def _settle(self, node: Service) -> None:
        """Judge what a reader's read told, and the list of an actor's devices that was read behind it."""
        await node.refresher.settled()
        await self.checks.settle()

    async def _add(self) -> None:
        account = self._active_account()
        if account is None:
            return
        subject = self._subject_for(account)
        self.checks.told.setdefault((account, subject), None)
        node = self._node()
        with self._changing_between():
            await node.watches.service.add(self._caller(account), subject)
        await self._settle(node)

    async def _import(self) -> None:
        account = self._active_account()
        if account is None:
            return
        subjects = {self._subject_for(account) for _ in range(4)}
        caller, node = self._caller(account), self._node().watches
        await node.imports.add_all(caller, "udi\n" + "\n".join(sorted(subjects)))
        added = subjects.intersection(watch.subject for watch in await node.service.all(caller))
        for subject in added:  # what looks mistyped is added where the copy has it
            self.checks.told.setdefault((account, subject), None)
        await self.checks.adopt(account, added)
        await self.checks.settle()

    async def _remove(self) -> None:
        service, caller, watch = await self._any_watch()
        if watch is not None:
            await service.remove(caller, watch.id)
            self.checks.forget((caller.account.id, watch.subject))
            self.news.forget((caller.account.id, watch.subject))

    async def _set_options(self) -> None:
        """A watch of a manufacturer is to tell of its devices or certificates no more, or again."""
        service, caller, watch = await self._any_watch(of_manufacturers=True)
        if watch is not None and caller.account.id in self.checks.active:
            log, is_on = self._rng.choice((PORTFOLIO, CERTIFICATES)), self._rng.random() < 0.6
            await service.change(caller, watch.id, WatchPatch(options=OptionChange(**{log: is_on})))
            self.news.switch((caller.account.id, watch.subject), log, is_on=is_on)
            await self.checks.settle()

    async def _rename(self) -> None:
        service, caller, watch = await self._any_watch()
        if watch is not None:
            await service.rename(caller, watch.id, f"ours {self._rng.random()}")

    def _change_lists(self, srn: str) -> None:
        """What lists show of a manufacturer changes, or of certificates."""
        if srn:
            self._changes.change_markets(srn)
        else:
            self._changes.change_certificates()
        self._note_changes()

    async def _while_held(self, node: Service, srn: str, shown: Sequence[str]) -> None:
        """What happens while a sweep is held up: its manufacturer gets another status, and others read what it was
        shown, and something else.
        """
        self._changes.change_status(srn)
        self._change_world(1)
        self._clock.move(2)
        watched = sorted({udi for _, udi in self.checks.told}.intersection(shown))
        other = next(each for each in self._nodes if each is not node)
        for subject in [*self._rng.sample(watched, min(3, len(watched))), self._rng.choice(self._subjects)]:
            await self._refresh(other, subject)
        self._clock.move(2)

    async def _any_watch(self, *, of_manufacturers: bool = False) -> tuple[WatchService, Caller, Watch | None]:
        caller, service = self._caller(self._rng.choice(self._accounts)), self._node().watches.service
        found = [each for each in await service.all(caller) if not of_manufacturers or is_srn(each.subject)]
        return service, caller, self._rng.choice(found) if found else None

    async def _fill_from_datalake(self) -> None:
        """What lags proves nothing: it may hasten a read, and tells nobody anything, not even what nobody read."""
        node = self._node()
        self._change_world(3)
        self._clock.move(1.5 * DAY)
        try:
            async for page in node.bulk_source("datalake").batches("", ignore):
                with self._changing_between():
                    await node.records.store(page.readings, read_at=int(self._clock.now()))
        except RegisterFailure:
            pass
        await self.checks.settle()

    async def _walk(self, node: Service) -> None:
        """Pages of the whole register, newest first; what happens while a page is on its way comes before it."""
        number = 0
        while number * PAGE < self._world.count:
            since = await node.records.revision()
            try:
                page = await anext(node.bulk_source("register").batches(str(number), ignore))
            except RegisterFailure:
                return
            rows = [(each.primary_di, row_fields(each)) for each in self._world.newest(number * PAGE, PAGE)]
            if self._rng.random() < 0.3:
                self._clock.move(2)
                self._change_world(1)
            self.checks.parts.update(rows)
            await node.records.store(page.readings, read_at=int(self._clock.now()), since=since)
            await self.checks.settle()
            number += 1

    async def _held_read(self) -> None:
        """A stranger's read that is stuck on one node while the other one goes on."""
        subject, (first, second) = self._device(), self._nodes
        hold, held = await self._start(first, subject, self._rng.choice(_OF_A_DEVICE))
        self._clock.move(2)
        for _ in range(self._rng.randint(1, 3)):
            self._change_world(2, [subject])
            await (self._walk(second) if self._rng.random() < 0.5 else self._refresh(second, subject))
            self._clock.move(2)
        await self._finish(hold, held)

    async def _overtaken_read(self) -> None:
        """A read that has its row already when the record changes, and a walk tells the new row before it ends."""
        subject, (first, second) = self._device(), self._nodes
        await self._refresh(second, subject)
        self._clock.move(2)
        hold, held = await self._start(first, subject, "basic")
        self._clock.move(2)
        for record in self._world.by_primary_di(subject):
            self._world.change(record.uuid, reference=f"R-{self._rng.randrange(10**6)}")
        self._note_changes()
        await self._walk(second)
        self._clock.move(2)
        await self._finish(hold, held)

    async def _crossed_reads(self) -> None:
        """Two reads of one subject on two nodes: the one that began first asks last and ends first."""
        subject, (first, second) = self._device(), self._nodes
        early, held_early = await self._start(first, subject, "search")
        self._clock.move(2)
        late, held_late = await self._start(second, subject, "basic")
        self._clock.move(2)
        self._change_world(2, [subject])
        for hold, held in ((early, held_early), (late, held_late)):
            await self._finish(hold, held)
            self._clock.move(2)

    async def _start(
        self, node: Service, subject: str, kind: Kind, priority: RequestPriority = RequestPriority.READER
    ) -> "tuple[Hold, asyncio.Task[object]]":
        """A read that waits before its first request of a kind, or is over before that."""
        hold = Hold(subject, kind)
        self._reads.holds = [hold, *(each for each in self._reads.holds if not each.may_go.is_set())]
        read: asyncio.Task[object] = asyncio.ensure_future(node.refresher.refresh(subject, priority=priority))
        waiting = asyncio.ensure_future(hold.has_come.wait())
        await asyncio.wait([read, waiting], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        return hold, read

    async def _finish(self, hold: Hold, read: "asyncio.Task[object]") -> None:
        hold.may_go.set()
        await read
        await self.checks.settle()

    async def _former_words(self) -> None:
        """Snapshots as an earlier release wrote them."""
        changed: ColumnElement[str] = watches.c.snapshot
        for now, former in FORMER_WORDS.items():
            changed = func.replace(changed, f'"{now}"', f'"{former}"')
        async with self._database.transaction() as connection:
            await connection.execute(update(watches).values(snapshot=changed))

    async def _put_clock(self) -> None:
        """Somebody puts the service's clock forward by hours, or back by days; the register's own one goes right."""
        forward = self._rng.uniform(1, 30) * 3_600
        self._clock.put(forward if self._rng.random() < 0.5 else -self._rng.uniform(0.1, 5) * DAY)

    # Choices

    def _node(self) -> Service:
        return self._rng.choice(self._nodes)

    def _active_account(self) -> int | None:
        return self._rng.choice(sorted(self.checks.active)) if self.checks.active else None

    def _caller(self, account: int) -> Caller:
        plan = plans(25)[PlanName.OPERATOR]
        return Caller(Account(account, "", "", plan, FOR_EVER, int(BEGINS)), Role.OWNER, "year", None)

    def _subject_for(self, account: int) -> str:
        return self._rng.choice([each for each in self._subjects if is_srn(each) == (account in self._of_actors)])

    def _device(self) -> str:
        watched = sorted({subject for _, subject in self.checks.told if not is_srn(subject)})
        return self._rng.choice(watched or [each for each in self._subjects if not is_srn(each)])

    async def _set_any_active(self, *, is_active: bool) -> None:
        await self._set_active(self._rng.choice(self._accounts), is_active=is_active)

    async def _set_active(self, account: int, *, is_active: bool) -> None:
        expires_at = FOR_EVER if is_active else LONG_AGO
        async with self._database.transaction() as connection:
            await repository.set_period(connection, account, plan=PlanName.OPERATOR, expires_at=expires_at)
        (self.checks.active.add if is_active else self.checks.active.discard)(account)

    # The register's changes

    @contextmanager
    def _changing_between(self, *, unless: bool = False) -> Iterator[None]:
        """The register may change between the requests of what is done here."""
        if not unless:
            self._reads.between = self._maybe_change
        try:
            yield
        finally:
            self._reads.between = lambda: None

    def _maybe_change(self) -> None:
        if self._rng.random() < 0.05:
            self._clock.move(self._rng.randint(1, 3))
            self._change_world(1)

    def _change_world(self, times: int, among: Sequence[str] = ()) -> None:
        devices = [each for each in among or self._subjects if not is_srn(each)]
        self._changes.make(times, devices)
        self._note_changes()

    def _note_changes(self) -> None:
        log = self._world.change_log
        written = log.since(self._written)
        self._written = log.written
        udis = {each.primary_di for each in written if each.primary_di}
        for srn in {each.srn for each in written if each.primary_di is None}:
            udis |= {record.primary_di for record in self._world.search(DeviceFilter(srn=srn), 0, 10_000)[1]}
        self.checks.note_world(sorted(udis))
        self._past.note(sorted({each.srn for each in written}), self._reads.steps)


_OF_A_DEVICE: tuple[Kind, ...] = ("search", "detail", "basic", "certificates")
