"""How the subject of a watch stands, by its snapshot. The health of the watch says whether it could be read."""

from datetime import date

from registerwatch.register.certificate_states import ShownCertificate, in_order, shown_certificate
from registerwatch.register.models import Certificate
from registerwatch.register.standing import CertificateStanding, SubjectStanding, actor_standing, device_standing
from registerwatch.watches.snapshot import Kind, SeenCertificate, Snapshot


def standing_of(kind: Kind, seen: Snapshot, today: date) -> SubjectStanding:
    """How a device or an actor stands."""
    if kind == "udi":
        return device_standing(seen.status, seen.status_code, certificates_of(seen, today).certificates)
    return actor_standing(seen.manufacturer_status, seen.manufacturer_status_code)


def certificates_of(seen: Snapshot, today: date) -> CertificateStanding:
    """The certificates of a device that the register lists; those that it listed last where it lists none."""
    return CertificateStanding(in_order(shown_of(each, today) for each in seen.shown_certs))


def shown_of(seen: SeenCertificate, today: date) -> ShownCertificate:
    """A certificate of a snapshot with its state."""
    certificate = Certificate(
        seen.number,
        revision=seen.revision,
        expiry=seen.ends or None,
        status=seen.status,
        status_code=seen.status_code,
        notified_body=seen.notified_body,
        valid_from=seen.valid_from or None,
        confirmed=not seen.is_unconfirmed,
    )
    return shown_certificate(certificate, today, is_listed=not seen.is_gone)
