"""Latencies of events: the time from when a change was first visible to us to its event."""

from collections.abc import Mapping, Sequence

import msgspec
from sqlalchemy import text

from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database

WINDOW_SECONDS = 3_600
MAX_EVENTS = 5_000
"""Number of the newest events that are read."""


class Latency(msgspec.Struct, frozen=True):
    """The number of events of one kind, and the median and 95th percentile of their latencies in seconds."""

    events: int
    median: int
    p95: int


def latency_of(seconds: Sequence[int]) -> Latency:
    """The `Latency` of at least one event."""
    ordered = sorted(max(0, each) for each in seconds)
    count = len(ordered)
    return Latency(count, ordered[(count - 1) // 2], ordered[(95 * count + 99) // 100 - 1])


class EventLatencies:
    """Reads the latencies of all accounts' events, without account ids."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def of_last_hour(self) -> Mapping[str, Latency]:
        """The latency of each kind of event in the last hour, from the newest 5,000 events."""
        since = int(self._clock.now()) - WINDOW_SECONDS
        async with self._database.reading() as connection:
            rows = (await connection.execute(_NEWEST, {"most": MAX_EVENTS, "since": since})).all()
        by_kind: dict[str, list[int]] = {}
        for kind, seconds in rows:
            by_kind.setdefault(kind, []).append(seconds)
        return {kind: latency_of(seconds) for kind, seconds in sorted(by_kind.items())}


_NEWEST = text(
    "SELECT kind, created_at - visible_at FROM ("
    " SELECT kind, created_at, visible_at FROM events ORDER BY id DESC LIMIT :most"
    ") AS newest WHERE created_at > :since AND visible_at IS NOT NULL"
)
