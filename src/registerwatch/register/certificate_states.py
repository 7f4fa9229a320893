"""The state of a certificate on a day.

A directive certificate whose printed date has passed can still be valid: Regulations (EU) 2023/607 and 2024/1860 extend
many of them. So `EXPIRED` says what the date says, and the page says the rest.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import date
from enum import Enum

import msgspec

from registerwatch.register.certificate_kinds import kind_of_certificate
from registerwatch.register.codes import segment
from registerwatch.register.models import Certificate

EXPIRING_DAYS = 180
"""Days ahead within which a certificate counts as expiring."""

ENDED_STATUSES = frozenset({"withdrawn", "cancelled"})


class CertificateState(Enum):
    """The state of a certificate: its words, and its tone (`good`, `warn`, `bad`, `none`)."""

    EXPIRED = ("Expired", "bad")
    ENDED = ("Withdrawn or cancelled", "bad")
    SUSPENDED = ("Suspended", "bad")
    EXPIRING = (f"Expires within {EXPIRING_DAYS} days", "warn")
    NOT_YET = ("Not valid yet", "warn")
    VALID = ("Valid", "good")
    UNDATED = ("No expiry date", "none")

    @property
    def words(self) -> str:
        """For people."""
        return self.value[0]

    @property
    def tone(self) -> str:
        """For the stylesheet."""
        return self.value[1]


class ShownCertificate(msgspec.Struct, frozen=True):
    """A certificate with its state; `remaining` days until it expires, negative after, None without a date."""

    certificate: Certificate
    state: CertificateState
    remaining: int | None

    @property
    def words(self) -> str:
        """The state in words; the register's own word where its status is what ended the certificate."""
        given = self.certificate.status if self.state is CertificateState.ENDED else ""
        return given or self.state.words

    @property
    def counts(self) -> bool:
        """Whether it counts as valid: it has an end date, and neither that nor its status has ended it."""
        return self.state in (CertificateState.VALID, CertificateState.EXPIRING)

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
    state = [ShownCertificate(each, state_of(each, today), _remaining(each.expiry, today)) for each in certificates]
    return sorted(state, key=lambda each: (each.remaining is None, each.remaining or 0, each.certificate.key))


def state_of(certificate: Certificate, today: date) -> CertificateState:
    """The state of a certificate on a day. The register's status outranks dates; the day of expiry is still valid."""
    status = segment(certificate.status_code)
    remaining, lead = _remaining(certificate.expiry, today), _remaining(certificate.valid_from, today)
    if status in ENDED_STATUSES:
        return CertificateState.ENDED
    if status == "suspended":
        return CertificateState.SUSPENDED
    if status == "expired" or (remaining is not None and remaining < 0):
        return CertificateState.EXPIRED
    if lead is not None and lead > 0:
        return CertificateState.NOT_YET
    if remaining is None:
        return CertificateState.UNDATED
    return CertificateState.EXPIRING if remaining <= EXPIRING_DAYS else CertificateState.VALID


def count_by_state(certificates: Iterable[ShownCertificate]) -> list[tuple[CertificateState, int]]:
    """The number of certificates in each state, those that need attention first."""
    counted = Counter(each.state for each in certificates)
    return [(state, counted[state]) for state in CertificateState if counted[state]]


def _remaining(iso: str | None, today: date) -> int | None:
    try:
        return (date.fromisoformat(iso or "") - today).days
    except ValueError:
        return None


def distance(days: int) -> str:
    """`in 42 days`, `yesterday`."""
    named = {-1: "yesterday", 0: "today", 1: "tomorrow"}
    return named.get(days) or (f"in {days:,} days" if days > 0 else f"{-days:,} days ago")
