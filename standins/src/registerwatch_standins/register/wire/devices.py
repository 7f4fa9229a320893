"""Registrations as the device search and the device detail send them."""

from registerwatch_standins.register.countries import MARKET_COUNTRIES, country_of_srn
from registerwatch_standins.register.records import ClinicalSize, Condition, LinkedDevice, Registration
from registerwatch_standins.register.wire.codes import (
    REGISTERED,
    Fields,
    code,
    code_or_null,
    constant_fields,
    country,
    derived_ulid,
    derived_uuid,
    text,
    texts,
    timestamp,
)


def search_row(record: Registration) -> Fields:
    """A row of the device search: a few fields, everything else null."""
    return {
        **constant_fields("device search row"),
        "basicUdi": record.basic_udi,
        "primaryDi": record.primary_di,
        "uuid": record.uuid,
        "ulid": device_ulid(record),
        "basicUdiDiDataUlid": basic_ulid(record.basic_code),
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
    status = {"uuid": derived_uuid(record.uuid, "status"), "type": code("device-model-status", record.status)}
    return {
        **constant_fields("device detail"),
        **_version(record),
        "uuid": record.uuid,
        "ulid": device_ulid(record),
        "primaryDi": _identifier(record, record.primary_di, "PRIMARY_DI"),
        "marketInfoLink": _markets(record),
        "tradeName": _trade_name(record),
        "tradeNameApplicable": record.trade_names is not None,
        "cndNomenclatures": [nomenclature_term(emdn) for emdn in record.emdn],
        "placedOnTheMarket": country(first_market(record)),
        "additionalInformationUrl": f"https://instructions.example/{record.manufacturer.srn}",
        "reference": record.reference,
        **_other_codes(record),
        **_use(record),
        "deviceStatus": {**status, "deviceSubStatuses": [], "statusDate": record.status_date, "new": False},
        "linkedUdiDiView": _linked(record, record.legacy_twin) if record.legacy_twin else None,
    }


def device_ulid(record: Registration) -> str:
    """The ULID of a registration, which tells when it was made."""
    return derived_ulid(record.uuid, moment=record.registered)


def basic_ulid(basic_code: str) -> str:
    """The ULID of a Basic UDI-DI record, by the code of the record."""
    return derived_ulid(basic_code, "basic")


def first_market(record: Registration) -> str:
    """The country in which a device is placed on the market."""
    home = country_of_srn(record.manufacturer.srn)
    return home if home in MARKET_COUNTRIES else "DE"


def nomenclature_term(emdn: str) -> Fields:
    """A term of the nomenclature, as details of devices and the list of all terms have it."""
    uuid = derived_uuid("emdn", emdn).replace("-", "").upper()
    return {"uuid": uuid, "code": emdn, "description": texts({"en": f"EMDN {emdn}"}), "gmdnNomenclatures": []}


def _use(record: Registration) -> Fields:
    """How a device is used, stored and warned of."""
    conditions = [_condition(record, "storage-handling-conditions-type", each) for each in record.storage]
    warnings = [_condition(record, "critical-warnings-type", each) for each in record.warnings]
    return {
        "sterile": record.sterile,
        "latex": record.latex,
        "singleUse": record.single_use,
        "maxNumberOfReuses": record.max_reuses,
        "maxNumberOfReusesApplicable": record.max_reuses is not None,
        "storageApplicable": bool(conditions),
        "storageHandlingConditions": conditions,
        "criticalWarningsApplicable": bool(warnings),
        "criticalWarnings": warnings,
        "clinicalSizeApplicable": bool(record.clinical_sizes),
        "clinicalSizes": [_clinical_size(each) for each in record.clinical_sizes],
    }


def _condition(record: Registration, family: str, condition: Condition) -> Fields:
    return {
        "uuid": derived_uuid(record.uuid, family, condition.code),
        "typeCode": f"refdata.{family}.{condition.code}",
        "mandatory": False,
        "description": texts({"en": condition.words}) if condition.words else None,
        "udiDiDataId": _number_of(record),
        "new": False,
    }


def _clinical_size(size: ClinicalSize) -> Fields:
    precision = "text" if size.text else "exact" if size.value is not None else "range"
    return {
        "text": texts({"en": size.text}) if size.text else None,
        "value": size.value,
        "minimumValue": size.minimum,
        "maximumValue": size.maximum,
        "type": code("clinical-size-type", size.type),
        "precision": code("clinical-size-precision", precision),
        "metricOfMeasurement": code_or_null("clinical-size-measurement-unit", size.unit),
        "clinicalSizeTypeDescription": None,
        "measuringUnitDescription": None,
    }


def _other_codes(record: Registration) -> Fields:
    """The identifiers beside the UDI-DI. Packages are a tree around the device, whose root is the device itself."""
    of_kind = {each.kind: each.code for each in reversed(record.other_codes)}

    def of(kind: str, type_: str) -> Fields | None:
        return _identifier(record, of_kind[kind], type_) if kind in of_kind else None

    packages = _packages_around(record, record.primary_di)
    version = {"versionNumber": record.version_number, "versionDate": timestamp(record.version_date)}
    return {
        "unitOfUse": of("unit_of_use", "UNIT_OF_USE_DI"),
        "directMarking": "direct_marking" in of_kind,
        "directMarkingSameAsUdiDi": False if "direct_marking" in of_kind else None,
        "directMarkingDi": of("direct_marking", "DIRECT_MARKING_DI"),
        "secondaryDi": of("secondary", "SECONDARY_DI"),
        "containedItem": {**_item(record, record.primary_di, None, packages), **version} if packages else None,
    }


def _packages_around(record: Registration, contained: str) -> list[Fields]:
    """The packages that hold something, each with those that hold it."""
    return [
        _item(record, each.code, each.quantity, _packages_around(record, each.code))
        for each in record.other_codes
        if each.kind == "container_package" and (each.contains or record.primary_di) == contained
    ]


def _item(record: Registration, value: str, quantity: int | None, around: list[Fields]) -> Fields:
    """A package, or the device itself; `quantity` is how many of the inner one it holds."""
    return {
        "uuid": derived_uuid(record.uuid, "item", value),
        "itemIdentifier": _identifier(record, value, "PACKAGE_DI"),
        "parentUuid": None,
        "containedItems": around,
        "numberOfItems": quantity,
        "itemStatus": code("device-model-status", record.status),
    }


def _identifier(record: Registration, value: str, type_: str) -> Fields:
    agency = code("issuing-agency", record.issuing_agency)
    return {
        "uuid": derived_uuid(record.uuid, value),
        "code": value,
        "issuingAgency": agency,
        "type": type_,
        "new": False,
    }


def _linked(record: Registration, twin: LinkedDevice) -> Fields:
    """The registration of the same device under a directive."""
    eudamed = _identifier(record, f"B-{twin.primary_di}", "EUDAMED_DI")
    return {
        "udiDi": _identifier(record, twin.primary_di, "PRIMARY_DI"),
        "basicUdiDi": {**eudamed, "issuingAgency": code("issuing-agency", "eudamed")},
        "deviceCriterion": "LEGACY",
        "deviceLinkedOnDate": twin.linked_on,
    }


def _version(record: Registration) -> Fields:
    return {
        "versionState": REGISTERED,
        "latestVersion": record.latest_version,
        "versionNumber": record.version_number,
        "versionDate": timestamp(record.version_date),
        "new": False,
    }


def _trade_name(record: Registration) -> Fields | None:
    """Texts by language; `all` stands for a text that holds for all languages."""
    if record.trade_names is None:
        return None
    if "all" in record.trade_names:
        return {"texts": [text(None, record.trade_names["all"])]}
    return texts(record.trade_names)


def _number_of(record: Registration) -> int:
    """A number that stands for the registration inside."""
    return int(derived_uuid(record.uuid, "number")[:7], 16)


def _markets(record: Registration) -> Fields:
    same = {"marketInfoLinkId": _number_of(record), "startDate": None, "endDate": None, "new": False}
    available = [
        {**same, "uuid": derived_uuid(record.uuid, "market", iso2), "country": country(iso2)}
        for iso2 in record.markets or ()
    ]
    return {
        **_version(record),
        "uuid": derived_uuid(record.uuid, "market"),
        "ulid": derived_ulid(record.uuid, "market"),
        "msWhereAvailable": None if record.markets is None else available,
        "discardedDate": None,
    }
