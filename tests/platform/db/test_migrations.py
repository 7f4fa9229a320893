"""One migration history for both databases."""

import io
import itertools
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, literal, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.all_tables import metadata
from registerwatch.errors import DatabaseUnavailable
from registerwatch.platform.db import migrate
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.migrate import DEADLOCKS, MIGRATIONS, config_of, known_schemas, upgrade
from tests.support.postgresql import Cluster


async def test_from_empty_to_head_are_exactly_the_declared_tables(database: Database) -> None:
    await assert_declared(database)


async def assert_declared(database: Database) -> None:
    def differences(connection: Connection) -> list[object]:
        found = compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata)
        is_sqlite = connection.dialect.name == "sqlite"  # SQLAlchemy does not see what deletions do to an added column
        return [each for each in found if not (is_sqlite and each[0] in ("add_fk", "remove_fk"))]

    async with database.reading() as connection:
        assert await connection.run_sync(differences) == []
        if database.kind == "sqlite":
            assert await _foreign_keys(connection) == {
                (table.name, key.parent.name, key.target_fullname, key.ondelete)
                for table in metadata.sorted_tables
                for key in table.foreign_keys
            }


async def _foreign_keys(connection: AsyncConnection) -> set[tuple[str, str, str, str | None]]:
    """Table, column, what it refers to, and what a deletion there does, as SQLite has them."""
    found = set()
    for table in metadata.sorted_tables:
        for key in await connection.execute(text(f"PRAGMA foreign_key_list({table.name})")):
            action = None if key.on_delete == "NO ACTION" else key.on_delete
            found.add((table.name, key[3], f"{key[2]}.{key[4]}", action))
    return found


def test_the_schemas_that_are_known_by_their_files_are_those_of_the_history() -> None:
    history = ScriptDirectory(str(MIGRATIONS))

    assert known_schemas() == {each.revision for each in history.walk_revisions()}
    assert max(known_schemas()) == history.get_current_head()


def test_a_database_that_is_up_to_date_is_looked_at_without_alembic(tmp_path: Path) -> None:
    looked_at = """
import asyncio, sys
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.migrate import upgrade

async def run():
    database = Database(sys.argv[1])
    await upgrade(database)
    await database.close()

asyncio.run(run())
print("alembic" in sys.modules)
"""

    first, second = (
        subprocess.run(
            [sys.executable, "-c", looked_at, f"sqlite:///{tmp_path / 'looked.db'}"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for _ in range(2)
    )

    assert (first, second) == ("True", "False")


@pytest.mark.parametrize("database_kind", ["postgresql"])
@pytest.mark.parametrize(("deadlocks", "is_upgraded"), [(1, True), (DEADLOCKS - 1, True), (DEADLOCKS, False)])
async def test_an_upgrade_that_a_deadlock_ends_begins_again_a_few_times(
    database: Database, monkeypatch: pytest.MonkeyPatch, deadlocks: int, is_upgraded: bool
) -> None:
    tries = itertools.count(1)

    def deadlock(connection: Connection) -> None:
        if next(tries) <= deadlocks:
            connection.exec_driver_sql("DO $$ BEGIN RAISE deadlock_detected; END $$")

    monkeypatch.setattr(migrate, "_demand_unicode", deadlock)

    if is_upgraded:
        await upgrade(database)
        assert next(tries) == deadlocks + 2
    else:
        with pytest.raises(DatabaseUnavailable, match="deadlock_detected"):
            await upgrade(database)
        assert next(tries) == DEADLOCKS + 1


async def test_upgrading_again_changes_nothing(database: Database) -> None:
    async with database.reading() as connection:
        before = (await connection.execute(text("SELECT copy_id FROM copy_state"))).scalar_one()
    await upgrade(database)
    async with database.reading() as connection:
        assert (await connection.execute(text("SELECT copy_id FROM copy_state"))).scalar_one() == before


async def test_a_database_of_a_newer_program_is_refused_with_a_hint(database: Database) -> None:
    async with database.transaction() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))

    with pytest.raises(DatabaseUnavailable, match="newer version"):
        await upgrade(database)


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
async def test_a_database_that_cannot_hold_every_name_is_refused_with_a_hint(
    encoding: str, postgresql_server: Cluster
) -> None:
    name = f"test_{encoding.lower()}"
    create = f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"
    with postgresql_server.connect() as server:
        server.execute(create.encode())
        database = Database(postgresql_server.url(name))
        with pytest.raises(DatabaseUnavailable, match=f"{encoding}.* Create one in UTF8"):
            await upgrade(database)
        await database.close()
        server.execute(f"DROP DATABASE {name}".encode())


async def test_the_environment_does_not_decide_how_text_is_sent(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    database = Database(database_url)
    async with database.transaction() as connection:
        assert (await connection.execute(select(literal("Łódź")))).scalar_one() == "Łódź"
    await database.close()


async def test_a_transaction_that_fails_leaves_nothing(database: Database) -> None:
    with pytest.raises(RuntimeError, match="in the middle"):
        async with database.transaction() as connection:
            await connection.execute(text("UPDATE copy_state SET revision = 7"))
            raise RuntimeError("in the middle")

    async with database.reading() as connection:
        assert (await connection.execute(text("SELECT revision FROM copy_state"))).scalar_one() == 0


NULL_IN_0046 = {
    "events": ("severity", "fields"),
    "devices": ("source", "first_seen_at", "certs_revision", "own_revision"),
    "actors": ("source", "first_seen_at"),
}
ONLY_IN_0046 = """
CREATE TABLE wrong_codes (user_id BIGINT PRIMARY KEY, since BIGINT NOT NULL, codes INTEGER NOT NULL);
ALTER TABLE deliveries ADD COLUMN events TEXT;
ALTER TABLE copy_state ADD COLUMN history_since BIGINT;
ALTER TABLE events ADD COLUMN batch TEXT NOT NULL DEFAULT '';
CREATE INDEX ix_events_batch ON events (batch);
CREATE INDEX ix_events_unclassified ON events (account_id) WHERE fields IS NULL;
UPDATE alembic_version SET version_num = '0046'"""
ROWS_OF_0046 = """
UPDATE copy_state SET history_since = 100, revision = 5;
INSERT INTO accounts (id, email, name, plan, expires_at, created_at) VALUES (1, '', '', '', 0, 0);
INSERT INTO webhooks (id, account_id, url, secret, is_first, created_at) VALUES (1, 1, '', '', TRUE, 0);
INSERT INTO deliveries
    (id, account_id, webhook_id, type, batch, created_at, leased_until, attempts, error, events) VALUES
    ('whd_1', 1, 1, 'watch.changed', 'b', 0, 0, 0, '', 'first'),
    ('whd_2', 1, 1, 'watch.changed', 'c', 0, 0, 0, '', NULL);
INSERT INTO delivery_events (delivery_id, events) VALUES ('whd_2', 'second');
INSERT INTO events
    (id, account_id, watch_id, subject, label, created_at, summary, changes, batch, awaits_sync, severity, fields)
    VALUES
    (7, 1, 1, '', '', 0, '', '[]', 'b', FALSE, 'high', ',status,'),
    (8, 1, 1, '', '', 0, '', '[]', 'b', FALSE, NULL, NULL),
    (9, 1, 1, '', '', 0, '', '[]', 'b', FALSE, 'low', ',');
DELETE FROM events WHERE id = 9;
INSERT INTO devices
    (uuid, certs_read_at, source, first_seen_at, certs_revision, own_revision, primary_di, is_current, latest_version,
    version_number, legislation_code, revision, read_at, document) VALUES
    ('a', NULL, 'eudamed', 200, 3, 4, '', TRUE, TRUE, 0, '', 5, 300, '{}'),
    ('b', 300, NULL, NULL, NULL, NULL, '', TRUE, TRUE, 0, '', 5, 300, '{}'),
    ('c', NULL, NULL, NULL, NULL, NULL, '', TRUE, TRUE, 0, '', 5, 300, '{}');
INSERT INTO actors (srn, name, country, status_code, complete, read_at) VALUES ('DE-MF-1', '', '', '', TRUE, 5);
INSERT INTO device_certificates (srn, number, revision, notified_body, primary_di, read_at, told)
 VALUES ('DE-MF-1', 'g10 012345 0012', '', '', 'a', 5, '[]')"""
READ_AFTERWARDS = {
    "SELECT id, severity, fields FROM events ORDER BY id": [(7, "high", ",status,"), (8, "low", ",")],
    "SELECT delivery_id, events FROM delivery_events ORDER BY delivery_id": [("whd_1", "first"), ("whd_2", "second")],
    "SELECT uuid, source, first_seen_at, certs_revision, own_revision FROM devices ORDER BY uuid": [
        ("a", "eudamed", 200, 3, 4),
        ("b", "", 100, 5, 5),
        ("c", "", 100, 0, 5),
    ],
    "SELECT srn, source, first_seen_at FROM actors": [("DE-MF-1", "", 100)],
    "SELECT number, plain_number FROM device_certificates": [("g10 012345 0012", "G100123450012")],
    "SELECT version_num FROM alembic_version": [(max(known_schemas()),)],
}


@pytest.fixture
async def unreleased(database: Database) -> Database:
    """A database with rows at the last schema of before the first release: that of the first one, but for what differs
    in `NULL_IN_0046` and `ONLY_IN_0046`.
    """

    def go_back(connection: Connection) -> None:
        metadata.drop_all(connection)
        connection.execute(text("DROP TABLE alembic_version"))
        command.upgrade(config_of(connection), "0001")
        operations = Operations(MigrationContext.configure(connection))
        for table, columns in NULL_IN_0046.items():
            with operations.batch_alter_table(
                table, table_kwargs={"sqlite_autoincrement": table == "events"}
            ) as changed:
                for column in columns:
                    changed.alter_column(column, nullable=True)

    async with database.transaction() as connection:
        await connection.run_sync(go_back)
        for statement in [*ONLY_IN_0046.split(";"), *ROWS_OF_0046.split(";")]:
            await connection.execute(text(statement))
    return database


async def test_a_database_of_before_the_first_release_is_taken_over_with_its_rows(unreleased: Database) -> None:
    await upgrade(unreleased)
    await upgrade(unreleased)

    await assert_declared(unreleased)
    async with unreleased.reading() as connection:
        for statement, rows in READ_AFTERWARDS.items():
            assert [tuple(row) for row in await connection.execute(text(statement))] == rows


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_an_id_of_an_event_that_was_deleted_before_is_given_to_no_other(unreleased: Database) -> None:
    await upgrade(unreleased)

    async with unreleased.transaction() as connection:
        added = await connection.execute(
            text(
                "INSERT INTO events (account_id, watch_id, subject, label, created_at, summary, changes, awaits_sync,"
                " severity, fields) VALUES (1, 1, '', '', 0, '', '[]', FALSE, 'low', ',') RETURNING id"
            )
        )
        assert added.scalar_one() == 10


@pytest.mark.parametrize(("schema", "table"), [("0001", "register_budget"), ("0045", "wrong_codes")])
async def test_a_database_of_longer_before_is_refused_with_what_to_do(
    database: Database, schema: str, table: str
) -> None:
    async with database.transaction() as connection:
        await connection.execute(text(f"CREATE TABLE {table} (id BIGINT)"))
        await connection.execute(text(f"UPDATE alembic_version SET version_num = '{schema}'"))

    with pytest.raises(DatabaseUnavailable, match=f"schema {schema} of before the first release. Run `regis"):
        await upgrade(database)


async def test_a_database_that_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    for address in ("postgresql://nobody@127.0.0.1:9/none", f"sqlite:///{tmp_path / 'no' / 'folder' / 'x.db'}"):
        database = Database(address)
        with pytest.raises(DatabaseUnavailable, match="does not answer"):
            async with database.reading() as connection:
                await connection.execute(text("SELECT 1"))
        await database.close()


ADDS = re.compile(
    r"""CREATE\ TABLE\ (?P<made>\w+)
    | CREATE\ INDEX\ \w+\ ON\ \w+
    | CREATE\ UNIQUE\ INDEX\ \w+\ ON\ (?P<unique>\w+)\ \((?P<first>\w+)
    | ALTER\ TABLE\ (?P<table>\w+)\ ADD\ COLUMN\ (?P<name>\w+)\ (?P<column>.*)
    | UPDATE\ (?P<filled>\w+)\ SET\ (?P<value>\w+)\ =\ \(\ SELECT\ [^;]*\)$
    | INSERT\ INTO\ \w+""",
    re.VERBOSE,
)


ADDING = (
    "CREATE TABLE spare (id BIGINT)",
    "CREATE UNIQUE INDEX ix_spare ON spare (id)",
    "ALTER TABLE watches ADD COLUMN spare TEXT DEFAULT '' NOT NULL",
    "UPDATE watches SET spare = ( SELECT subject)",
)
MORE_THAN_ADDING = (
    "DROP TABLE watches",
    "ALTER TABLE watches DROP COLUMN label",
    "ALTER TABLE watches ADD COLUMN other TEXT NOT NULL",
    "UPDATE watches SET label = ( SELECT subject)",
    "CREATE UNIQUE INDEX ix_watches_label ON watches (label)",
)


def test_a_node_of_the_release_before_survives_every_migration() -> None:
    """Migrations only add: tables, indexes, columns that a writer need not know, and what these say of rows that there
    are. What goes, goes a release later.
    """
    directory = ScriptDirectory(str(MIGRATIONS))
    revisions = sorted(each.revision for each in directory.walk_revisions())
    assert revisions == [f"{number:04}" for number in range(1, len(revisions) + 1)]
    for revision in revisions[1:]:
        assert more_than_adding(statements_of(directory, revision)) == [], revision


def test_what_a_migration_may_do_is_told_from_what_older_nodes_would_break_at() -> None:
    assert more_than_adding([*ADDING, *MORE_THAN_ADDING]) == list(MORE_THAN_ADDING)


def more_than_adding(statements: Sequence[str]) -> list[str]:
    """Those of a migration's statements that do more than add, in terms of what older nodes write."""
    found = [(each, ADDS.match(each)) for each in statements]
    made = {match["made"] for _, match in found if match}
    added = {(match["table"], match["name"]) for _, match in found if match}
    return [each for each, match in found if match is None or not is_addition(match, made, added)]


def is_addition(match: re.Match[str], made: set[str], added: set[tuple[str, str]]) -> bool:
    if match["filled"]:
        return (match["filled"], match["value"]) in added
    if match["unique"]:  # older nodes leave a new column null
        return match["unique"] in made or (match["unique"], match["first"]) in added
    return "NOT NULL" not in (match["column"] or "") or "DEFAULT" in match["column"]


def statements_of(directory: ScriptDirectory, revision: str) -> list[str]:
    """What one migration does, in SQL."""
    written = io.StringIO()
    context = MigrationContext.configure(
        dialect_name="postgresql", opts={"as_sql": True, "output_buffer": written, "literal_binds": True}
    )
    script = directory.get_revision(revision)
    assert script is not None
    with Operations.context(context):
        script.module.upgrade()
    return [" ".join(each.split()) for each in written.getvalue().split(";") if each.strip()]
