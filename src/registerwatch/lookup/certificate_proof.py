"""Sentences about the proof that a manufacturer's certificate gives. Pure."""

from datetime import date

from registerwatch.copy.certificates.certificate_queries import StoredCertificate
from registerwatch.platform.clock import date_in_words
from registerwatch.register.certificate_states import (
    NO_END_DATE,
    NOT_IN_FORCE,
    CertificateState,
    ShownCertificate,
    has_unknown_status,
)
from registerwatch.register.codes import label, segment

WHOSE = "A certificate of the manufacturer"


def what_it_proves(certificate: StoredCertificate, today: date) -> str:
    """Sentences on a certificate's proof and its limits: its owner, its scope, why it may not be in force."""
    return " ".join(filter(None, (_of_its_scope(certificate), _of_its_standing(certificate.standing(today).shown))))


def _of_its_scope(certificate: StoredCertificate) -> str:
    if certificate.scopes_read_at is None:
        return f"{WHOSE}; its scope was not read yet, so whether it names a device is not known."
    if not certificate.named:
        return f"{WHOSE}; its scope names no device."
    if certificate.may_name_more:
        return f"{WHOSE}; its scope names at least {certificate.named:,} Basic UDI-DIs. It may name more."
    devices = "one Basic UDI-DI" if certificate.named == 1 else f"{certificate.named:,} Basic UDI-DIs"
    return f"{WHOSE}; its scope names {devices}, and no other device."


def _of_its_standing(shown: ShownCertificate) -> str:
    status, word = segment(shown.certificate.status_code), label(shown.certificate.status_code)
    if shown.state is CertificateState.UNLISTED:
        return "The register no longer lists it."
    if shown.contradiction:
        return f"It proves nothing today. {shown.contradiction}"
    if status in NOT_IN_FORCE:
        return f"It proves nothing today: the register calls it {word.lower()}."
    if shown.remaining is not None and shown.remaining < 0:
        return "Its date of expiry has passed."
    if shown.state is CertificateState.NOT_YET:
        return f"It proves nothing today: it is not valid before {date_in_words(shown.certificate.valid_from or '')}."
    if has_unknown_status(shown.certificate.status_code):
        return f"The register calls it “{word}”; whether it is in force then is not known."
    sentences = [f"It has {NO_END_DATE.lower()}."] if not shown.certificate.expiry else []
    return " ".join([*sentences, "The register calls it restricted."] if status == "restricted" else sentences)
