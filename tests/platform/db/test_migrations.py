"""One migration history for both databases."""

import io
import itertools
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, literal, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.history.history_reader import HistoryReader
from registerwatch.copy.records import RecordStore
from registerwatch.errors import DatabaseUnavailable
from registerwatch.lookup.history_service import as_of
from registerwatch.platform.db import migrate
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.migrate import DEADLOCKS, MIGRATIONS, config_of, known_schemas, upgrade
from registerwatch.platform.db.tables import metadata
from registerwatch.platform.structs import replace
from registerwatch.register.models import Completeness, Device, DeviceReading
from tests.support.postgresql import Cluster

pytestmark = pytest.mark.anyio


async def test_from_empty_to_head_are_exactly_the_declared_tables(database: Database) -> None:
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
from registerwatch.db.engine import Database
from registerwatch.db.migrate import upgrade

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


@pytest.fixture
async def older(database_kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    """An empty database, to be brought to an older schema."""
    if database_kind == "sqlite":
        database = Database(f"sqlite:///{tmp_path / 'older.db'}")
    else:
        server: Cluster = request.getfixturevalue("postgresql_server")
        with server.connect() as connection:
            connection.execute("DROP DATABASE IF EXISTS older")
            connection.execute("CREATE DATABASE older")
        database = Database(server.url("older"))
    yield database
    await database.close()


async def test_events_that_were_stored_before_get_kind_severity_and_names_of_fields(older: Database) -> None:
    database = older
    changes = (
        '[{"field":"reference","old":"1","new":"2"},{"field":"cert_status","old":"Issued","new":"Withdrawn"}]',
        '[{"field":"cert_status","old":"","new":"Withdrawn"}]',
        '[{"field":"cert_expiry","old":"2030-01-01","new":"2031-01-01"}]',
        '[{"field":"device_total","old":"7","new":"8"}]',
        '[{"field":"status","old":"On the EU market","new":"No longer placed on the EU market"}]',
        "[]",
    )
    async with database.transaction() as transaction:
        await transaction.run_sync(lambda at: command.upgrade(config_of(at), "0007"))
        await transaction.execute(
            text("INSERT INTO accounts (id, email, name, plan, expires_at, created_at) VALUES (1, '', '', '', 0, 0)")
        )
        for number, each in enumerate(changes):
            await transaction.execute(
                text(
                    "INSERT INTO events (id, account_id, watch_id, subject, label, created_at, summary, changes, batch,"
                    " awaits_sync) VALUES (:id, 1, 1, '', '', 0, '', :changes, '', :awaits)"
                ),
                {"id": number + 1, "changes": each, "awaits": False},
            )

    await upgrade(database)

    async with database.reading() as connection:
        rows = await connection.execute(text("SELECT kind, severity, fields FROM events ORDER BY id"))
        assert [tuple(row) for row in rows] == [
            ("certificate", "high", ",reference,cert_status,"),
            ("certificate", "low", ",cert_status,"),
            ("expiry", "medium", ",cert_expiry,"),
            ("portfolio", "low", ",device_total,"),
            ("record", "high", ",status,"),
            ("record", "low", ","),
        ]


async def test_who_set_a_password_by_a_link_before_has_proven_their_address_and_nobody_else(older: Database) -> None:
    async with older.transaction() as transaction:
        await transaction.run_sync(lambda at: command.upgrade(config_of(at), "0011"))
        users = "INSERT INTO users (id, account_id, email, role, created_at) VALUES"
        audit = "INSERT INTO audit (account_id, actor, created_at, action, subject) VALUES"
        for statement in (
            "INSERT INTO accounts (id, email, name, plan, expires_at, created_at) VALUES (1, '', '', '', 0, 0)",
            f"{users} (1, 1, 'reset@a.example', 'owner', 0), (2, 1, 'never@a.example', 'owner', 0)",
            "INSERT INTO api_keys (id, account_id, label, prefix, digest, created_at) VALUES (1, 1, '', '', '', 0)",
            f"{audit} (1, 'reset@a.example', 8, 'password reset', ''), (1, 'reset@a.example', 7, 'password reset', '')",
            f"{audit} (1, 'never@a.example', 9, 'password changed', ''), (1, 'never@a.example', 9, 'signed in', '')",
        ):
            await transaction.execute(text(statement))

    await upgrade(older)

    async with older.reading() as connection:
        rows = await connection.execute(text("SELECT email, confirmed_at, key_set_password_at FROM users ORDER BY id"))
        assert [tuple(row) for row in rows] == [("reset@a.example", 7, None), ("never@a.example", None, None)]
        key = (await connection.execute(text("SELECT scope, expires_at, last_used_at FROM api_keys"))).one()
        assert tuple(key) == ("manage", None, None)


async def test_what_any_of_several_records_told_of_the_market_is_forgotten_where_they_differ(older: Database) -> None:
    async with older.transaction() as transaction:
        await transaction.run_sync(lambda at: command.upgrade(config_of(at), "0043"))
        for uuid, udi, status in (("1", "both", "on"), ("2", "both", "off"), ("3", "same", "on"), ("4", "same", "on")):
            row = {"srn": "DE-MF-1", "uuid": uuid, "udi": udi, "status": status, "yes": True}
            await transaction.execute(
                text(
                    "INSERT INTO portfolio_devices (srn, uuid, primary_di, status_code, is_latest, walk, on_market)"
                    " VALUES (:srn, :uuid, :udi, :status, :yes, 1, :yes)"
                ),
                row,
            )

    await upgrade(older)

    async with older.reading() as connection:
        found = await connection.execute(text("SELECT on_market FROM portfolio_devices ORDER BY uuid"))
        assert [each and bool(each) for each in found.scalars()] == [None, None, True, True]


async def test_a_database_of_before_history_keeps_its_records_events_and_watches(older: Database) -> None:
    document = Device(udi="di-1", uuid="u-1", trade_name="Stem")
    watches = "INSERT INTO watches (id, account_id, subject, kind, label, is_renamed, tried_at, last_error, created_at)"
    of_events = "id, account_id, watch_id, subject, label, created_at, summary, changes, batch, awaits_sync"
    events = f"INSERT INTO events ({of_events})"
    actors = "INSERT INTO actors (srn, name, country, status_code, complete, read_at)"
    async with older.transaction() as transaction:
        await transaction.run_sync(lambda at: command.upgrade(config_of(at), "0020"))
        for statement in (
            "INSERT INTO accounts (id, email, name, plan, expires_at, created_at) VALUES (1, '', '', '', 0, 0)",
            f"{watches} VALUES (7, 1, 'di-1', 'udi', 'Stem', FALSE, 0, '', 5)",
            f"{events} VALUES (8, 1, 7, 'di-1', 'Stem', 6, '', '[]', '', FALSE)",
            f"{actors} VALUES ('DE-MF-000000001', 'Alpha', 'DE', '', TRUE, 5)",
            "UPDATE copy_state SET revision = 1, devices = 1",
        ):
            await transaction.execute(text(statement))
        await transaction.execute(
            text(
                "INSERT INTO devices (primary_di, uuid, is_current, latest_version, version_number, legislation_code,"
                " revision, read_at, document) VALUES ('di-1', 'u-1', TRUE, TRUE, 0, '', 1, 5, :document)"
            ),
            {"document": msgspec.json.encode(document).decode()},
        )

    await upgrade(older)

    async with older.reading() as connection:
        watch = (await connection.execute(text("SELECT id, subject, label, created_at FROM watches"))).one()
        event = (await connection.execute(text("SELECT id, watch_id, created_at FROM events"))).one()
    assert (tuple(watch), tuple(event)) == ((7, "di-1", "Stem", 5), (8, 7, 6))
    reader = HistoryReader(older)
    device, actor = await reader.device("di-1"), await reader.actor("DE-MF-000000001")
    for history in (device, actor):
        assert as_of(history, history.since).states.current is not None
        before = as_of(history, history.since - 1)
        assert before.states.current is None
        assert (before.note or "").startswith("What it was then is not known: this service has kept the history")

    later = device.since + 60
    changed = DeviceReading(
        device=replace(document, trade_name="Screw"), completeness=Completeness.SOME, source="eudamed"
    )
    await RecordStore(older).store([changed], read_at=later)
    names = [as_of(await reader.device("di-1"), at).states.states["u-1"]["trade_name"] for at in (later - 1, later)]
    assert names == ["Stem", "Screw"]


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


DROPS = {("0033", "DROP TABLE register_budget")}
"""What goes at once, since no release ever had it."""
FORGETS = {("0044", "UPDATE portfolio_devices SET on_market = NULL")}
"""What was found and is empty now: every node takes that as not found yet."""


def test_a_node_of_the_release_before_survives_every_migration() -> None:
    """Migrations only add: tables, indexes, columns that a writer need not know, and what these say of rows that there
    are. What goes, goes a release later.
    """
    directory = ScriptDirectory(str(MIGRATIONS))
    revisions = sorted(each.revision for each in directory.walk_revisions())
    assert revisions == [f"{number:04}" for number in range(1, len(revisions) + 1)]
    for revision in revisions[1:]:
        made: set[str] = set()
        added: set[tuple[str, str]] = set()
        for statement in statements_of(directory, revision):
            if (revision, statement) in DROPS or (revision, statement.partition(" WHERE ")[0]) in FORGETS:
                continue
            found = ADDS.match(statement)
            assert found, f"{revision} does more than add: {statement}"
            made.add(found["made"] or "")
            added.add((found["table"], found["name"]))
            is_new = found["filled"] is None or (found["filled"], found["value"]) in added
            assert is_new, f"{revision} changes what older nodes write: {statement}"
            is_unwritten = (found["unique"], found["first"]) in added  # older nodes leave it null
            assert found["unique"] is None or found["unique"] in made or is_unwritten, (
                f"{revision}: older nodes may break it"
            )
            needed = "NOT NULL" in (found["column"] or "")
            assert not needed or "DEFAULT" in found["column"], f"{revision}: older nodes do not write it: {statement}"


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
