"""Upgrades a database to the schema of this program, by Alembic, with one history for both databases.

Alembic takes a moment to load, so it is loaded only for a migration: the name of a migration's file begins with its
revision, and the last revision is the schema of this program.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect

from registerwatch.errors import DatabaseUnavailable
from registerwatch.platform.db.driver_errors import is_deadlock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.unreleased_schema import is_unreleased, take_over
from registerwatch.platform.disk import make_folder
from registerwatch.platform.private_files import protect_database

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"
DEADLOCKS = 5
"""Deadlocks in a row that are an error."""


async def upgrade(database: Database) -> None:
    """Apply every missing migration. Safe to call at each start, from several processes, and while nodes of the release
    before serve: a migration that PostgreSQL ends in favour of one of theirs is begun again.

    Raises `DatabaseUnavailable` when the database was made by a newer program or by one long before the first release,
    or cannot hold every text, and `ConfigurationError` when its folder cannot be used.
    """
    if database.sqlite_path is not None:
        make_folder(database.sqlite_path.parent)
        protect_database(database.sqlite_path)
    for tries_left in reversed(range(DEADLOCKS)):
        try:
            async with database.transaction() as connection:
                await connection.run_sync(_upgrade)
        except DatabaseUnavailable as failure:
            if not (tries_left and is_deadlock(failure.__cause__)):
                raise
        else:
            return


def _upgrade(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        _demand_unicode(connection)
        connection.exec_driver_sql("SET LOCAL lock_timeout = '30min'")  # another node may be at a long migration
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7023401)")
    current, known = schema_of(connection), known_schemas()
    if current is not None and is_unreleased(connection):
        current = take_over(connection, current)
    if current is not None and current not in known:
        raise DatabaseUnavailable(
            f"The database is at schema {current}, which this program does not know: it was made by a newer "
            "version. Install that version, or restore a backup of before the upgrade."
        )
    if current != max(known):
        from alembic import command

        command.upgrade(config_of(connection), "head")


def schema_of(connection: Connection) -> str | None:
    """The revision of a database; None where it is empty."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return revision


def config_of(connection: Connection) -> "Config":
    """Alembic's configuration, to work on this connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


def _demand_unicode(connection: Connection) -> None:
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        raise DatabaseUnavailable(
            f"The database keeps its text in {encoding}, which has no room for every name in the register. Create one "
            "in UTF8: CREATE DATABASE registerwatch ENCODING 'UTF8' LOCALE 'C.UTF-8' TEMPLATE template0."
        )


def known_schemas() -> set[str]:
    """The names of every schema that this program can work with or upgrade."""
    return {path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py")}
