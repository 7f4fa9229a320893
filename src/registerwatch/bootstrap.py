"""The one place where adapters are built from settings."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import httpcore2
import httpx2

from registerwatch.accounts.passwords import Passwords
from registerwatch.accounts.wiring import Accounts, build_accounts
from registerwatch.background.cancellation import ended
from registerwatch.background.daily_load import fill_daily
from registerwatch.background.deliver import deliver_due
from registerwatch.background.index import follow_copy
from registerwatch.background.prune import keep_house
from registerwatch.background.recheck import recheck_watches
from registerwatch.background.sync_subscriptions import tend_payments
from registerwatch.billing.provider import PaymentProvider
from registerwatch.billing.wiring import Billing, build_billing
from registerwatch.clock import Clock, SystemClock
from registerwatch.db.engine import Database
from registerwatch.db.migrate import upgrade
from registerwatch.db.schedule import Ticks
from registerwatch.mail.mailer import Mailer, mailer_of
from registerwatch.net.safe_http import CheckedNetwork, Poster, SystemResolver, checked_connections
from registerwatch.notifications.delivery import ATTEMPT_SECONDS, MOST_AT_ONCE
from registerwatch.notifications.feeds.service import Feeding
from registerwatch.notifications.outbox import WebhookOutbox
from registerwatch.notifications.wiring import Webhooks, build_webhooks
from registerwatch.register.actors import Actors
from registerwatch.register.devices import Devices
from registerwatch.register.ingest.bulk_load import Mirror
from registerwatch.register.ingest.daily_load import DailyFill
from registerwatch.register.ingest.refresh import Refresher
from registerwatch.register.search.index import SearchIndex
from registerwatch.register.search.indexer import IndexFollower
from registerwatch.register.search.queries import Search
from registerwatch.register.sources.data_lake import DataLakeClient
from registerwatch.register.sources.eudamed.client import EudamedClient
from registerwatch.register.sources.request_budget import Priority, RequestBudget
from registerwatch.register.sources.requests import Patience, RegisterRequests
from registerwatch.register.store.documents import StoredDocuments, stored_documents
from registerwatch.register.store.records import StoredCopy
from registerwatch.settings import Settings
from registerwatch.watches.observe import Observing
from registerwatch.watches.wiring import Watches, build_watches


@dataclass(frozen=True, slots=True)
class Service:
    """Everything that surfaces and background work call, built once per process."""

    settings: Settings
    clock: Clock
    database: Database
    copy: StoredCopy
    documents: StoredDocuments
    index: SearchIndex
    follower: IndexFollower
    register: EudamedClient
    datalake: DataLakeClient
    refresher: Refresher
    devices: Devices
    actors: Actors
    search: Search
    mirror: Mirror
    daily: DailyFill | None
    """None where the copy is filled by hand alone."""
    accounts: Accounts
    watches: Watches
    webhooks: Webhooks
    outbox: WebhookOutbox
    feeding: Feeding
    billing: Billing
    ticks: Ticks
    http: httpx2.AsyncClient
    receivers: httpcore2.AsyncConnectionPool

    async def close(self) -> None:
        """Give everything back, in the order that lets work under way end well."""
        await self.refresher.close()
        await self.outbox.close()
        await self.accounts.close()
        await self.http.aclose()
        await self.receivers.aclose()
        await self.billing.close()
        await self.follower.close()
        await self.documents.close()
        await self.database.close()


def build_service(
    settings: Settings,
    *,
    clock: Clock | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
    patience: dict[Priority, Patience] | None = None,
    mailer: Mailer | None = None,
    passwords: Passwords | None = None,
    provider: PaymentProvider | None = None,
) -> Service:
    """Build the adapters. Nothing is opened yet. Tests bring adapters of their own."""
    clock = clock or SystemClock()
    database = Database(settings.database_address)
    documents = stored_documents(settings.database_address)
    outbox = WebhookOutbox(database, clock)
    copy = StoredCopy(database, Observing(outbox))
    http = httpx2.AsyncClient(
        transport=transport, limits=httpx2.Limits(max_connections=20, max_keepalive_connections=5)
    )
    requests = RegisterRequests(
        http,
        RequestBudget(database, settings.register_requests_per_minute, clock),
        user_agent=settings.user_agent,
        timeout=settings.register_timeout,
        patience=patience,
    )
    register = EudamedClient(requests, settings.register_url, clock)
    refresher = Refresher(register, copy, clock)
    index = SearchIndex(settings.index_dir)
    follower = IndexFollower(documents, index)
    network = CheckedNetwork(SystemResolver(), allow_private=settings.webhooks_allow_private)
    receivers = checked_connections(network, most=MOST_AT_ONCE)
    poster = Poster(receivers, allow_private=settings.webhooks_allow_private, seconds=ATTEMPT_SECONDS)
    billing = build_billing(settings, database, clock, provider)
    datalake = DataLakeClient(requests, settings.datalake_url)
    mirror = Mirror(database, copy, clock)
    fresh_for = settings.cache_hours * 3600
    return Service(
        settings=settings,
        clock=clock,
        database=database,
        copy=copy,
        documents=documents,
        index=index,
        follower=follower,
        register=register,
        datalake=datalake,
        refresher=refresher,
        devices=Devices(documents, refresher, clock, fresh_for),
        actors=Actors(documents, index, refresher, clock, fresh_for, follower.trouble),
        search=Search(documents, index, follower.trouble),
        mirror=mirror,
        daily=_daily_fill(settings, mirror, datalake, register, clock),
        accounts=build_accounts(
            settings, database, clock, mailer or mailer_of(settings, clock), passwords or Passwords(), billing.ending
        ),
        watches=build_watches(settings, database, clock, copy, refresher, outbox),
        webhooks=build_webhooks(settings, database, clock, poster),
        outbox=outbox,
        feeding=Feeding(database, clock),
        billing=billing,
        ticks=Ticks(database, clock),
        http=http,
        receivers=receivers,
    )


def _daily_fill(
    settings: Settings, mirror: Mirror, datalake: DataLakeClient, register: EudamedClient, clock: Clock
) -> DailyFill | None:
    if settings.mirror == "off":
        return None
    if settings.mirror == "datalake":
        return DailyFill(mirror, "datalake", partial(mirror.from_datalake, datalake), clock, hour=settings.mirror_hour)
    return DailyFill(mirror, "register", partial(mirror.from_register, register), clock, hour=settings.mirror_hour)


@asynccontextmanager
async def running(service: Service, *, background: bool = True) -> AsyncIterator[Service]:
    """The service with its database at the right schema, its index following the copy, and its background work.

    Without `background` somebody else does that work.
    """
    await upgrade(service.database)
    service.index.refresh()
    following = asyncio.create_task(follow_copy(service.follower), name="follow the copy")
    try:
        async with _going_on([following, *(_background(service) if background else ())]):
            yield service
    finally:
        await service.close()


@asynccontextmanager
async def working(service: Service) -> AsyncIterator[Service]:
    """The background work alone."""
    await upgrade(service.database)
    try:
        async with _going_on(_background(service)):
            yield service
    finally:
        await service.close()


@asynccontextmanager
async def _going_on(loops: Sequence[asyncio.Task[None]]) -> AsyncIterator[None]:
    """Loops that are ended together; each finishes what it cannot leave half-done."""
    try:
        yield
    finally:
        await ended(loops)


def _background(service: Service) -> list[asyncio.Task[None]]:
    """What one process does for all: any number of them may."""
    interval = service.settings.recheck_interval
    loops = [
        asyncio.create_task(keep_house(service.accounts.housekeeping, service.webhooks.deliverer), name="keep house"),
        asyncio.create_task(deliver_due(service.webhooks.deliverer), name="deliver"),
        asyncio.create_task(recheck_watches(service.watches.rechecking, service.ticks, interval), name="recheck"),
    ]
    if service.daily is not None:
        loops.append(asyncio.create_task(fill_daily(service.daily), name="fill daily"))
    if service.billing.payments is not None:
        tending = tend_payments(service.billing.payments.tending, service.ticks)
        loops.append(asyncio.create_task(tending, name="tend payments"))
    return loops
