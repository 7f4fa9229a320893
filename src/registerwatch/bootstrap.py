"""The one place where adapters are built from settings."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2

from registerwatch.accounts.building import Accounts, build_accounts
from registerwatch.accounts.passwords import Passwords
from registerwatch.background.ending import ended
from registerwatch.background.housekeeping import keep_house
from registerwatch.background.indexing import follow_copy
from registerwatch.clock import Clock, SystemClock
from registerwatch.db.engine import Database
from registerwatch.db.migrate import upgrade
from registerwatch.mail.sending import Mailer, mailer_of
from registerwatch.register.actors import Actors
from registerwatch.register.copy import StoredCopy
from registerwatch.register.datalake import DataLakeClient
from registerwatch.register.devices import Devices
from registerwatch.register.documents import StoredDocuments, stored_documents
from registerwatch.register.eudamed.client import EudamedClient
from registerwatch.register.eudamed.requests import Patience, RegisterRequests
from registerwatch.register.follow import IndexFollower
from registerwatch.register.index.searching import SearchIndex
from registerwatch.register.mirror import Mirror
from registerwatch.register.pacing import Priority, RequestBudget
from registerwatch.register.refresh import Refresher
from registerwatch.register.search import Search
from registerwatch.settings import Settings


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
    accounts: Accounts
    http: httpx2.AsyncClient

    async def close(self) -> None:
        """Give everything back, in the order that lets work under way end well."""
        await self.refresher.close()
        await self.accounts.close()
        await self.http.aclose()
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
) -> Service:
    """Build the adapters. Nothing is opened yet. Tests bring adapters of their own."""
    clock = clock or SystemClock()
    database = Database(settings.database_address)
    documents = stored_documents(settings.database_address)
    copy = StoredCopy(database)
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
        datalake=DataLakeClient(requests, settings.datalake_url),
        refresher=refresher,
        devices=Devices(documents, refresher, clock, fresh_for),
        actors=Actors(documents, index, refresher, clock, fresh_for, follower.trouble),
        search=Search(documents, index, follower.trouble),
        mirror=Mirror(database, copy),
        accounts=build_accounts(
            settings, database, clock, mailer or mailer_of(settings, clock), passwords or Passwords()
        ),
        http=http,
    )


@asynccontextmanager
async def running(service: Service) -> AsyncIterator[Service]:
    """The service with its database at the right schema and its background work going on."""
    await upgrade(service.database)
    service.index.refresh()
    loops = [
        asyncio.create_task(follow_copy(service.follower), name="follow the copy"),
        asyncio.create_task(keep_house(service.accounts.housekeeping), name="keep house"),
    ]
    try:
        yield service
    finally:
        await ended(loops)
        await service.close()
