"""One connection to PostgreSQL over which many statements are on their way at once, in libpq's pipeline mode.

A small statement over the driver's own cursors and pool costs the processor more than the request that asks it. Here
whoever asks joins the pipeline and waits for the answer; sending and parsing is libpq's.
"""

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg import AsyncConnection, DatabaseError, Error, OperationalError
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import FeatureNotSupported, InvalidSqlStatementName, lookup
from psycopg.pq import DiagnosticField, ExecStatus
from psycopg.pq.abc import PGresult

STATEMENT_SECONDS = 15
"""After which the server ends a statement, which else would wait on there for a lock; they take milliseconds."""
STUCK_SECONDS = 30.0
"""After which a server that answers nothing is taken for gone."""

Rows = list[tuple[Any, ...]]

_FORGOTTEN = (InvalidSqlStatementName, FeatureNotSupported)
"""What a prepared statement meets after the server's side of the connection, or the schema, was changed under it."""


@dataclass(slots=True)
class _Asked:
    """A statement on its way, and what has come of it so far."""

    statement: str
    answer: "asyncio.Future[Rows]"
    at: float
    prepares: str | None
    """The statement that is prepared with it; None where that was done before, and once it is done."""
    rows: Rows = field(default_factory=list)
    problem: Error | None = None


class PipelinedConnection:
    """Prepared statements in the order in which they were asked; each is a transaction of its own."""

    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection  # else it would be closed
        self._pg = connection.pgconn
        self._pg.nonblocking = 1
        self._pg.enter_pipeline_mode()
        self._loop = asyncio.get_running_loop()
        self._socket = self._pg.socket
        self._asked: deque[_Asked] = deque()
        self._names: dict[str, bytes] = {}
        self._wrong: set[str] = set()
        """Statements that the server refused to prepare: nothing was forgotten where it does not know those."""
        self._prepared = 0
        self._watch: asyncio.TimerHandle | None = None
        self.opened_at = time.monotonic()
        self.is_broken = False
        self._loop.add_reader(self._socket, self._take)

    @property
    def waiting(self) -> int:
        """How many statements are on their way."""
        return len(self._asked)

    async def rows(self, statement: str, values: Sequence[object] = ()) -> Rows:
        """The rows of a statement with `$1`, `$2` …. Raises `psycopg.Error`, where the connection is lost or
        must be given up an `OperationalError`; then another connection may answer.
        """
        parameters = Transformer().dump_sequence(values, [PyFormat.TEXT] * len(values))
        is_known = statement in self._names
        asked = _Asked(statement, self._loop.create_future(), self._loop.time(), None if is_known else statement)
        try:
            self._send(statement, parameters)
        except OperationalError as error:
            self._give_up(error)
            raise
        self._asked.append(asked)
        if self._watch is None:
            self._watch = self._loop.call_later(STUCK_SECONDS, self._look)
        return await asked.answer

    def close(self) -> None:
        """End it; who waits is told that it was lost."""
        self._give_up(OperationalError("the connection was closed"))

    def _send(self, statement: str, parameters: Sequence[Any]) -> None:
        if self.is_broken:
            raise OperationalError("the connection is lost")
        name = self._names.get(statement)
        if name is None:
            self._prepared += 1
            name = self._names[statement] = b"rw%d" % self._prepared
            self._pg.send_prepare(name, statement.encode())
        self._pg.send_query_prepared(name, parameters)
        self._pg.pipeline_sync()
        self._flush()
        if self.is_broken:
            raise OperationalError("the connection is lost")

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

    def _take(self) -> None:
        """Take whatever has arrived."""
        try:
            self._pg.consume_input()
            ends = 0
            while self._asked and not self._pg.is_busy():
                result = self._pg.get_result()
                ends = ends + 1 if result is None else 0  # one ends each statement, and nothing comes after the last
                if ends > 1:
                    raise OperationalError("the server ended the connection")
                if result is not None:
                    self._took(self._asked[0], result)
        except OperationalError as error:
            self._give_up(error)

    def _took(self, asked: _Asked, result: PGresult) -> None:
        if result.status == ExecStatus.PIPELINE_SYNC:
            self._asked.popleft()
            _tell(asked)
            if isinstance(asked.problem, _FORGOTTEN) and asked.statement not in self._wrong:
                self._give_up(OperationalError(f"prepared statements were lost: {asked.problem}"))
        elif result.status == ExecStatus.COMMAND_OK and asked.prepares is not None:
            self._wrong.discard(asked.prepares)
            asked.prepares = None
        elif result.status == ExecStatus.TUPLES_OK:
            try:
                asked.rows = _rows_of(result)
            except Error as error:
                asked.problem = error
        elif result.status == ExecStatus.FATAL_ERROR:
            asked.problem = asked.problem or _error_of(result)
            if asked.prepares is not None:
                self._wrong.add(asked.prepares)
                self._names.pop(asked.prepares, None)

    def _look(self) -> None:
        """Whether the server still answers."""
        self._watch = None
        if self._asked:
            left = self._asked[0].at + STUCK_SECONDS - self._loop.time()
            if left <= 0:
                self._give_up(OperationalError(f"no answer within {STUCK_SECONDS:g} s"))
            else:
                self._watch = self._loop.call_later(left, self._look)

    def _give_up(self, error: OperationalError) -> None:
        if self.is_broken:
            return
        self.is_broken = True
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        if self._watch is not None:
            self._watch.cancel()
        while self._asked:
            asked = self._asked.popleft()
            asked.problem = error
            _tell(asked)
        self._pg.finish()


def _tell(asked: _Asked) -> None:
    if asked.answer.done():  # nobody waits any more
        return
    problem = asked.problem
    if problem is None:
        asked.answer.set_result(asked.rows)
    elif isinstance(problem, _FORGOTTEN):
        asked.answer.set_exception(OperationalError(str(problem)))
    else:
        asked.answer.set_exception(problem)


def _rows_of(result: PGresult) -> Rows:
    loading = Transformer()
    loading.set_pgresult(result)
    return loading.load_rows(0, result.ntuples, tuple)


def _error_of(result: PGresult) -> Error:
    message = result.error_message.decode(errors="replace").strip()
    try:
        return lookup((result.error_field(DiagnosticField.SQLSTATE) or b"").decode())(message)
    except KeyError:
        return DatabaseError(message)
