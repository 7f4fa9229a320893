"""The use cases of lists, built together."""

import msgspec

from registerwatch.accounts.plans import plans
from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.lists.service import ListService
from registerwatch.lists.worker import ListWorker
from registerwatch.register.store.records import RecordStore
from registerwatch.settings import Settings
from registerwatch.tables.process import TableReader
from registerwatch.watches.import_list import ImportService


class Lists(msgspec.Struct, frozen=True):
    """What surfaces and background work call."""

    service: ListService
    worker: ListWorker


def build_lists(
    settings: Settings, database: Database, clock: Clock, copy: RecordStore, imports: ImportService
) -> Lists:
    """The use cases over one database."""
    worker = ListWorker(database, clock, copy, TableReader(), plans(settings.trial_watch_cap))
    return Lists(ListService(database, clock, copy, imports, worker.wake), worker)
