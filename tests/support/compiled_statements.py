"""Statements are compiled once for all services of a test run's process, not by each service's engines anew."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from sqlalchemy import URL
from sqlalchemy.ext.asyncio import AsyncEngine

from registerwatch.platform.db import engine

STATEMENTS = 4000
MakeEngine = Callable[..., AsyncEngine]


def compile_statements_once() -> None:
    """Let all engines of a kind share the statements that SQLAlchemy compiles for each, and the dialect of these. From
    now until the process ends.
    """
    for name in ("_sqlite_engine", "_postgresql_engine"):
        patch.object(engine, name, _sharing(getattr(engine, name))).start()


def _sharing(make: MakeEngine) -> MakeEngine:
    first: dict[object, AsyncEngine] = {}

    def make_sharing(url: URL, **options: Any) -> AsyncEngine:
        level = options.get("isolation_level")
        earlier = first.get(level)
        if earlier is None or earlier.dialect.server_version_info is None:  # it has not connected yet
            first[level] = make(url, query_cache_size=STATEMENTS, **options)
            return first[level]
        made = make(url, **options)
        made.sync_engine.dialect = made.sync_engine.pool._dialect = earlier.dialect
        made.sync_engine._compiled_cache = earlier.sync_engine._compiled_cache
        return made

    return make_sharing
