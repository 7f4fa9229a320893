"""The tables of all domains: `metadata` has every one of them, `SEALED` the columns that are encrypted."""

import registerwatch.accounts.tables
import registerwatch.billing.tables
import registerwatch.copy.tables
import registerwatch.files.lists.tables
import registerwatch.ingest.tables
import registerwatch.notifications.tables
import registerwatch.sources.tables
import registerwatch.watches.tables
from registerwatch.platform.db.tables import metadata

__all__ = ["DOMAINS", "SEALED", "metadata"]

DOMAINS = (
    registerwatch.accounts.tables,
    registerwatch.billing.tables,
    registerwatch.copy.tables,
    registerwatch.files.lists.tables,
    registerwatch.ingest.tables,
    registerwatch.notifications.tables,
    registerwatch.sources.tables,
    registerwatch.watches.tables,
)
"""The modules that define tables."""
SEALED = (*registerwatch.accounts.tables.SEALED, *registerwatch.notifications.tables.SEALED)
