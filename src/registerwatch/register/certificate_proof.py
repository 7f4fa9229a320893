"""What a certificate of a manufacturer proves, in sentences. Pure."""

from datetime import date

from registerwatch.register.codes import label, segment
from registerwatch.register.store.certificate_queries import StoredCertificate

NOT_IN_FORCE = frozenset({"suspended", "withdrawn", "cancelled", "expired"})
"""Statuses of the register with which a certificate proves nothing today."""

WHOSE = "A certificate of the manufacturer"


def what_it_proves(certificate: StoredCertificate, today: date) -> str:
    """What it proves and what not: whose it is, what its scope names, and why it may not be in force."""
    return " ".join(filter(None, (_of_its_scope(certificate), _of_its_standing(certificate, today))))


def days_left(expiry: str | None, today: date) -> int | None:
    """Days until a date of expiry, negative after; None without a date, and for what is none."""
    try:
        return (date.fromisoformat(expiry or "") - today).days
    except ValueError:
        return None


def _of_its_scope(certificate: StoredCertificate) -> str:
    if certificate.scopes_read_at is None:
        return f"{WHOSE}; its scope was not read yet, so whether it names a device is not known."
    if not certificate.named:
        return f"{WHOSE}; its scope names no device."
    if certificate.may_name_more:
        return f"{WHOSE}; its scope names at least {certificate.named:,} Basic UDI-DIs. It may name more."
    devices = "one Basic UDI-DI" if certificate.named == 1 else f"{certificate.named:,} Basic UDI-DIs"
    return f"{WHOSE}; its scope names {devices}, and no other device."


def _of_its_standing(certificate: StoredCertificate, today: date) -> str:
    status = segment(certificate.status_code)
    if certificate.unlisted_at is not None:
        return "The register no longer lists it."
    if status in NOT_IN_FORCE:
        return f"It proves nothing today: the register calls it {label(certificate.status_code).lower()}."
    left = days_left(certificate.expiry, today)
    if left is not None and left < 0:
        return "Its date of expiry has passed."
    return "The register calls it restricted." if status == "restricted" else ""
