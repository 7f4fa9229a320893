"""The interface to watches, which this package does not know."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import msgspec

from registerwatch.copy.sweeps import SweptManufacturer


class DueSubjects(msgspec.Struct, frozen=True):
    """Subjects that may be read now: `failing` are those whose last read failed, the one of the oldest try first."""

    sound: Sequence[str]
    failing: Sequence[str]


class WatchedSubjects(Protocol):
    """The subjects that are watched."""

    async def manufacturers(self) -> Sequence[SweptManufacturer]:
        """Every manufacturer that is watched or has watched devices, with the number of UDI-DIs that active accounts
        watch; 0, and not `lists_all`, where only accounts watch whose period has ended.
        """

    async def devices_of(self, srn: str) -> Sequence[str]:
        """The UDI-DIs of a manufacturer that active accounts watch."""

    async def due(self, subjects: Sequence[str]) -> DueSubjects:
        """The subjects among these that may be read now: one whose last read failed waits."""

    async def read(self, visible_at: Mapping[str, int]) -> Collection[str]:
        """Read subjects in full now whose changes a list showed at these instants (unix seconds). Returns those that
        were found and compared. The others got no slot in the request budget, or their reads failed.

        A read that fails is noted at their watches.
        """
