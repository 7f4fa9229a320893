"""Certificates and refused applications as the register sends them.

The shapes of the search's row are those of real replies. What is inside the detail of a certificate, a refused
application and a notified body is invented where nobody described it, of codes, texts and parties as elsewhere:
`certificateId` is an object of number and notified body, a date is a midnight, a scope without devices has a
`description` alone, `conditions`, `precedingCertificates` and `sscps` are lists.
"""

from registerwatch_standins.register.countries import COUNTRIES, country_of_srn
from registerwatch_standins.register.records import Actor, CertificateListing, RefusedApplication
from registerwatch_standins.register.wire.actors import EMAIL, TELEPHONE, party
from registerwatch_standins.register.wire.codes import (
    REGISTERED,
    Fields,
    certificate_type,
    code,
    constant_fields,
    derived_ulid,
    derived_uuid,
    text,
    texts,
)

_DEVICE_TYPES = ("active", "implantable", "sterile", "measuring-function")


def listing_row(listing: CertificateListing) -> Fields:
    """A row of the certificate search."""
    certificate, manufacturer = listing.certificate, listing.manufacturer
    place = COUNTRIES.get(country_of_srn(manufacturer.srn))
    name = text(place.language if place else "en", manufacturer.name)
    return {
        **constant_fields("certificate search row"),
        "ulid": listing.ulid,
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
        "latestVersion": listing.latest_version,
    }


def detail(
    listing: CertificateListing, manufacturer: Actor | None, representative: Actor | None, scope: tuple[str, ...]
) -> Fields:
    """The record of a certificate; `scope` has the Basic UDI-DIs that it names."""
    certificate = listing.certificate
    body = certificate.notified_body
    return {
        "uuid": listing.uuid,
        "ulid": listing.ulid,
        "certificateId": {"notifiedBodySrn": body, "certificateNumber": certificate.number},
        "revisionNumber": certificate.revision,
        "type": certificate_type(certificate.type),
        "status": code("certificate-status", certificate.status),
        "issueDate": _midnight(certificate.issue_date),
        "startingValidityDate": _midnight(certificate.starting_validity),
        "expiryDate": _midnight(certificate.expiry),
        "manufacturer": party(listing.manufacturer, manufacturer),
        "authorisedRepresentatives": [party(representative.party, representative)] if representative else [],
        "notifiedBody": {**notified_body(body, certificate.notified_body_name), "electronicMail": EMAIL},
        "conditions": [],
        "precedingCertificates": [],
        "scopes": _scopes(listing, scope),
        "sscps": [],
        "versionNumber": listing.version_number,
        "versionState": REGISTERED,
        "latestVersion": listing.latest_version,
        "versionDate": listing.version_date or f"{certificate.issue_date or '2026-01-01'}T08:00:00.000",
        "lastUpdatedByUser": EMAIL,
        "validatorEmail": EMAIL,
        "validatorTelephone": TELEPHONE,
    }


def refused_application(refused: RefusedApplication) -> Fields:
    """A row of the search of refused applications."""
    return {
        "uuid": refused.uuid,
        "ulid": refused.ulid,
        "applicationReferenceNumber": refused.reference,
        "conformityAssessmentProcedure": code("conformity-assessment-procedure", refused.procedure),
        "certificateRefusalDate": _midnight(refused.refused_on),
        "actorSrn": refused.manufacturer.srn,
        "actorName": refused.manufacturer.name,
        "notifiedBodySrn": refused.notified_body,
    }


def notified_body(number: str, name: str) -> Fields:
    """A notified body, as the list of them has it."""
    return {
        "uuid": derived_uuid("notified body", number),
        "name": name,
        "eudamedIdentifier": number,
        "legislationStatusMap": {"mdr": code("actor-status", "active"), "ivdr": code("actor-status", "active")},
    }


def _scopes(listing: CertificateListing, scope: tuple[str, ...]) -> list[Fields]:
    """One scope for each Basic UDI-DI that is named; one that describes devices alone where none is."""
    draw = int(derived_uuid(listing.ulid, "scope")[:8], 16)
    same: Fields = {
        "riskClass": code("risk-class", ("class-iia", "class-iib", "class-iii")[draw % 3]),
        "deviceTypeCodes": [code("device-type", _DEVICE_TYPES[draw % len(_DEVICE_TYPES)])],
        "description": texts({"en": "Devices as described in the technical documentation"}),
    }
    if not scope:
        return [{**same, "uuid": derived_uuid(listing.ulid, "scope"), "basicUdiData": None}]
    return [
        {
            **same,
            "uuid": derived_uuid(listing.ulid, "scope", basic_udi),
            "basicUdiData": {
                "uuid": derived_uuid(basic_udi, "basic record"),
                "ulid": derived_ulid(basic_udi, "basic"),
                "code": basic_udi,
                "type": "BASIC_UDI_DI",
            },
        }
        for basic_udi in scope
    ]


def _midnight(day: str | None) -> str | None:
    return None if day is None else f"{day}T00:00:00"
