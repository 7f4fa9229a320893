"""The comparison of devices, or of one at several instants: its columns and results. Pure."""

from collections.abc import Sequence
from enum import Enum

import msgspec

from registerwatch.pages.public.comparison.compared_fields import ComparedRow, RowState, rows_of
from registerwatch.pages.public.device import DeviceView
from registerwatch.platform.clock import iso_utc, utc_in_words

PARTS = {"certificates": "certificates", "dates": "dates", "names": "names in other languages"}
"""Words for the parts of a record that can be missing."""


class Absence(Enum):
    """Why a column has no record."""

    NOT_IN_COPY = "Not in the copy"
    UNREADABLE = "Could not be read"
    UNKNOWN_THEN = "Not known"


class Column(msgspec.Struct, frozen=True):
    """A device, or a device as of an instant (unix seconds). Without a record `absence` and `reason` say why."""

    udi: str
    view: DeviceView | None = None
    instant: int | None = None
    is_of_dates: bool = False
    """Whether the other columns are the same device at other times."""
    absence: Absence | None = None
    reason: str = ""

    @property
    def label(self) -> str:
        """A short label that differs from the others'."""
        if self.instant is not None:
            return utc_in_words(self.instant)
        return "Now" if self.is_of_dates else self.udi

    @property
    def as_of(self) -> str:
        """Its instant, empty for now."""
        return "" if self.instant is None else iso_utc(self.instant)

    @property
    def completeness(self) -> str:
        """How much of the record was read, in words, or why there is none."""
        if self.view is None:
            return f"{self.absence.value}. {self.reason}" if self.absence else self.reason
        missing = self.view.device.missing
        if missing:
            return f"Read in part. Not read yet: {', '.join(PARTS[each] for each in missing)}."
        return "Complete: every part of the record was read."

    @property
    def problem(self) -> str:
        """Why it may be out of date, or that it was no longer listed; empty otherwise."""
        if self.view is None:
            return ""
        if self.view.is_past and not self.view.is_listed:
            return "The register listed this record no more at that time."
        return self.view.device.error or ""

    @property
    def read_at(self) -> str:
        """When it was read; for the past, when it was first observed like this. Empty without a record."""
        return self.view.device.read_at if self.view else ""

    @property
    def certificates_read_at(self) -> str:
        """When its certificates were read, if at another time than the rest."""
        read_at = self.view.device.certs_read_at if self.view else None
        return read_at if read_at and read_at != self.read_at else ""


class Comparison(msgspec.Struct, frozen=True):
    """Columns side by side."""

    columns: Sequence[Column]
    rows: Sequence[ComparedRow]

    @classmethod
    def of(cls, columns: Sequence[Column]) -> "Comparison":
        """The comparison of these columns."""
        return cls(columns, rows_of([each.view for each in columns]))

    @property
    def is_possible(self) -> bool:
        """Whether at least two columns have a record."""
        return sum(each.view is not None for each in self.columns) > 1

    def number(self, state: str) -> int:
        """The number of fields in a state, given its name."""
        return sum(each.state is RowState[state] for each in self.rows)

    @property
    def summary(self) -> str:
        """`3 of 20 fields differ. Of 2 it is not known, as not everything has been read.`"""
        different, unknown = self.number("DIFFERENT"), self.number("UNKNOWN")
        first = f"{different} of {len(self.rows)} fields differ{'s' if different == 1 else ''}."
        unread = any(each.view is not None and each.view.device.missing for each in self.columns)
        why = "not everything has been read" if unread else "the register does not give every field"
        return f"{first} Of {unknown} it is not known, as {why}." if unknown else first

    @property
    def not_same(self) -> Sequence[ComparedRow]:
        """The fields that differ or may differ."""
        return [each for each in self.rows if each.state is not RowState.SAME]
