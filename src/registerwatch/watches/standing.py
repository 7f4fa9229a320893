"""The standing of a watch's subject, from its snapshot. The watch's health says whether it could be read."""

from datetime import date

from registerwatch.platform.structs import replace
from registerwatch.register.certificate_states import ShownCertificate, in_order, shown_certificate
from registerwatch.register.models import Certificate
from registerwatch.register.standing import (
    NOTHING_KNOWN,
    CertificateStanding,
    SubjectStanding,
    actor_standing,
    device_standing,
)
from registerwatch.watches.snapshot import Kind, SeenCertificate, Snapshot, listed_certificates


def standing_of(kind: Kind, seen: Snapshot, today: date, *, is_delisted: bool = False) -> SubjectStanding:
    """The standing of a device or an actor; without its status if the register no longer lists it."""
    if kind == "udi":
        found = device_standing(seen.status, seen.status_code, certificates_of(seen, today).certificates)
        found = replace(found, has_unlisted=bool(seen.unlisted_certs), has_others=bool(seen.other_certs))
        found = replace(found, has_unread=not seen.has_all_certs)
    else:
        found = actor_standing(seen.manufacturer_status, seen.manufacturer_status_code)
    return replace(found, status=NOTHING_KNOWN.status) if is_delisted else found


def certificates_of(seen: Snapshot, today: date) -> CertificateStanding:
    """The certificates of a device that the register lists."""
    return CertificateStanding(in_order(shown_of(each, today) for each in listed_certificates(seen.certs or ())))


def shown_of(seen: SeenCertificate, today: date) -> ShownCertificate:
    """A snapshot's certificate with its state."""
    certificate = Certificate(
        seen.number,
        revision=seen.revision,
        expiry=seen.ends or None,
        status=seen.status,
        status_code=seen.status_code,
        notified_body=seen.notified_body,
        valid_from=seen.valid_from or None,
        type_code=seen.type_code,
        listed_in=seen.listed_in,
        scoped=seen.is_scoped,
        confirmed=not seen.is_unconfirmed,
    )
    return shown_certificate(certificate, today, is_listed=not seen.is_gone)
