"""Explains a driver's error to the operator: which fault it is, and what to do about it."""

import sqlite3
from pathlib import Path

from registerwatch.errors import DatabaseUnavailable

FULL = "The disk of the database is full, so nothing can be stored."
READ_ONLY = "The database can be read but not written."
DAMAGED = "The database is damaged."
UNREADABLE = "The disk of the database cannot be read or written."
NOT_OPENED = "The database does not answer: its file cannot be opened."

_SQLITE_FAULTS = {
    sqlite3.SQLITE_FULL: (FULL, "Make room on the disk of {path}; the service goes on by itself then."),
    sqlite3.SQLITE_READONLY: (READ_ONLY, "Let the user of the service write {path} and its folder."),
    sqlite3.SQLITE_PERM: (READ_ONLY, "Let the user of the service write {path} and its folder."),
    sqlite3.SQLITE_CORRUPT: (DAMAGED, "Stop the service and put a backup in the place of {path}."),
    sqlite3.SQLITE_NOTADB: (DAMAGED, "Stop the service and put a backup in the place of {path}."),
    sqlite3.SQLITE_IOERR: (UNREADABLE, "Look at the disk of {path} and at the system's log."),
    sqlite3.SQLITE_CANTOPEN: (NOT_OPENED, "Let the user of the service read and write {path} and its folder."),
}
_POSTGRESQL_FAULTS = {
    "53100": (FULL, "Make room on the server of PostgreSQL; the service goes on by itself then."),
    "25006": (READ_ONLY, "Name a server of PostgreSQL that takes writes."),
}
"""By SQLSTATE."""
_DEADLOCK, _CANCELED = "40P01", "57014"
_PRIMARY_CODE = 0xFF
"""An extended code of SQLite has its primary code in the lowest byte."""


def unavailable(error: BaseException, path: Path | None) -> DatabaseUnavailable:
    """The error that the service raises for a driver's; `path` is SQLite's file."""
    summary, advice = _fault(error) or ("", "")
    if not summary:
        return DatabaseUnavailable(f"The database does not answer: {error}")
    return DatabaseUnavailable(f"{summary} {advice.format(path=path)} ({error})", summary=summary)


def is_fault(error: BaseException | None) -> bool:
    """Whether a driver's error is a fault of the database itself rather than of a statement."""
    return isinstance(error, sqlite3.OperationalError) or _fault(error) is not None


def is_deadlock(error: BaseException | None) -> bool:
    """Whether PostgreSQL ended a transaction because it and another one waited for each other."""
    return getattr(getattr(error, "orig", error), "sqlstate", None) == _DEADLOCK


def took_too_long(error: BaseException | None) -> bool:
    """Whether a statement was ended because it took longer than it may."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT
    return getattr(error, "sqlstate", None) == _CANCELED


def _fault(error: BaseException | None) -> tuple[str, str] | None:
    """The fault, and what to do."""
    if isinstance(error, sqlite3.Error):
        return _SQLITE_FAULTS.get(getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE)
    return _POSTGRESQL_FAULTS.get(str(getattr(error, "sqlstate", "")))
