"""Takes over databases from before the first release that have all of its 46 migrations. 0001 has replaced these; it
has neither what they kept for programs of the release before nor columns that are null in old rows.
"""

from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect

from registerwatch.errors import DatabaseUnavailable

if TYPE_CHECKING:
    from alembic.operations import Operations

LAST_UNRELEASED = "0046"
FIRST_RELEASED = "0001"
_ONLY_UNRELEASED = ("register_budget", "wrong_codes")
"""Each schema from before the first release has one of these tables; later ones have none."""
_FILL = """
INSERT INTO delivery_events (delivery_id, events)
SELECT id, events FROM deliveries WHERE events IS NOT NULL AND body IS NULL;

UPDATE events SET severity = coalesce(severity, 'low'), fields = coalesce(fields, ',')
WHERE severity IS NULL OR fields IS NULL;

UPDATE devices SET source = coalesce(source, ''), own_revision = coalesce(own_revision, revision),
    first_seen_at = coalesce(first_seen_at, (SELECT history_since FROM copy_state)),
    certs_revision = CASE WHEN certs_revision > 0 THEN certs_revision
        WHEN certs_read_at IS NULL THEN 0 ELSE revision END
WHERE source IS NULL OR own_revision IS NULL OR first_seen_at IS NULL OR certs_revision IS NULL
    OR certs_revision = 0 AND certs_read_at IS NOT NULL;

UPDATE actors SET source = coalesce(source, ''),
    first_seen_at = coalesce(first_seen_at, (SELECT history_since FROM copy_state))
WHERE source IS NULL OR first_seen_at IS NULL
"""
"""Values for nulls, with the meaning that a null had: a record is known since the history began, the search for its
certificates is as young as its row. An unknown source is empty, the severity of an unclassified event is low.
"""
_REQUIRED = {
    "events": ("severity", "fields"),
    "devices": ("source", "first_seen_at", "certs_revision", "own_revision"),
    "actors": ("source", "first_seen_at"),
}


def is_unreleased(connection: Connection) -> bool:
    """Whether a database has a schema from before the first release."""
    tables = inspect(connection)
    return any(tables.has_table(name) for name in _ONLY_UNRELEASED)


def take_over(connection: Connection, schema: str) -> str:
    """Bring such a database, which is at `schema`, to the first released schema; returns its name.

    SQLite copies tables in which a column must not be null any more. Raises `DatabaseUnavailable` where `schema` is not
    the last from before the release.
    """
    if schema != LAST_UNRELEASED:
        raise DatabaseUnavailable(
            f"The database is at schema {schema} of before the first release. Run `registerwatch db upgrade` of the"
            f" last program before it, which leads to {LAST_UNRELEASED}, and then that of this one; or begin with an"
            " empty database."
        )
    from alembic.migration import MigrationContext
    from alembic.operations import Operations

    for statement in _FILL.split(";"):
        connection.exec_driver_sql(statement)
    operations = Operations(MigrationContext.configure(connection))
    operations.drop_table("wrong_codes")
    operations.drop_column("deliveries", "events")
    operations.drop_index("ix_events_unclassified", "events")
    operations.drop_index("ix_events_batch", "events")
    operations.drop_column("events", "batch")
    operations.drop_column("copy_state", "history_since")
    for table, columns in _REQUIRED.items():
        _require(operations, table, columns)
    connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{FIRST_RELEASED}'")  # noqa: S608  # no value
    return FIRST_RELEASED


def _require(operations: "Operations", table: str, columns: tuple[str, ...]) -> None:
    """Let columns of a table refuse null. SQLite keeps the ids that were given, also those of deleted rows."""
    connection = operations.get_bind()
    numbered = connection.dialect.name == "sqlite" and table == "events"
    last = "SELECT seq FROM sqlite_sequence WHERE name = 'events'"
    seq = connection.exec_driver_sql(last).scalar() if numbered else None
    with operations.batch_alter_table(table, table_kwargs={"sqlite_autoincrement": numbered}) as changed:
        for column in columns:
            changed.alter_column(column, nullable=False)
    if seq is not None:
        connection.exec_driver_sql("DELETE FROM sqlite_sequence WHERE name = 'events'")
        connection.exec_driver_sql("INSERT INTO sqlite_sequence VALUES ('events', ?)", (seq,))
