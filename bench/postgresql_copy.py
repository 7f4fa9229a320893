"""The filled copy in PostgreSQL: the schema by our own command, then the rows of the SQLite copy by COPY.

COPY takes less time than filling from the file again, goes into the tables and indexes that the migrations make, and
keeps the row ids, so that the search index fits both.
"""

import shutil
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from psycopg import Connection
from sqlalchemy import Table

from bench.cluster import Cluster
from bench.inputs import Inputs, Stored
from bench.log import timed
from bench.processes import NO_REGISTER, ProcessFailed, registerwatch, service_environment
from registerwatch.db.tables import actors, copy_state, devices, fills

DATABASE = "copy"
COPIED = (devices, actors, copy_state, fills)


def postgresql_copy(inputs: Inputs, cluster: Cluster) -> Stored:
    """The copy, from an earlier run or copied now. It is copied anew when the SQLite copy was filled anew."""
    stored = Stored("PostgreSQL", inputs.path("postgresql-data"), cluster.address(DATABASE))
    mark = stored.data_dir / "copied"
    copy_id = _copy_id(inputs)
    if not mark.exists() or mark.read_text(encoding="utf-8") != copy_id:
        with timed(f"copying {inputs.devices:,} records into PostgreSQL"):
            _copy(inputs, cluster, stored)
        mark.write_text(copy_id, encoding="utf-8")
    return stored


def _copy(inputs: Inputs, cluster: Cluster, stored: Stored) -> None:
    shutil.rmtree(stored.data_dir, ignore_errors=True)
    stored.data_dir.mkdir(parents=True)
    cluster.recreate(DATABASE)
    _make_schema(stored, cluster.address(DATABASE))
    with cluster.connect(DATABASE) as connection, closing(_sqlite(inputs)) as source:
        connection.execute("SET synchronous_commit = off")
        for table in COPIED:
            _copy_table(table, source, connection)
        connection.execute("SELECT setval(pg_get_serial_sequence('devices', 'id'), max(id)) FROM devices")
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")
    shutil.copytree(inputs.data_dir / "index", stored.data_dir / "index")


def _make_schema(stored: Stored, address: str) -> None:
    environment = service_environment(stored.data_dir, NO_REGISTER, DATABASE_URL=address)
    command = [registerwatch(), "db", "upgrade"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ProcessFailed(f"Making the schema failed:\n{done.stdout}{done.stderr}"[-2000:])


def _copy_table(table: Table, source: sqlite3.Connection, connection: Connection[tuple[Any, ...]]) -> None:
    columns = ", ".join(_shared_columns(table, source))
    connection.execute(f"DELETE FROM {table.name}".encode())
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {table.name} ({columns}) FROM STDIN".encode()) as copy,
    ):
        for row in source.execute(f"SELECT {columns} FROM {table.name}"):
            copy.write_row(row)


def _shared_columns(table: Table, source: sqlite3.Connection) -> Sequence[str]:
    """Columns that the SQLite copy has: one of an earlier program may lack the newest until it is served."""
    there = {name for _, name, *_ in source.execute(f"PRAGMA table_info({table.name})")}
    return [column.name for column in table.columns if column.name in there]


def _sqlite(inputs: Inputs) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{inputs.copy() / 'registerwatch.db'}?mode=ro", uri=True)


def _copy_id(inputs: Inputs) -> str:
    with closing(_sqlite(inputs)) as source:
        return str(source.execute("SELECT copy_id FROM copy_state").fetchone()[0])
