"""The use cases of lists, built together."""

import msgspec

from registerwatch.accounts.limits.plan_shares import PlanShares
from registerwatch.accounts.limits.work_budget import WorkBudget
from registerwatch.copy.records import RecordStore
from registerwatch.files.lists.service import ListService
from registerwatch.files.lists.worker import ListWorker
from registerwatch.files.tables.process import TableReader, table_processes
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.disk import DiskCheck
from registerwatch.settings import Settings
from registerwatch.watches.imports.code_process import CodeReader, code_processes
from registerwatch.watches.imports.import_list import ImportService


class Lists(msgspec.Struct, frozen=True):
    """The use cases of lists."""

    service: ListService
    worker: ListWorker


def build_lists(
    settings: Settings,
    database: Database,
    clock: Clock,
    copy: RecordStore,
    imports: ImportService,
    codes: CodeReader,
    shares: PlanShares,
    work: WorkBudget,
    disk: DiskCheck,
) -> Lists:
    """Build the use cases. `codes` reads what people wait for; the codes of files are read beside it. No files are
    accepted while `disk` is nearly full.
    """
    reader = TableReader(table_processes(budget=work))
    codes_of_files = CodeReader(code_processes(WorkBudget(database, clock, shares, refuses=False)))
    worker = ListWorker(database, clock, copy, reader, codes_of_files, shares, work)
    service = ListService(
        database, clock, copy, imports, codes, shares, work, disk, worker.wake, fresh_for=settings.fresh_seconds
    )
    return Lists(service, worker)
