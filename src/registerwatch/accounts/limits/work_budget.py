"""Limits processor seconds that an account may use in an hour for reading what it sends: files, photos, lists.

Limits of requests do not bound this: a file of some KB can take as long as ten thousand others. The used time is in one
row per account, so all processes count together.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import ColumnElement, and_, case, literal, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.limits.plan_shares import PlanShares
from registerwatch.accounts.tables import accounts, work_used
from registerwatch.errors import RateLimited
from registerwatch.platform.clock import CLOCK_DIFFERENCE_SECONDS, Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.run_uncancelled import run_uncancelled

T = TypeVar("T")

WINDOW_SECONDS = 3_600
MILLISECONDS = 1_000


class WorkBudget:
    """Measures work for accounts, and with `refuses` refuses it where an account has used its share of the hour."""

    def __init__(self, database: Database, clock: Clock, shares: PlanShares, *, refuses: bool) -> None:
        self._database = database
        self._clock = clock
        self._shares = shares
        self._refuses = refuses

    async def measured(self, account_id: int, work: Callable[[], T]) -> T:
        """The result of a function, run in a thread and measured. It is not refused: the work of which it is a part has
        begun.
        """
        seconds: list[float] = []
        try:
            return await asyncio.to_thread(_measured, work, seconds)
        finally:
            await run_uncancelled(self.spend(account_id, sum(seconds)))

    async def require(self, account_id: int) -> None:
        """Raise `RateLimited` where the account has nothing left. Begun work may use more than is left."""
        if not self._refuses:
            return
        now = int(self._clock.now())
        async with self._database.reading() as connection:
            share, used, ends_at = await self._state(connection, account_id, now)
        if used < share * MILLISECONDS:
            return
        wait = max(1, ends_at - now)
        message = (
            f"The account has used its {share} seconds of processor time of this hour for files, photos and lists."
            f" Try again in {-(-wait // 60)} minutes."
        )
        raise RateLimited(message, retry_after=wait, limit=share, window=WINDOW_SECONDS)

    async def spend(self, account_id: int, seconds: float) -> None:
        """Note the seconds of processor time that work for an account took."""
        now = int(self._clock.now())
        used = literal(max(1, round(seconds * MILLISECONDS)))
        row = select(accounts.c.id, literal(now), used).where(
            accounts.c.id == account_id
        )  # it may be deleted meanwhile
        goes_on = _goes_on(now)
        async with self._database.transaction() as connection:
            insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
            locked = row.with_for_update(read=True, key_share=True)
            added = insert(work_used).from_select(["account_id", "began_at", "milliseconds"], locked)
            values = {
                "began_at": case((goes_on, work_used.c.began_at), else_=now),
                "milliseconds": added.excluded.milliseconds + case((goes_on, work_used.c.milliseconds), else_=0),
            }
            await connection.execute(added.on_conflict_do_update(index_elements=["account_id"], set_=values))

    async def _state(self, connection: AsyncConnection, account_id: int, now: int) -> tuple[int, int, int]:
        """The seconds of the account's share, the milliseconds of it that are used, and when the hour ends."""
        plan = await self._shares.of(connection, account_id)
        share = plan.work_seconds if plan is not None else 0
        found = select(work_used.c.began_at, work_used.c.milliseconds).where(work_used.c.account_id == account_id)
        row = (await connection.execute(found)).one_or_none()
        if row is None or not now - WINDOW_SECONDS < row.began_at <= now + CLOCK_DIFFERENCE_SECONDS:
            return share, 0, now
        return share, row.milliseconds, row.began_at + WINDOW_SECONDS


def used_in_window(now: int) -> ColumnElement[int]:
    """The milliseconds used by the account of a row of `work_used` in its present hour."""
    return case((_goes_on(now), work_used.c.milliseconds), else_=0)


def _goes_on(now: int) -> ColumnElement[bool]:
    return and_(work_used.c.began_at <= now + CLOCK_DIFFERENCE_SECONDS, work_used.c.began_at > now - WINDOW_SECONDS)


def _measured(work: Callable[[], T], seconds: list[float]) -> T:
    """The result of work; `seconds` gets its duration, also where it raises."""
    began = time.thread_time()
    try:
        return work()
    finally:
        seconds.append(time.thread_time() - began)
