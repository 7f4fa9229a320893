"""Raw read-only connections to a SQLite database, for reads that must be quick. Imports no ORM, so it loads fast."""

import sqlite3
from pathlib import Path

from registerwatch.errors import DatabaseUnavailable

SCHEME = "sqlite:///"


def sqlite_path(address: str) -> Path | None:
    """The file in an address such as `sqlite:///data/registerwatch.db`, None for an address of another database."""
    return Path(address.removeprefix(SCHEME)) if address.startswith(SCHEME) else None


def sqlite_read_only(path: Path, *, cache_megabytes: int) -> sqlite3.Connection:
    """A connection that can only read. Text comes back as bytes.

    Raises `DatabaseUnavailable` when the file is missing or is no database.
    """
    try:
        connection = sqlite3.connect(
            f"file:{quoted(path)}?mode=ro",
            uri=True,
            check_same_thread=False,
            isolation_level=None,
            cached_statements=32,
        )
        connection.execute(f"PRAGMA cache_size = -{cache_megabytes * 1024}")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        raise DatabaseUnavailable(f"The database {path} cannot be read: {error}") from error
    connection.text_factory = bytes
    return connection


def quoted(path: Path) -> str:
    """A path as it stands in a SQLite URI."""
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
