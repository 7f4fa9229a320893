"""Gathered deliveries: messages to people wait some minutes for what other runs find about the same. Pure.

While a run that holds its deliveries finds more, the gathered one waits for it, within bounds: a certificate that comes
to many watches in twenty minutes is in two messages, not in ten.
"""

import msgspec

GATHER_SECONDS = 120
"""Time after the first event, or the last one of a run that goes on."""
GATHER_STEP_SECONDS = 60
"""Gathered deliveries are due at whole minutes."""
MAX_GATHER_SECONDS = 900
"""A gathered delivery is due so long after the first event at the latest."""

GATHERED = "gathered"
"""The prefix of their batches."""
_LONGEST_WAIT = MAX_GATHER_SECONDS - GATHER_SECONDS - GATHER_STEP_SECONDS


class GatheredBatch(msgspec.Struct, frozen=True):
    """The batch of a gathered delivery, named after the minute (unix seconds) at which it was to be due at first."""

    minute: int

    @property
    def batch(self) -> str:
        """A target gets one delivery of a batch."""
        return f"{GATHERED}:{self.minute}"

    def due_at(self, now: int, *, is_held: bool) -> int:
        """When it is due, unless it was moved; with an event of a run that goes on, later."""
        return min(gathered_batch_from(now).minute, self.minute + _LONGEST_WAIT) if is_held else self.minute

    @property
    def next(self) -> "GatheredBatch":
        """The batch for events that come while this one is being sent."""
        return gathered_batch_from(self.minute)


def gathered_batch_from(now: int) -> GatheredBatch:
    """The batch whose first event is of this instant."""
    return GatheredBatch(_whole_minute(now + GATHER_SECONDS))


def earlier_gathered_batches(now: int) -> list[GatheredBatch]:
    """Batches whose deliveries may be waiting, the earliest first."""
    minutes = range(_whole_minute(now + 1 - _LONGEST_WAIT), gathered_batch_from(now).minute, GATHER_STEP_SECONDS)
    return [GatheredBatch(minute) for minute in minutes]


def gathered_batch_of(batch: str) -> GatheredBatch | None:
    """The gathered batch with this name; None for another batch."""
    kind, _, minute = batch.partition(":")
    return GatheredBatch(int(minute)) if kind == GATHERED else None


def _whole_minute(at: int) -> int:
    """The first whole minute that is not before an instant."""
    return -(-at // GATHER_STEP_SECONDS) * GATHER_STEP_SECONDS
