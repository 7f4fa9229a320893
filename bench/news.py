"""Part `news`: how long after a change in the register its event is stored, by sweeps and by the recheck alone.

Simulated time with an honest clock: requests take time, the register allows sixty a minute or twenty, readers ask too.
"""

import asyncio
import json
import random
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sqlalchemy import text

from bench.figures import Figure, Goal, Row, Section, percentile
from bench.news_world import Change, ChangeKind, NewsWorld
from bench.setup import Setup, remove_database, timed
from bench.simulation import SimulatedClock, SlowTransport, let_pass
from registerwatch.accounts import repository as accounts
from registerwatch.accounts.plans import PlanName
from registerwatch.bootstrap import Service, build_service
from registerwatch.platform.db.migrate import upgrade
from registerwatch.register.basic_records import SharedRecord, SharedSearch
from registerwatch.register.models import DeviceReading
from registerwatch.settings import Settings
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.eudamed import convert, wire
from registerwatch.watches import repository
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.snapshot import encoded, label_of, snapshot_of_device
from registerwatch_standins.register.app import create_app
from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.records import Registration
from registerwatch_standins.register.transport import InProcessTransport
from registerwatch_standins.register.wire import basic_records as wire_basic_records
from registerwatch_standins.register.wire import certificates as wire_certificates
from registerwatch_standins.register.wire import devices as wire_devices

USUAL_PACE = 60
SCENARIOS = ((48, USUAL_PACE), (500, USUAL_PACE), (4_762, USUAL_PACE), (500, 20))
"""Watched manufacturers, each with twenty watched devices, and requests a minute: about 1,000, 10,500 and 100,000
watches.
"""
HOURS = 8.0
FEW_DEVICES = 10_000
"""With fewer records than so many, part `news` only shows that it works."""
CHANGES_A_DAY = 200.0
REQUESTS_A_MINUTE = 60
"""The pace, which the simulated register never throttles."""
READERS_A_MINUTE = 3.0
"""Devices that nobody has read yet, asked for by readers without an account: up to three requests each."""
GOALS_MINUTES = {"row": 30.0, "portfolio": 30.0, "certificate": 75.0}
TITLES: dict[ChangeKind, str] = {
    "row": "a field that a row shows",
    "portfolio": "a newly registered device",
    "certificate": "a certificate of the manufacturer",
    "record certificate": "a certificate that only the device's own record lists",
}
RECHECK = "the recheck alone"
ACCOUNT_WATCHES = 2_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a simulated time brought."""

    waits: dict[ChangeKind, list[float]]
    """Seconds from each change to its event."""
    untold: int
    """Changes of which there was no event at the end."""
    requests_a_day: float
    reads_an_hour: float
    """Subjects that the recheck read."""
    cpu_seconds_a_day: float


def measure(setup: Setup) -> Section:
    """Simulate some hours for each number of watches."""
    rows: list[Row] = []
    remarks = []
    is_small = setup.devices < FEW_DEVICES
    hours = 1.0 if is_small else HOURS
    for manufacturers, per_minute in ((2, USUAL_PACE),) if is_small else SCENARIOS:
        watches = manufacturers * 21
        named = f"{watches:,} watches" + (f", {per_minute} requests a minute" if per_minute != USUAL_PACE else "")
        with timed(f"{hours:g} simulated hours with {named}"):
            outcome = asyncio.run(simulated(setup, manufacturers, hours, per_minute))
        rows += _rows(watches, named, outcome)
        remarks.append(
            f"{named}: {outcome.requests_a_day:,.0f} requests a day, "
            f"{outcome.cpu_seconds_a_day:,.0f} s of CPU a day with the stand-in's; "
            f"{outcome.untold} changes untold at the end."
        )
    return Section("news", "From a change in the register to its event, simulated", rows, remarks)


def _rows(watches: int, named: str, outcome: Outcome) -> list[Row]:
    """A row for each kind of change; beside it the recheck alone, which has no news of portfolios and certificates.

    At its rate, every subject is read once in a cycle, and a change waits for any part of one.
    """
    cycle = watches / outcome.reads_an_hour * 60
    rechecked = _minutes([cycle * percent / 100 for percent in range(1, 101)])
    rows = []
    for kind, waits in outcome.waits.items():
        figure = _minutes([seconds / 60 for seconds in waits])
        goal = GOALS_MINUTES.get(kind)
        met = None if goal is None else Goal(f"p95 ≤ {goal:g} min", float(figure.details["p95"]) <= goal)
        peers = {RECHECK: rechecked if kind in ("row", "record certificate") else None}
        rows.append(Row(f"{TITLES[kind]}, {named}", figure, peers, met))
    return rows


def _minutes(waits: Sequence[float]) -> Figure:
    """The figure of some waits, with their course: minutes, and percent of changes that were told by then."""
    course = " ".join(f"{max(0.1, percentile(waits, percent)):.2f}:{percent}" for percent in range(2, 101, 2))
    return Figure(percentile(waits, 50), "min", {"p95": percentile(waits, 95), "samples": len(waits), "course": course})


async def simulated(setup: Setup, manufacturers: int, hours: float, per_minute: int) -> Outcome:
    """What some hours bring where so many manufacturers are watched, at a pace in requests a minute."""
    clock = SimulatedClock()
    news = NewsWorld(clock, manufacturers, setup.seed)
    async with _service(setup, clock, news, per_minute) as (service, transport):
        await _watch(service, news, clock)
        simulation = _Simulation(service, news, clock, transport, setup.seed)
        await simulation.warm_up()
        return await simulation.run(hours * 3600.0)


@asynccontextmanager
async def _service(
    setup: Setup, clock: SimulatedClock, news: NewsWorld, per_minute: int
) -> AsyncIterator[tuple[Service, SlowTransport]]:
    """The service over the simulated register, in one database of SQLite."""
    path = setup.path("news.db")
    remove_database(path)
    transport = SlowTransport(InProcessTransport(create_app(news.world)), clock, news.catch_up)
    settings = Settings(
        database_url=f"sqlite:///{path}",
        data_dir=setup.folder,
        register_url="http://register.example/eudamed",
        register_requests_per_minute=per_minute,
    )
    service = build_service(settings, clock=clock, transport=transport, start_pace=per_minute)
    await upgrade(service.database)
    try:
        yield service, transport
    finally:
        await service.close()


async def _watch(service: Service, news: NewsWorld, clock: SimulatedClock) -> None:
    """Watches of all manufacturers and devices, whose records were just read in full."""
    read_at, baselines = int(clock.now()), {srn: NewWatch(srn, manufacturer_srn=srn) for srn in news.srns}
    readings = [_reading(news, record) for record in news.records()]
    for start in range(0, len(readings), 500):
        await service.records.store(readings[start : start + 500], read_at=read_at)
    for reading in readings:
        snapshot = snapshot_of_device(reading.device, certificates_read=True, searched=True)
        device = reading.device
        baselines[device.udi] = NewWatch(
            device.udi,
            label_of(snapshot, device.udi),
            encoded(snapshot),
            read_at,
            manufacturer_srn=device.manufacturer_srn,
            basic_udi=device.basic_udi,
        )
    watches = list(baselines.values())
    async with service.database.transaction() as connection:
        for start in range(0, len(watches), ACCOUNT_WATCHES):
            account = await accounts.add_account(
                connection,
                email=f"{start}@example.org",
                name="Example",
                plan=PlanName.OPERATOR,
                expires_at=read_at + 10**8,
                now=read_at,
            )
            await repository.add(connection, account.id, watches[start : start + ACCOUNT_WATCHES], read_at)


def _reading(news: NewsWorld, record: Registration) -> DeviceReading:
    """A full reading of a record, as the client makes one of the register's answers."""
    world, representative = news.world, record.authorised_representative
    basic = wire_basic_records.basic_udi_record(
        record, world.actor(record.manufacturer.srn), world.actor(representative.srn) if representative else None
    )
    listed = CertificateFilter(basic_udi=record.basic_udi)
    found = world.search_certificates(listed, 0, 100)[1] if record.basic_udi else []
    rows = [wire.listed_certificate.read(wire_certificates.listing_row(row)) for row in found]
    return convert.reading_of_device(
        convert.reading_of_row(wire.device_row.read(wire_devices.search_row(record))),
        wire.device_detail.read(wire_devices.detail(record)),
        SharedRecord(convert.record_of(wire.basic_udi_record.read(basic))),
        SharedSearch(tuple(convert.certificate_rows(rows))),
        None,
    )


class _Simulation:
    """A service that does its work in the background, and readers who ask it."""

    def __init__(
        self, service: Service, news: NewsWorld, clock: SimulatedClock, transport: SlowTransport, seed: int
    ) -> None:
        self._service, self._news, self._clock, self._transport = service, news, clock, transport
        self._rng = random.Random(f"readers {seed}")
        self._rechecked = 0

    async def warm_up(self) -> None:
        """Sweep everything until all is listed completely, so that there is a baseline."""
        sweep = self._service.device_sweep
        await sweep.refresh_queue()
        while await sweep.waiting():
            if await sweep.run_next(at_once_only=True) is None:
                self._clock.move(5)
        await self._service.certificate_sweep.run_where_due()

    async def run(self, seconds: float) -> Outcome:
        """Let time pass in which the register changes, and look at the events."""
        began, requests, cpu = self._clock.now(), self._transport.requests, time.process_time()
        self._news.plan(CHANGES_A_DAY, began + seconds)
        activities = [self._sweep_devices, self._sweep_certificates, self._read_scopes, self._recheck, self._read]
        await let_pass(self._clock, began + seconds, activities)
        days = seconds / 86_400
        waits, untold = await self._waits(began)
        return Outcome(
            waits,
            untold,
            (self._transport.requests - requests) / days,
            self._rechecked * 3_600 / seconds,
            (time.process_time() - cpu) / days,
        )

    async def _sweep_devices(self) -> float:
        return 5.0 if await self._service.device_sweep.run_next() is None else 0.0

    async def _sweep_certificates(self) -> float:
        await self._service.certificate_sweep.run_where_due()
        return 30.0

    async def _read_scopes(self) -> float:
        await self._service.certificate_sweep.read_due_scopes()
        return 60.0

    async def _recheck(self) -> float:
        self._rechecked += (await self._service.watches.recheck.run()).tried
        return 600.0

    async def _read(self) -> float:
        """Somebody reads a device that is not stored."""
        record = self._news.world.oldest(self._rng.randrange(self._news.world.count), 1)[0]
        await self._service.refresher.refresh(record.primary_di, priority=RequestPriority.READER)
        return self._rng.expovariate(READERS_A_MINUTE / 60)

    async def _waits(self, since: float) -> tuple[dict[ChangeKind, list[float]], int]:
        """Of each kind of change how long its events took, and how many changes have none."""
        told = defaultdict[str, list[tuple[int, list[dict[str, str]]]]](list)
        asked = text("SELECT subject, created_at, changes FROM events WHERE created_at >= :since ORDER BY id")
        async with self._service.database.reading() as connection:
            for subject, created_at, changes in await connection.execute(asked, {"since": int(since)}):
                told[subject].append((created_at, json.loads(changes)))
        waits: dict[ChangeKind, list[float]] = {kind: [] for kind in TITLES}
        untold = 0
        for change in self._news.changes:
            found = _first_told(change, told[change.subject])
            if found is None:
                untold += 1
            else:
                waits[change.kind].append(max(0.0, found - change.at))
        return {kind: each for kind, each in waits.items() if each}, untold


def _first_told(change: Change, told: Sequence[tuple[int, list[dict[str, str]]]]) -> int | None:
    return next((at for at, changes in told if at >= int(change.at) and change.is_told_by(changes)), None)
