"""What several events have in common, so that people are told it once.

When an actor's status changes in the register, every watched device of that manufacturer has an event of its own, since
each record repeats the status. Those that one sync, recheck or sweep found have the same cause. So have those that tell
the same of certificates, which many devices show, as that they end, and what a sweep found of a manufacturer.
"""

from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from registerwatch.watches.diff import FieldChange
from registerwatch.watches.models import Event, EventSeverity

OF_MANUFACTURER = "manufacturer_status"
"""The field that says something of the manufacturer, not of the device."""


def cause_of(run: str, manufacturer_srn: str, changes: Sequence[FieldChange]) -> str | None:
    """The cause of an event whose every change is one of the manufacturer, or one of a certificate; None of any other.

    `run` names the sync, the recheck, the sweep or the run of ends that found it, whose ever it was. Of certificates
    only the same changes have the same cause: those who are told of two of them need not have what others have.
    """
    if not manufacturer_srn:
        return None
    if all(change.field == OF_MANUFACTURER for change in changes):
        return f"{run}/{manufacturer_srn}"
    if all(change.certificate is not None for change in changes):
        told = blake2b(b"\n".join(sorted(map(msgspec.json.encode, changes))), digest_size=8).hexdigest()
        return f"{run} {told}/{manufacturer_srn}"
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
        """The event that matters most, of several alike the newest."""
        order = [*EventSeverity, *(event.severity for event in self.events)]
        return min(self.events, key=lambda event: order.index(event.severity))

    @property
    def cause(self) -> str | None:
        """What its events have in common."""
        return self.newest.cause

    @property
    def manufacturer_srn(self) -> str:
        """The actor that changed, empty where there is no common cause."""
        return (self.cause or "").partition("/")[2]

    @property
    def changes(self) -> Sequence[FieldChange]:
        """The different changes of its events."""
        return list(dict.fromkeys(change for event in self.events for change in event.changes))
