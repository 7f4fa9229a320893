"""Registrations as the search, the device detail and the Basic UDI-DI record send them."""

from registerwatch_standins.register.countries import MARKET_COUNTRIES, country_of_srn
from registerwatch_standins.register.records import Actor, Certificate, Registration
from registerwatch_standins.register.wire.actors import party
from registerwatch_standins.register.wire.codes import (
    REGISTERED,
    Fields,
    certificate_type,
    code,
    constant_fields,
    country,
    derived_ulid,
    derived_uuid,
    text,
    texts,
)


def search_row(record: Registration) -> Fields:
    """A row of the device search: a few fields, everything else null."""
    return {
        **constant_fields("device search row"),
        "basicUdi": record.basic_udi,
        "primaryDi": record.primary_di,
        "uuid": record.uuid,
        "ulid": derived_ulid(record.uuid),
        "basicUdiDiDataUlid": derived_ulid(record.basic_udi or record.uuid, "basic"),
        "riskClass": code("risk-class", record.risk_class),
        "tradeName": record.trade_name,
        "manufacturerName": record.manufacturer.name,
        "manufacturerSrn": record.manufacturer.srn,
        "manufacturerStatus": code("actor-status", record.manufacturer.status),
        "deviceStatusType": code("device-model-status", record.status),
        "latestVersion": record.latest_version,
        "versionNumber": record.version_number,
        "reference": record.reference,
    }


def detail(record: Registration) -> Fields:
    """The device detail."""
    agency = code("issuing-agency", record.issuing_agency)
    primary_di = {"uuid": derived_uuid(record.uuid, "di"), "code": record.primary_di, "issuingAgency": agency}
    status = {"uuid": derived_uuid(record.uuid, "status"), "type": code("device-model-status", record.status)}
    return {
        **constant_fields("device detail"),
        **_version(record),
        "uuid": record.uuid,
        "ulid": derived_ulid(record.uuid),
        "primaryDi": {**primary_di, "type": "PRIMARY_DI", "new": False},
        "marketInfoLink": _markets(record),
        "tradeName": _trade_name(record),
        "tradeNameApplicable": record.trade_names is not None,
        "cndNomenclatures": [nomenclature_term(emdn) for emdn in record.emdn],
        "placedOnTheMarket": country(_first_market(record)),
        "reference": record.reference,
        **_other_codes(record),
        "sterile": record.sterile,
        "latex": record.latex,
        "deviceStatus": {**status, "deviceSubStatuses": [], "statusDate": record.status_date, "new": False},
    }


def _other_codes(record: Registration) -> Fields:
    """The identifiers beside the UDI-DI. Packages are a tree around the device, whose root is the device itself."""
    of_kind = {each.kind: _identifier(record, each.code) for each in reversed(record.other_codes)}
    packages = _packages_around(record, record.primary_di)
    device = {"itemIdentifier": _identifier(record, record.primary_di), "containedItems": packages}
    return {
        "unitOfUse": of_kind.get("unit_of_use"),
        "directMarking": "direct_marking" in of_kind,
        "directMarkingDi": of_kind.get("direct_marking"),
        "secondaryDi": of_kind.get("secondary"),
        "containedItem": device if packages else None,
    }


def _packages_around(record: Registration, contained: str) -> list[Fields]:
    """The packages that hold something, each with those that hold it."""
    return [
        {
            "uuid": derived_uuid(record.uuid, each.code),
            "itemIdentifier": _identifier(record, each.code),
            "numberOfItems": each.quantity,
            "containedItems": _packages_around(record, each.code),
        }
        for each in record.other_codes
        if each.kind == "container_package" and (each.contains or record.primary_di) == contained
    ]


def _identifier(record: Registration, value: str) -> Fields:
    agency = code("issuing-agency", record.issuing_agency)
    return {"uuid": derived_uuid(record.uuid, value), "code": value, "issuingAgency": agency, "new": False}


def basic_udi_record(record: Registration, manufacturer: Actor | None, representative: Actor | None) -> Fields:
    """The Basic UDI-DI record of a device.

    Its certificates are those that are listed here, and not by the certificate search.
    """
    agency = code("issuing-agency", record.issuing_agency)
    basic = {"uuid": derived_uuid(record.uuid, "basic"), "code": record.basic_udi, "issuingAgency": agency}
    legislation = code("applicable-legislation", record.legislation)
    certificates = [_certificate(record, each) for each in record.certificates if each.listed_in == "basic-udi-record"]
    representing = record.authorised_representative
    return {
        **constant_fields("Basic UDI-DI record"),
        **_version(record),
        "uuid": derived_uuid(record.basic_udi or record.uuid, "basic record"),
        "ulid": derived_ulid(record.basic_udi or record.uuid, "basic"),
        "basicUdi": {**basic, "type": "BASIC_UDI_DI", "new": False},
        "deviceName": record.device_name,
        "deviceModel": record.model,
        "deviceModelApplicable": record.model is not None,
        "deviceCriterion": record.criterion,
        "legislation": {**legislation, "legacyDirective": record.criterion == "LEGACY"},
        "riskClass": code("risk-class", record.risk_class),
        "manufacturer": party(record.manufacturer, manufacturer),
        "authorisedRepresentative": party(representing, representative) if representing else None,
        "deviceCertificateInfoList": certificates,
        "deviceCertificateInfoListForDisplay": certificates,
        "lastUpdated": record.last_updated,
        "implantable": record.implantable,
        "reusable": record.reusable,
    }


def _version(record: Registration) -> Fields:
    return {
        "versionState": REGISTERED,
        "latestVersion": record.latest_version,
        "versionNumber": record.version_number,
        "versionDate": record.version_date,
        "new": False,
    }


def _trade_name(record: Registration) -> Fields | None:
    """Texts by language; `all` stands for a text that holds for all languages."""
    if record.trade_names is None:
        return None
    if "all" in record.trade_names:
        return {"texts": [text(None, record.trade_names["all"])]}
    return texts(record.trade_names)


def nomenclature_term(emdn: str) -> Fields:
    """A term of the nomenclature, as details of devices and the list of all terms have it."""
    uuid = derived_uuid("emdn", emdn).replace("-", "").upper()
    return {"uuid": uuid, "code": emdn, "description": texts({"en": f"EMDN {emdn}"}), "gmdnNomenclatures": []}


def _first_market(record: Registration) -> str:
    home = country_of_srn(record.manufacturer.srn)
    return home if home in MARKET_COUNTRIES else "DE"


def _markets(record: Registration) -> Fields:
    link = int(derived_uuid(record.uuid, "market number")[:7], 16)
    same = {"marketInfoLinkId": link, "startDate": None, "endDate": None, "new": False}
    return {
        **_version(record),
        "uuid": derived_uuid(record.uuid, "market"),
        "ulid": derived_ulid(record.uuid, "market"),
        "msWhereAvailable": [
            {**same, "uuid": derived_uuid(record.uuid, "market", iso2), "country": country(iso2)}
            for iso2 in MARKET_COUNTRIES
        ],
        "discardedDate": None,
    }


def _certificate(record: Registration, certificate: Certificate) -> Fields:
    keys = (record.uuid, certificate.number, certificate.revision or "")
    body = certificate.notified_body
    return {
        **constant_fields("certificate"),
        "uuid": derived_uuid(*keys),
        "ulid": derived_ulid(*keys),
        "certificateNumber": certificate.number,
        "certificateRevision": certificate.revision,
        "certificateExpiry": certificate.expiry,
        "issueDate": certificate.issue_date,
        "startingValidityDate": certificate.starting_validity,
        "status": code("certificate-status", certificate.status),
        "certificateType": certificate_type(certificate.type),
        "notifiedBody": {
            "uuid": derived_uuid("notified body", body),
            "name": certificate.notified_body_name,
            "srn": body,
        },
    }
