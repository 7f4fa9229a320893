"""A certificate as the certificate search sends it."""

from registerwatch_standins.register.countries import COUNTRIES, country_of_srn
from registerwatch_standins.register.records import CertificateListing
from registerwatch_standins.register.wire.codes import (
    Fields,
    certificate_type,
    code,
    constant_fields,
    derived_ulid,
    text,
)


def search_row(listing: CertificateListing) -> Fields:
    """A row of the certificate search."""
    certificate, manufacturer = listing.certificate, listing.manufacturer
    place = COUNTRIES.get(country_of_srn(manufacturer.srn))
    name = text(place.language if place else "en", manufacturer.name)
    return {
        **constant_fields("certificate search row"),
        "ulid": derived_ulid(listing.uuid),
        "uuid": listing.uuid,
        "notifiedBodySrn": certificate.notified_body,
        "actorSrn": manufacturer.srn,
        "actorName": manufacturer.name,
        "actorNames": {"texts": [name], "textByDefaultLanguage": None},
        "mfStatus": {manufacturer.srn: code("actor-status", manufacturer.status)},
        "certificateNumber": certificate.number,
        "revisionNumber": certificate.revision,
        "certificateType": certificate_type(certificate.type),
        "certificateStatus": code("certificate-status", certificate.status),
        "issueDate": _midnight(certificate.issue_date),
        "expiryDate": _midnight(certificate.expiry),
        "startingValidityDate": _midnight(certificate.starting_validity),
        "versionNumber": listing.version_number,
    }


def _midnight(day: str | None) -> str | None:
    return None if day is None else f"{day}T00:00:00"
