"""A certificate as the certificate search sends it."""

from registerwatch_standins.register.places import COUNTRIES, country_of_srn
from registerwatch_standins.register.records import CertificateListing
from registerwatch_standins.register.wire.codes import REGISTERED, certificate_type, code, derived_ulid, text


def search_row(listing: CertificateListing) -> dict[str, object]:
    """A row of the certificate search."""
    certificate, manufacturer = listing.certificate, listing.manufacturer
    place = COUNTRIES.get(country_of_srn(manufacturer.srn))
    issued = _midnight(certificate.issue_date)
    return {
        "ulid": derived_ulid(listing.uuid),
        "uuid": listing.uuid,
        "notifiedBodySrn": certificate.notified_body,
        "actorSrn": manufacturer.srn,
        "actorName": manufacturer.name,
        "actorNames": {
            "texts": [text(place.language if place else "en", manufacturer.name)],
            "textByDefaultLanguage": None,
        },
        "mfStatus": {manufacturer.srn: code("actor-status", manufacturer.status)},
        "prStatus": None,
        "arStatuses": None,
        "certificateNumber": certificate.number,
        "certificateType": certificate_type(certificate.type),
        "issueDate": issued,
        "expiryDate": _midnight(certificate.expiry),
        "startingValidityDate": _midnight(certificate.starting_validity),
        "certificateStatus": code("certificate-status", certificate.status),
        "versionNumber": listing.version_number,
        "authorizedRepresentativeSrns": None,
        "latestVersion": True,
        "revisionNumber": certificate.revision,
        "versionState": REGISTERED,
    }


def _midnight(day: str | None) -> str | None:
    return None if day is None else f"{day}T00:00:00"
