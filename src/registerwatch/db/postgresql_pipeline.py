"""One connection to PostgreSQL over which many statements are on their way at once, in libpq's pipeline mode.

A small statement over the driver's own cursors and pool costs the processor more than the request that asks it. Here
each caller adds a statement to the pipeline and waits for its answer; libpq sends and parses.
`PostgresReads` is the only user of this module.
"""

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from psycopg import AsyncConnection, Error, OperationalError
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import FeatureNotSupported, InvalidSqlStatementName, error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

STATEMENT_SECONDS = 15
"""After which the server ends a statement, which else would wait on there for a lock; they take milliseconds."""
STUCK_SECONDS = 30.0
"""After which a server that answers nothing is taken for gone."""

Rows = list[tuple[Any, ...]]

_OUTDATED = (InvalidSqlStatementName, FeatureNotSupported)
"""Errors of a prepared statement that the server has dropped, or whose tables were changed since."""


@dataclass(slots=True)
class _Prepared:
    """A prepared statement of this connection."""

    name: bytes
    is_confirmed: bool = False
    """Whether the server has prepared it."""


@dataclass(slots=True)
class _Pending:
    """A statement on its way, and what the server has answered so far."""

    statement: str
    prepared: _Prepared
    answer: "asyncio.Future[Rows]"
    sent_at: float
    rows: Rows = field(default_factory=list)
    error: Error | None = None

    @property
    def is_outdated(self) -> bool:
        """Whether it was prepared before and must be prepared again, over another connection."""
        return self.prepared.is_confirmed and isinstance(self.error, _OUTDATED)

    def settle(self) -> None:
        """Give the caller the rows or the error."""
        if self.answer.done():  # the caller was cancelled
            return
        if self.error is None:
            self.answer.set_result(self.rows)
        elif isinstance(self.error, _OUTDATED):
            self.answer.set_exception(OperationalError(str(self.error)))
        else:
            self.answer.set_exception(self.error)


class PipelinedConnection:
    """Prepared statements, answered in the order in which they were sent; each is a transaction of its own."""

    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection  # else it would be closed
        self._pg = connection.pgconn
        self._pg.nonblocking = 1
        self._pg.enter_pipeline_mode()
        self._loop = asyncio.get_running_loop()
        self._socket = self._pg.socket
        self._pending: deque[_Pending] = deque()
        self._prepared: dict[str, _Prepared] = {}
        self._numbers = count(1)
        self._stuck_timer: asyncio.TimerHandle | None = None
        self.opened_at = time.monotonic()
        self.is_broken = False
        self._loop.add_reader(self._socket, self._receive)

    @property
    def waiting(self) -> int:
        """How many statements are on their way."""
        return len(self._pending)

    async def rows(self, statement: str, values: Sequence[object] = ()) -> Rows:
        """The rows of a statement with `$1`, `$2` …

        Raises `psycopg.Error`: an `OperationalError` where the connection is lost or must be given up, so that another
        connection may answer.
        """
        if self.is_broken:
            raise OperationalError("the connection is lost")
        parameters = Transformer().dump_sequence(values, [PyFormat.TEXT] * len(values))
        pending = self._send(statement, parameters)
        if self._stuck_timer is None and not self.is_broken:
            self._stuck_timer = self._loop.call_later(STUCK_SECONDS, self._check_stuck)
        return await pending.answer

    def close(self) -> None:
        """End it; callers that wait get an `OperationalError`."""
        self._give_up(OperationalError("the connection was closed"))

    def _send(self, statement: str, parameters: Sequence[Any]) -> _Pending:
        prepared = self._prepared.get(statement)
        is_new = prepared is None
        if prepared is None:
            prepared = self._prepared[statement] = _Prepared(b"rw%d" % next(self._numbers))
        pending = _Pending(statement, prepared, self._loop.create_future(), self._loop.time())
        self._pending.append(pending)
        try:
            if is_new:
                self._pg.send_prepare(prepared.name, statement.encode())
            self._pg.send_query_prepared(prepared.name, parameters)
            self._pg.pipeline_sync()
            self._flush()
        except OperationalError as error:
            self._give_up(error)
        return pending

    def _flush(self) -> None:
        """Send what is to be sent, the rest as soon as the socket takes it."""
        try:
            is_left = self._pg.flush()
        except OperationalError as error:
            self._give_up(error)
            return
        if is_left:
            self._loop.add_writer(self._socket, self._flush)
        else:
            self._loop.remove_writer(self._socket)

    def _receive(self) -> None:
        """Take whatever has arrived."""
        try:
            self._pg.consume_input()
            ends = 0
            while self._pending and not self._pg.is_busy():
                result = self._pg.get_result()
                ends = ends + 1 if result is None else 0  # one ends each statement, and nothing comes after the last
                if ends > 1:
                    raise OperationalError("the server ended the connection")
                if result is not None:
                    self._add_result(self._pending[0], result)
        except OperationalError as error:
            self._give_up(error)

    def _add_result(self, pending: _Pending, result: PGresult) -> None:
        if result.status == ExecStatus.PIPELINE_SYNC:
            self._pending.popleft().settle()
            if pending.is_outdated:
                self._give_up(OperationalError(f"a prepared statement is outdated: {pending.error}"))
        elif result.status == ExecStatus.COMMAND_OK:  # the first one answers the preparation
            pending.prepared.is_confirmed = True
        elif result.status == ExecStatus.TUPLES_OK:
            try:
                pending.rows = _rows_of(result)
            except Error as error:
                pending.error = error
        elif result.status == ExecStatus.FATAL_ERROR:
            pending.error = pending.error or error_from_result(result)
            if not pending.prepared.is_confirmed and self._prepared.get(pending.statement) is pending.prepared:
                del self._prepared[pending.statement]  # the server refused to prepare it

    def _check_stuck(self) -> None:
        """Give up when the first statement has waited too long, else look again when it may have."""
        self._stuck_timer = None
        if self._pending:
            left = self._pending[0].sent_at + STUCK_SECONDS - self._loop.time()
            if left <= 0:
                self._give_up(OperationalError(f"no answer within {STUCK_SECONDS:g} s"))
            else:
                self._stuck_timer = self._loop.call_later(left, self._check_stuck)

    def _give_up(self, error: OperationalError) -> None:
        """Close the connection; every caller that waits gets this error."""
        if self.is_broken:
            return
        self.is_broken = True
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        if self._stuck_timer is not None:
            self._stuck_timer.cancel()
        while self._pending:
            pending = self._pending.popleft()
            pending.error = error
            pending.settle()
        self._pg.finish()


def _rows_of(result: PGresult) -> Rows:
    loading = Transformer()
    loading.set_pgresult(result)
    return loading.load_rows(0, result.ntuples, tuple)
