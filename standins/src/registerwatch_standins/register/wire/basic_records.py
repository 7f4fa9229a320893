"""Basic UDI-DI records: one for all registrations under a Basic UDI-DI, one for each legacy device without any."""

from collections.abc import Mapping

from registerwatch_standins.register.records import Actor, Certificate, Registration, Sscp
from registerwatch_standins.register.wire.actors import notified_body, party, representative
from registerwatch_standins.register.wire.codes import (
    Fields,
    certificate_type,
    code,
    code_or_null,
    constant_fields,
    derived_ulid,
    derived_uuid,
    timestamp,
)
from registerwatch_standins.register.wire.devices import basic_ulid

_OF_BOTH = "humanTissues humanProduct animalTissues medicinalProduct"
_OF_DEVICES = "active administeringMedicine implantable measuringFunction reusable"
_OF_DIAGNOSTICS = """
companionDiagnostics instrument kit microbialSubstances nearPatientTesting professionalTesting reagent selfTesting
"""
_FLAGS_OF: Mapping[str, frozenset[str]] = {
    "mdr": frozenset((_OF_BOTH + " " + _OF_DEVICES).split()),
    "ivdr": frozenset((_OF_BOTH + " " + _OF_DIAGNOSTICS).split()),
}
_FLAGS = (*sorted(_FLAGS_OF["mdr"] | _FLAGS_OF["ivdr"]), "sutures")


def basic_udi_record(record: Registration, manufacturer: Actor | None, representing: Actor | None) -> Fields:
    """The Basic UDI-DI record of a device.

    Its certificates are those that are listed here, and not by the certificate search.
    """
    is_legacy = record.criterion == "LEGACY"
    certificates = [_certificate(record, each) for each in record.certificates if each.listed_in == "basic-udi-record"]
    named = record.authorised_representative
    legislation = code("applicable-legislation", record.legislation)
    return {
        **constant_fields("Basic UDI-DI record"),
        **({} if is_legacy else _of_regulation(record, certificates)),
        "nbDecision": _decision(record.sscp) if record.sscp else None,
        **flags(record),
        "authorisedRepresentative": representative(named, representing) if named else None,
        "basicUdi": _identifier(record),
        "deviceCertificateInfoList": certificates,
        "deviceCriterion": record.criterion,
        "deviceModel": record.model,
        "deviceName": record.device_name,
        "lastUpdated": timestamp(record.last_updated),
        "legislation": {**legislation, "legacyDirective": is_legacy},
        "linkedSscp": _sscp(record, record.sscp) if record.sscp else None,
        "manufacturer": party(record.manufacturer, manufacturer),
        "riskClass": code("risk-class", record.risk_class),
        "specialDeviceType": code_or_null("special-device-type", record.special_type),
        "ulid": basic_ulid(record.basic_code),
        "uuid": basic_uuid(record.basic_code),
        "versionDate": timestamp(record.last_updated),
        "versionNumber": record.basic_version,
    }


def basic_uuid(basic_code: str) -> str:
    """The key of a Basic UDI-DI record, by the code of the record."""
    return derived_uuid(basic_code, "basic record")


def flags(record: Registration) -> dict[str, bool | None]:
    """Yes, no or null of each flag by its name: null under a directive, and where the regulation does not know it."""
    known = _FLAGS_OF.get(record.legislation, frozenset())
    own = {"implantable": record.implantable, "reusable": record.reusable}
    return {name: own.get(name, False if name in known else None) for name in _FLAGS}


def _of_regulation(record: Registration, certificates: list[Fields]) -> Fields:
    """What a record has under a regulation alone."""
    return {
        **constant_fields("Basic UDI-DI record of a regulation"),
        "deviceModelApplicable": record.model is not None,
        "deviceCertificateInfoListForDisplay": certificates,
        "specialDeviceTypeApplicable": record.special_type is not None,
        "multiComponent": {"code": "refdata.multi-component.device", "criterion": record.criterion},
    }


def _identifier(record: Registration) -> Fields:
    agency = record.issuing_agency if record.basic_udi else "eudamed"
    return {
        "uuid": derived_uuid(record.basic_code, "basic"),
        "code": record.basic_code,
        "issuingAgency": code("issuing-agency", agency),
        "type": "BASIC_UDI" if record.basic_udi else "EUDAMED_DI",
        "new": False,
    }


def _sscp(record: Registration, sscp: Sscp) -> Fields:
    return {
        **constant_fields("SSCP"),
        "ulid": derived_ulid(record.basic_code, "SSCP"),
        "referenceNumber": sscp.reference,
        "revisionNumber": sscp.revision,
        "issueDate": sscp.issue_date,
    }


def _decision(sscp: Sscp) -> Fields:
    """What the notified body decided of a device that has to have a summary."""
    reason = code("decision-reason", "approved")
    return {"uuid": None, "reason": reason, "actor": None, "date": sscp.issue_date, "new": False}


def _certificate(record: Registration, certificate: Certificate) -> Fields:
    """A certificate of the record; one of a regulation was entered by its notified body."""
    body = certificate.notified_body
    return {
        **constant_fields("certificate"),
        "uuid": derived_uuid(record.basic_code, certificate.number, certificate.revision or ""),
        "certificateNumber": certificate.number or None,
        "certificateRevision": certificate.revision,
        "certificateExpiry": certificate.expiry,
        "issueDate": certificate.issue_date,
        "startingValidityDate": certificate.starting_validity,
        "status": code_or_null("certificate-status", certificate.status),
        "certificateType": certificate_type(certificate.type),
        "notifiedBody": notified_body(body, certificate.notified_body_name) if body else None,
        "nbProvidedCertificate": certificate.type.startswith(("MDR_", "IVDR_")),
    }
