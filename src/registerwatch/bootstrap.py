"""Builds all adapters and services from settings."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpcore2
import httpx2
import msgspec

from registerwatch.accounts.limits.plan_shares import PlanShares
from registerwatch.accounts.limits.work_budget import WorkBudget
from registerwatch.accounts.notices import AccountNotices
from registerwatch.accounts.passwords.passwords import Passwords
from registerwatch.accounts.plans import plans
from registerwatch.accounts.use_cases import Accounts, build_accounts
from registerwatch.all_tables import SEALED
from registerwatch.background import loops
from registerwatch.background.run_forever import cancel_and_wait
from registerwatch.billing.provider import PaymentProvider
from registerwatch.billing.use_cases import Billing, build_billing
from registerwatch.copy.actor_lists import ActorLists
from registerwatch.copy.certificates.certificate_documents import SeenDocuments
from registerwatch.copy.certificates.certificate_queries import CertificateQueries
from registerwatch.copy.documents.documents import DocumentReader
from registerwatch.copy.documents.open_documents import open_documents
from registerwatch.copy.nomenclature import NomenclatureStore
from registerwatch.copy.records import RecordStore
from registerwatch.copy.search.index import SearchIndex
from registerwatch.copy.search.indexer import Indexer
from registerwatch.copy.search.manufacturer_devices import ManufacturerDevices
from registerwatch.copy.search.queries import SearchService
from registerwatch.copy.unread_fields import UnreadFieldStore
from registerwatch.errors import ConfigurationError, SecretUnreadable
from registerwatch.files.lists.use_cases import Lists, build_lists
from registerwatch.files.scan.photo_process import PhotoReader, photo_processes
from registerwatch.files.tables.process import MAX_AT_A_TIME as MAX_FILES_AT_A_TIME
from registerwatch.ingest.bulk_load import BulkLoader
from registerwatch.ingest.checks.register_checks import RegisterChecks
from registerwatch.ingest.checks.register_status import RegisterStatusReader
from registerwatch.ingest.daily_load import DailyLoad
from registerwatch.ingest.device_lists import DeviceListReader
from registerwatch.ingest.listed_reads import ListedReads
from registerwatch.ingest.refresh import Refresher
from registerwatch.ingest.scoped_devices import ScopedDevices
from registerwatch.ingest.subject_reads import SubjectReads
from registerwatch.ingest.sweeps.certificate_sweep import CertificateSweep
from registerwatch.ingest.sweeps.device_sweep import DeviceSweeper
from registerwatch.ingest.sweeps.sweep_run import SweepAdapters
from registerwatch.lookup.actors import ActorService
from registerwatch.lookup.certificate_documents import CertificateDocuments
from registerwatch.lookup.certificate_service import CertificateService
from registerwatch.lookup.code_service import CodeService
from registerwatch.lookup.devices import DeviceService
from registerwatch.lookup.facet_names import FacetNames
from registerwatch.lookup.history_service import HistoryService
from registerwatch.lookup.refresh_service import RefreshService
from registerwatch.mail.mailer import Mailer, mailer_of
from registerwatch.notifications.channels.webhook import ATTEMPT_SECONDS
from registerwatch.notifications.delivery.delivery import MAX_CONCURRENT
from registerwatch.notifications.feeds.service import FeedService
from registerwatch.notifications.targets.targets import MAX_TESTS
from registerwatch.notifications.use_cases import Notifications, build_notifications
from registerwatch.platform.clock import Clock, SystemClock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.migrate import upgrade
from registerwatch.platform.db.schedule import Schedule
from registerwatch.platform.db.sealed_columns import reseal
from registerwatch.platform.disk import MIN_FREE_FOR_FILES, DiskCheck
from registerwatch.platform.health import HealthChecks
from registerwatch.platform.net.resolver import DnsResolver
from registerwatch.platform.net.safe_http import CheckedNetwork, Connections, SafeHttpClient, checked_connections
from registerwatch.platform.secret_cipher import SecretCipher
from registerwatch.register.nomenclature import NomenclatureSource
from registerwatch.settings import Settings
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.budget_row import Host
from registerwatch.sources.checks.assumptions import DAILY
from registerwatch.sources.checks.source_checks import SourceChecks
from registerwatch.sources.data_lake.checks import LOOKS as DATA_LAKE_LOOKS
from registerwatch.sources.data_lake.client import DataLakeClient
from registerwatch.sources.eudamed.certificate_lists import PAGE_SIZE, EudamedCertificateLists
from registerwatch.sources.eudamed.checks.looks import LOOKS as EUDAMED_LOOKS
from registerwatch.sources.eudamed.client import EudamedClient
from registerwatch.sources.eudamed.device_lists import EudamedDeviceLists
from registerwatch.sources.eudamed.documents import EudamedDocuments
from registerwatch.sources.eudamed.nomenclature import EudamedNomenclature
from registerwatch.sources.record_file import RecordFile
from registerwatch.sources.request_budget import RequestBudget
from registerwatch.sources.request_observer import RequestObserver
from registerwatch.sources.request_pace import START_PER_MINUTE, PaceLimits
from registerwatch.sources.requests import RegisterHttpClient, RetryPolicy, retry_policies_of_slow_host
from registerwatch.sources.source import BulkSource
from registerwatch.sources.unread_fields import UnreadFields
from registerwatch.watches.events.event_latency import EventLatencies
from registerwatch.watches.observe import WatchObserver
from registerwatch.watches.reading.watched_devices import DevicesOfAccounts
from registerwatch.watches.use_cases import Watches, build_watches

if TYPE_CHECKING:
    from registerwatch.accounts.provider.provider_client import ProviderClient


CERTIFICATE_SWEEP_SECONDS = 3600
"""The interval of reading the list of all certificates, longer if sweeps are set to be rarer."""


class Service(msgspec.Struct, frozen=True):
    """Everything that surfaces and background work call, built once per process."""

    settings: Settings
    clock: Clock
    database: Database
    records: RecordStore
    documents: DocumentReader
    index: SearchIndex
    indexer: Indexer
    bulk_sources: Mapping[str, BulkSource]
    """Sources that list all their records, by their names in `copy fill --source`."""
    unread: UnreadFields
    unread_fields: UnreadFieldStore
    budgets: Mapping[Host, RequestBudget]
    register_requests: tuple[RegisterHttpClient, ...]
    """The HTTP clients of the register and the Data Lake."""
    eudamed: EudamedClient
    register_checks: RegisterChecks
    register_status: RegisterStatusReader
    event_latencies: EventLatencies
    refresher: Refresher
    devices: DeviceService
    actors: ActorService
    certificates: CertificateService
    certificate_documents: CertificateDocuments
    history: HistoryService
    refresh: RefreshService
    codes: CodeService
    work: WorkBudget
    photos: PhotoReader
    nomenclature: NomenclatureStore
    nomenclature_source: NomenclatureSource
    facet_names: FacetNames
    search: SearchService
    device_sweep: DeviceSweeper
    bulk_loader: BulkLoader
    daily_load: DailyLoad | None
    """None if the copy is only filled by hand."""
    certificate_sweep: CertificateSweep
    accounts: Accounts
    watches: Watches
    lists: Lists
    notifications: Notifications
    feeds: FeedService
    billing: Billing
    schedule: Schedule
    health: HealthChecks
    http: httpx2.AsyncClient
    receivers: httpcore2.AsyncConnectionPool
    resolver: DnsResolver

    def bulk_source(self, name: str) -> BulkSource:
        """The source of this name; any other name is the path of a file of records."""
        return self.bulk_sources.get(name) or RecordFile(Path(name), self.unread)

    def observe_requests(self, observer: RequestObserver) -> None:
        """Let a command show every request to the register and to the Data Lake."""
        for each in self.register_requests:
            each.observer = observer

    async def close(self) -> None:
        """Close everything, in an order that lets running work finish."""
        await self.watches.close()
        await self.refresher.close()
        await self.notifications.outbox.close()
        await self.accounts.close()
        await self.http.aclose()
        await self.receivers.aclose()
        await self.resolver.aclose()
        await self.billing.close()
        await self.indexer.close()
        await self.documents.close()
        await self.database.close()


def build_service(
    settings: Settings,
    *,
    clock: Clock | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
    retry_policies: dict[RequestPriority, RetryPolicy] | None = None,
    mailer: Mailer | None = None,
    passwords: Passwords | None = None,
    provider: PaymentProvider | None = None,
    receivers: Connections | None = None,
    resolver: DnsResolver | None = None,
    page_size: int = PAGE_SIZE,
    start_pace: int = START_PER_MINUTE,
) -> Service:
    """Build the adapters. Nothing is opened yet. Tests pass adapters of their own, and lists of few rows a page.

    `start_pace` is the initial pace of a host in requests a minute; a stand-in of one's own needs no caution.
    """
    clock = clock or SystemClock()
    database = Database(settings.database_address)
    documents = open_documents(settings.database_address)
    resolver = resolver or DnsResolver()
    network = CheckedNetwork(resolver, allow_private=settings.webhooks_allow_private)
    connections = checked_connections(network, most=MAX_CONCURRENT + MAX_TESTS)
    http_client = SafeHttpClient(
        receivers or connections, allow_private=settings.webhooks_allow_private, seconds=ATTEMPT_SECONDS
    )
    mailer = mailer or mailer_of(settings, clock)
    notices = AccountNotices(clock, mailer, public_url=settings.public_url)
    cipher = SecretCipher(settings.secrets_keys)
    shares = PlanShares(plans(settings.trial_watch_cap), needs_confirmation=mailer.is_set_up)
    work = WorkBudget(database, clock, shares, refuses=settings.rate_limits)
    folders = _folders(settings, database)
    notifications = build_notifications(settings, database, clock, http_client, notices, cipher, mailer)
    copy = RecordStore(database, WatchObserver(notifications.outbox), DevicesOfAccounts())
    http = httpx2.AsyncClient(
        transport=transport, limits=httpx2.Limits(max_connections=20, max_keepalive_connections=5)
    )
    unread = UnreadFields()
    unread_fields = UnreadFieldStore(database, clock, unread)
    budgets = _budgets(settings, database, clock, start_pace)
    requests = RegisterHttpClient(
        http,
        budgets[Host.REGISTER],
        user_agent=settings.user_agent,
        timeout=settings.register_timeout,
        retry_policies=retry_policies,
        unread=unread,
    )
    register = EudamedClient(requests, settings.register_url, clock, page_size=page_size)
    listing = EudamedDeviceLists(register.interface, page_size=page_size)
    actor_lists = ActorLists(database)
    list_reader = DeviceListReader(listing, copy, actor_lists, clock)
    fresh_for = settings.fresh_seconds
    subject_reads = SubjectReads(register, copy, clock, list_reader)
    refresher = Refresher(subject_reads, clock, max_shared_age=fresh_for / 2)
    index = SearchIndex(settings.index_dir)
    indexer = Indexer(documents, index)
    billing = build_billing(settings, database, clock, mailer, provider)
    lake_requests = RegisterHttpClient(
        http,
        budgets[Host.DATA_LAKE],
        user_agent=settings.user_agent,
        timeout=settings.datalake_timeout,
        headers=_datalake_headers(settings),
        retry_policies=retry_policies or retry_policies_of_slow_host(settings.datalake_timeout),
        unread=unread,
    )
    data_lake = DataLakeClient(lake_requests, settings.datalake_url)
    eudamed_checks = SourceChecks(EUDAMED_LOOKS, requests, settings.register_url, clock, RequestPriority.SWEEP)
    lake_checks = SourceChecks(DATA_LAKE_LOOKS, lake_requests, settings.datalake_url, clock, RequestPriority.BULK_LOAD)
    daily_checks = eudamed_checks.names | (lake_checks.names if settings.mirror == "datalake" else frozenset())
    register_checks = RegisterChecks(database, clock, (eudamed_checks, lake_checks), daily_checks & DAILY)
    bulk_sources: list[BulkSource] = [data_lake, register]
    by_name = {source.load_name: source for source in bulk_sources}
    bulk_loader = BulkLoader(database, copy, clock, unread_fields)
    certificate_queries = CertificateQueries(database)
    certificates = CertificateService(certificate_queries)
    devices = DeviceService(documents, refresher, clock, fresh_for)
    codes = CodeService(documents)
    nomenclature = NomenclatureStore(database)
    lists = ListedReads(database, copy, listing, register_checks, clock)
    watches = build_watches(
        settings, database, clock, copy, refresher, notifications.outbox, codes, budgets[Host.REGISTER], lists, work
    )
    sweep = SweepAdapters(
        database,
        copy,
        listing,
        watches.sweep_targets,
        watches.news,
        register_checks,
        ManufacturerDevices(documents, index),
        clock,
    )
    actors = ActorService(documents, index, refresher, clock, fresh_for, indexer.problem, certificates, actor_lists)
    return Service(
        settings=settings,
        clock=clock,
        database=database,
        records=copy,
        documents=documents,
        index=index,
        indexer=indexer,
        bulk_sources=by_name,
        unread=unread,
        unread_fields=unread_fields,
        budgets=budgets,
        register_requests=(requests, lake_requests),
        eudamed=register,
        register_checks=register_checks,
        register_status=RegisterStatusReader(database, clock, copy, register_checks, budgets),
        event_latencies=EventLatencies(database, clock),
        refresher=refresher,
        devices=devices,
        actors=actors,
        certificates=certificates,
        certificate_documents=CertificateDocuments(
            certificates, EudamedDocuments(requests, settings.register_url), SeenDocuments(database), clock
        ),
        history=HistoryService(database, clock),
        codes=codes,
        work=work,
        photos=PhotoReader(photo_processes(budget=work)),
        nomenclature=nomenclature,
        nomenclature_source=EudamedNomenclature(requests, settings.register_url),
        facet_names=FacetNames(documents, nomenclature, certificate_queries),
        refresh=RefreshService(refresher, devices, actors, indexer.catch_up_where_near),
        device_sweep=DeviceSweeper(sweep, interval=settings.sweep_interval),
        search=SearchService(
            documents,
            index,
            indexer.problem,
            indexer.has_nothing,
            certificate_queries,
            actor_lists,
            refresher.list_problem,
        ),
        bulk_loader=bulk_loader,
        daily_load=_daily_load(settings, bulk_loader, by_name, clock, register_checks),
        certificate_sweep=CertificateSweep(
            database,
            EudamedCertificateLists(requests, settings.register_url, page_size=page_size),
            clock,
            watches.news,
            register_checks,
            ScopedDevices(copy, DevicesOfAccounts(), refresher.propagate_rest),
            every=max(CERTIFICATE_SWEEP_SECONDS, settings.sweep_interval),
        ),
        accounts=build_accounts(
            settings,
            database,
            clock,
            mailer,
            passwords or Passwords(refuses_common=settings.common_passwords == "everywhere"),
            billing.cancellations,
            notices=notices,
            cipher=cipher,
            provider=_openid_provider(settings, clock),
        ),
        watches=watches,
        lists=build_lists(
            settings,
            database,
            clock,
            copy,
            watches.imports,
            watches.code_reader,
            shares,
            work,
            DiskCheck(*folders, min_free_bytes=MIN_FREE_FOR_FILES),
        ),
        notifications=notifications,
        feeds=FeedService(database, clock, notices),
        billing=billing,
        schedule=Schedule(database, clock),
        health=HealthChecks({"database": database.problem, "disk": DiskCheck(*folders).problem}, clock),
        http=http,
        receivers=connections,
        resolver=resolver,
    )


def _datalake_headers(settings: Settings) -> dict[str, str]:
    """The subscription key, if there is one."""
    key = settings.datalake_key
    return {} if key is None else {"Ocp-Apim-Subscription-Key": key.get_secret_value()}


def _budgets(settings: Settings, database: Database, clock: Clock, start_pace: int) -> dict[Host, RequestBudget]:
    """The request budget of each host."""
    most = {
        Host.REGISTER: settings.register_requests_per_minute,
        Host.DATA_LAKE: settings.datalake_requests_per_minute,
    }
    return {host: RequestBudget(database, PaceLimits(most[host], start_pace), clock, host) for host in Host}


def _openid_provider(settings: Settings, clock: Clock) -> "ProviderClient | None":
    if not settings.oidc_issuer:
        return None
    from registerwatch.accounts.provider.provider_client import ProviderClient  # slow to load, and rarely needed

    secret = settings.oidc_client_secret
    return ProviderClient(
        httpx2.AsyncClient(follow_redirects=False, trust_env=False),
        clock,
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        client_secret="" if secret is None else secret.get_secret_value(),
        redirect_address=f"{settings.public_url}/login/oidc/back",
    )


def _daily_load(
    settings: Settings,
    bulk_loader: BulkLoader,
    sources: Mapping[str, BulkSource],
    clock: Clock,
    checks: RegisterChecks,
) -> DailyLoad | None:
    if settings.mirror == "off":
        return None
    return DailyLoad(bulk_loader, sources[settings.mirror], clock, hour=settings.mirror_hour, checks=checks)


def _folders(settings: Settings, database: Database) -> set[Path]:
    """The folders that the service writes into."""
    return {settings.data_dir} | ({database.sqlite_path.parent} if database.sqlite_path is not None else set())


async def _prepare_database(service: Service) -> None:
    """Bring the database to its schema, and encrypt its secrets with the present key."""
    await upgrade(service.database)
    try:
        await reseal(service.database, SecretCipher(service.settings.secrets_keys), SEALED)
    except (ConfigurationError, SecretUnreadable):
        await service.close()
        raise


@asynccontextmanager
async def running(service: Service, *, background: bool = True) -> AsyncIterator[Service]:
    """The service with its database at the right schema, its index following the copy, and its background work.

    Without `background` another process does that work.
    """
    await _prepare_database(service)
    await service.indexer.open()
    own = [
        asyncio.create_task(loops.index(service.indexer), name="index"),
        asyncio.create_task(loops.store_credential_uses(service.accounts.uses), name="credential uses"),
        asyncio.create_task(loops.store_unread_fields(service.unread_fields), name="unread fields"),
    ]
    try:
        async with _cancelled_at_end([*own, *(_background(service) if background else ())]):
            yield service
    finally:
        await service.close()


@asynccontextmanager
async def working(service: Service) -> AsyncIterator[Service]:
    """Run background work only."""
    await _prepare_database(service)
    unread_fields = asyncio.create_task(loops.store_unread_fields(service.unread_fields), name="unread fields")
    try:
        async with _cancelled_at_end([unread_fields, *_background(service)]):
            yield service
    finally:
        await service.close()


@asynccontextmanager
async def _cancelled_at_end(tasks: Sequence[asyncio.Task[None]]) -> AsyncIterator[None]:
    """Cancel all tasks at the end; each finishes steps that must not be interrupted."""
    try:
        yield
    finally:
        await cancel_and_wait(tasks)


def _background(service: Service) -> list[asyncio.Task[None]]:
    """The loops whose work is shared: any number of processes may run them."""
    interval = service.settings.recheck_interval
    tasks = [
        asyncio.create_task(
            loops.prune(
                service.accounts.pruner,
                service.notifications.deliveries,
                service.history.pruner,
                service.lists.worker,
            ),
            name="prune",
        ),
        *(
            asyncio.create_task(loops.match_lists(service.lists.worker), name=f"match lists {number}")
            for number in range(MAX_FILES_AT_A_TIME)
        ),
        asyncio.create_task(loops.follow_lists(service.lists.worker, service.schedule), name="follow lists"),
        asyncio.create_task(
            loops.delete_old_trials(service.accounts.old_trials, service.schedule), name="delete old trials"
        ),
        asyncio.create_task(
            loops.mail_period_notices(service.billing.period_notices, service.schedule), name="tell ends of periods"
        ),
        asyncio.create_task(loops.deliver(service.notifications.deliveries), name="deliver"),
        asyncio.create_task(loops.send_mails(service.notifications.mails), name="send mails"),
        asyncio.create_task(loops.recheck(service.watches.recheck, service.schedule, interval), name="recheck"),
        asyncio.create_task(loops.check_register(service.register_checks, service.schedule), name="register checks"),
        asyncio.create_task(
            loops.look_after_channels(service.notifications.upkeep, service.schedule), name="look after channels"
        ),
        asyncio.create_task(loops.report_expiring(service.watches.expiry, service.schedule), name="tell expiring"),
    ]
    if service.settings.sweep:
        tasks.append(
            asyncio.create_task(loops.sweep_devices(service.device_sweep, service.schedule), name="sweep devices")
        )
    if service.daily_load is not None:
        tasks.append(asyncio.create_task(loops.load_daily(service.daily_load), name="daily load"))
    if service.settings.sweep:
        tasks.append(asyncio.create_task(loops.sweep_certificates(service.certificate_sweep), name="certificate sweep"))
        scopes = loops.read_scopes(service.certificate_sweep, service.schedule)
        tasks.append(asyncio.create_task(scopes, name="certificate scopes"))
    if service.notifications.bounce_reader is not None:
        bounces = loops.read_bounces(service.notifications.bounce_reader, service.schedule)
        tasks.append(asyncio.create_task(bounces, name="read bounces"))
    if service.billing.payments is not None:
        upkeep = loops.sync_subscriptions(service.billing.payments.upkeep, service.schedule)
        tasks.append(asyncio.create_task(upkeep, name="sync subscriptions"))
    return tasks
