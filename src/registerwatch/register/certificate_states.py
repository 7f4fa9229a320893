"""States of certificates on a day: the one module that knows which statuses and dates end one.

A certificate without an end date is in force: the proposed revision of the Regulations makes that normal. One whose
status is unknown is called neither in force nor not in force.
A directive certificate whose printed date has passed can still be valid: Regulations (EU) 2023/607 and 2024/1860 extend
many of them. So `EXPIRED` says what the date says, and the page explains the rest.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import date
from enum import Enum

import msgspec

from registerwatch.register.certificate_kinds import kind_of_certificate
from registerwatch.register.codes import CERTIFICATE_STATUSES, label, segment
from registerwatch.register.models import Certificate

ENDING_DAYS = 90
"""Days ahead within which the end of a certificate needs attention."""

ENDED_STATUSES = frozenset({"withdrawn", "cancelled"})
NOT_IN_FORCE = ENDED_STATUSES | {"suspended", "expired"}
"""Statuses of the register with which a certificate proves nothing today. With any other known one it is in force."""
RESTRICTED = "restricted"
"""The status of a certificate that is in force for less than it was issued for."""

NO_END_DATE = "No end date"


class CertificateState(Enum):
    """The state of a certificate: its words, and its tone (`good`, `warn`, `bad`, `none`). The most serious is first.

    `CONTRADICTED` is called expired by the register, which gives it an end date that is still to come. `UNDATED` is in
    force without an end. `UNKNOWN` has a status or a date that this service does not understand.
    """

    WITHDRAWN = ("Withdrawn", "bad")
    SUSPENDED = ("Suspended", "bad")
    CANCELLED = ("Cancelled", "bad")
    EXPIRED = ("Expired", "bad")
    CONTRADICTED = ("Expired by status, not by date", "bad")
    UNLISTED = ("No longer listed", "bad")
    RESTRICTED = ("Restricted", "warn")
    NOT_YET = ("Not valid yet", "warn")
    ENDING = (f"Ends within {ENDING_DAYS} days", "warn")
    UNDATED = (NO_END_DATE, "good")
    VALID = ("Valid", "good")
    UNKNOWN = ("Unknown status", "none")

    @property
    def words(self) -> str:
        """Words for people."""
        return self.value[0]

    @property
    def tone(self) -> str:
        """A tone for the stylesheet."""
        return self.value[1]

    @property
    def rank(self) -> int:
        """Its severity: 0 is the worst."""
        return _RANKS[self]


_RANKS = {state: rank for rank, state in enumerate(CertificateState)}
_BY_STATUS = {
    "withdrawn": CertificateState.WITHDRAWN,
    "suspended": CertificateState.SUSPENDED,
    "cancelled": CertificateState.CANCELLED,
}

IN_FORCE = frozenset(
    {CertificateState.RESTRICTED, CertificateState.ENDING, CertificateState.UNDATED, CertificateState.VALID}
)
"""States in which a certificate counts as valid."""


_ENDED_BEFORE = frozenset(
    {
        CertificateState.WITHDRAWN,
        CertificateState.CANCELLED,
        CertificateState.CONTRADICTED,
        CertificateState.UNLISTED,
    }
)
"""States in which a certificate is over, or said to be, whatever its end date."""


class ShownCertificate(msgspec.Struct, frozen=True):
    """A certificate with its state; `remaining` days until it expires, negative after, None without a date."""

    certificate: Certificate
    state: CertificateState
    remaining: int | None

    @property
    def words(self) -> str:
        """The state in words; the register's own word where its status is not known."""
        if self.state is not CertificateState.UNKNOWN:
            return self.state.words
        return self.register_word or self.state.words

    @property
    def register_word(self) -> str:
        """The register's status in words, empty where it gives none."""
        return self.certificate.status or label(self.certificate.status_code)

    @property
    def differing_word(self) -> str:
        """The register's status where its words differ from those of the state; else empty."""
        word = self.register_word
        is_same = word.casefold() == self.words.casefold() or self.state is CertificateState.CONTRADICTED
        return "" if is_same else word

    @property
    def counts(self) -> bool:
        """Whether it counts as valid: neither its status nor a date has ended it, and both are understood."""
        return self.state in IN_FORCE

    @property
    def counts_in_words(self) -> str:
        """Whether it counts, in words."""
        if self.state is CertificateState.UNKNOWN:
            return "Not known whether it counts as valid"
        return "Counts as valid" if self.counts else "Not counted as valid"

    @property
    def ends_by_date(self) -> bool:
        """Whether its end date, or the lack of one, says everything about its end: no status ended it before, and the
        register still lists it.
        """
        is_ended_by_status = self.state is CertificateState.EXPIRED and self.remaining is None
        return self.state not in _ENDED_BEFORE and not is_ended_by_status

    @property
    def when(self) -> str:
        """`in 42 days`, `yesterday`; empty without a date, and where a date ahead is not when it ends."""
        if self.remaining is None or (self.remaining >= 0 and not self.ends_by_date):
            return ""
        return distance(self.remaining)

    @property
    def end(self) -> str:
        """Its end in words: `Ends in 42 days`; empty where `when` is."""
        return f"{'Ended' if (self.remaining or 0) < 0 else 'Ends'} {self.when}" if self.when else ""

    @property
    def contradiction(self) -> str:
        """Says that the register calls it expired while its date of expiry is still to come; else empty."""
        if self.state is not CertificateState.CONTRADICTED or self.remaining is None:
            return ""
        return (
            "The register contradicts itself: it calls this certificate expired, and its expiry date is"
            f" {distance(self.remaining)}."
        )

    @property
    def kind(self) -> str:
        """Its kind, in words."""
        return kind_of_certificate(self.certificate.type_code)


def shown_certificate(certificate: Certificate, today: date, *, is_listed: bool = True) -> ShownCertificate:
    """A certificate with its state on a day; `is_listed`: whether the register still lists it."""
    state = state_of(certificate, today) if is_listed else CertificateState.UNLISTED
    return ShownCertificate(certificate, state, days_left(certificate.expiry, today))


def shown_certificates(certificates: Iterable[Certificate], today: date) -> list[ShownCertificate]:
    """Certificates with their state, the first to expire first, those without a date last."""
    return in_order(shown_certificate(each, today) for each in certificates)


def in_order(certificates: Iterable[ShownCertificate]) -> list[ShownCertificate]:
    """The first to expire first, those without a date last."""
    return sorted(certificates, key=lambda each: (each.remaining is None, each.remaining or 0, each.certificate.key))


def state_of(certificate: Certificate, today: date) -> CertificateState:
    """The state of a certificate on a day. The register's status outranks dates; the day of expiry is still valid.
    Without a status dates decide.
    """
    status = segment(certificate.status_code)
    remaining, lead = days_left(certificate.expiry, today), days_left(certificate.valid_from, today)
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status == "expired" and remaining is not None and remaining >= 0:
        return CertificateState.CONTRADICTED
    if status == "expired" or (remaining is not None and remaining < 0):
        return CertificateState.EXPIRED
    if lead is not None and lead > 0:
        return CertificateState.NOT_YET
    if has_unknown_status(certificate.status_code) or (certificate.expiry and remaining is None):
        return CertificateState.UNKNOWN
    return _state_in_force(status, remaining)


def words_by_status(status_code: str) -> str:
    """How a certificate stands by its status alone, whatever its dates: `Withdrawn`, `Restricted`, `Expired` and alike;
    the register's own word where the status is not known. Empty where it leaves the certificate plainly valid.
    """
    shown = _by_status(status_code)
    return "" if shown.state is CertificateState.UNDATED else shown.words


def is_worse_status(status_code: str, other: str) -> bool:
    """Whether the first status is more serious than the other, whatever the dates."""
    return _by_status(status_code).state.rank < _by_status(other).state.rank


def _by_status(status_code: str) -> ShownCertificate:
    return shown_certificate(Certificate("", status_code=status_code), date.min)  # without dates, any day will do


def _state_in_force(status: str, remaining: int | None) -> CertificateState:
    if status == RESTRICTED:
        return CertificateState.RESTRICTED
    if remaining is None:
        return CertificateState.UNDATED
    return CertificateState.ENDING if remaining <= ENDING_DAYS else CertificateState.VALID


def count_by_words(certificates: Iterable[ShownCertificate]) -> list[tuple[str, str, int]]:
    """Counts of certificates by their words, the most serious first: words, tone, number."""
    counted = Counter((each.state.rank, each.words, each.state.tone) for each in certificates)
    return [(words, tone, number) for (_, words, tone), number in sorted(counted.items())]


def has_unknown_status(status_code: str) -> bool:
    """Whether the register gives a status that this service does not know; an empty one is none."""
    return bool(status_code) and segment(status_code) not in CERTIFICATE_STATUSES


def days_left(iso: str | None, today: date) -> int | None:
    """Days until a date, negative after; None without a date, and for what is none."""
    try:
        return (date.fromisoformat(iso or "") - today).days
    except ValueError:
        return None


def distance(days: int) -> str:
    """`in 42 days`, `yesterday`."""
    named = {-1: "yesterday", 0: "today", 1: "tomorrow"}
    return named.get(days) or (f"in {days:,} days" if days > 0 else f"{-days:,} days ago")
