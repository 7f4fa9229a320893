"""Bringing a database to the schema of this program, by Alembic, one history for both databases."""

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from registerwatch.db.disk import make_folder
from registerwatch.db.engine import Database
from registerwatch.db.private_files import protect_database
from registerwatch.errors import DatabaseUnavailable

MIGRATIONS = Path(__file__).parent / "migrations"


async def upgrade(database: Database) -> None:
    """Apply every migration that is missing. Safe to call at each start and from several processes.

    Raises `DatabaseUnavailable` when the database was made by a newer program, or cannot hold every text, and
    `ConfigurationError` when its folder cannot be used.
    """
    if database.sqlite_path is not None:
        make_folder(database.sqlite_path.parent)
        protect_database(database.sqlite_path)
    async with database.transaction() as connection:
        await connection.run_sync(_upgrade)


def _upgrade(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        _demand_unicode(connection)
        connection.exec_driver_sql("SET LOCAL lock_timeout = '30min'")  # another node may be at a long migration
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7023401)")
    current = MigrationContext.configure(connection).get_current_revision()
    if current is not None and current not in known_schemas():
        raise DatabaseUnavailable(
            f"The database is at schema {current}, which this program does not know: it was made by a newer "
            "version. Install that version, or restore a backup of before the upgrade."
        )
    if current != _scripts().get_current_head():
        command.upgrade(config_of(connection), "head")


def config_of(connection: Connection) -> Config:
    """What Alembic's commands take, to work on this connection."""
    config = _config()
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
    return {revision.revision for revision in _scripts().walk_revisions()}


@cache
def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config
