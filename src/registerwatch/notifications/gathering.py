"""Gathered deliveries: messages to people wait some minutes for what other runs find about the same. Pure.

While a run that holds its deliveries finds more, the gathered one waits for it, within bounds: a certificate that comes
to many watches in twenty minutes is in two messages, not in ten.
"""

import msgspec

GATHERING_SECONDS = 120
"""Time after the first event, or the last one of a run that goes on."""
GATHERING_STEP_SECONDS = 60
"""Gathered deliveries are due at whole minutes."""
MAX_GATHERING_SECONDS = 900
"""A gathered delivery is due so long after the first event at the latest."""

GATHERED = "gathered"
"""The prefix of their batches."""
_LONGEST_WAIT = MAX_GATHERING_SECONDS - GATHERING_SECONDS - GATHERING_STEP_SECONDS


class Gathering(msgspec.Struct, frozen=True):
    """The batch of a gathered delivery, named after the minute (unix seconds) at which it was to be due at first."""

    minute: int

    @property
    def batch(self) -> str:
        """A target gets one delivery of a batch."""
        return f"{GATHERED}:{self.minute}"

    def due_at(self, now: int, *, is_held: bool) -> int:
        """When it is due, unless it was moved; with an event of a run that goes on, later."""
        return min(gathering_from(now).minute, self.minute + _LONGEST_WAIT) if is_held else self.minute

    @property
    def next(self) -> "Gathering":
        """The batch for events that come while this one is being sent."""
        return gathering_from(self.minute)


def gathering_from(now: int) -> Gathering:
    """The batch whose first event is of this instant."""
    return Gathering(_whole_minute(now + GATHERING_SECONDS))


def earlier_gatherings(now: int) -> list[Gathering]:
    """Batches whose deliveries may be waiting, the earliest first."""
    minutes = range(_whole_minute(now + 1 - _LONGEST_WAIT), gathering_from(now).minute, GATHERING_STEP_SECONDS)
    return [Gathering(minute) for minute in minutes]


def gathering_of(batch: str) -> Gathering | None:
    """The gathered batch with this name; None for another batch."""
    kind, _, minute = batch.partition(":")
    return Gathering(int(minute)) if kind == GATHERED else None


def _whole_minute(at: int) -> int:
    """The first whole minute that is not before an instant."""
    return -(-at // GATHERING_STEP_SECONDS) * GATHERING_STEP_SECONDS
