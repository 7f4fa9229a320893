"""Finds the same certificates in different lists. Pure.

Notified body, number and revision identify a certificate. One list may have a notified body or a revision that another
lacks (null in the certificate search, `04` in a Basic UDI-DI record).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

import msgspec

from registerwatch.register.models import may_be_same_body


class Identified(Protocol):
    """Identifying values of a certificate. Texts are empty where the register has none."""

    @property
    def number(self) -> str:
        """Certificate number."""

    @property
    def revision(self) -> str:
        """Revision."""

    @property
    def notified_body(self) -> str:
        """Number of the notified body."""


Item = TypeVar("Item", bound=Identified)
Other = TypeVar("Other", bound=Identified)


def has_same_number(one: Identified, other: Identified) -> bool:
    """Whether both have the same number, and no different notified bodies."""
    return one.number == other.number and may_be_same_body(one.notified_body, other.notified_body)


def is_alike(one: Identified, other: Identified) -> bool:
    """Whether both have the same number and revision, and no different notified bodies."""
    return one.revision == other.revision and has_same_number(one, other)


def may_be_same(one: Identified, other: Identified) -> bool:
    """Whether both have the same number, not two notified bodies and not two revisions: an unknown one fits any."""
    return is_alike(one, other) or _differ_by_an_unknown_revision(one, other)


def same_certificates(these: Sequence[Identified], those: Sequence[Other]) -> list[list[Other]]:
    """The same certificates in another list, for each certificate of one list; none where it is not among them.

    Certificates that are equal in number, revision and body are the same, as many as there are. Of the others, one
    without a body is the same as one that is alike but for it; then one without a revision is the same as one with its
    number. One that could be either of two is neither of them. The order of the lists does not matter.
    """
    left, free = _by_key(these), _by_key(those)
    pairs = {key: key for key in left if key in free}
    pairs |= _only_pairs(left, free, pairs, is_alike)
    by_revision = _only_pairs(left, free, pairs, _differ_by_an_unknown_revision)
    pairs |= {one: other for one, other in by_revision.items() if len(left[one]) == len(free[other]) == 1}
    return [list(free[pairs[key]]) if (key := _Key.of(each)) in pairs else [] for each in these]


def same_together(
    certificates: Iterable[Item], are_two: Callable[[Item, Item], bool]
) -> list[tuple[Identified, list[Item]]]:
    """Certificates of several lists, no two of them equal in number, revision and body: the same ones grouped, with
    their known identity. The rules are those of `same_certificates`; `are_two` says that two are not the same, as where
    one list has both. One without a number is not the same as any other.
    """
    found = [(_Key.of(each), [each]) for each in certificates]
    for may_be in (_differ_by_an_unknown_body, _differ_by_an_unknown_revision):
        found = _joined(found, may_be, are_two)
    return [*found]


class _Key(msgspec.Struct, frozen=True):
    number: str
    revision: str
    notified_body: str

    @classmethod
    def of(cls, certificate: Identified) -> "_Key":
        return cls(certificate.number, certificate.revision, certificate.notified_body)

    def or_else(self, other: "_Key") -> "_Key":
        """The first value that is known."""
        return _Key(self.number, self.revision or other.revision, self.notified_body or other.notified_body)


def _by_key(certificates: Sequence[Item]) -> dict[_Key, list[Item]]:
    found: dict[_Key, list[Item]] = {}
    for each in certificates:
        found.setdefault(_Key.of(each), []).append(each)
    return found


def _only_pairs(
    left: Collection[_Key],
    free: Collection[_Key],
    paired: Mapping[_Key, _Key],
    may_be: Callable[[Identified, Identified], bool],
) -> dict[_Key, _Key]:
    """The keys without a pair that fit only each other."""
    open_left = [key for key in left if key not in paired]
    open_free = [key for key in free if key not in set(paired.values())]
    found: dict[_Key, _Key] = {}
    for key in open_left:
        candidates = [other for other in open_free if may_be(key, other)]
        if len(candidates) == 1 and sum(may_be(each, candidates[0]) for each in open_left) == 1:
            found[key] = candidates[0]
    return found


def _joined(
    groups: Sequence[tuple[_Key, list[Item]]],
    may_be: Callable[[Identified, Identified], bool],
    are_two: Callable[[Item, Item], bool],
) -> list[tuple[_Key, list[Item]]]:
    """The groups, joined where two fit only each other."""
    others = [
        [position for position, (other, _) in enumerate(groups) if key.number and may_be(key, other)]
        for key, _ in groups
    ]
    found: list[tuple[_Key, list[Item]]] = []
    for position, (key, items) in enumerate(groups):
        partner = (
            others[position][0] if len(others[position]) == 1 and others[others[position][0]] == [position] else None
        )
        if partner is None or any(are_two(one, other) for one in items for other in groups[partner][1]):
            found.append((key, items))
        elif position < partner:
            found.append((key.or_else(groups[partner][0]), items + groups[partner][1]))
    return found


def _differ_by_an_unknown_body(one: Identified, other: Identified) -> bool:
    return (not one.notified_body) != (not other.notified_body) and is_alike(one, other)


def _differ_by_an_unknown_revision(one: Identified, other: Identified) -> bool:
    return (not one.revision) != (not other.revision) and has_same_number(one, other)
