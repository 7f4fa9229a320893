"""How a list stands, as its pages show it: counts with their tones, and a bar of them."""

from collections.abc import Mapping, Sequence

import msgspec

from registerwatch.lists.models import COVERAGES, Coverage, CoverageCounts
from registerwatch.web.list_files import COVERAGE_WORDS

TONES: Mapping[Coverage, str] = {
    "found": "good",
    "certificate_ended": "bad",
    "off_market": "bad",
    "delisted": "warn",
    "unknown": "none",
    "ambiguous": "warn",
    "invalid": "warn",
}
BAR_WIDTH = 1_000
"""Units of the bar's view box."""


class Share(msgspec.Struct, frozen=True):
    """The lines that stand in one way: how many, and their part of the bar."""

    coverage: Coverage
    words: str
    lines: int
    x: float
    width: float


def shares(counts: CoverageCounts) -> Sequence[Share]:
    """Every way in which some lines stand, in the order of the bar."""
    found: list[Share] = []
    x = 0.0
    for each in COVERAGES:
        lines = counts.of.get(each, 0)
        if lines:
            width = round(BAR_WIDTH * lines / counts.total, 2)
            found.append(Share(each, COVERAGE_WORDS[each], lines, round(x, 2), width))
            x += width
    return found
