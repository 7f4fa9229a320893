"""Statements that must be quick: written once with SQLAlchemy, compiled once, run without its connections."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import msgspec
from sqlalchemy import Dialect, Select

DatabaseKind = Literal["sqlite", "postgresql"]


class CompiledSelect(msgspec.Struct, frozen=True):
    """A select in the SQL of one database, and the names of its parameters in order."""

    sql: str
    names: tuple[str, ...]

    def ordered(self, values: Mapping[str, object]) -> list[object]:
        """Named values in the order of the parameters."""
        return [values[name] for name in self.names]


class PreparedSelect:
    """A select with named parameters. Values have the drivers' types."""

    def __init__(self, select: Select[*tuple[Any, ...]]) -> None:
        self._select = select

    def compiled(self, kind: DatabaseKind) -> CompiledSelect:
        """The form for `QuickReads` of this database."""
        return self._sqlite if kind == "sqlite" else self._postgresql

    @cached_property
    def _sqlite(self) -> CompiledSelect:
        from sqlalchemy.dialects import sqlite

        return self._compiled(sqlite.dialect(paramstyle="qmark"))

    @cached_property
    def _postgresql(self) -> CompiledSelect:
        from sqlalchemy.dialects import postgresql  # takes time to load, and is not needed on SQLite

        return self._compiled(postgresql.psycopg.dialect(paramstyle="numeric_dollar"))  # type: ignore[no-untyped-call]  # as SQLAlchemy has it

    def _compiled(self, dialect: Dialect) -> CompiledSelect:
        compiled = self._select.compile(dialect=dialect)
        return CompiledSelect(str(compiled), tuple(compiled.positiontup or ()))
