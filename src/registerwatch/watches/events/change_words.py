"""The words of a change, as a row of a table or one line, the same wherever people read it. Pure.

Pages, mails, chats and feeds show these rows. Programs read `FieldChange` and the summary of an event instead.
"""

from collections.abc import Iterable, Sequence
from datetime import date

import msgspec

from registerwatch.platform.clock import date_in_words
from registerwatch.platform.structs import replace
from registerwatch.register.certificate_states import days_left, distance
from registerwatch.register.certificates import certificate_name, shown_revision
from registerwatch.watches.diff import EXPIRY, NUMBER, STATUS, FieldChange
from registerwatch.watches.events.event_rules import NUMBERS, field_name, most_severe_first, severity_of
from registerwatch.watches.news.expiry_marks import ENDS, had_passed
from registerwatch.watches.news.news_changes import NUMBER_OF, REFUSED

NOTHING = "nothing"
"""The text for an empty value before a change."""
NEW_CERTIFICATE = "new certificate"
END_DATE = "end date of the certificate"
"""The name of the row of an end where the row also gives a standing."""
VERSION = "version"
MAX_NAMED = 3
"""Devices that a line names."""

_DATES = frozenset({EXPIRY, "status_date"})
"""Fields whose values are dates."""


class NamedDevice(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A device that an event of a manufacturer names."""

    name: str
    code: str
    """Its UDI-DI."""


class ChangeRow(msgspec.Struct, frozen=True, omit_defaults=True, array_like=True, gc=False):
    """One changed field, or a number of devices with those of them that the event names.

    Dates are ISO texts, which the properties and methods write for people. Rows are stored with deliveries as
    arrays, so a new field goes to the end and has a default.
    """

    name: str
    """The field's name for people, in lower case."""
    before: str | None
    """Empty where there was no value, None where the change has no before (a new certificate)."""
    after: str
    field: str
    """The register's name of the field."""
    certificate: str = ""
    """The number of the certificate whose field it is."""
    severity: str = ""
    number: int | None = None
    """The number of devices, None where the row does not count devices."""
    devices: tuple[NamedDevice, ...] = ()
    """The device that the row is about, or the first of those that it counts."""
    revision: str = ""
    """The revision of the certificate whose field it is, where the register gives one."""
    standing: str = ""
    """The certificate's standing: of a new one that its status did not leave plainly valid, or of one near its end
    whose date does not say all.
    """
    had_ended: bool = False
    """Whether the end of a certificate was past when it was reported. Otherwise it may have been extended since."""

    @property
    def title(self) -> str:
        """The name at the start of a sentence or of a table's row."""
        return _capital(self.name)

    @property
    def of(self) -> str:
        """The certificate's number and revision beside the name; no number where the values are numbers."""
        return certificate_name("" if self.field == NUMBER else self.certificate, self.revision)

    @property
    def heading(self) -> str:
        """`Certificate status (Z-25-052, revision 01)`."""
        return f"{self.title} ({self.of})" if self.of else self.title

    @property
    def is_date(self) -> bool:
        """Whether both values are dates."""
        return self.field in _DATES

    @property
    def is_end(self) -> bool:
        """Whether the row reports the end of a certificate: `after` is its date."""
        return self.field == ENDS

    @property
    def count(self) -> str:
        """`12 devices registered`, for a row that counts devices."""
        assert self.number is not None, "asked of rows that count devices"
        return f"{self.number:,} {field_name(NUMBERS[self.field]) if self.number == 1 else self.name}"

    @property
    def before_text(self) -> str | None:
        """The old value for people; None where there is none."""
        if self.before is None:
            return None
        return (date_in_words(self.before) if self.is_date else self.before) or NOTHING

    def when(self, day: date) -> str:
        """Time from `day` to the end of a certificate: `in 7 days`, `in 7 days (suspended)`; empty for other rows."""
        return " ".join(filter(None, [self._distance(day), self.beside])) if self.is_end else ""

    @property
    def beside(self) -> str:
        """The certificate's standing, as it follows its number or end: `(withdrawn)`; empty where there is none."""
        return f"({self._standing_text})" if self.standing else ""

    def after_text(self, day: date, named: int = MAX_NAMED) -> str:
        """The new value: `Suspended`, `Z-1 (withdrawn)`, `24 Dec 2026, in 7 days`, `12: Zolid, Savina and 10 more`."""
        if self.number is not None:
            return f"{self.number:,}{self._names(named)}"
        if self.is_end or self.is_date:
            end = ", ".join(filter(None, [date_in_words(self.after), self._distance(day) if self.is_end else ""]))
            return " ".join(filter(None, [end, self.beside if self.is_end else ""]))
        codes = [each.code for each in self.devices if each.code != self.after]
        behind = f"({codes[0]})" if codes else self.beside
        return " ".join(filter(None, [self.after, behind]))

    def line(self, day: date, named: int = MAX_NAMED) -> str:
        """The row in one line: `Certificate status (Z-25-052): Issued → Suspended`, `3 devices registered: Zolid`."""
        if self.number is not None:
            return self.count + self._names(named)
        before, after = self.before_text, self.after_text(day)
        return f"{self.heading}: {after if before is None else f'{before} → {after}'}"

    def brief(self, day: date) -> str:
        """The change in the fewest words: `certificate Z-25-052 suspended`, `No longer placed on the EU market`."""
        after, certificate = self.after_text(day), f"certificate {self.certificate}".rstrip()
        if self.number is not None:
            return self.count
        if self.is_end:
            left = self._distance(day)
            if self.standing:
                return f"end date of {certificate} ({self._standing_text}) {left or date_in_words(self.after)}"
            is_past = (self._days_left(day) or 0) < 0
            verb = "ended" if is_past else "ends"
            return f"{certificate} {verb} {left}" if left else f"end date of {certificate}: {after}"
        if self.field == STATUS:
            return f"{certificate} {after[:1].lower()}{after[1:]}"
        if self.field == "status":
            return after
        if self.field == VERSION:
            return f"new version {after} of the record"
        number = "" if self.field == NUMBER else self.certificate
        called = f"{self.name} ({number})" if number else self.name
        if self.field == NUMBER and self.standing:
            return f"{self.name} {self.after} is {self._standing_text}"
        is_named = self.before is None and self.field != NUMBER
        return f"{called}{':' if is_named else ''} {after}"

    def has_namesake(self, device: NamedDevice) -> bool:
        """Whether another device of the row has the same name."""
        return sum(each.name == device.name for each in self.devices) > 1

    def shortened(self, most: int) -> "ChangeRow":
        """The row with values of at most `most` characters."""
        before = None if self.before is None else _short(self.before, most)
        return replace(self, before=before, after=_short(self.after, most), standing=_short(self.standing, most))

    @property
    def _standing_text(self) -> str:
        return self.standing[:1].lower() + self.standing[1:]

    def _distance(self, day: date) -> str:
        days = self._days_left(day)
        return "" if days is None or (days < 0 and not self.had_ended) else distance(days)

    def _days_left(self, day: date) -> int | None:
        return days_left(self.after, day) if self.is_end else None

    def _names(self, most: int) -> str:
        """`: Ceramill Zolid, Savina 300 and 7 more`, for the devices that it counts; with codes where names repeat."""
        named = [f"{each.name} ({each.code})" if self.has_namesake(each) else each.name for each in self.devices[:most]]
        more = (self.number or 0) - len(named)
        return f": {', '.join(named)}{f' and {more:,} more' if more > 0 else ''}" if named else ""


def rows_of(changes: Iterable[FieldChange], day: date) -> list[ChangeRow]:
    """The rows of changes of a day, the most severe first. The row of a number has the devices that it counts."""
    ordered = most_severe_first(changes, day)
    fields = {change.field for change in ordered}
    named: dict[str, list[NamedDevice]] = {}
    for change in ordered:
        if change.field in NUMBER_OF:
            named.setdefault(NUMBER_OF[change.field], []).append(_device(change))
    shown = [each for each in ordered if NUMBER_OF.get(each.field) not in fields]
    return [row_of(each, day, named.get(each.field, ())) for each in shown]


def row_of(change: FieldChange, day: date, counted: Sequence[NamedDevice] = ()) -> ChangeRow:
    """The row of one change of a day. `counted` are the named ones of the devices that a number counts."""
    row = ChangeRow(
        field_name(change.field),
        change.old,
        change.new,
        change.field,
        change.certificate or "",
        str(severity_of(change, day)),
        revision=shown_revision(change.revision or ""),
        standing=change.standing or "",
    )
    if change.field in NUMBERS:
        number = int(change.new) if change.new.isdecimal() else None
        return replace(row, before=None, number=number, devices=tuple(counted))
    if change.field == ENDS:
        return _end_row(row, change)
    if change.device:
        return replace(row, before=None, devices=(_device(change),))
    if change.field == NUMBER and not change.old:
        return replace(row, name=NEW_CERTIFICATE, before=None, certificate=change.certificate or change.new)
    return replace(row, before=None) if change.field == REFUSED else row


def _end_row(row: ChangeRow, change: FieldChange) -> ChangeRow:
    return replace(
        row,
        name=END_DATE if row.standing else row.name,
        before=None,
        after=change.old or change.new,
        had_ended=had_passed(change.new),
    )


def _device(change: FieldChange) -> NamedDevice:
    return NamedDevice(change.new, change.device or change.new)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
