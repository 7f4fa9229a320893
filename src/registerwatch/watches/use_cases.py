"""The use cases of watches, built together."""

import msgspec

from registerwatch.accounts.limits.work_budget import WorkBudget
from registerwatch.copy.records import RecordStore
from registerwatch.files.tables.process import TableReader
from registerwatch.ingest.listed_reads import ListedReads
from registerwatch.ingest.refresh import Refresher
from registerwatch.lookup.code_service import CodeService
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.settings import Settings
from registerwatch.sources.request_budget import RequestBudget
from registerwatch.watches.bulk import BulkService
from registerwatch.watches.events.event_marks import EventMarks
from registerwatch.watches.imports.code_process import CodeReader, code_processes
from registerwatch.watches.imports.import_file import ListFileReader, import_processes
from registerwatch.watches.imports.import_list import ImportService
from registerwatch.watches.news.expiry import ExpiryService
from registerwatch.watches.news.news import WatchNews
from registerwatch.watches.outbox import Outbox
from registerwatch.watches.questions.certificate_service import CertificateService
from registerwatch.watches.questions.listing_service import ListingService
from registerwatch.watches.questions.overview import OverviewService
from registerwatch.watches.questions.watch_details import WatchDetailsService
from registerwatch.watches.reading.read_subject import SubjectReader
from registerwatch.watches.reading.recheck import RecheckService
from registerwatch.watches.reading.sweep_targets import SweepTargets
from registerwatch.watches.reading.sync import SyncService, side_by_side
from registerwatch.watches.reading.sync_runs import SyncRunService
from registerwatch.watches.service import WatchService
from registerwatch.watches.tags import TagService


class Watches(msgspec.Struct, frozen=True):
    """The use cases of watches."""

    service: WatchService
    details: WatchDetailsService
    sync: SyncService
    recheck: RecheckService
    imports: ImportService
    code_reader: CodeReader
    listing: ListingService
    list_files: ListFileReader
    certificates: CertificateService
    tags: TagService
    marks: EventMarks
    overview: OverviewService
    bulk: BulkService
    sync_runs: SyncRunService
    news: WatchNews
    sweep_targets: SweepTargets
    expiry: ExpiryService

    async def close(self) -> None:
        """Stop the syncs that pages have started."""
        await self.sync_runs.close()


def build_watches(
    settings: Settings,
    database: Database,
    clock: Clock,
    copy: RecordStore,
    refresher: Refresher,
    outbox: Outbox,
    codes: CodeService,
    budget: RequestBudget,
    lists: ListedReads,
    work: WorkBudget,
) -> Watches:
    """Build the use cases. `budget` is that of the register, `work` that of the processor."""

    async def at_a_time() -> int:
        return side_by_side((await budget.pace()).per_minute)

    certificates = CertificateService(database, clock)
    code_reader = CodeReader(code_processes(work))
    reader = SubjectReader(database, clock, copy, refresher, lists)
    return Watches(
        service=WatchService(database, clock, reader, codes),
        details=WatchDetailsService(database, clock, reader),
        sync=SyncService(database, clock, reader, outbox, time_limit=settings.sync_time_limit, at_a_time=at_a_time),
        recheck=RecheckService(
            database,
            clock,
            reader,
            outbox,
            watches_per_run=settings.recheck_watches_per_run,
            max_shared_age=settings.fresh_seconds,
        ),
        listing=ListingService(database, clock),
        imports=ImportService(
            database,
            clock,
            copy,
            fresh_for=settings.fresh_seconds,
            codes=code_reader,
            remembered=refresher.remembered,
        ),
        code_reader=code_reader,
        list_files=ListFileReader(TableReader(import_processes(work))),
        certificates=certificates,
        tags=TagService(database),
        bulk=BulkService(database, clock),
        sync_runs=SyncRunService(database, clock, reader, outbox, at_a_time=at_a_time),
        expiry=ExpiryService(database, clock, outbox),
        marks=EventMarks(database, clock),
        news=WatchNews(outbox),
        sweep_targets=SweepTargets(database, clock, reader, outbox),
        overview=OverviewService(database, clock, certificates, recheck_interval=settings.recheck_interval),
    )
