"""Which ends of certificates are told: of which certificates, at which days, and in which words. Pure."""

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
"""What a notice of an end is called."""
MARKS = (90, 30, 7, 0)
"""Days before the end of a certificate on which it is told."""
NO_MARK = 1_000_000
"""Stands for a certificate that ends later than any mark."""

MAX_KEY_LENGTH = 500
_NO_END = "~"
"""Sorts behind every date."""

_DAYS = re.compile(r"in (?P<days>[0-9]{1,6}) days?")


def mark_of(days: int) -> int:
    """The nearest mark that is reached `days` days before the end, `NO_MARK` where none is."""
    return min((mark for mark in MARKS if days <= mark), default=NO_MARK)


def when(days: int) -> str:
    """How an event stores it, for programs: `in 30 days`, `in 1 day`, `today`, `2 days ago`. People read `distance`."""
    if days == 0:
        return "today"
    number = f"{abs(days)} {'day' if abs(days) == 1 else 'days'}"
    return f"in {number}" if days > 0 else f"{number} ago"


def days_of(text: str) -> int | None:
    """The days that a text of `when` names, none below 0; None for any other text."""
    if text == "today" or text.endswith(" ago"):
        return 0
    found = _DAYS.fullmatch(text)
    return int(found["days"]) if found else None


class DueCertificate(msgspec.Struct, frozen=True):
    """A certificate that a watch knows and whose end is near, or was lately."""

    key: str
    """What tells it from the others of its watch."""
    number: str
    expiry: date
    may_tell: bool = True
    """Whether it ends by this date, as far as the register says now; else its marks wait."""
    revision: str = ""
    standing: str = ""
    """How it stands where that date is not all that is to be said."""


class EndingCertificate(msgspec.Struct, frozen=True):
    """A certificate with its state, and the last end date that the register gave it."""

    shown: ShownCertificate
    last_end: str

    @property
    def ends_then(self) -> bool:
        """Whether its date is when it ends: no status ended it before, and it is listed with this date."""
        return self.shown.ends_by_date and bool(self.shown.certificate.expiry)


def due_certificates(known: Sequence[EndingCertificate], since: date, until: date) -> Sequence[DueCertificate]:
    """Of the certificates that a watch knows those whose date is between two days, several alike once. The end of one
    may be told where it ends by this date and no other revision of it ends later, or has no end date.
    """
    latest = _LatestEnds(each.shown.certificate for each in known if each.shown.ends_by_date)
    found: defaultdict[tuple[str, date], list[EndingCertificate]] = defaultdict(list)
    for each in known:
        ends = _date(each.last_end)
        if ends is not None and since <= ends <= until:
            found[_key(each.shown.certificate), ends].append(each)
    return [_due(key, ends, alike, latest) for (key, ends), alike in found.items()]


def _due(key: str, ends: date, alike: Sequence[EndingCertificate], latest: "_LatestEnds") -> DueCertificate:
    """Certificates that are alike and end on one day, as one."""
    certificate = alike[-1].shown.certificate
    ending = [each.shown for each in alike if each.ends_then]
    may_tell = any(not latest.has_later(each.certificate) for each in ending)
    standing = words_beside_end(ending)
    return DueCertificate(key, certificate.number, ends, may_tell, certificate.revision, standing)


def _key(certificate: Certificate) -> str:
    identity = certificate.notified_body, certificate.number, certificate.revision
    return msgspec.json.encode(identity).decode()[:MAX_KEY_LENGTH]


class _LatestEnds:
    """The latest ends of certificates by their number and notified body, of two revisions each: one of them is another
    than the one that is asked about.
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
    """A mark to store; it is told where `is_told`, else it only says what the watch need not be told any more."""

    certificate: DueCertificate
    mark: int
    days: int
    """Until the end, negative when it is past."""
    is_told: bool

    @property
    def change(self) -> FieldChange:
        """The change of an event that tells it."""
        due = self.certificate
        told = due.expiry.isoformat(), when(self.days), due.number or None
        return FieldChange(ENDS, *told, revision=due.revision or None, standing=due.standing or None)

    @property
    def reached_on(self) -> date:
        """The day on which it was due."""
        return self.certificate.expiry - timedelta(days=self.mark)


def notice_of(
    certificate: DueCertificate, known: int | None, seen_on: date, today: date, *, may_tell: bool = True
) -> Notice | None:
    """What is to be told or stored of a certificate; None where that was done.

    `known` is the last mark that was stored of it. Where there is none, marks that were reached by `seen_on` are not
    told: the day of the run before, or the one on which the watch was made. Of several the nearest is told. Where
    nothing may be told, since the account's period has ended or the certificate does not end by its date now, what was
    reached before is stored, and the rest waits.
    """
    days = (certificate.expiry - today).days
    mark = mark_of(days)
    told = known if known is not None else mark_of((certificate.expiry - min(seen_on, today)).days)
    if mark < told and may_tell and certificate.may_tell:
        return Notice(certificate, mark, days, is_told=True)
    is_news = known is None and (told != NO_MARK or mark < told)
    return Notice(certificate, told, days, is_told=False) if is_news else None
