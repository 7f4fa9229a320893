"""Causes that several events have in common, so that people read of each once.

When an actor's status changes in the register, every watched device of that manufacturer has an event of its own, since
each record repeats the status. Those that one sync, recheck or sweep found have the same cause. So have events with the
same changes of certificates, such as their end, and events of one manufacturer from one sweep.
"""

from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from registerwatch.watches.diff import FieldChange
from registerwatch.watches.models import Event, EventSeverity

OF_MANUFACTURER = "manufacturer_status"
"""The field about the manufacturer instead of the device."""


def cause_of(run: str, manufacturer_srn: str, changes: Sequence[FieldChange]) -> str | None:
    """The cause of an event whose changes are all of the manufacturer, or all of certificates; None for any other.

    `run` names the sync, the recheck, the sweep or the run of ends that found it, of any account. Events of
    certificates share a cause only where all their changes are the same: devices may have different certificates.
    """
    if not manufacturer_srn:
        return None
    if all(change.field == OF_MANUFACTURER for change in changes):
        return f"{run}/{manufacturer_srn}"
    if all(change.certificate is not None for change in changes):
        digest = blake2b(b"\n".join(sorted(map(msgspec.json.encode, changes))), digest_size=8).hexdigest()
        return f"{run} {digest}/{manufacturer_srn}"
    return None


class EventGroup(msgspec.Struct, frozen=True):
    """Events of one cause, newest first; an event without a cause is a group of its own."""

    events: Sequence[Event]

    @property
    def newest(self) -> Event:
        """The event that was stored last."""
        return self.events[0]

    @property
    def most_severe(self) -> Event:
        """The most severe event, the newest of several alike."""
        order = [*EventSeverity, *(event.severity for event in self.events)]
        return min(self.events, key=lambda event: order.index(event.severity))

    @property
    def cause(self) -> str | None:
        """The common cause of its events."""
        return self.newest.cause

    @property
    def manufacturer_srn(self) -> str:
        """The actor that changed, empty where there is no common cause."""
        return (self.cause or "").partition("/")[2]

    @property
    def changes(self) -> Sequence[FieldChange]:
        """The changes of its events, each once."""
        return list(dict.fromkeys(change for event in self.events for change in event.changes))
