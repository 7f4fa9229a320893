"""One connection to PostgreSQL for many statements at once, in libpq's pipeline mode.

A small statement over the driver's own cursors and pool takes more processor time than the request that needs it. Here
callers add statements. Equal ones of one round of the event loop, or that come while others are under way, are sent
together, and libpq parses the answers. `PostgresReads` is the only user of this module.
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
"""The server's time limit of a statement, which could wait for a lock; most take milliseconds."""
SENT_TOGETHER = 16
"""The most equal statements of one transaction. All of them wait for the last one."""
STUCK_SECONDS = 30.0
"""A server that is silent for so long is taken for gone."""
LOOK_SECONDS = 0.25
"""How often a connection checks for itself what has arrived while answers are awaited.

uvloop reports only once that a connection was reset: the server's last message would be read, and its end missed.
"""

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
    """A statement that is to be sent or under way, and the server's answer so far."""

    statement: str
    parameters: Sequence[Any]
    answer: "asyncio.Future[Rows]"
    since: float
    prepared: _Prepared | None = None
    is_preparing: bool = False
    """Whether the server answers its preparation first."""
    is_left_out: bool = False
    """Whether the server skipped it, because one that was sent with it failed."""
    rows: Rows = field(default_factory=list)
    error: Error | None = None

    @property
    def is_outdated(self) -> bool:
        """Whether it was prepared before and must be prepared again, over another connection."""
        is_prepared = self.prepared is not None and self.prepared.is_confirmed
        return is_prepared and isinstance(self.error, _OUTDATED)

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
    """Prepared statements, answered in the order in which they were sent.

    Equal ones, with other values, are one transaction, in which each sees what was committed before it. Where one
    fails, the server skips those after it, which are sent again: so all of them must be reads. Different ones are
    separate: a transaction keeps the locks of all its tables, and could wait for a migration that waits for it.
    """

    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection  # else it would be closed
        self._pg = connection.pgconn
        self._pg.nonblocking = 1
        self._pg.enter_pipeline_mode()
        self._loop = asyncio.get_running_loop()
        self._socket = self._pg.socket
        self._unsent: list[_Pending] = []
        self._sent: deque[_Pending] = deque()
        self._answered: list[_Pending] = []
        """Statements whose callers wait for the end of the transaction: until then the connection may end."""
        self._prepared: dict[str, _Prepared] = {}
        self._numbers = count(1)
        self._look_timer: asyncio.TimerHandle | None = None
        self._transactions = 0
        """Count under way."""
        self.opened_at = time.monotonic()
        self.is_broken = False
        self._loop.add_reader(self._socket, self._receive)

    @property
    def waiting(self) -> int:
        """How many statements are under way or to be sent."""
        return len(self._answered) + len(self._sent) + len(self._unsent)

    @property
    def is_busy(self) -> bool:
        """Whether statements are under way: others are sent when these are answered."""
        return self._transactions > 0

    async def rows(self, statement: str, values: Sequence[object] = ()) -> Rows:
        """The rows of a statement with `$1`, `$2` …

        Raises `psycopg.Error`: an `OperationalError` where the connection is lost or must be given up, so that another
        connection may answer.
        """
        if self.is_broken:
            raise OperationalError("the connection is lost")
        parameters = Transformer().dump_sequence(values, [PyFormat.TEXT] * len(values))
        pending = _Pending(statement, parameters, self._loop.create_future(), self._loop.time())
        if not (self._unsent or self.is_busy):
            self._loop.call_soon(self._send)
        self._unsent.append(pending)
        if self._look_timer is None:
            self._look_timer = self._loop.call_later(LOOK_SECONDS, self._look)
        return await pending.answer

    def close(self) -> None:
        """End it; waiting callers get an `OperationalError`."""
        self._give_up(OperationalError("the connection was closed"))

    def _send(self) -> None:
        """Send what is to be sent, unless its callers wait no more."""
        pending = [each for each in self._unsent if not each.answer.done()]
        self._unsent = []
        if self.is_broken or not pending:
            return
        equal: dict[str, list[_Pending]] = {}
        for each in pending:
            equal.setdefault(each.statement, []).append(each)
        try:
            for group in equal.values():
                for start in range(0, len(group), SENT_TOGETHER):
                    self._add_transaction(group[start : start + SENT_TOGETHER])
            self._flush()
        except Exception as error:  # noqa: BLE001  # no caller may wait for an answer that does not come
            self._give_up(OperationalError(f"a statement cannot be sent: {error!r}"))

    def _add_transaction(self, together: Sequence[_Pending]) -> None:
        self._sent.extend(together)
        self._transactions += 1
        for each in together:
            self._add_to_pipeline(each)
        self._pg.pipeline_sync()

    def _add_to_pipeline(self, pending: _Pending) -> None:
        prepared = self._prepared.get(pending.statement)
        pending.is_preparing = prepared is None
        if prepared is None:
            prepared = self._prepared[pending.statement] = _Prepared(b"rw%d" % next(self._numbers))
            self._pg.send_prepare(prepared.name, pending.statement.encode())
        pending.prepared = prepared
        pending.is_left_out = False
        self._pg.send_query_prepared(prepared.name, pending.parameters)

    def _flush(self) -> None:
        """Hand over what libpq has, the rest as soon as the socket accepts it."""
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
            is_end = False
            while self.is_busy and not self._pg.is_busy():
                result = self._pg.get_result()
                if result is not None and result.status == ExecStatus.PIPELINE_SYNC:
                    self._end_transaction()
                elif not self._sent or (result is None and is_end):  # each answer has one end, and no other follows
                    raise OperationalError("the server ended the connection")
                elif result is None:
                    self._end_answer()
                else:
                    self._add_result(result)
                is_end = result is None
        except OperationalError as error:
            self._give_up(error)
        except Exception as error:  # noqa: BLE001  # the same
            self._give_up(OperationalError(f"an answer cannot be read: {error!r}"))

    def _add_result(self, result: PGresult) -> None:
        pending = self._sent[0]
        if result.status == ExecStatus.COMMAND_OK and pending.prepared is not None:
            pending.prepared.is_confirmed = True
        elif result.status == ExecStatus.TUPLES_OK:
            try:
                pending.rows = _rows_of(result)
            except Error as error:
                pending.error = error
        elif result.status == ExecStatus.FATAL_ERROR:
            pending.error = error_from_result(result)
        elif result.status == ExecStatus.PIPELINE_ABORTED:
            pending.is_left_out = pending.error is None

    def _end_answer(self) -> None:
        """End the answer to a preparation or to a statement."""
        pending = self._sent[0]
        if pending.is_preparing:
            pending.is_preparing = False
            return
        self._answered.append(self._sent.popleft())
        if pending.prepared is not None and not pending.prepared.is_confirmed:
            self._prepared.pop(pending.statement, None)

    def _end_transaction(self) -> None:
        """Answer the callers, and send again what the server skipped."""
        answered, self._answered = self._answered, []
        self._unsent[:0] = [each for each in answered if each.is_left_out]
        for pending in answered:
            if not pending.is_left_out:
                pending.settle()
        outdated = next((each for each in answered if each.is_outdated), None)
        if outdated is not None:
            self._give_up(OperationalError(f"a prepared statement is outdated: {outdated.error}"))
            return
        self._transactions -= 1
        if not self.is_busy:
            self._send()

    def _look(self) -> None:
        """Read what has arrived, and give up when the first statement has waited too long for its answer."""
        self._look_timer = None
        self._receive()
        first = next(iter(self._answered or self._sent or self._unsent), None)
        if first is None:  # as when the connection is lost
            return
        if self._loop.time() - first.since >= STUCK_SECONDS:
            self._give_up(OperationalError(f"no answer within {STUCK_SECONDS:g} s"))
        else:
            self._look_timer = self._loop.call_later(LOOK_SECONDS, self._look)

    def _give_up(self, error: OperationalError) -> None:
        """Close the connection; every caller that waits gets this error."""
        if self.is_broken:
            return
        self.is_broken = True
        self._transactions = 0
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        if self._look_timer is not None:
            self._look_timer.cancel()
        for pending in (*self._answered, *self._sent, *self._unsent):
            pending.error = error
            pending.settle()
        self._answered.clear()
        self._sent.clear()
        self._unsent.clear()
        self._pg.finish()


def _rows_of(result: PGresult) -> Rows:
    loading = Transformer()
    loading.set_pgresult(result)
    return loading.load_rows(0, result.ntuples, tuple)
