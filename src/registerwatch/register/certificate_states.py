"""The state of a certificate on a day: the one module that knows which statuses and dates end one.

A certificate without an end date is in force: the proposed revision of the Regulations makes that normal. One whose
status is not known is neither called in force nor not in force.
A directive certificate whose printed date has passed can still be valid: Regulations (EU) 2023/607 and 2024/1860 extend
many of them. So `EXPIRED` says what the date says, and the page says the rest.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import date
from enum import Enum

import msgspec

from registerwatch.register.certificate_kinds import kind_of_certificate
from registerwatch.register.codes import CERTIFICATE_STATUSES, label, segment
from registerwatch.register.models import Certificate

EXPIRING_DAYS = 180
"""Days ahead within which a certificate counts as expiring."""

ENDED_STATUSES = frozenset({"withdrawn", "cancelled"})
NOT_IN_FORCE = ENDED_STATUSES | {"suspended", "expired"}
"""Statuses of the register with which a certificate proves nothing today. With any other known one it is in force."""

NO_END_DATE = "No end date"


class CertificateState(Enum):
    """The state of a certificate: its words, and its tone (`good`, `warn`, `bad`, `none`). The worst comes first.

    `UNDATED` is in force without an end. `UNKNOWN` has a status or a date that this service does not understand.
    """

    EXPIRED = ("Expired", "bad")
    ENDED = ("Withdrawn or cancelled", "bad")
    SUSPENDED = ("Suspended", "bad")
    EXPIRING = (f"Expires within {EXPIRING_DAYS} days", "warn")
    NOT_YET = ("Not valid yet", "warn")
    UNDATED = (NO_END_DATE, "good")
    VALID = ("Valid", "good")
    UNKNOWN = ("Unknown status", "none")

    @property
    def words(self) -> str:
        """For people."""
        return self.value[0]

    @property
    def tone(self) -> str:
        """For the stylesheet."""
        return self.value[1]


IN_FORCE = frozenset({CertificateState.VALID, CertificateState.EXPIRING, CertificateState.UNDATED})
"""States in which a certificate counts as valid."""


class ShownCertificate(msgspec.Struct, frozen=True):
    """A certificate with its state; `remaining` days until it expires, negative after, None without a date."""

    certificate: Certificate
    state: CertificateState
    remaining: int | None

    @property
    def words(self) -> str:
        """The state in words; the register's own word where its status ended the certificate, or is not known."""
        if self.state not in (CertificateState.ENDED, CertificateState.UNKNOWN):
            return self.state.words
        return self.certificate.status or label(self.certificate.status_code) or self.state.words

    @property
    def counts(self) -> bool:
        """Whether it counts as valid: neither its status nor a date has ended it, and both are understood."""
        return self.state in IN_FORCE

    @property
    def counts_in_words(self) -> str:
        """The same for people."""
        if self.state is CertificateState.UNKNOWN:
            return "Not known whether it counts as valid"
        return "Counts as valid" if self.counts else "Not counted as valid"

    @property
    def when(self) -> str:
        """`in 42 days`, `yesterday`, empty without a date."""
        return "" if self.remaining is None else distance(self.remaining)

    @property
    def contradiction(self) -> str:
        """That the register calls it expired while its date of expiry is still to come; empty where it does not."""
        if segment(self.certificate.status_code) != "expired" or self.remaining is None or self.remaining < 0:
            return ""
        return (
            f"The register contradicts itself: it calls this certificate expired, and its expiry date is {self.when}."
        )

    @property
    def kind(self) -> str:
        """What kind of certificate it is, in words."""
        return kind_of_certificate(self.certificate.type_code)


def shown_certificates(certificates: Iterable[Certificate], today: date) -> list[ShownCertificate]:
    """Certificates with their state, the first to expire first, those without a date last."""
    state = [ShownCertificate(each, state_of(each, today), days_left(each.expiry, today)) for each in certificates]
    return sorted(state, key=lambda each: (each.remaining is None, each.remaining or 0, each.certificate.key))


def state_of(certificate: Certificate, today: date) -> CertificateState:
    """The state of a certificate on a day. The register's status outranks dates; the day of expiry is still valid.
    Without a status dates decide.
    """
    status = segment(certificate.status_code)
    remaining, lead = days_left(certificate.expiry, today), days_left(certificate.valid_from, today)
    if status in ENDED_STATUSES:
        return CertificateState.ENDED
    if status == "suspended":
        return CertificateState.SUSPENDED
    if status == "expired" or (remaining is not None and remaining < 0):
        return CertificateState.EXPIRED
    if lead is not None and lead > 0:
        return CertificateState.NOT_YET
    if has_unknown_status(certificate.status_code) or (certificate.expiry and remaining is None):
        return CertificateState.UNKNOWN
    if remaining is None:
        return CertificateState.UNDATED
    return CertificateState.EXPIRING if remaining <= EXPIRING_DAYS else CertificateState.VALID


def count_by_state(certificates: Iterable[ShownCertificate]) -> list[tuple[CertificateState, int]]:
    """The number of certificates in each state, those that need attention first."""
    counted = Counter(each.state for each in certificates)
    return [(state, counted[state]) for state in CertificateState if counted[state]]


def is_in_force_without_end(certificate: Certificate) -> bool:
    """Whether its status leaves it in force and it has no end date; it may begin later."""
    is_in_force = segment(certificate.status_code) not in NOT_IN_FORCE
    return not certificate.expiry and is_in_force and not has_unknown_status(certificate.status_code)


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
