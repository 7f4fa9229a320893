"""The changed words of a text, so that a reader need not compare two long texts by eye. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import takewhile

import msgspec

MIN_LENGTH = 40
"""Characters of both texts together; fewer are read at a glance."""
MAX_PIECES = 80
"""Pieces of either text without their common beginning and end; with more, nothing is compared. A comparison takes time
by the square of their number, a page shows many changes, and so long a change is not read word by word.
"""
MAX_LENGTH = 16_000
"""Characters of a text; a longer one is not compared."""
MIN_ALIKE = 0.4
"""Common share of two texts; with less, the old one was replaced, not changed."""

_PIECES = re.compile(r"\w+|\s+|[^\w\s]")
"""Words, white space and single signs: together they are the whole text."""


class SegmentKind(StrEnum):
    """Whether a part of a text changed."""

    SAME = "same"
    DELETED = "deleted"
    INSERTED = "inserted"


class Segment(msgspec.Struct, frozen=True):
    """A part of two texts."""

    kind: SegmentKind
    text: str


class WordDifference(msgspec.Struct, frozen=True):
    """The parts of two texts: `same` and `deleted` ones are the old text, `same` and `inserted` ones the new one."""

    segments: Sequence[Segment]

    @property
    def old(self) -> Sequence[Segment]:
        """The parts of the old text."""
        return [each for each in self.segments if each.kind is not SegmentKind.INSERTED]

    @property
    def new(self) -> Sequence[Segment]:
        """The parts of the new text."""
        return [each for each in self.segments if each.kind is not SegmentKind.DELETED]


def word_difference(old: str, new: str) -> WordDifference | None:
    """The words that changed; None where the texts are short, too long to compare, or have little in common."""
    if not old or not new or len(old) + len(new) < MIN_LENGTH:
        return None
    if max(len(old), len(new)) > MAX_LENGTH:
        return None
    before, after = _PIECES.findall(old), _PIECES.findall(new)
    start = _common(zip(before, after, strict=False))
    end = _common(zip(reversed(before[start:]), reversed(after[start:]), strict=False))
    middle, new_middle = before[start : len(before) - end], after[start : len(after) - end]
    if max(len(middle), len(new_middle)) > MAX_PIECES:
        return None
    same_start, same_end = "".join(before[:start]), "".join(before[len(before) - end :])
    runs = [(same_start, "", ""), *_runs(middle, new_middle), (same_end, "", "")]
    kept = sum(_letters(same) for same, _, _ in runs)
    if 2 * kept < MIN_ALIKE * (_letters(old) + _letters(new)):
        return None
    return WordDifference(list(_joined(runs)))


def _letters(text: str) -> int:
    return len("".join(text.split()))


def _common(pairs: Iterable[tuple[str, str]]) -> int:
    """The number of equal pairs before the first other one."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _runs(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Same, deleted and inserted parts, in the order of the texts. White space alone between two changes belongs to
    them: `Z-25 rev 1` for `Z-26 rev 2` is easier to read than each word by itself.
    """
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for operation, start, end, new_start, new_end in matcher.get_opcodes():
        old, new = "".join(before[start:end]), "".join(after[new_start:new_end])
        if operation == "equal" and not old.isspace():
            yield old, "", ""
        else:
            yield "", old, new


def _joined(runs: Sequence[tuple[str, str, str]]) -> Iterator[Segment]:
    """The segments of runs. Changes in a row become one deleted and one inserted segment."""
    deleted = inserted = ""
    for same, old, new in runs:
        deleted, inserted = deleted + old, inserted + new
        if same:
            yield from _changed(deleted, inserted)
            yield Segment(SegmentKind.SAME, same)
            deleted = inserted = ""
    yield from _changed(deleted, inserted)


def _changed(deleted: str, inserted: str) -> Iterator[Segment]:
    if deleted:
        yield Segment(SegmentKind.DELETED, deleted)
    if inserted:
        yield Segment(SegmentKind.INSERTED, inserted)
