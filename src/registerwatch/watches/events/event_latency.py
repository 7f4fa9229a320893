"""How long it took from the moment when a change was first visible to us to the event that tells it."""

from collections.abc import Mapping, Sequence

import msgspec
from sqlalchemy import text

from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database

WINDOW_SECONDS = 3_600
MAX_EVENTS = 5_000
"""The newest events that are looked at."""


class Latency(msgspec.Struct, frozen=True):
    """Of the events of one kind: how many, and the seconds that half and 95 of a hundred of them took at most."""

    events: int
    median: int
    p95: int


def latency_of(seconds: Sequence[int]) -> Latency:
    """The figures of at least one event."""
    ordered = sorted(max(0, each) for each in seconds)
    count = len(ordered)
    return Latency(count, ordered[(count - 1) // 2], ordered[(95 * count + 99) // 100 - 1])


class EventLatencies:
    """Reads the latencies of all accounts' events; no account is told."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def of_last_hour(self) -> Mapping[str, Latency]:
        """The latency of each kind of event that there was within the last hour, of the newest 5,000 events."""
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
