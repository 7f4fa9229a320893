"""A registration as the device search, the device detail and the Basic UDI-DI record send it."""

from registerwatch_standins.register.places import MARKET_COUNTRIES, country_of_srn
from registerwatch_standins.register.records import Actor, Certificate, Registration
from registerwatch_standins.register.wire.actors import party
from registerwatch_standins.register.wire.codes import (
    REGISTERED,
    certificate_type,
    code,
    country,
    derived_ulid,
    derived_uuid,
    text,
    texts,
)

_NOT_SET = dict.fromkeys(
    (
        "secondaryDi",
        "secondaryDiApplicable",
        "additionalDescription",
        "brainElectroStimulation",
        "contactLenses",
        "directMarkingSameAsUdiDi",
        "directMarkingDi",
        "emr",
        "endocrineDisruptingSubstances",
        "equipmentForAdiposeTissue",
        "fillingByInjection",
        "humanProductSubstances",
        "medicinalProductSubstances",
        "containedItem",
        "productDesigner",
        "productsToBeIntroduced",
        "unitOfUse",
        "storageSymbol",
        "newDevice",
        "discardedDate",
        "linkedUdiDiView",
        "additionalInformationUrl",
        "maxNumberOfReuses",
        "maxNumberOfReusesApplicable",
    )
)
_NOT_SENT_BY_SEARCH = dict.fromkeys(
    (
        "manufacturerNames",
        "basicUdiDataUuid",
        "basicUdiDataUlid",
        "basicUdiDataVersionState",
        "versionState",
        "deviceName",
        "deviceModel",
        "lastUpdateDate",
        "issuingAgency",
        "mfOrPrSrn",
        "applicableLegislation",
        "authorisedRepresentativeSrn",
        "authorisedRepresentativeName",
        "sterile",
        "multiComponent",
        "deviceCriterion",
    )
)
_PROPERTIES = dict.fromkeys(
    (
        "active",
        "administeringMedicine",
        "implantable",
        "measuringFunction",
        "reusable",
        "animalTissues",
        "humanTissues",
    ),
    False,
)
_NO_PROPERTIES = dict.fromkeys(
    (
        "companionDiagnostics",
        "containerType",
        "instrument",
        "kit",
        "linkedSscp",
        "medicalPurpose",
        "microbialSubstances",
        "nbDecision",
        "nearPatientTesting",
        "professionalTesting",
        "reagent",
        "selfTesting",
        "sutures",
        "typeExaminationApplicable",
        "legacyDeviceUdiDiApplicable",
        "discardedDate",
        "udiDiData",
        "device",
    )
)


def search_row(record: Registration) -> dict[str, object]:
    """A row of the device search: a few fields, everything else null."""
    return {
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
        "basicUdiDataVersionNumber": 0,
        "containerPackageCount": 0,
        **_NOT_SENT_BY_SEARCH,
    }


def detail(record: Registration) -> dict[str, object]:
    """The device detail."""
    return {
        **_NOT_SET,
        "uuid": record.uuid,
        "ulid": derived_ulid(record.uuid),
        "primaryDi": {
            "uuid": derived_uuid(record.uuid, "di"),
            "code": record.primary_di,
            "issuingAgency": code("issuing-agency", record.issuing_agency),
            "type": "PRIMARY_DI",
            "new": False,
        },
        "marketInfoLink": _markets(record),
        "tradeName": _trade_name(record),
        "tradeNameApplicable": record.trade_names is not None,
        "annexXVIApplicable": False,
        "cmrSubstance": False,
        "cmrSubstances": [],
        "componentDis": [],
        "directMarking": False,
        "endocrineDisruptor": False,
        "latex": False,
        "udiPiType": _production_identifiers(),
        "cndNomenclatures": [_nomenclature(emdn) for emdn in record.emdn],
        "oemApplicable": False,
        "placedOnTheMarket": country(_first_market(record)),
        "reference": record.reference,
        "reprocessed": False,
        "singleUse": False,
        "clinicalSizeApplicable": False,
        "clinicalSizes": [],
        "deviceStatus": _status(record),
        "sterile": False,
        "sterilization": False,
        "storageApplicable": False,
        "storageHandlingConditions": [],
        "criticalWarningsApplicable": False,
        "criticalWarnings": [],
        "baseQuantity": 1,
        **_version(record),
    }


def basic_udi_record(
    record: Registration, manufacturer: Actor | None, representative: Actor | None
) -> dict[str, object]:
    """The Basic UDI-DI record of a device.

    Its certificates are those that are listed here, and not by the certificate search.
    """
    listed = [each for each in record.certificates if each.listed_in == "basic-udi-record"]
    basic = {
        "uuid": derived_uuid(record.uuid, "basic"),
        "code": record.basic_udi,
        "type": "BASIC_UDI_DI",
        "new": False,
    }
    certificates = [_certificate(record, each) for each in listed]
    special = record.special_device_type
    return {
        **_PROPERTIES,
        **_NO_PROPERTIES,
        "uuid": derived_uuid(record.basic_udi or record.uuid, "basic record"),
        "ulid": derived_ulid(record.basic_udi or record.uuid, "basic"),
        "basicUdi": {**basic, "issuingAgency": code("issuing-agency", record.issuing_agency)},
        "basicUdiType": "BASIC_UDI_DI",
        "deviceName": record.device_name,
        "deviceModel": record.model,
        "deviceModelApplicable": record.model is not None,
        "deviceCriterion": record.criterion,
        "legislation": {
            **code("applicable-legislation", record.legislation),
            "legacyDirective": record.criterion == "LEGACY",
        },
        "riskClass": code("risk-class", record.risk_class),
        "manufacturer": party(record.manufacturer, manufacturer),
        "authorisedRepresentative": (
            party(record.authorised_representative, representative) if record.authorised_representative else None
        ),
        "deviceCertificateInfoList": certificates,
        "deviceCertificateInfoListForDisplay": certificates,
        "clinicalInvestigationApplicable": False,
        "clinicalInvestigationLinks": [],
        "humanProduct": False,
        "medicinalProduct": False,
        "multiComponent": code("multi-component", "device"),
        "specialDeviceType": {"code": f"refdata.{special}"} if special else None,
        "specialDeviceTypeApplicable": special is not None,
        "lastUpdated": record.last_updated,
        **_version(record),
    }


def _version(record: Registration) -> dict[str, object]:
    return {
        "versionState": REGISTERED,
        "latestVersion": record.latest_version,
        "versionNumber": record.version_number,
        "versionDate": record.version_date,
        "new": False,
    }


def _trade_name(record: Registration) -> dict[str, object] | None:
    """Texts by language; `all` stands for a text that holds for all languages."""
    if record.trade_names is None:
        return None
    if "all" in record.trade_names:
        return {"texts": [text(None, record.trade_names["all"])]}
    return texts(record.trade_names)


def _status(record: Registration) -> dict[str, object]:
    return {
        "uuid": derived_uuid(record.uuid, "status"),
        "type": code("device-model-status", record.status),
        "deviceSubStatuses": [],
        "statusDate": record.status_date,
        "new": False,
    }


def _production_identifiers() -> dict[str, object]:
    return {
        "batchNumber": True,
        "serializationNumber": False,
        "manufacturingDate": False,
        "expirationDate": True,
        "softwareIdentification": None,
    }


def _nomenclature(emdn: str) -> dict[str, object]:
    return {
        "uuid": derived_uuid("emdn", emdn).replace("-", "").upper(),
        "code": emdn,
        "description": texts({"en": f"EMDN {emdn}"}),
        "gmdnNomenclatures": [],
    }


def _first_market(record: Registration) -> str:
    if record.markets:
        return record.markets[0]
    home = country_of_srn(record.manufacturer.srn)
    return home if home in MARKET_COUNTRIES else "DE"


def _markets(record: Registration) -> dict[str, object]:
    link = int(derived_uuid(record.uuid, "market number")[:7], 16)
    return {
        "uuid": derived_uuid(record.uuid, "market"),
        "ulid": derived_ulid(record.uuid, "market"),
        "msWhereAvailable": [
            {
                "uuid": derived_uuid(record.uuid, "market", iso2),
                "marketInfoLinkId": link,
                "country": country(iso2),
                "startDate": None,
                "endDate": None,
                "new": False,
            }
            for iso2 in record.markets or MARKET_COUNTRIES
        ],
        "discardedDate": None,
        **_version(record),
    }


def _certificate(record: Registration, certificate: Certificate) -> dict[str, object]:
    keys = (record.uuid, certificate.number, certificate.revision or "")
    return {
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
            "uuid": derived_uuid("notified body", certificate.notified_body),
            "name": certificate.notified_body_name,
            "srn": certificate.notified_body,
        },
        "versionNumber": 1,
        "versionState": REGISTERED,
        "latestVersion": True,
        "nbProvidedCertificate": None,
        "new": False,
    }
