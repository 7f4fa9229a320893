"""What was changed in a world, field by field."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from registerwatch_standins.register.records import Certificate, Registration

Pair = tuple[Certificate | None, Certificate | None]
_NOT_LOGGED = frozenset({"version_date", "last_updated", "basic_version"})


class Change(Struct, frozen=True):
    """One field of one record that went from `old` to `new`.

    `primary_di` is null where `uuid` is an actor's, a certificate's or a refused application's.
    """

    time: str
    uuid: str
    primary_di: str | None
    srn: str
    field: str
    old: object
    new: object


class ChangeLog:
    """The latest changes, oldest first; `written` counts those that have been dropped as well."""

    def __init__(self, kept: int = 100_000) -> None:
        self._changes: deque[Change] = deque(maxlen=kept)
        self.written = 0

    def write(self, change: Change) -> None:
        self._changes.append(change)
        self.written += 1

    def __iter__(self) -> Iterator[Change]:
        return iter(list(self._changes))

    def since(self, written: int) -> list[Change]:
        """The changes written after the first `written` ones, as far as they are still kept."""
        changes = list(self._changes)
        return changes[max(0, len(changes) - (self.written - written)) :]


def changes_between(before: Registration, after: Registration, now: str) -> list[Change]:
    """A change for every field that differs, but for timestamps and the version of the Basic UDI-DI record."""
    key = now, after.uuid, after.primary_di, after.manufacturer.srn
    return [
        Change(*key, field, getattr(before, field), getattr(after, field))
        for field in Registration.__struct_fields__
        if field not in _NOT_LOGGED and getattr(before, field) != getattr(after, field)
    ]


def certificate_pairs(before: Sequence[Certificate], after: Sequence[Certificate]) -> list[Pair]:
    """Old and new of all certificates that differ, matched by number and revision, then by number, then in order."""
    gone = [old for old in before if old not in after]
    come = [new for new in after if new not in before]
    keys: list[Callable[[Certificate], object]] = [
        lambda each: (each.number, each.revision),
        lambda each: each.number,
        lambda each: None,
    ]
    pairs: list[Pair] = []
    for key in keys:
        for old in list(gone):
            new = next((each for each in come if key(each) == key(old)), None)
            if new is not None:
                gone.remove(old)
                come.remove(new)
                pairs.append((old, new))
    return [*pairs, *((old, None) for old in gone), *((None, new) for new in come)]
