"""The journal of a world: what was changed in it, field by field."""

from collections import deque
from collections.abc import Iterator

from msgspec import Struct


class Change(Struct, frozen=True):
    """One field of one record that went from `old` to `new`; `primary_di` is null where `uuid` is an actor's.

    A change of a certificate has `certificate` set to its number, and `field` is the certificate's field
    (`number` with a null `old` for a certificate that was added).
    """

    time: str
    uuid: str
    primary_di: str | None
    srn: str
    field: str
    old: object
    new: object
    certificate: str | None = None


class Journal:
    """The latest changes, oldest first; `written` counts those that have been dropped as well."""

    def __init__(self, kept: int = 100_000) -> None:
        self._changes: deque[Change] = deque(maxlen=kept)
        self.written = 0

    def write(self, change: Change) -> None:
        """Add a change at the end."""
        self._changes.append(change)
        self.written += 1

    def __iter__(self) -> Iterator[Change]:
        return iter(list(self._changes))

    def __len__(self) -> int:
        return len(self._changes)

    def since(self, written: int) -> list[Change]:
        """The changes written after the first `written` ones, as far as they are still kept."""
        changes = list(self._changes)
        return changes[max(0, len(changes) - (self.written - written)) :]
