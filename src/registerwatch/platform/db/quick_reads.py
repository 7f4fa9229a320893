"""Reads that must be quick, without SQLAlchemy's connections: one interface for both databases."""

from typing import Any, Protocol

from registerwatch.platform.db.sqlite import SqliteReads, sqlite_path

CACHE_MEGABYTES = 2
MAX_CONNECTIONS = 4


class QuickReads(Protocol):
    """Selects, each of which sees everything that was committed before it.

    Parameters are `?` on SQLite and `$1`, `$2` … on PostgreSQL, with values in this order. A statement must be quick:
    others wait for it.
    """

    async def all(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Every row. Raises `DatabaseUnavailable`."""

    async def one(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        """The row of a statement that gives one at most. Raises `DatabaseUnavailable`."""

    async def close(self) -> None:
        """Close the connections."""


def quick_reads(address: str) -> QuickReads:
    """Quick reads of the database with this address. The first read opens it."""
    path = sqlite_path(address)
    if path is not None:
        return SqliteReads(path, cache_megabytes=CACHE_MEGABYTES, text=str)
    from registerwatch.platform.db.postgresql import PostgresReads  # needs a driver that takes time to load

    return PostgresReads(address, max_connections=MAX_CONNECTIONS)
