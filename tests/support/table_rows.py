"""Everything that is stored, to compare before with after. By the bare drivers: tests do this thousands of times."""

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any

import psycopg

from registerwatch.db.engine import Database
from registerwatch.db.tables import metadata

Rows = list[dict[str, Any]]

COPY = ("devices", "actors", "copy_state")
_ORDERS = {
    table.name: ", ".join(column.name for column in table.primary_key.columns) for table in metadata.tables.values()
}


class TableRows:
    """Reads the tables of one database. PostgreSQL is asked over one connection, opened by the first read."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._server: psycopg.Connection | None = None

    def read(self, tables: Iterable[str] = tuple(_ORDERS)) -> dict[str, Rows]:
        """Every row of some tables, as the driver gives it, in the order of their keys."""
        if self._database.sqlite_path is not None:
            with closing(sqlite3.connect(self._database.sqlite_path)) as connection:
                return _rows(connection.execute, tables)
        if self._server is None:
            address = self._database.url.render_as_string(hide_password=False)
            self._server = psycopg.connect(address, autocommit=True)
        server = self._server
        return _rows(lambda statement: server.execute(statement.encode()), tables)

    def close(self) -> None:
        """End the connection, if there is one."""
        if self._server is not None:
            self._server.close()


def copy_rows(database: Database) -> dict[str, Rows]:
    """Every row of the copy."""
    with closing(TableRows(database)) as tables:
        return tables.read(COPY)


def _rows(execute: Callable[[str], Any], tables: Iterable[str]) -> dict[str, Rows]:
    rows = {}
    for name in tables:
        found = execute(f"SELECT * FROM {name} ORDER BY {_ORDERS[name]}")
        columns = [each[0] for each in found.description]
        rows[name] = [dict(zip(columns, row, strict=True)) for row in found]
    return rows
