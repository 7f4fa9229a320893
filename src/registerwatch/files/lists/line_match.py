"""Matching the lines of a list with what the copy has. Pure; the day is an argument."""

from collections.abc import Collection, Mapping
from datetime import date, timedelta

import msgspec

from registerwatch.copy.standings import StoredStanding
from registerwatch.files.lists.models import Coverage, ListLine, Standing
from registerwatch.files.tables.cells import PROBLEMS
from registerwatch.files.tables.table import TableRow
from registerwatch.lookup.known_devices import AmbiguousCode
from registerwatch.platform.structs import replace
from registerwatch.register.certificate_states import IN_FORCE, CertificateState, shown_certificates
from registerwatch.register.codes import StatusFilter
from registerwatch.register.models import Certificate
from registerwatch.register.standing import covered_until
from registerwatch.watches.imports.list_codes import CodedDevices, CodeOfList

NO_CODE = "the row has no code."
OFF_MARKET = frozenset({StatusFilter.OFF.code, StatusFilter.NOT_EU.code})
_COUNTING = IN_FORCE | {CertificateState.NOT_YET}


class Match(msgspec.Struct, frozen=True):
    """What a line matches. The fields are those of `list_lines`. `certified_until` keeps an end on the day before: that
    day is not over in every time zone, and readers see a line on their own day.
    """

    subject: str | None
    standing: Standing
    reason: str = ""
    certified_until: str | None = None
    certs_read: bool = False

    def coverage(self, today: date) -> Coverage:
        """The coverage of its line on a day, as `line_repository.coverage_on` has it of a stored line."""
        until = self.certified_until
        has_ended = self.standing == "found" and until is not None and until < today.isoformat()
        return "certificate_ended" if has_ended else self.standing


class Known(msgspec.Struct, frozen=True):
    """The copy's records of some codes."""

    stored: Mapping[str, StoredStanding]
    """Devices and actors by UDI-DI and SRN; also those that `coded` names."""
    coded: CodedDevices = msgspec.field(default_factory=dict)
    """Devices by codes that are not their UDI-DIs, such as those of packages."""


class ReadLine(msgspec.Struct, frozen=True):
    """A line with its code, not yet matched. `reason` says why it is not a code."""

    code: str
    meant: CodeOfList | None
    reason: str = ""

    @classmethod
    def of(cls, row: TableRow, read: CodeOfList | str) -> "ReadLine":
        """A row with what was read of its code: its meanings, or why it is none."""
        return cls.of_code(row.code, PROBLEMS[row.problem] if row.problem else read)

    @classmethod
    def of_code(cls, code: str, read: CodeOfList | str) -> "ReadLine":
        """A code as it was in the file, with what was read of it."""
        if not code:
            return cls(code, None, NO_CODE)
        return cls(code, None, read) if isinstance(read, str) else cls(code, read)

    @property
    def key(self) -> str:
        """The same for lines of other files that mean the same."""
        return (self.meant and self.meant.subject) or _plain(self.code)

    @property
    def spellings(self) -> Collection[str]:
        """The identifiers to look up in the copy."""
        return self.meant.spellings if self.meant is not None else ()


def match(line: ReadLine, known: Known, today: date) -> Match:
    """Match a line with what the copy has of its spellings."""
    if line.meant is None:
        return Match(None, "invalid", line.reason)
    try:
        subject = line.meant.meaning(known.stored, coded=known.coded)
    except AmbiguousCode as error:
        return Match(None, "ambiguous", str(error))
    stored = known.stored.get(subject)
    if stored is not None:
        return match_of(subject, stored, today)
    problem = line.meant.problem if subject == line.meant.certain else ""
    return Match(None, "invalid", problem) if problem else Match(subject, "unknown")


def match_of(subject: str, stored: StoredStanding, today: date) -> Match:
    """The match of a subject that the copy has."""
    standing: Standing = "found"
    if not stored.is_listed:
        standing = "delisted"
    elif stored.status_code in OFF_MARKET:
        standing = "off_market"
    return Match(subject, standing, "", _kept_until(stored.certs, today), stored.certs_read)


def as_in_copy(line: ListLine, stored: StoredStanding | None, today: date) -> ListLine:
    """A stored line as the copy has its subject now: a change is taken into lines some seconds after it is stored."""
    if line.subject is None or stored is None:
        return line
    found = match_of(line.subject, stored, today)
    return replace(
        line,
        coverage=found.coverage(today),
        reason=found.reason,
        certified_until=found.certified_until,
        certs_read=found.certs_read,
    )


def certified_until(certificates: Collection[Certificate], today: date) -> str | None:
    """The last date on which a certificate counts, or will once it begins; empty if all have ended. None without
    certificates, if one has no end, or if one of unknown status may count for longer.
    """
    return covered_until(shown_certificates(certificates, today), _COUNTING)


def _kept_until(certificates: Collection[Certificate], today: date) -> str | None:
    """As `certified_until`, but yesterday if the last certificate that may count ended then."""
    until, yesterday = certified_until(certificates, today), today - timedelta(days=1)
    has_just_ended = until == "" and certified_until(certificates, yesterday) != ""
    return yesterday.isoformat() if has_just_ended else until


def _plain(code: str) -> str:
    """A code as digits and capital letters alone."""
    return "".join(filter(str.isalnum, code)).upper()
