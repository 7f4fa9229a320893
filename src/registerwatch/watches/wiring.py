"""The use cases of watches, built together."""

from dataclasses import dataclass

from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.register.ingest.refresh import Refresher
from registerwatch.register.store.records import StoredCopy
from registerwatch.settings import Settings
from registerwatch.watches.import_list import Importing
from registerwatch.watches.read_run import HeldOutbox
from registerwatch.watches.read_subject import Reading
from registerwatch.watches.recheck import Rechecking
from registerwatch.watches.service import Watching
from registerwatch.watches.sync import Syncing


@dataclass(frozen=True, slots=True)
class Watches:
    """What surfaces, commands and background work call."""

    watching: Watching
    syncing: Syncing
    rechecking: Rechecking
    importing: Importing


def build_watches(
    settings: Settings,
    database: Database,
    clock: Clock,
    copy: StoredCopy,
    refresher: Refresher,
    outbox: HeldOutbox,
) -> Watches:
    """The use cases over one database."""
    reading = Reading(database, clock, refresher)
    return Watches(
        watching=Watching(database, clock, reading),
        syncing=Syncing(database, clock, reading, outbox, time_limit=settings.sync_time_limit),
        rechecking=Rechecking(database, clock, reading, outbox, watches_per_run=settings.recheck_watches_per_run),
        importing=Importing(database, clock, copy, fresh_for=settings.cache_hours * 3600),
    )
