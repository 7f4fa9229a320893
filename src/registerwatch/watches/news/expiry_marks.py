"""Rules for reporting ends of certificates: which certificates, on which days, in which words. Pure."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from functools import lru_cache
from heapq import nlargest

import msgspec

from registerwatch.register.certificate_states import ShownCertificate
from registerwatch.register.models import Certificate
from registerwatch.register.standing import words_beside_end
from registerwatch.watches.diff import FieldChange

ENDS = "cert_ends"
"""The field name of an end."""
MARKS = (90, 30, 7, 0)
"""Days before the end of a certificate when it is reported."""
NO_MARK = 1_000_000
"""The mark of a certificate that has reached none yet."""

MAX_KEY_LENGTH = 500
_NO_END = "~"
"""Sorts behind every date."""

_DAYS = re.compile(r"in (?P<days>[0-9]{1,6}) days?")


def mark_of(days: int) -> int:
    """The nearest mark that is reached `days` days before the end, `NO_MARK` where there is none."""
    return min((mark for mark in MARKS if days <= mark), default=NO_MARK)


def when(days: int) -> str:
    """Days as stored for programs: `in 30 days`, `in 1 day`, `today`, `2 days ago`. `distance` is for people."""
    if days == 0:
        return "today"
    number = f"{abs(days)} {'day' if abs(days) == 1 else 'days'}"
    return f"in {number}" if days > 0 else f"{number} ago"


def had_passed(text: str) -> bool:
    """Whether a text that `when` made says that the end was past."""
    return text.endswith(" ago")


def days_of(text: str) -> int | None:
    """The days in a text that `when` made, 0 for past ones; None for any other text."""
    if text == "today" or had_passed(text):
        return 0
    found = _DAYS.fullmatch(text)
    return int(found["days"]) if found else None


class DueCertificate(msgspec.Struct, frozen=True):
    """A certificate of a watch whose end is near or recently past."""

    key: str
    """Identifies it among those of its watch."""
    number: str
    expiry: date
    may_report: bool = True
    """Whether the register says now that it ends by this date; if not, its marks wait."""
    revision: str = ""
    standing: str = ""
    """Its standing, where the date does not say all; else empty."""


class EndingCertificate(msgspec.Struct, frozen=True):
    """A certificate with its state, and the last end date and the last revision that the register gave it before."""

    shown: ShownCertificate
    last_end: str
    former_revision: str = ""

    @property
    def ends_then(self) -> bool:
        """Whether it ends on its date: no status ended it before, and it is listed with this date."""
        return self.shown.ends_by_date and bool(self.shown.certificate.expiry)


def due_certificates(known: Sequence[EndingCertificate], since: date, until: date) -> Sequence[DueCertificate]:
    """The known certificates whose date is between two days; those that are alike count as one.

    An end may be reported where the certificate ends by this date and no other revision ends later or has no end date.
    """
    latest = _LatestEnds(each.shown.certificate for each in known if each.shown.ends_by_date)
    found: defaultdict[tuple[str, date], list[EndingCertificate]] = defaultdict(list)
    for each in known:
        ends = _date(each.last_end)
        if ends is not None and since <= ends <= until:
            found[_key(each), ends].append(each)
    return [_due(key, ends, alike, latest) for (key, ends), alike in found.items()]


def _due(key: str, ends: date, alike: Sequence[EndingCertificate], latest: "_LatestEnds") -> DueCertificate:
    """Certificates that are alike and end on one day, as one."""
    ending = [each.shown for each in alike if each.ends_then]
    certificate = (ending or [each.shown for each in alike])[-1].certificate
    may_tell = any(not latest.has_later(each.certificate) for each in ending)
    standing = words_beside_end(ending)
    return DueCertificate(key, certificate.number, ends, may_tell, certificate.revision, standing)


def _key(known: EndingCertificate) -> str:
    """Identifies a certificate, also while the register does not give its revision."""
    certificate = known.shown.certificate
    identity = certificate.notified_body, certificate.number, certificate.revision or known.former_revision
    return msgspec.json.encode(identity).decode()[:MAX_KEY_LENGTH]


class _LatestEnds:
    """The two latest ends by number and notified body, each of another revision: at least one of them is not the
    revision that is asked about.
    """

    def __init__(self, certificates: Iterable[Certificate]) -> None:
        by_revision: dict[tuple[str, str | None], dict[str, str]] = {}
        for each in certificates:
            if each.number:
                end = each.expiry or _NO_END
                for body in (each.notified_body, None):
                    ends = by_revision.setdefault((each.number, body), {})
                    ends[each.revision] = max(end, ends.get(each.revision, ""))
        self._latest = {
            key: nlargest(2, ((end, revision) for revision, end in ends.items())) for key, ends in by_revision.items()
        }

    def has_later(self, certificate: Certificate) -> bool:
        """Whether another revision of a certificate ends later, or has no end date."""
        bodies = (certificate.notified_body, "") if certificate.notified_body else (None,)
        return any(
            revision != certificate.revision and end > (certificate.expiry or "")
            for body in bodies
            for end, revision in self._latest.get((certificate.number, body), ())
        )


@lru_cache(4_096)
def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


class Notice(msgspec.Struct, frozen=True):
    """A mark to store. An event reports it where `is_reported` is set; else the mark only counts as done."""

    certificate: DueCertificate
    mark: int
    days: int
    """Days until the end, negative after it."""
    is_reported: bool

    @property
    def change(self) -> FieldChange:
        """The change that reports it in an event."""
        due = self.certificate
        values = due.expiry.isoformat(), when(self.days), due.number or None
        return FieldChange(ENDS, *values, revision=due.revision or None, standing=due.standing or None)

    @property
    def reached_on(self) -> date:
        """The day on which it was due."""
        return self.certificate.expiry - timedelta(days=self.mark)


def notice_of(
    certificate: DueCertificate,
    known: int | None,
    seen_on: date,
    today: date,
    *,
    was_moved: bool = False,
    may_report: bool = True,
) -> Notice | None:
    """The notice to report or store of a certificate; None where that was done.

    `known` is its last stored mark. Without one, marks that were reached by `seen_on` are not reported: that is the day
    of the run before, or the day on which the watch was made. Nor are they where an event of that day reported that the
    end `was_moved` to this date. Of several marks the nearest is reported. Nothing is
    reported where the account's period has ended or the certificate does not end by its date now: then the mark that
    was reached before is stored, and later marks wait.
    """
    days = (certificate.expiry - today).days
    mark = mark_of(days)
    reached = mark_of((certificate.expiry - min(seen_on, today)).days)
    before = reached if known is None else min(known, reached) if was_moved else known
    if mark < before and may_report and certificate.may_report:
        return Notice(certificate, mark, days, is_reported=True)
    is_news = before != known if known is not None else before != NO_MARK or mark < before
    return Notice(certificate, before, days, is_reported=False) if is_news else None
