"""Statements that must be quick: written once in SQLAlchemy's words, compiled once, run past its connections."""

from functools import cached_property
from typing import Any

from sqlalchemy import Dialect, Select


class PreparedSelect:
    """A select with named parameters, in the words of both databases. Values come back as the drivers give them."""

    def __init__(self, select: Select[*tuple[Any, ...]]) -> None:
        self._select = select

    @cached_property
    def sqlite(self) -> str:
        """With parameters such as `:account_id`."""
        from sqlalchemy.dialects import sqlite

        return self._compiled(sqlite.dialect(paramstyle="named"))

    @cached_property
    def postgresql(self) -> str:
        """With parameters such as `%(account_id)s`."""
        from sqlalchemy.dialects import postgresql  # takes time to load, and is not needed on SQLite

        return self._compiled(postgresql.psycopg.dialect())  # type: ignore[no-untyped-call]  # as SQLAlchemy has it

    def _compiled(self, dialect: Dialect) -> str:
        return str(self._select.compile(dialect=dialect))
