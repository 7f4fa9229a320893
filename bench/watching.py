"""Part `watching`: what a changed record costs among many watches, and deliveries beside a bare posting loop."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from math import ceil
from pathlib import Path
from typing import TypeVar

import httpx2
import uvloop
from httpcore2 import AsyncConnectionPool
from sqlalchemy import text

from bench.bare import serving
from bench.certificates import certificate_sweep
from bench.figures import Figure, Goal, Row, Section, latencies
from bench.processes import LOAD_CORE, SERVER_CORE, pinned
from bench.setup import Setup, remove_database, timed
from registerwatch.background.loops import deliver
from registerwatch.copy.records import RecordStore
from registerwatch.notifications.channels.webhook import ATTEMPT_SECONDS, WebhookChannel, body_of
from registerwatch.notifications.delivery.delivery import MAX_CONCURRENT, MAX_PER_TARGET, DeliveryService
from registerwatch.notifications.models import EventType, Notification
from registerwatch.notifications.outbox import DeliveryOutbox
from registerwatch.platform.clock import SystemClock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.migrate import upgrade
from registerwatch.platform.net.resolver import DnsResolver
from registerwatch.platform.net.safe_http import CheckedNetwork, SafeHttpClient, checked_connections
from registerwatch.register.models import Completeness, Device, DeviceReading
from registerwatch.watches.observe import WatchObserver
from registerwatch.watches.snapshot import encoded, snapshot_of_device

Found = TypeVar("Found")
PEER = "beside it"
OTHER_WATCHES = (1, 1_000, 100_000)
ONE_CHANGE_REPEATS = 50
CHANGES = 10_000
SECONDS_FOR_CHANGES = 30
WATCHES_FOR_EACH_DEVICE = 3
MAX_DEVICES = 320_000  # watched at most: with three times as many watches, so many take minutes to set up
DELIVERIES_A_ROUND = 4_000
GOAL_RATIO = 0.85
PAGE = 300  # records in one page of the register's walk, which is stored in one transaction
NUMBERS = "WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :count)"
ACCOUNTS = f"""{NUMBERS} INSERT INTO accounts (id, email, name, plan, expires_at, created_at)
    SELECT n + 1, 'owner' || (n + 1) || '@example.org', 'Example', 'operator', :now + 100000000, :now FROM numbers"""
WEBHOOKS = f"""{NUMBERS} INSERT INTO webhooks (account_id, url, secret, is_first, created_at)
    SELECT n + 1, 'https://example.org/', 'whsec_YmVuY2g=', 1, :now FROM numbers"""
WATCHES = f"""{NUMBERS}, chosen (account, number) AS (
        SELECT n / :each, (n / :each * 37 + n % :each * :step) % :subjects FROM numbers
    )
    INSERT INTO watches
        (account_id, kind, subject, label, is_renamed, snapshot, last_sync, tried_at, last_error, created_at)
    SELECT account + 1, 'udi', printf('%014d', number), 'Device ' || number, 0,
        replace(:snapshot, '987654321', number), :now - 60, :now - 60, '', :now - 60
    FROM chosen"""
"""Every account watches subjects of its own choice; together they spread evenly."""
DELIVERIES = f"""{NUMBERS} INSERT INTO deliveries
        (id, account_id, webhook_id, batch, type, created_at, due_at, leased_until, attempts, error)
    SELECT 'whd_' || n, n % :addresses + 1, n % :addresses + 1, n, :type, :now, :now, 0, 0, '' FROM numbers"""
COUNTS = text("SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM deliveries)")
ADDRESSES = 50
LONGEST_SECONDS = 300
"""What all deliveries may take: one that fails is tried again much later."""
assert MAX_PER_TARGET * ADDRESSES >= MAX_CONCURRENT, "no address holds the others up"
BODY = body_of(Notification("whd_bench", EventType.CHANGED, 0, "owner@example.org"), []).encode()


def measure(setup: Setup) -> Section:
    """Store changed records of watched devices, sweep all certificates, then deliver to a local receiver."""
    rows = [*_one_change(setup), _many_changes(setup), certificate_sweep(setup), _deliveries(setup)]
    return Section("watching", "Watching and delivering", rows)


def _one_change(setup: Setup) -> list[Row]:
    rows: list[Row] = []
    for watches in OTHER_WATCHES:
        if watches <= 10 * setup.devices:
            with timed(f"storing one changed record among {watches:,} watches"):
                seconds, *_ = _on_one_core(_stored(setup, watches, watches, 1, ONE_CHANGE_REPEATS))
            peers = {PEER: rows[0].ours if rows else None}
            rows.append(Row(f"one changed record, {watches:,} watches, one of them on it", latencies(seconds), peers))
    return rows


def _many_changes(setup: Setup) -> Row:
    devices = min(MAX_DEVICES, setup.devices)
    watches, changes = devices * WATCHES_FOR_EACH_DEVICE, min(CHANGES, devices)
    what = f"{changes:,} changed records among {watches:,} watches"
    with timed(f"storing {what}"):
        (seconds,), events, deliveries = _on_one_core(_stored(setup, watches, devices, changes))
    goal = Goal(f"< {SECONDS_FOR_CHANGES} s", seconds < SECONDS_FOR_CHANGES)
    return Row(f"{what}: {events:,} events stored, {deliveries:,} deliveries queued", Figure(seconds, "s"), {}, goal)


def _deliveries(setup: Setup) -> Row:
    count, path = min(DELIVERIES_A_ROUND, setup.devices), setup.path("deliveries.db")
    with serving(setup, LOAD_CORE) as receiver:
        url = f"http://127.0.0.1:{receiver.port}/"
        takes = {
            "ours": lambda: Figure(count / _on_one_core(_delivered(path, url, count)), "deliveries/s"),
            PEER: lambda: Figure(count / _on_one_core(_posted(url, count)), "deliveries/s"),
        }
        return setup.row("signed deliveries to a local receiver, one core", takes, GOAL_RATIO)


def _on_one_core(work: Coroutine[None, None, Found]) -> Found:
    with pinned(SERVER_CORE), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


@asynccontextmanager
async def _watched_database(path: Path, accounts: int, watches: int, subjects: int) -> AsyncIterator[Database]:
    """A database with accounts of one address each, which watch that much; every subject was read in full once."""
    remove_database(path)
    database, now = Database(f"sqlite:///{path}"), int(time.time())
    try:
        await upgrade(database)
        for start in range(0, subjects, 2_000):
            numbers = range(start, min(start + 2_000, subjects))
            readings = [_reading(each, 1, Completeness.EVERYTHING) for each in numbers]
            await RecordStore(database).store(readings, read_at=now)
        each = watches // accounts
        snapshot = encoded(snapshot_of_device(_device(987654321, 1), certificates_read=True, searched=True))
        values = {"each": each, "step": max(1, subjects // each), "subjects": subjects, "snapshot": snapshot}
        async with database.transaction() as connection:
            for statement in (ACCOUNTS, WEBHOOKS):
                await connection.execute(text(statement), {"count": accounts, "now": now})
            await connection.execute(text(WATCHES), {**values, "count": each * accounts, "now": now})
        yield database
    finally:
        await database.close()


async def _stored(
    setup: Setup, watches: int, subjects: int, changes: int, times: int = 1
) -> tuple[list[float], int, int]:
    """Store the first records, each time with another version, as pages of the register's walk bring them.

    Each time the seconds with all that follows; the events and the deliveries that were brought.
    """
    took = []
    accounts = max(ceil(watches / subjects), watches // 1_000)  # an account watches a subject once at most
    async with _watched_database(setup.path("fanout.db"), accounts, watches, subjects) as database:
        channels = {WebhookChannel.name: _channel(AsyncConnectionPool())}
        store = RecordStore(database, WatchObserver(DeliveryOutbox(database, SystemClock(), channels)))
        for version in range(2, times + 2):
            started = time.perf_counter()
            for start in range(0, changes, PAGE):
                numbers = range(start, min(start + PAGE, changes))
                page = [_reading(number, version, Completeness.SOME) for number in numbers]
                await store.store(page, read_at=int(time.time()))
            took.append(time.perf_counter() - started)
        async with database.reading() as connection:
            events, deliveries = (await connection.execute(COUNTS)).one()
    return took, events, deliveries


def _reading(number: int, version: int, completeness: Completeness) -> DeviceReading:
    detail_version = 1 if completeness is Completeness.EVERYTHING else None
    device = _device(number, version)
    return DeviceReading(device=device, completeness=completeness, detail_version=detail_version, source="eudamed")


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


async def _delivered(path: Path, url: str, count: int) -> float:
    """Seconds until every delivery has ended well: claimed, signed, posted, its end stored."""
    network = CheckedNetwork(DnsResolver(), allow_private=True)
    async with (
        _watched_database(path, ADDRESSES, ADDRESSES, ADDRESSES) as database,
        checked_connections(network, most=MAX_CONCURRENT) as connections,
    ):
        async with database.transaction() as connection:
            await connection.execute(text("UPDATE webhooks SET url = :url"), {"url": url})
            due = {"count": count, "now": int(time.time()), "addresses": ADDRESSES, "type": EventType.CHANGED.value}
            await connection.execute(text(DELIVERIES), due)
        deliveries = DeliveryService(database, SystemClock(), {WebhookChannel.name: _channel(connections)})
        started = time.perf_counter()
        loop = asyncio.create_task(deliver(deliveries))
        async with asyncio.timeout(LONGEST_SECONDS):
            while deliveries.results["accepted"] < count:  # noqa: ASYNC110  # the loop has no sign that it is through
                await asyncio.sleep(0.01)
        seconds = time.perf_counter() - started
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)
    return seconds


async def _posted(url: str, count: int) -> float:
    """Seconds until a bare loop has posted the same body so often, with as many at once."""
    numbers = iter(range(count))
    limits = httpx2.Limits(max_connections=MAX_CONCURRENT, max_keepalive_connections=MAX_CONCURRENT)
    async with httpx2.AsyncClient(limits=limits, trust_env=False) as http:

        async def post() -> None:
            for _ in numbers:
                assert (await http.post(url, content=BODY)).status_code == 200

        started = time.perf_counter()
        await asyncio.gather(*(post() for _ in range(MAX_CONCURRENT)))
        return time.perf_counter() - started


def _channel(connections: AsyncConnectionPool) -> WebhookChannel:
    http_client = SafeHttpClient(connections, allow_private=True, seconds=ATTEMPT_SECONDS)
    return WebhookChannel(http_client, service="Service", user_agent="bench/1.0", allow_private=True)
