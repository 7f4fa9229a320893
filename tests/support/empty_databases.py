"""Databases of PostgreSQL that tests use one after the other: to empty one takes a tenth of what a new one takes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import LiteralString

import psycopg
from psycopg.sql import SQL, Composed, Identifier, Literal

from tests.support.postgresql import Cluster
from tests.support.processes import until

MAX_GROWTH_BYTES = 4 << 20
"""A database that a test has let grow by more is not used again: rows that are deleted leave their place behind."""
_CATALOGS: dict[LiteralString, LiteralString] = {
    "pg_class": "oid >= 16384",
    "pg_attribute": "attrelid >= 16384",
    "pg_attrdef": "true",
    "pg_constraint": "oid >= 16384",
    "pg_index": "indexrelid >= 16384",
    "pg_proc": "oid >= 16384",
    "pg_trigger": "true",
    "pg_type": "oid >= 16384",
    "pg_namespace": "true",
    "pg_extension": "true",
    "pg_statistic": "starelid >= 16384",
    "pg_database": "datname = current_database()",
    "pg_db_role_setting": "true",
}
_SCHEMA = SQL(" UNION ALL ").join(
    SQL(f"SELECT count(*), max(xmin::text::bigint) FROM {catalog} WHERE {condition}")
    for catalog, condition in _CATALOGS.items()
) + SQL(" UNION ALL SELECT sum(relpages), sum(reltuples::bigint) FROM pg_class WHERE oid >= 16384")
"""Differs after every change of the schema, and after the statistics of a table were taken."""
_END_OTHERS = SQL("""
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
""")
_SIZE = SQL("SELECT pg_database_size(current_database())")
_TABLES = SQL("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace")
_SEQUENCES = SQL("SELECT relname FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace")


class EmptyDatabases:
    """Gives each test a database of its own that is as the template is, made or emptied."""

    def __init__(self, server: Cluster, template: str) -> None:
        self._server = server
        self._template = template
        self._free: list[_Database] = []

    @contextmanager
    def one(self) -> Iterator[str]:
        """The address of a database that nobody else uses."""
        taken = self._free.pop() if self._free else _Database(self._server, self._template)
        try:
            yield taken.url
        finally:
            if taken.is_emptied():
                self._free.append(taken)
            else:
                taken.drop()

    def close(self) -> None:
        """Drop those that are free."""
        while self._free:
            self._free.pop().drop()


class _Database:
    """A copy of a template, and what is needed to make it that again."""

    def __init__(self, server: Cluster, template: str) -> None:
        self._server = server
        self._made = server.new_database(template)
        self.url = self._made.__enter__()
        self._connection = psycopg.connect(self.url, autocommit=True, prepare_threshold=0)
        self._connection.execute("SET session_replication_role = replica")  # no foreign key hinders or follows
        tables, sequences = self._names(_TABLES), self._names(_SEQUENCES)
        self._filled = SQL(" UNION ALL ").join(
            SQL("SELECT {} WHERE EXISTS (SELECT FROM {})").format(Literal(each), Identifier(each)) for each in tables
        )
        self._rows = {each: self._rows_of(each) for each in self._names(self._filled)}
        self._set_back = SQL("SELECT {}").format(SQL(", ").join(self._setting_back(each) for each in sequences))
        self._schema = self._connection.execute(_SCHEMA).fetchall()
        self._most_bytes = self._size() + MAX_GROWTH_BYTES

    def is_emptied(self) -> bool:
        """Make it what the template is; whether that was possible."""
        try:
            until(self._is_alone, "the end of the connections of a test")
            if self._size() > self._most_bytes or self._connection.execute(_SCHEMA).fetchall() != self._schema:
                return False
            for table in {*self._names(self._filled), *self._rows}:
                self._restore(table)
            self._connection.execute(self._set_back)
        except psycopg.OperationalError:  # a test has ended our connection too
            return False
        return True

    def drop(self) -> None:
        """End it."""
        self._connection.close()
        self._made.__exit__(None, None, None)

    def _is_alone(self) -> bool:
        return self._connection.execute(_END_OTHERS).fetchall() == []

    def _restore(self, table: str) -> None:
        rows = self._rows.get(table)
        if rows is not None and self._rows_of(table) == rows:
            return
        self._connection.execute(SQL("DELETE FROM {}").format(Identifier(table)))
        if rows is not None:
            with self._connection.cursor().copy(SQL("COPY {} FROM STDIN").format(Identifier(table))) as copy:
                copy.write(rows)

    def _rows_of(self, table: str) -> bytes:
        with self._connection.cursor().copy(SQL("COPY {} TO STDOUT").format(Identifier(table))) as copy:
            return b"".join(bytes(each) for each in copy)

    def _setting_back(self, sequence: str) -> Composed:
        [(value, is_called)] = self._connection.execute(
            SQL("SELECT last_value, is_called FROM {}").format(Identifier(sequence)), prepare=False
        ).fetchall()
        return SQL("setval({}, {}, {})").format(Literal(sequence), Literal(value), Literal(is_called))

    def _names(self, select: SQL | Composed) -> Sequence[str]:
        return [name for (name,) in self._connection.execute(select).fetchall()]

    def _size(self) -> int:
        [(size,)] = self._connection.execute(_SIZE).fetchall()
        return int(size)
