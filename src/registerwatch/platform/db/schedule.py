"""Schedules work once per interval over the whole fleet, for any number of processes."""

from sqlalchemy import text

from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database


class Schedule:
    """Slots of time that one process claims. A slot whose process dies is lost; the next slot comes."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def claim(self, name: str, every: float) -> bool:
        """Whether this process is the one that does `name` in the present slot of `every` seconds."""
        slot = int(self._clock.now() // every)
        async with self._database.reading() as connection:
            if (await connection.execute(_SLOT, {"name": name})).scalar_one_or_none() in (slot, slot + 1):
                return False
        async with self._database.transaction() as connection:
            return (await connection.execute(_CLAIM, {"name": name, "slot": slot})).rowcount == 1


_SLOT = text("SELECT slot FROM ticks WHERE name = :name")
_CLAIM = text(
    "INSERT INTO ticks (name, slot) VALUES (:name, :slot)"
    " ON CONFLICT (name) DO UPDATE SET slot = excluded.slot"
    " WHERE ticks.slot < excluded.slot OR ticks.slot > excluded.slot + 1"
)
"""A clock that is a little behind another node's claims no slot twice; a corrected one goes on at once."""
