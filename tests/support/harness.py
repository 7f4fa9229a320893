"""The whole service in one process, over stand-ins of everything outside it, and the steps that tests share.

Outside are the register (`world`, `faults`, `register_log`, `to_register`), the payment provider (`provider`), mail
(`mail`), the receivers of webhooks (`receivers`) and time (`clock`). `tests/README.md` shows how a test uses this.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import httpx2
from argon2 import PasswordHasher
from fastapi import FastAPI
from pydantic import SecretStr
from sqlalchemy import Table, select

from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.models import Caller, NewSession
from registerwatch.accounts.passwords.passwords import Passwords
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.app import app_over, prepare_first_requests
from registerwatch.billing.provider import PaymentProvider
from registerwatch.bootstrap import Service, build_service, running
from registerwatch.mail.memory_mailer import MemoryMailer
from registerwatch.notifications.delivery.delivery import DeliveryService
from registerwatch.notifications.models import Target
from registerwatch.notifications.targets.targets import TargetService
from registerwatch.platform.db.engine import Database
from registerwatch.platform.net.resolver import DnsResolver
from registerwatch.register.models import Actor, DeviceReading
from registerwatch.register.observation import ReadContext
from registerwatch.settings import Settings
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.requests import RetryPolicy
from registerwatch.watches import repository as watch_repository
from registerwatch.watches.events import event_repository
from registerwatch.watches.events.event_pages import EventFilter
from registerwatch.watches.models import Event, Watch
from registerwatch_standins.register.app import create_app as create_register
from registerwatch_standins.register.faults import Faults
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.records import Registration
from registerwatch_standins.register.request_log import RequestLog
from registerwatch_standins.register.transport import InProcessTransport
from registerwatch_standins.register.world import World
from tests.billing.plain_provider import PlainProvider
from tests.support.fakes import HeldTransport, MemoryReceivers, SteppedClock, quick_passwords
from tests.support.loop_watch import loop_watch
from tests.support.table_rows import Rows, TableRows

NOW = 1_800_000_000
"""2027-01-15, 08:00 UTC: when the clock starts."""
REGISTER = "http://register.test"
EMAIL, PASSWORD = "owner@acme.example", "correct horse"
ERROR_FIELDS = {"error", "code", "request_id"}
"""Of the body of every error that the application answers."""
WEBHOOK_URL = "https://hooks.acme.example/registerwatch"
UDI, SRN = "04099999999992", "DE-MF-000000001"
"""The device of `tests/register/builders.py`, and an actor."""
PACE = 100_000
"""Requests a minute to the stand-in, where a test does not say fewer. It starts with as many."""
FAST_RETRIES = {priority: RetryPolicy(tries=2, pause=0.1, limit=30.0) for priority in RequestPriority}

ServiceStarter = Callable[..., AbstractAsyncContextManager["ServiceHarness"]]


@dataclass(frozen=True, slots=True)
class NewAccount:
    """The owner of a new account: what they know, and what the service answered."""

    email: str
    password: str
    session: str
    api_key: str
    answer: dict[str, Any]


@dataclass
class ServiceHarness:
    """A service and what stands around it. Steps that take a `Caller` call use cases; the others ask over HTTP."""

    service: Service
    clock: SteppedClock
    world: World
    faults: Faults
    register_log: RequestLog
    to_register: HeldTransport
    mail: MemoryMailer
    receivers: MemoryReceivers
    provider: PlainProvider
    table_rows: TableRows = field(init=False)

    def __post_init__(self) -> None:
        self.table_rows = TableRows(self.service.database)

    @property
    def database(self) -> Database:
        """The database of the service."""
        return self.service.database

    @property
    def now(self) -> int:
        """The time of the clock, in whole seconds."""
        return int(self.clock.now())

    @property
    def webhooks(self) -> TargetService:
        """The use cases of webhooks."""
        return self.service.notifications.webhooks

    @property
    def deliveries(self) -> DeliveryService:
        """What sends deliveries."""
        return self.service.notifications.deliveries

    # HTTP

    @cached_property
    def app(self) -> FastAPI:
        """The application, built when a test first asks for it: that takes far longer than the service. A request that
        holds the event loop fails its test.
        """
        _prepare_once()
        app = app_over(self.service)
        assert app.middleware_stack is not None
        app.middleware_stack = loop_watch.over(app.middleware_stack)
        return app

    @cached_property
    def client(self) -> httpx2.AsyncClient:
        """A client of the application, without a socket. A defect is answered 500, as the server would."""
        transport = httpx2.ASGITransport(app=self.app, raise_app_exceptions=False)
        return httpx2.AsyncClient(transport=transport, base_url="http://service.test")

    async def get(self, path: str, **params: str | int) -> httpx2.Response:
        """GET a path."""
        return await self.client.get(path, params=params)

    async def post(self, path: str, credential: str = "", /, **fields: object) -> httpx2.Response:
        """POST these fields as JSON, with a session or an API key where one is given."""
        return await self.client.post(path, json=fields, headers=auth_headers(credential))

    async def sign_up(self, email: str = EMAIL, password: str = PASSWORD) -> NewAccount:
        """Open a trial account."""
        answer = (await self.post("/v1/trial", name="Acme", email=email, password=password)).json()
        return NewAccount(email, password, answer["session"], answer["api_key"], answer)

    async def prove_address(self, owner: NewAccount) -> None:
        """Let an owner prove their address by a mailed link; all mails so far are forgotten."""
        accounts = self.service.accounts
        link = await accounts.password_reset.link(owner.email)
        await accounts.confirmations.keep(link.rpartition("=")[2], owner.password)
        await self.finish_background_work()
        self.mail.mails.clear()

    async def sign_in(self, email: str, password: str = PASSWORD) -> str:
        """Log in; the session."""
        return str((await self.post("/v1/login", email=email, password=password)).json()["session"])

    async def browser_session(self, email: str, password: str) -> str:
        """Sign in as a page does; the session for the cookie."""
        opened = await self.service.accounts.sessions.begin(email, password)
        assert isinstance(opened, NewSession), "this user has a second factor"
        return opened.session

    async def post_watches(self, credential: str, *subjects: str) -> list[dict[str, Any]]:
        """Watch subjects; the answered watches."""
        return [(await self.post("/v1/watches", credential, subject=each)).json()["watch"] for each in subjects]

    async def post_sync(self, credential: str) -> dict[str, Any]:
        """Sync; the answer."""
        response = await self.post("/v1/sync", credential)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    async def get_list(self, credential: str, name: str) -> list[dict[str, Any]]:
        """The account's `watches` or `events`, or its `items` that expire."""
        path = "/v1/expiring" if name == "items" else f"/v1/{name}"
        response = await self.client.get(path, headers=auth_headers(credential))
        found: list[dict[str, Any]] = response.json()[name]
        return found

    # The register and the copy

    def unique_devices(self, number: int) -> list[Registration]:
        """Registrations of the stand-in that share their UDI-DI with no other."""
        newest = self.world.newest(0, 120)
        return [each for each in newest if len(self.world.by_primary_di(each.primary_di)) == 1][:number]

    def separate_devices(self, number: int) -> list[Registration]:
        """The same, of which no two share their Basic UDI-DI record: what fails for one fails for no other."""
        found: dict[str, Registration] = {}
        for each in self.unique_devices(120):
            found.setdefault(each.basic_udi or each.uuid, each)
        return list(found.values())[:number]

    async def fill_copy(self) -> None:
        """Load everything from the stand-in's Data Lake, and index it."""
        await self.service.bulk_loader.load(self.service.bulk_source("datalake"), lambda _progress: None)
        await self.update_index()

    async def update_index(self) -> None:
        """Bring the search index up to the copy."""
        await self.service.indexer.catch_up()

    async def finish_background_work(self) -> None:
        """Wait for refreshes and syncs in the background, for mails that are being sent and for failed sign-ins to be
        noted.
        """
        await self.service.watches.sync_runs.settled()
        await self.service.refresher.settled()
        for mails in self.service.accounts.mails:
            await mails.settled()
        await self.service.accounts.sessions.failures.settled()

    async def store(
        self,
        *readings: DeviceReading,
        since: int | None = None,
        context: ReadContext | None = None,
        lists_all: bool = True,
    ) -> None:
        """Store readings as a read of the register does, which tells every watch."""
        await self.service.records.store(readings, read_at=self.now, lists_all=lists_all, context=context, since=since)

    async def store_actor(self, *, context: ReadContext | None = None, since: int | None = None, **fields: Any) -> None:
        """Store an actor as a read of the register does."""
        actor = Actor(**{"srn": SRN, "name": "Acme", "complete": True, **fields})
        await self.service.records.store_actor(actor, read_at=self.now, source="eudamed", context=context, since=since)

    # Accounts, watches and webhooks

    async def owner(self, email: str = EMAIL) -> Caller:
        """The owner of a new account."""
        sessions = self.service.accounts.sessions
        return await sessions.caller(credential_of(None, (await sessions.trial("Acme", email, PASSWORD)).session))

    async def owner_watching(self, email: str = EMAIL, *subjects: str) -> Caller:
        """The owner of a new account that watches these subjects, or `UDI`. Nothing is read for it."""
        caller = await self.owner(email)
        new = [watch_repository.NewWatch(subject) for subject in subjects or (UDI,)]
        async with self.database.transaction() as connection:
            for each in new:
                await watch_repository.add(connection, caller.account.id, [each], self.now)
        return caller

    async def watch(self, caller: Caller, subject: str = UDI) -> Watch:
        """The account's watch on a subject."""
        async with self.database.reading() as connection:
            found = await watch_repository.by_subject(connection, caller.account.id, subject)
        assert found is not None
        return found

    async def events(self, caller: Caller) -> Sequence[Event]:
        """The account's events, oldest first."""
        async with self.database.reading() as connection:
            found = await event_repository.chosen_events(
                connection, caller.account.id, EventFilter(), after=None, most=100
            )
            return list(reversed(found))

    async def summaries(self, caller: Caller) -> list[str]:
        """What the account's events say, oldest first."""
        return [event.summary for event in await self.events(caller)]

    async def owner_with_webhook(self, email: str = EMAIL, url: str = WEBHOOK_URL) -> tuple[Caller, Target]:
        """The owner of a new account, and the webhook that it has."""
        caller = await self.owner(email)
        await self.webhooks.set_first(caller, url)
        return caller, await self.first_webhook(caller)

    async def first_webhook(self, caller: Caller) -> Target:
        """The account's first webhook as it is now."""
        found = await self.webhooks.all(caller.account.id)
        return next(each for each in found if each.is_first)

    async def deliver_due(self) -> int:
        """Send everything that is due, one delivery after the other; how many there were."""
        number = 0
        for worker in (self.deliveries, self.service.notifications.mails):
            claimed = await worker.claim()
            for each in claimed:
                await worker.store([await worker.deliver(each)])
            number += len(claimed)
        return number

    # Rows

    async def rows(self, table: Table) -> list[dict[str, Any]]:
        """Every row of a table, in the order of its key."""
        async with self.database.reading() as connection:
            found = await connection.execute(select(table).order_by(*table.primary_key.columns))
            return [dict(row) for row in found.mappings()]

    def all_rows(self) -> dict[str, Rows]:
        """Every row, to compare before with after; but of `ticks`, which the background writes at any time, and of what
        was computed, which is counted where nothing else comes of it too.
        """
        return {name: rows for name, rows in self.table_rows.read().items() if name not in ("ticks", "work_used")}

    async def all_rows_but_failed_sign_ins(self) -> dict[str, Rows]:
        """The same without the lines of audit trails that tell of sign-ins that failed."""
        await self.finish_background_work()
        tables = self.all_rows()
        return {**tables, "audit": [row for row in tables["audit"] if row["action"] != Action.SIGN_IN_FAILED]}

    def rows_of_account(self, account_id: int, tables: dict[str, Rows] | None = None) -> dict[str, Rows]:
        """Every row that belongs to an account, its users or their sessions, by table: now, or of `all_rows`."""
        tables = self.all_rows() if tables is None else tables
        users = {row["id"] for row in tables["users"] if row["account_id"] == account_id}
        own = {
            name: [row for row in rows if row.get("account_id") == account_id or row.get("user_id") in users]
            for name, rows in tables.items()
        }
        lists = {row["id"] for row in own["item_lists"]}
        uploads = [row for row in tables["list_uploads"] if row["list_id"] in lists]
        sent = {row["id"] for row in uploads}
        lines = [row for row in tables["list_lines"] if row["upload_id"] in sent]
        accounts = [row for row in tables["accounts"] if row["id"] == account_id]
        return {**own, "accounts": accounts, "list_uploads": uploads, "list_lines": lines}

    async def close_own(self) -> None:
        """Close what the harness has opened beside the service."""
        self.table_rows.close()
        if "client" in self.__dict__:
            await self.client.aclose()

    async def close(self) -> None:
        """Close everything, where nobody runs the service."""
        await self.close_own()
        await self.service.close()


def build_harness(
    database_url: str,
    data_dir: Path,
    *,
    world: World | None = None,
    basic_udi_filter_works: bool = True,
    provider: PlainProvider | None = None,
    stripe: PaymentProvider | None = None,
    resolver: DnsResolver | None = None,
    hasher: PasswordHasher | None = None,
    page_size: int = 300,
    **overrides: object,
) -> ServiceHarness:
    """A service over a database at the present schema. Nothing runs and nothing is opened yet.

    `overrides` are settings; rate limits are off unless asked for. Where there are payment settings, `stripe` is the
    provider, or `provider` without it. Webhooks go to `receivers`, in memory, unless `webhooks_allow_private` is on:
    then they are sent over sockets. `hasher` hashes passwords, else the quickest one does. Lists of the register are
    read by pages of `page_size` rows.
    """
    world = world or GeneratedWorld(120, seed=7)
    faults, clock, mail, receivers = Faults(), SteppedClock(NOW), MemoryMailer(), MemoryReceivers()
    provider = provider or PlainProvider()
    provider.clock = clock
    register_app = create_register(world, faults, basic_udi_filter_works=basic_udi_filter_works)
    transport = HeldTransport(InProcessTransport(register_app))
    settings = harness_settings(database_url, data_dir, **overrides)
    quick = quick_passwords(refuses_common=settings.common_passwords == "everywhere")
    service = build_service(
        settings,
        clock=clock,
        transport=transport,
        retry_policies=FAST_RETRIES,
        mailer=mail,
        passwords=Passwords(hasher) if hasher is not None else quick,
        provider=stripe or provider,
        receivers=None if overrides.get("webhooks_allow_private") else receivers,
        resolver=resolver,
        page_size=page_size,
        start_pace=PACE,
    )
    log: RequestLog = register_app.state.log
    return ServiceHarness(service, clock, world, faults, log, transport, mail, receivers, provider)


@asynccontextmanager
async def built_harness(database_url: str, data_dir: Path, **options: Any) -> AsyncIterator[ServiceHarness]:
    """A service in which nothing runs but what the test asks for."""
    harness = build_harness(database_url, data_dir, **options)
    try:
        yield harness
    finally:
        await harness.close()


@asynccontextmanager
async def running_harness(
    database_url: str, data_dir: Path, *, background: bool = False, **options: Any
) -> AsyncIterator[ServiceHarness]:
    """A service that runs. With `background` it rechecks and delivers by itself too."""
    harness = build_harness(database_url, data_dir, **options)
    async with running(harness.service, background=background):
        try:
            yield harness
        finally:
            await harness.close_own()


def harness_settings(database_url: str, data_dir: Path, **overrides: object) -> Settings:
    """The settings of a service over the stand-ins. Equal ones are checked once, as that takes long."""
    place = {"data_dir": data_dir, "database_url": SecretStr(database_url)}
    return _checked_settings(tuple(overrides.items())).model_copy(update=place)


@cache
def _checked_settings(overrides: tuple[tuple[str, object], ...]) -> Settings:
    values = {
        "register_url": f"{REGISTER}/eudamed",
        "datalake_url": f"{REGISTER}/datalake",
        "register_requests_per_minute": PACE,
        "datalake_requests_per_minute": PACE,
        "register_timeout": 5.0,
        "rate_limits": False,
        "sweep": False,
        **dict(overrides),
    }
    return Settings(**values)  # type: ignore[arg-type]  # values are checked by the settings


@cache
def _prepare_once() -> None:
    """What a service does when it starts, beside its first requests: no test is to fail for being the first."""
    prepare_first_requests()


def auth_headers(credential: str) -> dict[str, str]:
    """The headers that carry a session or an API key; none for an empty one."""
    if not credential:
        return {}
    return {"Authorization": f"Bearer {credential}"} if credential.startswith("us_") else {"X-API-Key": credential}
