"""The state of a list on its pages: counts with their tones, and a bar of them."""

from collections.abc import Mapping, Sequence

import msgspec

from registerwatch.files.lists.models import COVERAGES, Coverage, CoverageCounts
from registerwatch.files.lists.service import ShownLine
from registerwatch.register.standing import worst_tone
from registerwatch.web.files.list_files import COVERAGE_WORDS

_TONES: Mapping[Coverage, str] = {
    "delisted": "warn",
    "unknown": "none",
    "ambiguous": "warn",
    "invalid": "warn",
}
"""Tones of lines that the register does not list. For others, and also for delisted ones, status and certificates
count.
"""
_BAR_TONES: Mapping[Coverage, str] = {**_TONES, "certificate_ended": "bad", "off_market": "warn"}
"""Tones of all lines with one result in the bar. Found lines have none: some of their devices may need attention.
"""
BAR_WIDTH = 1_000
"""Units of the bar's view box."""


class Share(msgspec.Struct, frozen=True):
    """The lines with one result: how many, and their part of the bar."""

    coverage: Coverage
    words: str
    tone: str
    """Empty if lines may have any tone."""
    lines: int
    x: float
    width: float


def tone_of(shown: ShownLine) -> str:
    """The tone of a line's result: that of its subject's status and certificates, if the copy has it. For a delisted
    subject it is never better than the delisting's.
    """
    coverage = shown.line.coverage
    if shown.stored is None or (coverage in _TONES and coverage != "delisted"):
        return _TONES.get(coverage, "none")
    found = shown.standing.tone
    return worst_tone((_BAR_TONES[coverage], found)) if coverage in _BAR_TONES else found


def shares(counts: CoverageCounts) -> Sequence[Share]:
    """The results that lines have, in the order of the bar."""
    found: list[Share] = []
    x = 0.0
    for each in COVERAGES:
        lines = counts.of.get(each, 0)
        if lines:
            width = round(BAR_WIDTH * lines / counts.total, 2)
            found.append(Share(each, COVERAGE_WORDS[each], _BAR_TONES.get(each, ""), lines, round(x, 2), width))
            x += width
    return found
