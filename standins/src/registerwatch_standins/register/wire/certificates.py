"""Certificates and refused applications as the register sends them.

The row of the search is that of a real reply, the record has the 58 names that were told. What was not told is made up:
a status change has a date, a reason in `statusChangeReasons` and, where it is withdrawn, words of its own.
"""

from registerwatch_standins.register.countries import COUNTRIES, country_of_srn
from registerwatch_standins.register.records import Actor, CertificateListing, RefusedApplication
from registerwatch_standins.register.wire.actors import notified_body, party, representative
from registerwatch_standins.register.wire.basic_records import basic_uuid
from registerwatch_standins.register.wire.codes import (
    Fields,
    certificate_type,
    code,
    constant_fields,
    derived_uuid,
    midnight,
    text,
    texts,
    timestamp,
)
from registerwatch_standins.register.wire.devices import basic_ulid
from registerwatch_standins.register.wire.documents import document_entry

_DEVICE_TYPES = ("MDA0315", "MDN1104", "MDS1005", "MDT2008")
_DECIDED = frozenset({"restricted", "suspended", "withdrawn", "cancelled"})


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
        "issueDate": midnight(certificate.issue_date),
        "expiryDate": midnight(certificate.expiry),
        "startingValidityDate": midnight(certificate.starting_validity),
        "versionNumber": listing.version_number,
        "latestVersion": listing.latest_version,
    }


def detail(
    listing: CertificateListing, manufacturer: Actor | None, representing: Actor | None, scope: tuple[str, ...]
) -> Fields:
    """The record of a certificate; `scope` has the Basic UDI-DIs that it names."""
    certificate = listing.certificate
    body = certificate.notified_body
    return {
        **constant_fields("certificate record"),
        **(_decision(listing) if certificate.status in _DECIDED else {"decisionDate": None, "statusChangeReasons": []}),
        "uuid": listing.uuid,
        "ulid": listing.ulid,
        "certificateId": f"{body}{certificate.number}",
        "certificateNumber": certificate.number,
        "revisionNumber": certificate.revision,
        "type": certificate_type(certificate.type),
        "status": code("certificate-status", certificate.status),
        "issueDate": midnight(certificate.issue_date),
        "startingValidityDate": midnight(certificate.starting_validity),
        "expiryDate": midnight(certificate.expiry),
        "manufacturer": party(listing.manufacturer, manufacturer),
        "authorisedRepresentatives": [representative(representing.party, representing)] if representing else None,
        "notifiedBody": notified_body(body, certificate.notified_body_name),
        "scopes": _scopes(listing, scope),
        "documents": [document_entry(listing)],
        "versionNumber": listing.version_number,
        "latestVersion": listing.latest_version,
        "versionDate": timestamp(listing.version_date or f"{certificate.issue_date or '2026-01-01'}T08:00:00.000"),
    }


def refused_application(refused: RefusedApplication) -> Fields:
    """A row of the search of refused applications."""
    return {
        "ulid": refused.ulid,
        "uuid": refused.uuid,
        "notifiedBodySrn": refused.notified_body,
        "actorSrn": refused.manufacturer.srn,
        "actorName": refused.manufacturer.name,
        "applicationReferenceNumber": refused.reference,
        "conformityAssessmentProcedure": code("conformity-assessment-procedure", refused.procedure),
        "decision": code("decision", "refused"),
        "decisionDate": midnight(refused.refused_on),
        "certificateRefusalDate": midnight(refused.refused_on),
        "lastUpdateDate": f"{refused.refused_on}T10:00:00.123",
    }


def _decision(listing: CertificateListing) -> Fields:
    """Why and when a certificate has the status that it has."""
    certificate = listing.certificate
    decided: Fields = {
        "decisionDate": midnight((listing.version_date or certificate.issue_date or "2026-01-01")[:10]),
        "statusChangeReasons": [code("certificate-status-change-reason", "non-compliance-with-requirements")],
    }
    if certificate.status == "withdrawn":
        decided["additionalStatusChangeReason"] = texts({"en": "The manufacturer gave up the certificate."})
    return decided


def _scopes(listing: CertificateListing, scope: tuple[str, ...]) -> list[Fields]:
    """One scope for each Basic UDI-DI that is named; one that describes devices alone where none is."""
    draw = int(derived_uuid(listing.ulid, "scope")[:8], 16)
    same: Fields = {
        "riskClass": code("risk-class", ("class-iia", "class-iib", "class-iii")[draw % 3]),
        "deviceTypeCodes": [code("device-type", _DEVICE_TYPES[draw % len(_DEVICE_TYPES)])],
        "description": texts({"en": "Devices as described in the technical documentation"}),
        "intendedPurpose": None,
    }
    if not scope:
        return [{**same, "basicUdiData": None}]
    return [{**same, "basicUdiData": _named(basic_udi)} for basic_udi in scope]


def _named(basic_udi: str) -> Fields:
    return {
        "uuid": basic_uuid(basic_udi),
        "ulid": basic_ulid(basic_udi),
        "code": basic_udi,
        "type": "BASIC_UDI",
    }
