"""In which order watched subjects are read, so that few requests answer many of them. Pure.

Devices of one manufacturer are listed by one request, and those under one Basic UDI-DI share its record. So devices of
a manufacturer are read together, and in a group those under one Basic UDI-DI one after the other.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import msgspec


class Family(msgspec.Struct, frozen=True):
    """What a watched device belongs to, as the last read had it; empty where that is not known."""

    manufacturer_srn: str = ""
    basic_udi: str = ""


class DueSubject(msgspec.Struct, frozen=True):
    """A watched subject, and when it was last tried (unix seconds), 0 where it was not."""

    name: str
    tried_at: int = 0


class ReadGroup(msgspec.Struct, frozen=True):
    """Subjects that are read together: devices of one manufacturer, or one subject alone, which has no manufacturer.

    What is read `later` is listed with them, and read when nothing else is left.
    """

    subjects: Sequence[str]
    manufacturer_srn: str = ""
    later: Sequence[str] = ()

    @property
    def size(self) -> int:
        """How many subjects it has."""
        return len(self.subjects) + len(self.later)


LAST_RUN_SECONDS = 150
"""What was tried so long before the last try, or earlier, was not reached by the sync that tried it."""


def grouped(subjects: Sequence[str], families: Mapping[str, Family], later: Collection[str] = ()) -> list[ReadGroup]:
    """Subjects as groups, each where the first of its subjects is. A manufacturer is in no group of its devices."""
    members: dict[tuple[str, str], list[str]] = {}
    for subject in subjects:
        srn = families.get(subject, Family()).manufacturer_srn
        members.setdefault((srn, "" if srn else subject), []).append(subject)
    return [_group(srn, group, families, later) for (srn, _), group in members.items()]


def most_first(due: Sequence[DueSubject], families: Mapping[str, Family]) -> list[ReadGroup]:
    """Subjects as groups, of those that the last sync did not reach by turns the largest one and the one that comes
    first, since its subject waits for the longest time; then what was read by the last sync.

    So most are read where time or requests do not suffice for all, and none is left behind again and again.
    """
    last_run = max((each.tried_at for each in due), default=0) - LAST_RUN_SECONDS
    reached = [each.name for each in due if each.tried_at >= last_run]
    groups = grouped([each.name for each in due], families, later=() if len(reached) == len(due) else set(reached))
    waiting = [group for group in groups if group.subjects]
    by_size = sorted(waiting, key=lambda group: -len(group.subjects))
    by_turns = [each for pair in zip(by_size, waiting, strict=True) for each in pair]
    return list({id(each): each for each in [*by_turns, *groups]}.values())


def _group(srn: str, members: Sequence[str], families: Mapping[str, Family], later: Collection[str]) -> ReadGroup:
    first = [each for each in members if each not in later]
    others = [each for each in members if each in later]
    if len(members) == 1:
        return ReadGroup(first, later=others)
    return ReadGroup(_by_family(first, families), srn, _by_family(others, families))


def _by_family(subjects: Sequence[str], families: Mapping[str, Family]) -> Sequence[str]:
    """Devices under one Basic UDI-DI together, the most of them first."""
    code = {subject: families[subject].basic_udi or subject for subject in subjects}
    sizes = Counter(code.values())
    first: dict[str, int] = {}
    for place, subject in enumerate(subjects):
        first.setdefault(code[subject], place)
    return sorted(subjects, key=lambda subject: (-sizes[code[subject]], first[code[subject]]))
