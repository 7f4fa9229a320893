"""The SQL of the settings of a watch. Every function takes the account's id."""

import msgspec
from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.watches.models import Watch
from registerwatch.watches.repository import WATCH, watch_of
from registerwatch.watches.tables import watches


class StoredSettings(msgspec.Struct, frozen=True):
    """The settings of a watch; `options` is JSON."""

    label: str
    is_renamed: bool
    notes: str
    options: str


async def with_settings(
    connection: AsyncConnection, account_id: int, watch_id: int
) -> tuple[Watch, StoredSettings] | None:
    """A watch of the account, and its settings."""
    found = WATCH.add_columns(watches.c.is_renamed, watches.c.notes)
    of_watch = watches.c.account_id == account_id, watches.c.id == watch_id
    row = (await connection.execute(found.where(*of_watch))).one_or_none()
    if row is None:
        return None
    return watch_of(row), StoredSettings(row.label, row.is_renamed, row.notes, row.options)


async def lock(connection: AsyncConnection, account_id: int, watch_id: int) -> None:
    """Lock a watch of the account until this transaction ends."""
    of_watch = watches.c.account_id == account_id, watches.c.id == watch_id
    await connection.execute(select(watches.c.id).where(*of_watch).with_for_update())


async def set_settings(connection: AsyncConnection, account_id: int, watch_id: int, settings: StoredSettings) -> None:
    """Store the settings of a watch of the account."""
    of_watch = watches.c.id == watch_id, watches.c.account_id == account_id
    values = {
        "label": settings.label,
        "is_renamed": settings.is_renamed,
        "notes": settings.notes,
        "options": settings.options,
    }
    await connection.execute(update(watches).where(*of_watch).values(values))


async def set_options(connection: AsyncConnection, account_id: int, watch_id: int, options: str) -> None:
    """Store the options of a watch of the account, in JSON."""
    of_watch = watches.c.id == watch_id, watches.c.account_id == account_id
    await connection.execute(update(watches).where(*of_watch).values(options=options))
