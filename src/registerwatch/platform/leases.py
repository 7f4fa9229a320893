"""Leases: a row on which one process works at a time.

The process renews its lease while it works, so one that died, or that hangs, has a row for a minute at most. A table
with leases has the columns `leased_until` (unix seconds, 0 for none) and `lease_holder` (names the claim).
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog
from sqlalchemy import ColumnElement, FromClause, Table, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.errors import RegisterwatchError
from registerwatch.platform.clock import CLOCK_DIFFERENCE_SECONDS, Clock
from registerwatch.platform.db.engine import Database

LEASE_SECONDS = 60
"""Deliveries, of which many are claimed at once and each has an end within that time, do not renew theirs."""
RENEW_SECONDS = 15
"""Pause between two renewals: several may fail before a lease ends."""

log = structlog.get_logger(__name__)


class LeaseLost(Exception):
    """Another process may have claimed the row, or the row is gone."""


def new_holder() -> str:
    """The name of a claim, which no other one has."""
    return secrets.token_hex(8)


def lease_values(holder: str, now: int) -> Mapping[str, Any]:
    """The columns of a row that is claimed, or whose lease is renewed."""
    return {"leased_until": now + LEASE_SECONDS, "lease_holder": holder}


NO_LEASE: Mapping[str, Any] = {"leased_until": 0, "lease_holder": None}
"""The columns of a row that is given back."""


def is_free(table: FromClause, now: int, longest: int = LEASE_SECONDS) -> ColumnElement[bool]:
    """Whether no process has a row. A lease that ends later than any can is from before the clock was put back."""
    until = table.c.leased_until
    return or_(until <= now, until > now + longest + CLOCK_DIFFERENCE_SECONDS)


class Lease:
    """A row that this process has claimed: `own` selects it by its key and its holder."""

    def __init__(self, database: Database, clock: Clock, table: Table, *own: ColumnElement[bool]) -> None:
        self._database, self._clock = database, clock
        self._table, self._own = table, own
        self._is_lost = False

    @asynccontextmanager
    async def renewed(self) -> AsyncIterator[None]:
        """Renew it until the block ends. It is not given back then."""
        renewing = asyncio.create_task(self._renew(), name=f"lease in {self._table.name}")
        try:
            yield
        finally:
            renewing.cancel()
            with suppress(asyncio.CancelledError):
                await renewing

    def check(self) -> None:
        """Raises `LeaseLost` where the last renewal found that another process has the row."""
        if self._is_lost:
            raise LeaseLost

    async def hold(self, connection: AsyncConnection) -> None:
        """Lock the row until the transaction ends. Raises `LeaseLost`."""
        held = select(self._table.c.leased_until).where(*self._own).with_for_update()
        if (await connection.execute(held)).first() is None:
            raise LeaseLost

    async def _renew(self) -> None:
        while not self._is_lost:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                await self.renew()
            except LeaseLost:
                self._is_lost = True
            except RegisterwatchError as error:
                log.warning("a lease could not be renewed", table=self._table.name, why=str(error))

    async def renew(self) -> None:
        """Extend it from now on. Raises `LeaseLost`."""
        until = int(self._clock.now()) + LEASE_SECONDS
        async with self._database.transaction() as connection:
            renewed = update(self._table).where(*self._own).values(leased_until=until)
            if (await connection.execute(renewed)).rowcount == 0:
                raise LeaseLost
