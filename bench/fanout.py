"""What one changed record costs when many are watched: a database of accounts, addresses and watches, and storing."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpcore2
from sqlalchemy import insert, text

from bench.inputs import remove_database
from registerwatch.clock import SystemClock
from registerwatch.db import tables
from registerwatch.db.engine import Database
from registerwatch.db.migrate import upgrade
from registerwatch.net.safe_http import SafeHttpClient
from registerwatch.notifications.outbox import DeliveryOutbox
from registerwatch.notifications.wiring import build_channels
from registerwatch.register.models import Completeness, Device, DeviceReading
from registerwatch.register.store.records import RecordStore
from registerwatch.settings import Settings
from registerwatch.watches.observe import WatchObserver
from registerwatch.watches.snapshot import encoded, snapshot_of_device

CHUNK = 10_000
PAGE = 300
"""Records in one page of the register's walk, which is stored in one transaction."""


@dataclass(frozen=True, slots=True)
class Scene:
    """How much is watched: `accounts` with one address each watch `subjects` together, `watches` in all."""

    accounts: int
    watches: int
    subjects: int


@dataclass(frozen=True, slots=True)
class Stored:
    """What storing changed records brought."""

    seconds: float
    events: int
    deliveries: int


def device(number: int, version: int = 1) -> Device:
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


async def build(path: Path, scene: Scene) -> Database:
    """A database with that scene; every subject was read in full once."""
    remove_database(path)
    database = Database(f"sqlite:///{path}")
    await upgrade(database)
    now = int(time.time())
    copy = RecordStore(database)
    for start in range(0, scene.subjects, 2_000):
        numbers = range(start, min(start + 2_000, scene.subjects))
        readings = [
            DeviceReading(device=device(each), completeness=Completeness.EVERYTHING, source="eudamed", detail_version=1)
            for each in numbers
        ]
        await copy.store(readings, read_at=now)
    await _insert(database, tables.accounts, _accounts(scene, now))
    await _insert(database, tables.webhooks, _webhooks(scene, now))
    await _insert(database, tables.watches, _watches(scene, now))
    return database


async def store_changes(database: Database, numbers: Sequence[int], version: int) -> Stored:
    """Store new versions of some subjects, as pages of the register's walk bring them, with all that follows."""
    copy = RecordStore(database, WatchObserver(_outbox(database)))
    before = await _counts(database)
    started = time.perf_counter()
    for start in range(0, len(numbers), PAGE):
        page = [
            DeviceReading(device=device(number, version), completeness=Completeness.SOME, source="eudamed")
            for number in numbers[start : start + PAGE]
        ]
        await copy.store(page, read_at=int(time.time()))
    seconds = time.perf_counter() - started
    events, deliveries = await _counts(database)
    return Stored(seconds, events - before[0], deliveries - before[1])


def _outbox(database: Database) -> DeliveryOutbox:
    http_client = SafeHttpClient(httpcore2.AsyncConnectionPool(), allow_private=True, seconds=1.0)
    return DeliveryOutbox(database, SystemClock(), build_channels(Settings(), http_client))


async def _counts(database: Database) -> tuple[int, int]:
    async with database.reading() as connection:
        events = (await connection.execute(text("SELECT count(*) FROM events"))).scalar_one()
        deliveries = (await connection.execute(text("SELECT count(*) FROM deliveries"))).scalar_one()
    return events, deliveries


async def _insert(database: Database, table: object, rows: Sequence[dict[str, object]]) -> None:
    for start in range(0, len(rows), CHUNK):
        async with database.transaction() as connection:
            await connection.execute(insert(table), rows[start : start + CHUNK])  # type: ignore[arg-type]


def _accounts(scene: Scene, now: int) -> list[dict[str, object]]:
    ends = now + 10**8
    return [
        {
            "id": number,
            "email": f"owner{number}@example.org",
            "name": "Example",
            "plan": "operator",
            "expires_at": ends,
            "created_at": now,
        }
        for number in range(1, scene.accounts + 1)
    ]


def _webhooks(scene: Scene, now: int) -> list[dict[str, object]]:
    return [
        {
            "account_id": number,
            "url": "https://example.org/",
            "secret": "whsec_bench",
            "is_first": True,
            "created_at": now,
        }
        for number in range(1, scene.accounts + 1)
    ]


def _watches(scene: Scene, now: int) -> list[dict[str, object]]:
    """Every account watches subjects of its own choice; together they spread evenly."""
    each = scene.watches // scene.accounts
    seen = [
        encoded(snapshot_of_device(device(number), certificates_read=True, searched=True))
        for number in range(min(scene.subjects, scene.watches))
    ]
    step = max(1, scene.subjects // each)
    rows = []
    for account in range(scene.accounts):
        for place in range(each):
            number = (account * 37 + place * step) % scene.subjects
            rows.append(
                {
                    "account_id": account + 1,
                    "kind": "udi",
                    "subject": f"{number:014d}",
                    "label": f"Device {number}",
                    "is_renamed": False,
                    "snapshot": seen[number],
                    "last_sync": now - 60,
                    "tried_at": now - 60,
                    "last_error": "",
                    "created_at": now - 60,
                }
            )
    return rows


def run_one_change(path: Path, watches: int, repeats: int) -> list[float]:
    """Seconds that one changed record took, with that many watches, one of them on its subject."""

    async def run() -> list[float]:
        database = await build(path, Scene(max(1, watches // 1_000), watches, watches))
        try:
            return [(await store_changes(database, [0], version)).seconds for version in range(2, repeats + 2)]
        finally:
            await database.close()

    return asyncio.run(run())


def run_many_changes(path: Path, scene: Scene, changes: int) -> Stored:
    """Changed records at that scene."""

    async def run() -> Stored:
        database = await build(path, scene)
        try:
            return await store_changes(database, range(changes), version=2)
        finally:
            await database.close()

    return asyncio.run(run())
