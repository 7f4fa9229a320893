"""`registerwatch backup`: copying the SQLite database."""

from pathlib import Path
from typing import Annotated

import typer

from registerwatch.commands.display.progress import bar
from registerwatch.errors import BackupRefused
from registerwatch.platform.db import backup
from registerwatch.platform.db.sqlite import sqlite_path
from registerwatch.settings import load_settings

POSTGRESQL = (
    "The database is PostgreSQL, which has its own tools: pg_dump for a copy, or continuous archiving. "
    "After restoring one, run `registerwatch copy reindex --everywhere`, once."
)


def back_up(
    file: Annotated[Path, typer.Argument(help="The file to write; it must not be there yet.")],
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; look whether FILE is a whole backup that can be restored.")
    ] = False,
) -> None:
    """Copy the SQLite database to FILE while the service goes on, and check the copy.

    To restore: stop the service, put the file in the database's place, remove the files ending in -wal and -shm beside
    it, start. The search index is built anew by itself.
    """
    if check:
        backup.check(file)
        typer.echo(f"{file} is whole.")
        _tell_contents(file)
        return
    database = sqlite_path(load_settings().database_address)
    if database is None:
        raise BackupRefused(POSTGRESQL)
    with bar("pages") as advance:
        size = backup.back_up(database, file, advance)
    typer.echo(f"{file}: {size / 1e6:,.1f} MB, checked.")
    _tell_contents(file)


def _tell_contents(file: Path) -> None:
    """Print which contents of a backup must be protected."""
    encrypted, in_clear = backup.secrets_in(file)
    typer.echo(
        "It holds e-mail addresses, hashes of passwords, digests of keys and sessions, and secrets of webhooks and of"
        f" authenticator apps: {encrypted} encrypted (a restored service needs REGISTERWATCH_SECRETS_KEY for them),"
        f" {in_clear} in clear."
    )
