"""The order in which watched subjects are read: one that needs few requests. Pure.

One request lists devices of a manufacturer, and devices under one Basic UDI-DI share its record. So devices of a
manufacturer are read as a group, and within it those under one Basic UDI-DI one after the other.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import msgspec


class Family(msgspec.Struct, frozen=True):
    """Manufacturer and Basic UDI-DI of a watched device at its last read; empty if unknown."""

    manufacturer_srn: str = ""
    basic_udi: str = ""


class DueSubject(msgspec.Struct, frozen=True):
    """A watched subject, and when it was last tried (unix seconds), 0 if never."""

    name: str
    tried_at: int = 0


class ReadGroup(msgspec.Struct, frozen=True):
    """Subjects that are read together: devices of one manufacturer, or a single subject without one.

    Subjects in `later` are listed with them, but read after all other groups.
    """

    subjects: Sequence[str]
    manufacturer_srn: str = ""
    later: Sequence[str] = ()

    @property
    def size(self) -> int:
        """The number of its subjects."""
        return len(self.subjects) + len(self.later)


LAST_RUN_SECONDS = 150
"""A subject whose last try is more than this before the newest try was not reached by the last sync."""


def grouped(subjects: Sequence[str], families: Mapping[str, Family], later: Collection[str] = ()) -> list[ReadGroup]:
    """Subjects as groups, in the order of their first subjects. A manufacturer is not in the group of its devices."""
    members: dict[tuple[str, str], list[str]] = {}
    for subject in subjects:
        srn = families.get(subject, Family()).manufacturer_srn
        members.setdefault((srn, "" if srn else subject), []).append(subject)
    return [_group(srn, group, families, later) for (srn, _), group in members.items()]


def most_first(due: Sequence[DueSubject], families: Mapping[str, Family]) -> list[ReadGroup]:
    """Subjects as groups. First come those that the last sync did not reach: the largest group and the one that waits
    longest alternate. Then comes what the last sync read.

    If time or requests are short, this reads many subjects and never leaves the same ones behind again and again.
    """
    last_run = max((each.tried_at for each in due), default=0) - LAST_RUN_SECONDS
    reached = [each.name for each in due if each.tried_at >= last_run]
    groups = grouped([each.name for each in due], families, later=() if len(reached) == len(due) else set(reached))
    waiting = [group for group in groups if group.subjects]
    by_size = sorted(waiting, key=lambda group: -len(group.subjects))
    alternated = [each for pair in zip(by_size, waiting, strict=True) for each in pair]
    return list({id(each): each for each in [*alternated, *groups]}.values())


def _group(srn: str, members: Sequence[str], families: Mapping[str, Family], later: Collection[str]) -> ReadGroup:
    first = [each for each in members if each not in later]
    others = [each for each in members if each in later]
    if len(members) == 1:
        return ReadGroup(first, later=others)
    return ReadGroup(_by_family(first, families), srn, _by_family(others, families))


def _by_family(subjects: Sequence[str], families: Mapping[str, Family]) -> Sequence[str]:
    """Devices grouped by Basic UDI-DI, the largest group first."""
    code = {subject: families[subject].basic_udi or subject for subject in subjects}
    sizes = Counter(code.values())
    first: dict[str, int] = {}
    for position, subject in enumerate(subjects):
        first.setdefault(code[subject], position)
    return sorted(subjects, key=lambda subject: (-sizes[code[subject]], first[code[subject]]))
