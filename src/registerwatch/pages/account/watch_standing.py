"""How the subject of a watch stands, of what was last seen of it. Whether it could be read is another question."""

from collections.abc import Sequence
from datetime import date

from registerwatch.pages.tones import actor_tone, market_tone
from registerwatch.register.certificate_standing import CertificateStanding
from registerwatch.register.certificate_states import shown_certificates
from registerwatch.register.models import Certificate
from registerwatch.watches.snapshot import Kind, SeenCertificate, Snapshot

Badge = tuple[str, str]
"""Words and a tone."""


def certificates_of(seen: Snapshot, today: date) -> CertificateStanding:
    """The certificates of a device that the register lists; those that it listed last where it lists none."""
    found = seen.shown_certs
    are_gone = bool(found) and all(each.is_gone for each in found)
    return CertificateStanding(shown_certificates(map(_certificate, found), today), are_gone)


def subject_status(kind: Kind, seen: Snapshot) -> Badge:
    """The market status of a device, or the status of an actor; empty words where none was seen."""
    if kind == "udi":
        return seen.status, market_tone(seen.status_code)
    return seen.manufacturer_status, actor_tone(seen.manufacturer_status_code)


def certificate_badge(standing: CertificateStanding) -> Badge:
    """The worst standing of the certificates: `("Certificate expired", "bad")`; empty words without certificates."""
    words = standing.words
    return (f"Certificate {words[:1].lower()}{words[1:]}" if words else "", standing.tone)


def warnings(kind: Kind, seen: Snapshot, today: date) -> Sequence[Badge]:
    """What needs attention of its status and its certificates."""
    found = subject_status(kind, seen), certificate_badge(certificates_of(seen, today))
    return [each for each in found if each[1] in ("warn", "bad")]


def _certificate(seen: SeenCertificate) -> Certificate:
    return Certificate(
        seen.number,
        revision=seen.revision,
        expiry=seen.ends or None,
        status=seen.status,
        status_code=seen.status_code,
        notified_body=seen.notified_body,
        confirmed=not seen.is_unconfirmed,
    )
