"""Part `lists`: a workbook of 50,000 rows is read, matched with the copy, kept, looked at and exported."""

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psutil
import uvloop
from openpyxl import Workbook
from sqlalchemy import text, update

from bench.figures import Figure, Goal, Row, Section
from bench.postgresql import cluster_if_installed
from bench.processes import ProcessFailed, computed_seconds
from bench.setup import Setup, Stored, timed
from registerwatch.accounts.limits.plan_shares import PlanShares
from registerwatch.accounts.plans import plans
from registerwatch.accounts.tables import accounts as accounts_table
from registerwatch.app import app_over
from registerwatch.bootstrap import Service, build_service
from registerwatch.files.lists.worker import ListWorker
from registerwatch.files.tables import process as table_process
from registerwatch.files.tables.process import TableReader
from registerwatch.files.tables.table import ReadChoices, Table
from registerwatch.platform.clock import SystemClock
from registerwatch.platform.db.migrate import upgrade
from registerwatch.settings import Settings

LINES, COLUMNS = 50_000, 8
OTHER = "on PostgreSQL"
EVERY_SECONDS = 0.05
"""So often this process looks at its memory."""
MAX_ON_POSTGRESQL = 400_000
"""Records up to which a copy in PostgreSQL is filled for this part."""
MAX_SECONDS, MAX_STALL_MS, MAX_MEGABYTES = 20.0, 100.0, 300.0
SHARE_IN_COPY = 0.9
PASSWORD = "a long phrase that nobody uses"  # of a made-up owner
WHAT = {
    "read": ("reading the file in its process", "s"),
    "read_cpu": ("reading the file: time of the processor", "s"),
    "child": ("resident memory of that process at its peak", "MB"),
    "match": ("reading and matching the file, until it is ready", "s"),
    "stall": ("reading and matching: how long the service answered nobody, at the longest", "ms"),
    "growth": ("reading and matching: growth of the service's resident memory, at its peak", "MB"),
    "differences": ("the next file of the list beside the one that is kept: its differences", "s"),
    "keep": ("keeping it, which deletes the lines of before", "s"),
    "coverage": ("how the lines stand", "s"),
    "follow": ("following a copy of which 2,000 listed records changed", "s"),
    "csv": ("export as CSV", "s"),
    "xlsx": ("export as a workbook", "s"),
    "stall_xlsx": ("export as a workbook: how long the service answered nobody, at the longest", "ms"),
}
GOALS = {"match": MAX_SECONDS, "stall": MAX_STALL_MS, "growth": MAX_MEGABYTES, "stall_xlsx": MAX_STALL_MS}


class _ReadBefore(TableReader):
    """Gives a table that was read before, so that a worker only matches it."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def read(self, content: bytes, account_id: int, choices: ReadChoices, network: str | None = None) -> Table:
        """The table, whatever the file."""
        return self._table


@dataclass
class _Watcher:
    """Looks how long the loop answers nobody, and how much memory this process has."""

    longest: float = 0.0
    megabytes: float = 0.0
    before: float = field(default_factory=lambda: _resident())

    async def look(self) -> None:
        """Look until it is cancelled."""
        last = looked = time.perf_counter()
        self.megabytes = self.before
        while True:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            self.longest, last = max(self.longest, now - last), now
            if now - looked > EVERY_SECONDS:
                self.megabytes, looked = max(self.megabytes, _resident()), now


def measure(setup: Setup) -> Section:
    """One account sends its list twice, to a service over a filled copy."""
    path = setup.path("list.xlsx")
    with cluster_if_installed(setup) if setup.devices <= MAX_ON_POSTGRESQL else nullcontext() as cluster:
        found = [_on(setup.copy(), path)]
        if cluster is not None:
            found.append(_on(cluster.copy(setup), path))
    rows = [_row(name, [each[name] for each in found]) for name in WHAT]
    lines = min(LINES, setup.devices)
    remark = (
        f"A workbook of {lines:,} rows and {COLUMNS} columns, whose codes are spelt in five ways; the copy has"
        f" {SHARE_IN_COPY:.0%} of them. In process, over REST, once; the process that reads the file shares the cores."
    )
    return Section("lists", "A saved list", rows, [remark], ours="on SQLite")


def _row(name: str, values: Sequence[float]) -> Row:
    what, unit = WHAT[name]
    ours, *on_others = (Figure(each, unit) for each in values)
    goal = Goal(f"< {GOALS[name]:g} {unit}", ours.value < GOALS[name]) if name in GOALS else None
    return Row(what, ours, dict(zip([OTHER], on_others, strict=False)), goal)


def _on(stored: Stored, path: Path) -> dict[str, float]:
    with timed(f"a list over {stored.kind}"), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_measured(stored, path))


async def _measured(stored: Stored, path: Path) -> dict[str, float]:
    url = stored.settings.get("DATABASE_URL")
    settings = Settings(data_dir=stored.data_dir, database_url=url, rate_limits=False)
    async with _customer(settings) as (service, client):
        codes = await _codes(service)
        await asyncio.to_thread(_write, path, codes)
        content = path.read_bytes()
        found: dict[str, float] = {}
        table = await _read(content, found)
        shares = PlanShares(plans(settings.trial_watch_cap), needs_confirmation=False)
        readers = _ReadBefore(table), service.watches.code_reader
        lists = ListWorker(service.database, SystemClock(), service.records, *readers, shares, service.work)
        first = await _sent(client, content)
        await lists.work_off()
        found["first_keep"], _ = await _took(client.post(f"{first}/keep", json={}))
        second = await _sent(client, content)
        watcher = _Watcher()
        found["match"], _ = await _beside(watcher, service.lists.worker.work_off())
        found["stall"], found["growth"] = watcher.longest * 1e3, watcher.megabytes - watcher.before
        found["differences"], _ = await _took(client.get(second))
        found["keep"], _ = await _took(client.post(f"{second}/keep", json={}))
        whole = second.partition("/uploads/")[0]
        found["coverage"], coverage = await _took(client.get(whole))
        told = coverage.json()["list"]["coverage"]
        if told["unknown"] > 0.2 * told["lines"] or told["invalid"]:
            raise ProcessFailed(f"The lines are not as they were made: {told}")
        await _change(service)
        found["follow"], _ = await _took(service.lists.worker.follow())
        found["csv"], _ = await _took(client.get(f"{whole}/lines.csv"))
        watcher = _Watcher()
        found["xlsx"], _ = await _beside(watcher, client.get(f"{whole}/lines.xlsx"))
        found["stall_xlsx"] = watcher.longest * 1e3
    return found


@asynccontextmanager
async def _customer(settings: Settings) -> AsyncIterator[tuple[Service, httpx2.AsyncClient]]:
    """A service and a client of a new account with the largest plan, which is deleted at the end."""
    service = build_service(settings)
    transport = httpx2.ASGITransport(app=app_over(service))
    async with (
        _over(service),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost:8000", timeout=600) as client,
    ):
        email = f"lists{time.time_ns()}@example.org"
        opened = (await client.post("/v1/trial", json={"email": email, "password": PASSWORD})).json()
        client.headers["X-API-Key"] = opened["api_key"]
        async with service.database.transaction() as connection:
            plan = {"plan": "operator", "expires_at": int(time.time()) + 24 * 3600}
            await connection.execute(update(accounts_table).where(accounts_table.c.email == email).values(**plan))
        try:
            yield service, client
        finally:
            await client.post("/v1/account/delete", json={"password": PASSWORD})


@asynccontextmanager
async def _over(service: Service) -> AsyncIterator[None]:
    """The service with its database alone: nothing here needs the search index."""
    try:
        await upgrade(service.database)
        yield
    finally:
        await service.close()


async def _codes(service: Service) -> list[str]:
    """Codes of records all over the copy, and some that it has not."""
    chance = random.Random(1)
    udis: list[str] = []
    async with service.database.reading() as connection:
        last = (await connection.execute(text("SELECT max(id) FROM devices"))).scalar_one()
        ids = chance.sample(range(1, last + 1), min(LINES, last))
        for start in range(0, len(ids), 1_000):
            asked = ",".join(map(str, ids[start : start + 1_000]))
            rows = await connection.execute(text(f"SELECT primary_di FROM devices WHERE id IN ({asked})"))
            udis += rows.scalars()
    there = int(len(udis) * SHARE_IN_COPY)
    others = [_with_check_digit(f"0{9_900_000_000_00 + number}") for number in range(len(udis) - there)]
    codes = [_spelt(each, number) for number, each in enumerate([*udis[:there], *others])]
    chance.shuffle(codes)
    return codes


def _with_check_digit(digits: str) -> str:
    total = sum(int(digit) * (3 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(digits)))
    return f"{digits}{-total % 10}"


def _spelt(udi: str, number: int) -> str:
    """As people, scanners and spreadsheets write it; what is no GTIN stays as it is."""
    if len(udi) != 14 or not udi.isdigit():
        return udi
    ways = (
        udi,
        udi.removeprefix("0"),
        f"{udi[:1]} {udi[1:7]} {udi[7:]}",
        f"(01){udi}(17)301231(10)LOT{number}",
        f"01{udi}1730123110LOT{number}",
    )
    return ways[number % len(ways)]


def _write(path: Path, codes: Sequence[str]) -> None:
    book = Workbook(write_only=True)
    sheet = book.create_sheet("Stock")
    sheet.append(["Article", "Name", "GTIN", "Ward", "Amount", "Price", "Supplier", "Remark"])
    for number, code in enumerate(codes):
        words = f"Name of article {number}, sterile, 10 pieces"
        sheet.append([f"A-{number}", words, code, f"Ward {number % 40}", number % 90, 1.5, "A supplier", "in use"])
    book.save(path)


async def _read(content: bytes, found: dict[str, float]) -> Table:
    before = _computed_by_others()
    began = time.perf_counter()
    reading = asyncio.create_task(TableReader().read(content, 1, ReadChoices()))
    found["child"] = 0.0
    while not reading.done():
        found["child"] = max(found["child"], _resident_of_reader())
        await asyncio.sleep(0.02)
    table = await reading
    found["read"] = time.perf_counter() - began
    found["read_cpu"] = _computed_by_others() - before
    return table


async def _sent(client: httpx2.AsyncClient, content: bytes) -> str:
    """Where the upload is asked for."""
    answer = await client.post("/v1/lists", params={"name": "Stock"}, content=content)
    if answer.status_code != 202:
        raise ProcessFailed(f"The list was answered with {answer.status_code}: {answer.text[:200]}")
    sent = answer.json()
    return f"/v1/lists/{sent['list_id']}/uploads/{sent['upload_id']}"


async def _change(service: Service) -> None:
    """Let records of the list have changed: they get the next revisions of the copy."""
    async with service.database.transaction() as connection:
        chosen = "SELECT DISTINCT subject FROM list_lines WHERE subject IS NOT NULL AND standing = 'found' LIMIT 2000"
        subjects = (await connection.execute(text(chosen))).scalars().all()
        revision = (await connection.execute(text("SELECT revision FROM copy_state"))).scalar_one()
        changed = text("UPDATE devices SET revision = :revision WHERE primary_di = :udi AND is_current")
        values = [{"revision": revision + place, "udi": each} for place, each in enumerate(subjects, start=1)]
        await connection.execute(changed, values)
        await connection.execute(text("UPDATE copy_state SET revision = revision + :more"), {"more": len(subjects)})


async def _took(awaited: Awaitable[Any]) -> tuple[float, Any]:
    """Seconds, and what came."""
    began = time.perf_counter()
    answer = await awaited
    if isinstance(answer, httpx2.Response) and answer.status_code != 200:
        raise ProcessFailed(f"{answer.request.url} was answered with {answer.status_code}: {answer.text[:200]}")
    return time.perf_counter() - began, answer


async def _beside(watcher: _Watcher, awaited: Awaitable[Any]) -> tuple[float, Any]:
    looking = asyncio.create_task(watcher.look())
    try:
        return await _took(awaited)
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking


def _resident_of_reader() -> float:
    """Of the process that reads a file, a copy of its template; 0 before it is there."""
    found, own = 0.0, psutil.Process()
    for each in own.children(recursive=True):
        with suppress(psutil.Error):
            if each.ppid() != own.pid and table_process.__name__ in each.cmdline():
                found += each.memory_info().rss / 1e6
    return found


def _computed_by_others() -> float:
    """Seconds of a core that the processes below this one used."""
    return computed_seconds(os.getpid()) - time.process_time()


def _resident() -> float:
    return float(psutil.Process().memory_info().rss) / 1e6
