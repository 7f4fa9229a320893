"""The use cases of watches, built together."""

from dataclasses import dataclass

from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.register.copy import StoredCopy
from registerwatch.register.refresh import Refresher
from registerwatch.settings import Settings
from registerwatch.watches.importing import Importing
from registerwatch.watches.reading import Reading
from registerwatch.watches.rechecking import Rechecking
from registerwatch.watches.runs import HeldOutbox
from registerwatch.watches.syncing import Syncing
from registerwatch.watches.watching import Watching


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
