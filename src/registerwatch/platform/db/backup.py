"""Backups of SQLite: the database as it was at one moment, copied while the service runs.

The copy is a database of its own with another `copy_id`, so that a search index of the present one is built anew for it
and not taken for its own.
"""

import os
import secrets
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from registerwatch.errors import BackupRefused
from registerwatch.platform.db.migrate import known_schemas
from registerwatch.platform.db.sqlite import quoted
from registerwatch.platform.db.unreleased_schema import LAST_UNRELEASED
from registerwatch.platform.secret_cipher import PREFIX

PAGES_A_STEP = 4_000
"""16 MB, after which progress is reported."""

Progress = Callable[[int, int], None]
"""Called with the number of copied pages and of all."""


def back_up(database: Path, target: Path, progress: Progress) -> int:
    """Copy the database to a new file, check it, and put the file in place as a whole; returns its size in bytes.

    Raises `BackupRefused`; then there is no file, not even a part of one.
    """
    if target.exists():
        raise BackupRefused(f"{target} is there already, and a backup overwrites nothing. Name another file.")
    if not database.is_file():
        raise BackupRefused(f"There is no database {database} to back up.")
    begun = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
    try:
        begun.touch(mode=0o600, exist_ok=False)
        _copy(database, begun, progress)
        check(begun)
        with begun.open("rb") as written:
            os.fsync(written.fileno())
        begun.rename(target)
        _settle(target.parent)
        return target.stat().st_size
    except (OSError, sqlite3.Error) as error:
        raise BackupRefused(f"The backup could not be written: {error}. Nothing was left behind.") from error
    finally:
        begun.unlink(missing_ok=True)


def check(backup: Path) -> None:
    """Check that a file is a whole database of Registerwatch at a schema that this program knows. Raises
    `BackupRefused`.
    """
    if not backup.is_file():
        raise BackupRefused(f"There is no file {backup}.")
    try:
        with closing(sqlite3.connect(f"file:{quoted(backup)}?immutable=1", uri=True)) as connection:
            found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            schema = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.Error as error:
        raise BackupRefused(f"{backup} is no whole database of Registerwatch: {error}.") from error
    if found != "ok":
        raise BackupRefused(f"{backup} is damaged: {found}.")
    if schema is None or schema[0] not in {*known_schemas(), LAST_UNRELEASED}:
        raise BackupRefused(f"{backup} was made by a newer version of Registerwatch, which can restore it.")


def secrets_in(backup: Path) -> tuple[int, int]:
    """How many webhooks and authenticator apps have their secrets in a backup encrypted, and how many in clear.

    Raises `BackupRefused`.
    """
    counted = (
        "SELECT count(*), coalesce(sum(secret LIKE :encrypted AND coalesce(old_secret, '') NOT LIKE 'whsec%'), 0)"
        " FROM webhooks WHERE secret <> ''"
    )
    of_apps = "SELECT count(*), coalesce(sum(secret LIKE :encrypted), 0) FROM totp_factors"
    total = encrypted = 0
    try:
        with closing(sqlite3.connect(f"file:{quoted(backup)}?immutable=1", uri=True)) as connection:
            for statement in (counted, of_apps):
                found, sealed = connection.execute(statement, {"encrypted": f"{PREFIX}%"}).fetchone()
                total, encrypted = total + found, encrypted + sealed
    except sqlite3.Error as error:
        raise BackupRefused(f"{backup} cannot be read: {error}.") from error
    return encrypted, total - encrypted


def _copy(database: Path, target: Path, progress: Progress) -> None:
    with (
        closing(sqlite3.connect(f"file:{quoted(database)}?mode=ro", uri=True, isolation_level=None)) as source,
        closing(sqlite3.connect(target, isolation_level=None)) as copy,
    ):
        source.execute("BEGIN")  # a snapshot: later writes neither show nor make the copying begin anew
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        source.backup(copy, pages=PAGES_A_STEP, progress=lambda _, left, of: progress(of - left, of), sleep=0)
        copy.execute("PRAGMA journal_mode = DELETE")  # all in one file
        copy.execute("UPDATE copy_state SET copy_id = ?", (secrets.token_hex(8),))


def _settle(folder: Path) -> None:
    """Make the folder's new entry survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
