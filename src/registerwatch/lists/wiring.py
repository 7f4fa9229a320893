"""The use cases of lists, built together."""

import msgspec

from registerwatch.accounts.plan_shares import PlanShares
from registerwatch.accounts.work_budget import WorkBudget
from registerwatch.clock import Clock
from registerwatch.db.disk import DiskCheck
from registerwatch.db.engine import Database
from registerwatch.lists.service import ListService
from registerwatch.lists.worker import ListWorker
from registerwatch.register.store.records import RecordStore
from registerwatch.settings import Settings
from registerwatch.tables.process import TableReader, table_processes
from registerwatch.watches.import_list import ImportService


class Lists(msgspec.Struct, frozen=True):
    """What surfaces and background work call."""

    service: ListService
    worker: ListWorker


def build_lists(
    settings: Settings,
    database: Database,
    clock: Clock,
    copy: RecordStore,
    imports: ImportService,
    shares: PlanShares,
    work: WorkBudget,
    disk: DiskCheck,
) -> Lists:
    """The use cases over one database. No files are taken while `disk` has little room."""
    reader = TableReader(table_processes(budget=work))
    worker = ListWorker(database, clock, copy, reader, shares, work)
    service = ListService(
        database, clock, copy, imports, shares, work, disk, worker.wake, fresh_for=settings.fresh_seconds
    )
    return Lists(service, worker)
