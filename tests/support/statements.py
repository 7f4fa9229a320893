"""Counting SQL statements, so that no page needs more as an account grows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from sqlalchemy import Engine, event

from registerwatch.platform.db.sqlite import SqliteReads


@contextmanager
def counted_statements() -> Iterator[list[str]]:
    """Every statement that is sent to a database in the block: by SQLAlchemy, and by quick reads of SQLite."""
    sent: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        sent.append(statement)

    async def read_all(self: SqliteReads, statement: str, *values: object) -> list[tuple[Any, ...]]:
        sent.append(statement)
        return await all_rows(self, statement, *values)

    async def read_one(self: SqliteReads, statement: str, *values: object) -> tuple[Any, ...] | None:
        sent.append(statement)
        return await one_row(self, statement, *values)

    all_rows, one_row = SqliteReads.all, SqliteReads.one
    event.listen(Engine, "before_cursor_execute", note)
    try:
        with patch.object(SqliteReads, "all", read_all), patch.object(SqliteReads, "one", read_one):
            yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", note)
