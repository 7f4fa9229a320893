"""Which ends of certificates are told: of which certificates, at which days, and in which words. Pure."""

import re
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from functools import lru_cache

import msgspec

from registerwatch.register.certificate_identity import has_same_number
from registerwatch.register.certificate_states import ShownCertificate
from registerwatch.register.models import Certificate
from registerwatch.watches.diff import FieldChange

ENDS = "cert_ends"
"""What a notice of an end is called."""
MARKS = (90, 30, 7, 0)
"""Days before the end of a certificate on which it is told."""
NO_MARK = 1_000_000
"""Stands for a certificate that ends later than any mark."""

MAX_KEY_LENGTH = 500

_DAYS = re.compile(r"in (?P<days>[0-9]{1,6}) days?")


def mark_of(days: int) -> int:
    """The nearest mark that is reached `days` days before the end, `NO_MARK` where none is."""
    return min((mark for mark in MARKS if days <= mark), default=NO_MARK)


def when(days: int) -> str:
    """`in 30 days`, `in 1 day`, `today`, `2 days ago`."""
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
    """A certificate that a watch shows and that ends on `expiry`."""

    key: str
    """What tells it from the others of its watch."""
    number: str
    expiry: date


def due_certificates(shown: Sequence[ShownCertificate], since: date, until: date) -> Sequence[DueCertificate]:
    """Of the certificates of a watch those that end by their date between two days. One does not where another revision
    of it ends later, or has no end date.
    """
    by_date = [each for each in shown if each.ends_by_date]
    return [
        due
        for each in by_date
        if (due := _due(each.certificate, since, until)) is not None and not _is_superseded(each.certificate, by_date)
    ]


def _due(certificate: Certificate, since: date, until: date) -> DueCertificate | None:
    """A certificate, where it ends between two days."""
    ends = _date(certificate.expiry or "")
    if ends is None or not since <= ends <= until:
        return None
    key = msgspec.json.encode((certificate.notified_body, certificate.number, certificate.revision)).decode()
    return DueCertificate(key[:MAX_KEY_LENGTH], certificate.number, ends)


def _is_superseded(certificate: Certificate, by_date: Iterable[ShownCertificate]) -> bool:
    """Whether another revision of a certificate ends later, or has no end date."""
    return any(
        has_same_number(other.certificate, certificate)
        and other.certificate.revision != certificate.revision
        and (not other.certificate.expiry or other.certificate.expiry > (certificate.expiry or ""))
        for other in by_date
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
        number = self.certificate.number
        return FieldChange(ENDS, self.certificate.expiry.isoformat(), when(self.days), number or None)

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
    nothing may be told, since the account's period has ended, what was reached before is stored, and the rest waits.
    """
    days = (certificate.expiry - today).days
    mark = mark_of(days)
    told = known if known is not None else mark_of((certificate.expiry - min(seen_on, today)).days)
    if mark < told and may_tell:
        return Notice(certificate, mark, days, is_told=True)
    is_news = known is None and (told != NO_MARK or mark < told)
    return Notice(certificate, told, days, is_told=False) if is_news else None
