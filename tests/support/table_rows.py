"""Everything that is stored, to compare before with after. By the bare drivers: tests do this thousands of times."""

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from registerwatch.all_tables import metadata
from registerwatch.platform.db.engine import Database

Rows = list[dict[str, Any]]

COPY = ("devices", "actors", "copy_state")
_ORDERS = {
    table.name: ", ".join(column.name for column in table.primary_key.columns) for table in metadata.tables.values()
}


class TableRows:
    """Reads the tables of one database, over one connection that the first read opens."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._file: _FileRows | None = None
        self._server: psycopg.Connection | None = None

    def read(self, tables: Sequence[str] = tuple(_ORDERS)) -> dict[str, Rows]:
        """Every row of some tables, as the driver gives it, in the order of their keys."""
        if self._database.sqlite_path is not None:
            self._file = self._file or _FileRows(self._database.sqlite_path)
            return self._file.read(tables)
        if self._server is None:
            address = self._database.url.render_as_string(hide_password=False)
            self._server = psycopg.connect(address, autocommit=True)
        return _rows_at_once(self._server, tables)

    def close(self) -> None:
        """End the connection, if there is one."""
        for each in (self._file, self._server):
            if each is not None:
                each.close()


class _FileRows:
    """Reads a SQLite file: tables that were read are read again only where something has been committed since."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path)
        self._version = -1
        self._found: dict[str, Rows] = {}

    def read(self, tables: Sequence[str]) -> dict[str, Rows]:
        [version] = self._connection.execute("PRAGMA data_version").fetchone()  # that of this connection to others
        if version != self._version:
            self._version, self._found = version, {}
        self._found |= _rows(self._connection, [each for each in tables if each not in self._found])
        return {each: list(self._found[each]) for each in tables}

    def close(self) -> None:
        self._connection.close()


def copy_rows(database: Database) -> dict[str, Rows]:
    """Every row of the copy."""
    with closing(TableRows(database)) as tables:
        return tables.read(COPY)


def _rows(connection: sqlite3.Connection, tables: Iterable[str]) -> dict[str, Rows]:
    rows = {}
    for name in tables:
        found = connection.execute(_all_of(name))
        rows[name] = _as_dicts([each[0] for each in found.description], found.fetchall())
    return rows


def _rows_at_once(server: psycopg.Connection, tables: Iterable[str]) -> dict[str, Rows]:
    """The same of PostgreSQL, where dozens of tables are asked for in one message.

    What the driver's cursor describes of a column takes longer than its rows.
    """
    names = list(tables)
    cursor = server.execute("; ".join(map(_all_of, names)).encode(), prepare=False)
    rows = {}
    for name in names:
        result = cursor.pgresult
        assert result is not None
        columns = [(result.fname(number) or b"").decode() for number in range(result.nfields)]
        rows[name] = _as_dicts(columns, cursor.fetchall())
        cursor.nextset()
    return rows


def _all_of(table: str) -> str:
    return f"SELECT * FROM {table} ORDER BY {_ORDERS[table]}"


def _as_dicts(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Rows:
    return [dict(zip(columns, row, strict=True)) for row in rows]
