"""Part `pages`: the pages of a large account: server time, SQL statements and bytes, on SQLite and on PostgreSQL."""

import asyncio
import gzip
import re
import shutil
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import uvloop
from sqlalchemy import event, insert, select, text, update

from bench.figures import Figure, Goal, Row, Section, latencies
from bench.postgresql import cluster_if_installed
from bench.processes import SERVER_CORE, ProcessFailed, pinned
from bench.setup import Setup, remove_database, timed
from registerwatch.accounts.tables import accounts as accounts_table
from registerwatch.app import app_over
from registerwatch.bootstrap import Service, build_service, running
from registerwatch.settings import Settings
from registerwatch.watches import tables
from registerwatch.watches.snapshot import SeenCertificate, Snapshot, encoded

MAX_WATCHES = 2_500  # of the largest plan
EVENTS_FOR_EACH = 40
TAGS = ("surgery", "implants", "ward 3", "contract 2027")
MAX_MS = 50
MAX_STATEMENTS = 12
MAX_FIRST_LOAD_KB = 60
OTHER = "on PostgreSQL"
SAMPLES = 30
BROWSER = {"Sec-Fetch-Site": "same-origin"}
PASSWORD = "a long phrase that nobody uses"  # of a made-up owner
DAY = 24 * 3600
CHANGES = (
    ("record", "low", "version", "3", "4"),
    ("record", "medium", "risk_class", "Class IIa", "Class IIb"),
    ("record", "high", "status", "On the EU market", "No longer placed on the EU market"),
    ("certificate", "medium", "certificate_expiry", "2027-01-01", "2032-01-01"),
)
PAGES = {
    "today": "/app",
    "watches": "/app/watches",
    "watches, failing": "/app/watches?state=failing",
    "watches, a word": "/app/watches?q=device+17",
    "watches, a tag": "/app/watches?tag=surgery",
    "a watch": "/app/watches/{watch}",
    "unseen events": "/app/events",
    "all events": "/app/events?view=all",
    "events of a field": "/app/events?view=all&field=risk_class",
    "events of a tag": "/app/events?view=all&tag=surgery",
    "events, nothing found": "/app/events?view=all&field=trade_name",
    "certificates": "/app/certificates",
    "import": "/app/import",
    "webhooks": "/app/webhooks",
    "API keys": "/app/keys",
    "team": "/app/team",
    "plan and billing": "/app/billing",
    "feeds": "/app/feeds",
    "audit trail": "/app/audit",
    "settings": "/app/settings",
}


@dataclass
class Statements:
    """Counts the SQL statements of a service, but for those that begin and end a transaction."""

    service: Service
    count: int = 0
    _counted: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        database = self.service.database
        for engine in (database.engine, database._reader):
            event.listen(engine.sync_engine, "before_cursor_execute", self._note)
        quick = database._quick
        original = quick.all

        async def counted(statement: str, *values: object) -> list[tuple[Any, ...]]:
            self.count += 1
            return await original(statement, *values)

        quick.all = counted  # type: ignore[method-assign]

    def _note(self, _connection: object, _cursor: object, statement: str, *_: object) -> None:
        if not statement.startswith(("BEGIN", "COMMIT", "ROLLBACK", "SET ", "PRAGMA")):
            self.count += 1


@dataclass(frozen=True, slots=True)
class Page:
    """What one page cost: seconds of each request, statements of one, bytes of its HTML and of all that it loads."""

    seconds: Sequence[float]
    statements: int
    html: int
    first_load: int


def measure(setup: Setup) -> Section:
    """Open every page of an account with thousands of watches and events."""
    with ExitStack() as stack:
        path = setup.path("pages.db")
        remove_database(path)
        address = {"SQLite": f"sqlite:///{path}"}
        if (running_cluster := stack.enter_context(cluster_if_installed(setup))) is not None:
            running_cluster.recreate("pages")
            address["PostgreSQL"] = f"postgresql://postgres@/pages?host={running_cluster.sockets}"
        found = {kind: _on_one_core(setup, kind, each) for kind, each in address.items()}
    watches = _watches(setup)
    ours, others = found["SQLite"], found.get("PostgreSQL", {})
    rows = [row for what in PAGES for row in _rows(what, ours[what], others.get(what))]
    remarks = [
        f"In process, on core {SERVER_CORE}: from the request to the whole answer, p50 / p99 / longest of {SAMPLES}.",
        f"One account with {watches:,} watches, {len(TAGS)} tags, {watches * EVENTS_FOR_EACH:,} events, all unseen.",
        "At first a page loads its HTML, styles, scripts and icon, as they are sent; afterwards the HTML alone.",
    ]
    return Section("pages", "Pages of a large account", rows, remarks)


def _rows(what: str, ours: Page, other: Page | None) -> Iterator[Row]:
    figure, peer = latencies(ours.seconds), latencies(other.seconds) if other else None
    slowest = max(each.value for each in (figure, peer) if each)
    yield Row(f"{what}: server time", figure, {OTHER: peer}, Goal(f"< {MAX_MS} ms", slowest < MAX_MS))
    statements = Figure(ours.statements, "statements")
    yield Row(f"{what}: SQL", statements, {}, Goal(f"≤ {MAX_STATEMENTS}", ours.statements <= MAX_STATEMENTS))
    kilobytes = ours.first_load / 1000
    goal = Goal(f"< {MAX_FIRST_LOAD_KB} kB", kilobytes < MAX_FIRST_LOAD_KB)
    yield Row(f"{what}: first load", Figure(kilobytes, "kB", {"html_kb": ours.html / 1000}), {}, goal)


def _on_one_core(setup: Setup, kind: str, address: str) -> dict[str, Page]:
    with pinned(SERVER_CORE), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_measured(setup, kind, address))


async def _measured(setup: Setup, kind: str, address: str) -> dict[str, Page]:
    folder = setup.path(f"pages-{kind}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    settings = Settings(data_dir=folder, database_url=address, rate_limits=False)
    async with _signed_in(settings) as (service, browser):
        watches = _watches(setup)
        with timed(f"an account with {watches:,} watches and {watches * EVENTS_FOR_EACH:,} events in {kind}"):
            watch = await _filled(service, watches)
            await _vacuumed(service)
        statements, pages = Statements(service), {}
        for what, path in PAGES.items():
            pages[what] = await _page(browser, statements, path.replace("{watch}", str(watch)))
    return pages


@asynccontextmanager
async def _signed_in(settings: Settings) -> AsyncIterator[tuple[Service, httpx2.AsyncClient]]:
    """A service and the browser of an owner with a new account."""
    service = build_service(settings)
    transport = httpx2.ASGITransport(app=app_over(service))
    async with (
        running(service, background=False),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost:8000", headers=BROWSER) as browser,
    ):
        sent = {"email": "owner@example.org", "password": PASSWORD, "company": "Example"}
        if (await browser.post("/signup", data=sent)).status_code != 303:
            raise ProcessFailed("No account was opened.")
        yield service, browser


async def _page(browser: httpx2.AsyncClient, statements: Statements, path: str) -> Page:
    answer = await _opened(browser, path)
    statements.count = 0
    await _opened(browser, path)
    count, seconds = statements.count, []
    for _ in range(SAMPLES):
        began = time.perf_counter()
        await _opened(browser, path)
        seconds.append(time.perf_counter() - began)
    files = re.findall(r'(?:href|src)="(/static/[^"]+)"', answer.text)
    loaded = [len(gzip.compress((await browser.get(each)).content)) for each in dict.fromkeys(files)]
    return Page(seconds, count, len(answer.content), len(answer.content) + sum(loaded))


async def _opened(browser: httpx2.AsyncClient, path: str) -> httpx2.Response:
    answer = await browser.get(path)
    if answer.status_code != 200:
        raise ProcessFailed(f"{path} was answered with {answer.status_code}")
    return answer


async def _vacuumed(service: Service) -> None:
    """Let PostgreSQL look at the rows, as it does by itself where an account grows."""
    if service.database.kind == "postgresql":
        async with service.database.engine.connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            await connection.execute(text("VACUUM ANALYZE"))


def _watches(setup: Setup) -> int:
    """How many watches the account has: fewer where a run is small."""
    return min(MAX_WATCHES, setup.devices)


async def _filled(service: Service, watches: int) -> int:
    """Fill the only account; the id of one of its watches."""
    now = int(time.time())
    async with service.database.transaction() as connection:
        account = (await connection.execute(select(accounts_table.c.id))).scalar_one()
        plan = {"plan": "operator", "expires_at": now + 365 * DAY}
        await connection.execute(update(accounts_table).values(**plan))
        await connection.execute(insert(tables.watches), [_watch(account, number, now) for number in range(watches)])
        ids = list((await connection.execute(select(tables.watches.c.id).order_by(tables.watches.c.id))).scalars())
        tags = [(each, TAGS[number % len(TAGS)]) for number, each in enumerate(ids)]
        await connection.execute(
            insert(tables.watch_tags), [{"account_id": account, "watch_id": each, "tag": tag} for each, tag in tags]
        )
        for start in range(0, watches * EVENTS_FOR_EACH, watches):
            events = [_event(account, each, start + number, now) for number, each in enumerate(ids)]
            await connection.execute(insert(tables.events), events)
    return int(ids[watches // 2])


def _watch(account: int, number: int, now: int) -> dict[str, Any]:
    failing = number % 50 == 0
    certificates = [SeenCertificate(f"G10 {number:06} 00{part:02}", "1", _expiry(number, now)) for part in range(2)]
    snapshot = Snapshot(
        status="On the EU market",
        trade_name=f"Device {number}",
        risk_class="Class IIa",
        manufacturer_name=f"Manufacturer {number % 100}",
        manufacturer_srn=f"DE-MF-{number % 100:09}",
        certs=tuple(certificates),
        searched=True,
        field_set=2,
    )
    return {
        "account_id": account,
        "kind": "udi",
        "subject": f"{4_000_000_000_000 + number:014}",
        "label": f"Device {number}",
        "is_renamed": False,
        "snapshot": encoded(snapshot),
        "last_sync": now - 3600,
        "tried_at": now - 3600,
        "last_error": "The register did not answer." if failing else "",
        "failing_since": now - 5 * DAY if failing else None,
        "created_at": now - 100 * DAY,
    }


def _expiry(number: int, now: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(now + (number % 1500 - 60) * DAY)) if number % 9 else ""


def _event(account: int, watch: int, number: int, now: int) -> dict[str, Any]:
    kind, severity, changed, old, new = CHANGES[0 if number % 10 else number // 10 % len(CHANGES)]
    return {
        "account_id": account,
        "watch_id": watch,
        "subject": f"{4_000_000_000_000 + watch:014}",
        "label": f"Device {watch}",
        "created_at": now - 40 * DAY + number * 30,
        "summary": f"{changed}: {old} → {new}",
        "changes": f'[{{"field":"{changed}","old":"{old}","new":"{new}"}}]',
        "batch": f"bench {number // 10}",
        "awaits_sync": False,
        "kind": kind,
        "severity": severity,
        "cause": None,
        "fields": f",{changed},",
    }
