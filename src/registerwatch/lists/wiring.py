"""The use cases of lists, built together."""

import msgspec

from registerwatch.accounts.plans import plans
from registerwatch.accounts.work_budget import WorkBudget
from registerwatch.clock import Clock
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
    settings: Settings, database: Database, clock: Clock, copy: RecordStore, imports: ImportService, work: WorkBudget
) -> Lists:
    """The use cases over one database."""
    reader = TableReader(table_processes(budget=work))
    worker = ListWorker(database, clock, copy, reader, plans(settings.trial_watch_cap), work)
    return Lists(ListService(database, clock, copy, imports, worker.wake), worker)
