"""The chart of ends of certificates by month: its SVG geometry, and the same data as table rows.

Few certificates are shown as one mark each, many as bars. Units are those of the chart's view box.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

import msgspec

from registerwatch.platform.clock import date_in_words
from registerwatch.watches.questions.certificates import CertificateGroup, WatchedCertificate

MONTHS_BEFORE, MONTHS_AFTER = 6, 60
"""Months around the present one: certificates are valid for five years at most."""
STEP, BAR_WIDTH = 10, 8
TOP, BASE, HEIGHT = 16, 126, 150
LEFT = 24
MAX_MARKS, MAX_MARKS_OF_MONTH = 60, 10
"""The most certificates in all and in a month that are shown as marks."""


class Month(msgspec.Struct, frozen=True):
    """A month in which certificates end."""

    first_day: date
    certificates: Sequence[WatchedCertificate]

    @property
    def name(self) -> str:
        """Its name for people."""
        return f"{self.first_day:%b %Y}"

    @property
    def iso(self) -> str:
        """Its ISO form."""
        return f"{self.first_day:%Y-%m}"

    @property
    def devices(self) -> int:
        """How many watched devices have any of them."""
        return len({each.device.watch_id for found in self.certificates for each in found.devices})


class Bar(msgspec.Struct, frozen=True):
    """A part of a month's bar: the certificates of one group."""

    x: int
    y: float
    height: float
    group: CertificateGroup
    title: str


class Mark(msgspec.Struct, frozen=True):
    """One certificate."""

    x: int
    y: int
    group: CertificateGroup
    title: str


@dataclass(frozen=True)
class CertificateChart:
    """The chart of some certificates on a day."""

    certificates: Sequence[WatchedCertificate]
    today: date

    @cached_property
    def months(self) -> Sequence[Month]:
        """All months with ends of certificates, in order, even outside the chart."""
        found: defaultdict[date, list[WatchedCertificate]] = defaultdict(list)
        for each in self.certificates:
            if each.days is not None:
                found[date.fromisoformat(each.seen.ends).replace(day=1)].append(each)
        return [Month(first_day, found[first_day]) for first_day in sorted(found)]

    @cached_property
    def shown(self) -> Sequence[tuple[int, Month]]:
        """The months in the chart, with their columns."""
        columns = ((self._column(month.first_day), month) for month in self.months)
        return [(column, month) for column, month in columns if 0 <= column <= MONTHS_BEFORE + MONTHS_AFTER]

    @property
    def earlier(self) -> int:
        """Certificates that ended before the first month of the chart."""
        return sum(len(month.certificates) for month in self.months if self._column(month.first_day) < 0)

    @property
    def later(self) -> int:
        """Certificates that end after its last month."""
        last = MONTHS_BEFORE + MONTHS_AFTER
        return sum(len(month.certificates) for month in self.months if self._column(month.first_day) > last)

    @cached_property
    def most(self) -> int:
        """The most certificates of a month."""
        return max((len(month.certificates) for _, month in self.shown), default=0)

    @property
    def has_marks(self) -> bool:
        """Whether each certificate is a mark."""
        marks = sum(len(month.certificates) for _, month in self.shown)
        return marks <= MAX_MARKS and self.most <= MAX_MARKS_OF_MONTH

    @property
    def width(self) -> int:
        """The width of the view box."""
        return LEFT + (MONTHS_BEFORE + MONTHS_AFTER + 1) * STEP + 6

    @property
    def today_x(self) -> float:
        """Today's position."""
        return round(LEFT + (MONTHS_BEFORE + (self.today.day - 1) / 31) * STEP, 1)

    @property
    def years(self) -> Sequence[tuple[int, int]]:
        """Positions and numbers of years."""
        begun = range(self.today.year, self.today.year + 7)
        columns = [(self._column(date(year, 1, 1)), year) for year in begun]
        return [
            (LEFT + column * STEP, year) for column, year in columns if 0 <= column <= MONTHS_BEFORE + MONTHS_AFTER - 2
        ]

    @property
    def marks(self) -> Sequence[Mark]:
        """One mark for each certificate, from the base up."""
        return [
            Mark(LEFT + column * STEP + BAR_WIDTH // 2, BASE - STEP // 2 - row * STEP, each.group, _title_of_one(each))
            for column, month in self.shown
            for row, each in enumerate(sorted(month.certificates, key=lambda each: each.days or 0))
        ]

    @property
    def bars(self) -> Sequence[Bar]:
        """One bar for each group in each month, from the base up."""
        found: list[Bar] = []
        for column, month in self.shown:
            base = float(BASE)
            for group, number in _by_group(month).items():
                height = round((BASE - TOP) * number / self.most, 1)
                base = round(base - height, 1)
                title = f"{month.name}: {len(month.certificates):,}"
                found.append(Bar(LEFT + column * STEP, base, height, group, title))
        return found

    def _column(self, first_day: date) -> int:
        """The column of a month, 0 for the first one."""
        return (first_day.year - self.today.year) * 12 + first_day.month - self.today.month + MONTHS_BEFORE


def _by_group(month: Month) -> Mapping[CertificateGroup, int]:
    counted = Counter(each.group for each in month.certificates)
    return {group: counted[group] for group in CertificateGroup if counted[group]}


def _title_of_one(certificate: WatchedCertificate) -> str:
    return f"{certificate.seen.number or 'No number'}, {date_in_words(certificate.seen.ends)}"
