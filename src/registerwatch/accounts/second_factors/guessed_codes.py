"""Counts wrong codes of second factors by network, so that guesses elsewhere lock no user out.

Functions run in the transaction of the connection that they are given, in which the user's account is locked.
"""

from collections.abc import Sequence

import msgspec
from sqlalchemy import delete, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.sessions import known_clients
from registerwatch.accounts.sessions.clients import Client
from registerwatch.accounts.tables import guessed_codes

DAY_SECONDS = 24 * 3600
MAX_OF_NETWORK = 20
"""Wrong codes of a user within a day from one IPv4 address or /64: three of a million codes are right at any time."""
MAX_ELSEWHERE = 60
"""The maximum from all networks together without a finished sign-in of the user."""
ELSEWHERE = "elsewhere"
CLEARED = "cleared"
"""A name beside those of networks: a mailed link lets codes count anew once a day. More often would let a reader of the
mailbox guess without end.
"""


class Counter(msgspec.Struct, frozen=True):
    """The wrong codes within a day that began with the first of them, and their maximum."""

    network: str
    most: int
    codes: int
    until: int
    """When its day ends, in unix seconds."""

    @property
    def is_full(self) -> bool:
        """Whether no more codes are accepted."""
        return self.codes >= self.most


async def counters(connection: AsyncConnection, user_id: int, client: Client, now: int) -> Sequence[Counter]:
    """The counters for codes that a client gives for a user, the one of most networks last."""
    limits = {client.address: MAX_OF_NETWORK}
    if not await known_clients.has_signed_in(connection, user_id, client, now):
        limits[ELSEWHERE] = MAX_ELSEWHERE
    found = select(guessed_codes.c.network, guessed_codes.c.codes, guessed_codes.c.since).where(
        guessed_codes.c.user_id == user_id,
        guessed_codes.c.network.in_(limits),
        guessed_codes.c.since > now - DAY_SECONDS,
    )
    rows = {row.network: (row.codes, row.since + DAY_SECONDS) for row in await connection.execute(found)}
    return [Counter(network, most, *rows.get(network, (0, now + DAY_SECONDS))) for network, most in limits.items()]


async def count(connection: AsyncConnection, user_id: int, networks: Sequence[str], now: int) -> None:
    """Count a wrong code."""
    over = now - DAY_SECONDS
    rows = [{"user_id": user_id, "network": network, "now": now, "over": over} for network in networks]
    await connection.execute(_COUNT, rows)


async def clear(connection: AsyncConnection, user_id: int, now: int) -> None:
    """Restart the counts of a user who set a password by a mailed link; once a day."""
    of_user = guessed_codes.c.user_id == user_id
    cleared = select(guessed_codes.c.since).where(
        of_user, guessed_codes.c.network == CLEARED, guessed_codes.c.since > now - DAY_SECONDS
    )
    is_due = (await connection.execute(cleared)).one_or_none() is None
    if is_due and await forget_all_of(connection, user_id):
        await count(connection, user_id, [CLEARED], now)


async def forget_all_of(connection: AsyncConnection, user_id: int) -> int:
    """Forget the wrong codes of a user; returns the number of counters."""
    return (await connection.execute(delete(guessed_codes).where(guessed_codes.c.user_id == user_id))).rowcount


async def forget_old(connection: AsyncConnection, now: int) -> int:
    """Delete expired counters; returns how many."""
    return (await connection.execute(delete(guessed_codes).where(guessed_codes.c.since <= now - DAY_SECONDS))).rowcount


_COUNT = text(
    "INSERT INTO guessed_codes (user_id, network, since, codes) VALUES (:user_id, :network, :now, 1)"
    " ON CONFLICT (user_id, network) DO UPDATE SET"
    " codes = CASE WHEN guessed_codes.since > :over THEN guessed_codes.codes + 1 ELSE 1 END,"
    " since = CASE WHEN guessed_codes.since > :over THEN guessed_codes.since ELSE excluded.since END"
)
