"""Part `watching`: what a changed record costs among many watches, and deliveries beside a bare posting loop.

`python -m bench.watching ours PORT COUNT DATABASE` makes deliveries that wait in a database: they are claimed, signed,
posted, their ends stored. `python -m bench.watching bare PORT COUNT` posts the same bodies by httpx2 with as many at
once, and nothing else. Both print the seconds that they took.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx2
import uvloop
from httpcore2 import AsyncConnectionPool
from sqlalchemy import func, insert, select, text, update

from bench.bare import serving
from bench.figures import Figure, Goal, Row, Section, latencies
from bench.processes import LOAD_CORE, SERVER_CORE, ProcessFailed, pinned
from bench.setup import Setup, remove_database, timed
from registerwatch.background.loops import deliver
from registerwatch.clock import SystemClock
from registerwatch.db import tables
from registerwatch.db.engine import Database
from registerwatch.db.migrate import upgrade
from registerwatch.net.safe_http import CheckedNetwork, SafeHttpClient, SystemResolver, checked_connections
from registerwatch.notifications.channels.webhook import ATTEMPT_SECONDS, WebhookChannel, body_of
from registerwatch.notifications.delivery import MAX_CONCURRENT, MAX_PER_TARGET, DeliveryService
from registerwatch.notifications.models import EventType, Notification
from registerwatch.notifications.outbox import DeliveryOutbox
from registerwatch.register.models import Completeness, Device, DeviceReading
from registerwatch.register.store.records import RecordStore
from registerwatch.watches.observe import WatchObserver
from registerwatch.watches.snapshot import encoded, snapshot_of_device

PEER = "beside it"
OTHER_WATCHES = (1, 1_000, 100_000)
ONE_CHANGE_REPEATS = 50
CHANGES = 10_000
SECONDS_FOR_CHANGES = 30
WATCHES_FOR_EACH_DEVICE = 3
MAX_DEVICES = 320_000
"""Devices that are watched at most: with three times as many watches, so many take minutes to set up."""
DELIVERIES_A_ROUND = 4_000
GOAL_RATIO = 0.6
PAGE = 300
"""Records in one page of the register's walk, which is stored in one transaction."""
NUMBERS = "WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :count)"
ACCOUNTS = f"""{NUMBERS} INSERT INTO accounts (id, email, name, plan, expires_at, created_at)
    SELECT n + 1, 'owner' || (n + 1) || '@example.org', 'Example', 'operator', :now + 100000000, :now FROM numbers"""
WEBHOOKS = f"""{NUMBERS} INSERT INTO webhooks (account_id, url, secret, is_first, created_at)
    SELECT n + 1, 'https://example.org/', 'whsec_bench', 1, :now FROM numbers"""
WATCHES = f"""{NUMBERS}, chosen (account, number) AS (
        SELECT n / :each, (n / :each * 37 + n % :each * :step) % :subjects FROM numbers
    )
    INSERT INTO watches
        (account_id, kind, subject, label, is_renamed, snapshot, last_sync, tried_at, last_error, created_at)
    SELECT account + 1, 'udi', printf('%014d', number), 'Device ' || number, 0,
        replace(:snapshot, '987654321', number), :now - 60, :now - 60, '', :now - 60
    FROM chosen"""
"""Every account watches subjects of its own choice; together they spread evenly."""
ADDRESSES = 50
BODY = body_of(Notification("whd_bench", EventType.CHANGED, 0, "owner@example.org"), []).encode()


@dataclass(frozen=True, slots=True)
class Watched:
    """How much is watched: `accounts` with one address each watch `subjects` together, `watches` in all."""

    accounts: int
    watches: int
    subjects: int


@asynccontextmanager
async def watched_database(path: Path, watched: Watched) -> AsyncIterator[Database]:
    """A database with so many watches; every subject was read in full once."""
    remove_database(path)
    database, now = Database(f"sqlite:///{path}"), int(time.time())
    try:
        await upgrade(database)
        store = RecordStore(database)
        for start in range(0, watched.subjects, 2_000):
            numbers = range(start, min(start + 2_000, watched.subjects))
            await store.store([_reading(each, 1, Completeness.EVERYTHING) for each in numbers], read_at=now)
        each = watched.watches // watched.accounts
        snapshot = encoded(snapshot_of_device(_device(987654321, 1), certificates_read=True, searched=True))
        values = {"each": each, "step": max(1, watched.subjects // each), "subjects": watched.subjects}
        async with database.transaction() as connection:
            for statement in (ACCOUNTS, WEBHOOKS):
                await connection.execute(text(statement), {"count": watched.accounts, "now": now})
            values |= {"count": each * watched.accounts, "now": now}
            await connection.execute(text(WATCHES), {**values, "snapshot": snapshot})
        yield database
    finally:
        await database.close()


async def store_changes(database: Database, numbers: Sequence[int], version: int) -> tuple[float, int, int]:
    """Store new versions of some subjects, as pages of the register's walk bring them.

    The seconds with all that follows, the events and the deliveries that they brought.
    """
    store = RecordStore(
        database,
        WatchObserver(DeliveryOutbox(database, SystemClock(), {WebhookChannel.name: _channel(AsyncConnectionPool())})),
    )
    before = await _counts(database)
    started = time.perf_counter()
    for start in range(0, len(numbers), PAGE):
        page = [_reading(number, version, Completeness.SOME) for number in numbers[start : start + PAGE]]
        await store.store(page, read_at=int(time.time()))
    seconds = time.perf_counter() - started
    events, deliveries = (after - earlier for after, earlier in zip(await _counts(database), before, strict=True))
    return seconds, events, deliveries


async def _counts(database: Database) -> list[int]:
    async with database.reading() as connection:
        counts = [select(func.count()).select_from(table) for table in (tables.events, tables.deliveries)]
        return [(await connection.execute(count)).scalar_one() for count in counts]


def _reading(number: int, version: int, completeness: Completeness) -> DeviceReading:
    detail_version = 1 if completeness is Completeness.EVERYTHING else None
    return DeviceReading(
        device=_device(number, version), completeness=completeness, detail_version=detail_version, source="eudamed"
    )


def _device(number: int, version: int) -> Device:
    """A made-up device; another version has another reference."""
    return Device(
        udi=f"{number:014d}",
        uuid=f"00000000-0000-4000-8000-{number:012d}",
        trade_name=f"Device {number}",
        manufacturer_name="Example GmbH",
        manufacturer_srn="DE-MF-000000001",
        status="On the EU market",
        status_code="refdata.device-model-status.on-the-market",
        reference=f"REF-{number}-{version}",
        version=version,
        legislation_code="refdata.applicable-legislation.mdr",
    )


def measure(setup: Setup) -> Section:
    """Store changed records of watched devices, then deliver to a local receiver."""
    rows = [*_one_change(setup), _many_changes(setup), _deliveries(setup)]
    return Section("watching", "Watching and delivering", rows)


def _one_change(setup: Setup) -> list[Row]:
    rows: list[Row] = []
    for watches in OTHER_WATCHES:
        if watches > 10 * setup.devices:
            continue
        watched = Watched(max(1, watches // 1_000), watches, watches)
        with timed(f"storing one changed record among {watches:,} watches"):
            stored = _stored(setup, watched, 1, ONE_CHANGE_REPEATS)
        figure = latencies([seconds for seconds, _, _ in stored])
        peers = {PEER: rows[0].ours if rows else None}
        rows.append(Row(f"one changed record, {watches:,} watches, one of them on it", figure, peers))
    return rows


def _many_changes(setup: Setup) -> Row:
    devices = min(MAX_DEVICES, setup.devices)
    watches, changes = devices * WATCHES_FOR_EACH_DEVICE, min(CHANGES, devices)
    watched = Watched(max(WATCHES_FOR_EACH_DEVICE, watches // 1_000), watches, devices)
    what = f"{changes:,} changed records among {watches:,} watches"
    with timed(f"storing {what}"):
        ((seconds, events, deliveries),) = _stored(setup, watched, changes)
    figure = Figure(seconds, "s", {"events": events, "deliveries": deliveries})
    goal = Goal(f"< {SECONDS_FOR_CHANGES} s", seconds < SECONDS_FOR_CHANGES)
    return Row(f"{what}: {events:,} events stored, {deliveries:,} deliveries queued", figure, {}, goal)


def _stored(setup: Setup, watched: Watched, changes: int, times: int = 1) -> list[tuple[float, int, int]]:
    """What storing the first records brings, each time with another version."""

    async def run() -> list[tuple[float, int, int]]:
        async with watched_database(setup.path("fanout.db"), watched) as database:
            return [await store_changes(database, range(changes), version) for version in range(2, times + 2)]

    with pinned(SERVER_CORE):
        return asyncio.run(run())


def _deliveries(setup: Setup) -> Row:
    count = min(DELIVERIES_A_ROUND, setup.devices)
    with serving(setup, LOAD_CORE) as receiver:
        port, database = receiver.port, str(setup.path("deliveries.db"))
        takes = {
            "ours": partial(_delivered, count, "ours", str(port), str(count), database),
            PEER: partial(_delivered, count, "bare", str(port), str(count)),
        }
        return setup.row("signed deliveries to a local receiver, one core", takes, GOAL_RATIO)


def _delivered(count: int, *arguments: str) -> Figure:
    with pinned(SERVER_CORE):
        command = [sys.executable, "-m", "bench.watching", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ProcessFailed(f"Delivering failed:\n{done.stdout}{done.stderr}"[-2000:])
    return Figure(count / float(done.stdout.split()[-1]), "deliveries/s")


async def ours(port: int, count: int, path: Path) -> float:
    """Seconds until every delivery has ended well."""
    network = CheckedNetwork(SystemResolver(), allow_private=True)
    async with (
        watched_database(path, Watched(ADDRESSES, ADDRESSES, ADDRESSES)) as database,
        checked_connections(network, most=MAX_CONCURRENT) as connections,
    ):
        async with database.transaction() as connection:
            await connection.execute(update(tables.webhooks).values(url=f"http://127.0.0.1:{port}/"))
            await connection.execute(insert(tables.deliveries), _due(count))
        deliveries = DeliveryService(database, SystemClock(), {WebhookChannel.name: _channel(connections)})
        started = time.perf_counter()
        loop = asyncio.create_task(deliver(deliveries))
        while deliveries.results["accepted"] < count:  # noqa: ASYNC110  # the loop has no sign that it is through
            await asyncio.sleep(0.01)
        seconds = time.perf_counter() - started
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)
        accepted = select(func.count()).select_from(tables.deliveries).where(tables.deliveries.c.is_accepted)
        async with database.reading() as connection:
            assert (await connection.execute(accepted)).scalar_one() == count
    return seconds


def _channel(connections: AsyncConnectionPool) -> WebhookChannel:
    http_client = SafeHttpClient(connections, allow_private=True, seconds=ATTEMPT_SECONDS)
    return WebhookChannel(http_client, service="Service", user_agent="bench/1.0", allow_private=True)


async def bare(port: int, count: int) -> float:
    """Seconds until every body is posted."""
    numbers = iter(range(count))
    limits = httpx2.Limits(max_connections=MAX_CONCURRENT, max_keepalive_connections=MAX_CONCURRENT)
    async with httpx2.AsyncClient(limits=limits, trust_env=False) as http:

        async def post() -> None:
            for _ in numbers:
                answer = await http.post(f"http://127.0.0.1:{port}/", content=BODY)
                assert answer.status_code == 200

        started = time.perf_counter()
        await asyncio.gather(*(post() for _ in range(MAX_CONCURRENT)))
        return time.perf_counter() - started


def _due(count: int) -> list[dict[str, object]]:
    now = int(time.time())
    due = {"type": EventType.CHANGED.value, "created_at": now, "due_at": now}
    due |= {"leased_until": 0, "attempts": 0, "error": ""}
    accounts = [number % ADDRESSES + 1 for number in range(count)]
    return [
        {"id": f"whd_{number}", "account_id": account, "webhook_id": account, "batch": f"{number}", **due}
        for number, account in enumerate(accounts)
    ]


def main() -> None:
    """`ours PORT COUNT DATABASE` or `bare PORT COUNT`."""
    assert MAX_PER_TARGET * ADDRESSES >= MAX_CONCURRENT, "no address holds the others up"
    port, count = int(sys.argv[2]), int(sys.argv[3])
    work = ours(port, count, Path(sys.argv[4])) if sys.argv[1] == "ours" else bare(port, count)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(runner.run(work))


if __name__ == "__main__":
    main()
