"""Raw autocommit connections to a PostgreSQL database, for reads that must be quick."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection, OperationalError
from psycopg.conninfo import conninfo_to_dict

from registerwatch.errors import DatabaseUnavailable
from registerwatch.platform.db.postgresql_pipeline import SENT_TOGETHER, STATEMENT_SECONDS, PipelinedConnection, Rows
from registerwatch.platform.db.tcp_keepalive import silence_options

CONNECT_SECONDS = 2
"""Time limit for a connection; the driver knows no shorter one."""


class PostgresReads:
    """Prepared statements over a few pipelined connections, which are opened when they are needed."""

    def __init__(self, conninfo: str, *, max_connections: int) -> None:
        self._conninfo = conninfo
        named = conninfo_to_dict(conninfo)
        limit = f"-c statement_timeout={STATEMENT_SECONDS}s"
        self._options: dict[str, Any] = {
            "autocommit": True,
            "application_name": "registerwatch reads",
            "client_encoding": "utf8",
            "connect_timeout": CONNECT_SECONDS,
            "options": f"{limit} {named.get('options') or ''}".strip(),
            **silence_options(named),
        }
        self._max_connections = max_connections
        self._connections: list[PipelinedConnection] = []
        self._opening = asyncio.Lock()
        self._failed_at = 0.0
        self._problem = ""
        """Time of the last failure to connect, and why."""
        self._is_closed = False

    async def all(self, statement: str, *values: object) -> Rows:
        """Every row. Raises `DatabaseUnavailable`."""
        try:
            return await self._rows(statement, values)
        except OperationalError as error:
            raise DatabaseUnavailable(f"The database does not answer: {error}") from error

    async def one(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        """The row of a statement that gives one at most. Raises `DatabaseUnavailable`."""
        rows = await self.all(statement, *values)
        return rows[0] if rows else None

    async def close(self) -> None:
        """Close the connections, for good."""
        self._is_closed = True
        async with self._opening:
            pass  # one that is being opened is closed with the others
        for connection in self._connections:
            connection.close()

    async def _rows(self, statement: str, values: Sequence[object]) -> Rows:
        connection = self._free() or await self._another()
        try:
            return await connection.rows(statement, values)
        except OperationalError:
            if not connection.is_broken:
                raise
        lost_at = time.monotonic()
        for each in self._connections:
            if not each.waiting:  # most likely they were lost together
                each.close()
        return await (await self._opened(lost_at)).rows(statement, values)

    async def _another(self) -> PipelinedConnection:
        """One more connection, or else the existing one that answers soonest."""
        try:
            return await self._opened(time.monotonic())
        except OperationalError:  # it may be that the server takes no more of them
            usable = [each for each in self._connections if not each.is_broken]
            if not usable:
                raise
            return min(usable, key=_sort_key)

    def _free(self) -> PipelinedConnection | None:
        """The connection that answers soonest, unless another one should be opened."""
        if any(each.is_broken for each in self._connections):
            self._connections = [each for each in self._connections if not each.is_broken]
        best = min(self._connections, key=_sort_key, default=None)
        may_open = len(self._connections) < self._max_connections and not self._opening.locked()
        if best is None or (best.is_busy and may_open):
            return None
        return best

    async def _opened(self, asked_at: float) -> PipelinedConnection:
        """A connection that was opened after this moment. Concurrent callers share it, or its failure."""
        async with self._opening:
            for each in self._connections:
                if each.opened_at >= asked_at and not each.is_broken:
                    return each
            if self._is_closed:
                raise OperationalError("the connections are closed")
            if self._failed_at < asked_at:
                return await self._connected()
        raise OperationalError(self._problem)

    async def _connected(self) -> PipelinedConnection:
        try:
            opened = PipelinedConnection(await AsyncConnection.connect(self._conninfo, **self._options))
        except OperationalError as error:
            self._failed_at, self._problem = time.monotonic(), str(error)
            raise
        self._connections.append(opened)
        return opened


def _sort_key(connection: PipelinedConnection) -> tuple[bool, int]:
    """Sort key: idle ones first, of these one that is about to send; else the one with the fewest statements."""
    waiting = connection.waiting
    is_joined = waiting < SENT_TOGETHER and not connection.is_busy
    return connection.is_busy, -waiting if is_joined else waiting
