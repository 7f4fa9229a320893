"""Rows of the bulk Data Lake: upper-case columns, codes as numeric ids, no certificates and no dates.

In JSON every number is a float, and names of actors are JSON inside a text.
"""

from collections.abc import Iterator
from zlib import crc32

import msgspec

from registerwatch_standins.register.countries import COUNTRIES, country_name, country_type
from registerwatch_standins.register.records import Actor, CodeKind, Party, Registration
from registerwatch_standins.register.wire.actors import EMAIL, TELEPHONE, vat_number
from registerwatch_standins.register.wire.basic_records import basic_uuid, flags
from registerwatch_standins.register.wire.codes import Fields, texts
from registerwatch_standins.register.wire.devices import basic_ulid, device_ulid, first_market
from registerwatch_standins.register.wire.reference import (
    COUNTRY_IDS,
    LEGISLATION_IDS,
    RISK_CLASS_IDS,
    SPECIAL_TYPE_IDS,
    STATUS_IDS,
    UNKNOWN_ID,
)

_ACTOR_TYPES = {
    "MF": "Manufacturer",
    "AR": "Authorised Representative",
    "IM": "Importer",
    "PR": "System/Procedure Pack Producer",
}
_encode = msgspec.json.Encoder().encode


def udi_row(record: Registration) -> Fields:
    """A device: 60 columns."""
    representative = record.authorised_representative
    is_legacy = record.criterion == "LEGACY"
    same = None if is_legacy else 0.0
    flag = {name: _number(value) for name, value in flags(record).items()}
    return {
        "ID": None,
        "UDI_DI_DATA_ULID": device_ulid(record),
        "UUID": record.uuid,
        "TRADE_NAME": record.trade_name,
        "REFERENCE": record.reference,
        "PLACED_ON_THE_MARKET_ID": float(COUNTRY_IDS[first_market(record)]),
        "LATEST_VERSION": float(record.latest_version),
        "CMR_SUBSTANCE": same,
        "ENDOCRINE_DISRUPTOR": same,
        "LATEX": _number(record.latex),
        "REPROCESSED": same,
        "STERILE": _number(record.sterile),
        "STERILIZATION": same,
        "NEW_DEVICE": None,
        "VERSION_NUMBER": float(record.version_number),
        "PRIMARY_DI": record.primary_di,
        "BASIC_UDI": record.basic_udi,
        "BASIC_UDI_DATA_UUID": basic_uuid(record.basic_code),
        "BASIC_UDI_DATA_ULID": basic_ulid(record.basic_code),
        "ACTIVE": flag["active"],
        "ADMINISTERING_MEDICINE": flag["administeringMedicine"],
        "ANIMAL_TISSUES": flag["animalTissues"],
        "COMPANION_DIAGNOSTICS": flag["companionDiagnostics"],
        "HUMAN_TISSUES": flag["humanTissues"],
        "IMPLANTABLE": flag["implantable"],
        "KIT": flag["kit"],
        "MEASURING_FUNCTION": flag["measuringFunction"],
        "MICROBIAL_SUBSTANCES": flag["microbialSubstances"],
        "NEAR_PATIENT_TESTING": flag["nearPatientTesting"],
        "REUSABLE": flag["reusable"],
        "SELF_TESTING": flag["selfTesting"],
        "SPECIAL_DEVICE_TYPE_ID": _id(SPECIAL_TYPE_IDS, record.special_type),
        "REAGENT": flag["reagent"],
        "MULTI_COMPONENT_ID": None,
        "INSTRUMENT": flag["instrument"],
        "PROFESSIONAL_TESTING": flag["professionalTesting"],
        "SUTURES": flag["sutures"],
        "HUMAN_PRODUCT": flag["humanProduct"],
        "MEDICINAL_PRODUCT": flag["medicinalProduct"],
        "DEVICE_NAME": record.device_name,
        "DEVICE_MODEL": record.model,
        "RISK_CLASS_ID": _id(RISK_CLASS_IDS, record.risk_class),
        "APPLICABLE_LEGISLATION_ID": _id(LEGISLATION_IDS, record.legislation),
        "DEVICE_CRITERION": record.criterion,
        "MEDICAL_PURPOSE": None,
        "NOMENCLATURE_CODE": " " + ",".join(record.emdn) if record.emdn else None,
        "MF_SRN": record.manufacturer.srn,
        "MF_NAME": _plain_name(record.manufacturer),
        "DEVICE_STATUS_TYPE_ID": _id(STATUS_IDS, record.status),
        "MF_ACTOR_NAMES": _names(record.manufacturer),
        "ACTOR_ABBREVIATED_NAMES": None,
        "STATUS_ID": None,
        "AR_NAME": _plain_name(representative) if representative else None,
        "AR_SRN": representative.srn if representative else None,
        "AR_ACTOR_NAMES": _names(representative) if representative else None,
        "UNIT_OF_USE_DI": _listed(record, "unit_of_use"),
        "DIRECT_MARKETING_DI": _listed(record, "direct_marking"),
        "SECONDARY_DI": _listed(record, "secondary"),
        "CONTAINER_PACKAGE_DIS": _listed(record, "container_package"),
        "SUBSTATUSES": None,
    }


def actor_rows(actor: Actor) -> Iterator[Fields]:
    """An actor: 25 columns, once for each responsible person. Persons and contact data are made up."""
    for person in range(1, 2 + crc32(actor.srn.encode()) % 3):
        yield {
            **_actor(actor.srn, actor.name, _ACTOR_TYPES.get(actor.type, actor.type), actor.country),
            "STATUS": actor.status.capitalize(),
            "VERSION": float(actor.version_number),
            "EUROPEAN_VAT_NUMBER": vat_number(actor),
            "ACT_WEBSITE": actor.website,
            "ACT_ADDR_BUILDING_NUMBER": actor.building,
            "ACT_ADDR_STREET_NAME": actor.street,
            "ACT_ADDR_POSTAL_ZONE": actor.postal_zone,
            "ACT_ADDR_CITY_NAME": actor.city,
            "ACT_ADDR_COUNTRY_NAME": country_name(actor.country),
            "ACT_ADDR_COUNTRY_CODE": actor.country,
            "ACT_ADDR_COUNTRY_TYPE": country_type(actor.country),
            "PRRC_FIRST_NAME": "Given",
            "PRRC_FAMILY_NAME": f"Family {person}",
        }


def body_row(number: str, name: str) -> Fields:
    """A notified body, whose id is its number; nothing more is told of it."""
    return {**_actor(number, name, "Notified Body", None), "STATUS": "Active", "VERSION": 1.0}


def csv_cells(row: Fields) -> str:
    """A line of the CSV form: integers, every cell quoted, empty for null."""
    cells = (int(value) if isinstance(value, float) else value for value in row.values())
    return ",".join('"' + str("" if cell is None else cell).replace('"', '""') + '"' for cell in cells)


def _actor(identity: str, name: str, kind: str, iso2: str | None) -> Fields:
    """All columns of an actor; those that are not told yet are null."""
    return {
        "ACTOR_ID": identity,
        "NAME": name,
        "ABBREVIATED_NAME": None,
        "STATUS_FROM_DATE": None,
        "STATUS": None,
        "ACTOR_TYPE": kind,
        "SPONSOR_TYPE": None,
        "EUROPEAN_VAT_NUMBER": None,
        "VERSION": None,
        "ACT_COUNTRY_NAME": country_name(iso2) if iso2 else None,
        "ACT_COUNTRY_ISO2_CODE": iso2,
        "ACT_COUNTRY_TYPE": country_type(iso2) if iso2 else None,
        "ACT_EMAIL": EMAIL,
        "ACT_TELEPHONE": TELEPHONE,
        "ACT_WEBSITE": None,
        "ACT_ADDR_BUILDING_NUMBER": None,
        "ACT_ADDR_STREET_NAME": None,
        "ACT_ADDR_POST_BOX": None,
        "ACT_ADDR_POSTAL_ZONE": None,
        "ACT_ADDR_CITY_NAME": None,
        "ACT_ADDR_COUNTRY_NAME": None,
        "ACT_ADDR_COUNTRY_CODE": None,
        "ACT_ADDR_COUNTRY_TYPE": None,
        "PRRC_FIRST_NAME": None,
        "PRRC_FAMILY_NAME": None,
    }


def _plain_name(party: Party) -> str | None:
    """The name of an actor as a plain text; of one in eight it is among the names in languages alone."""
    return None if crc32(party.srn.encode()) % 8 == 0 else party.name


def _names(party: Party) -> str:
    """The names of an actor, JSON in a text."""
    place = COUNTRIES.get(party.srn[:2])
    return _encode(texts({place.language if place else "en": party.name})).decode()


def _listed(record: Registration, kind: CodeKind) -> str | None:
    """The codes of one kind in one cell, null for none."""
    return ",".join(each.code for each in record.other_codes if each.kind == kind) or None


def _number(value: bool | None) -> float | None:
    """1, 0 or null, which is not 0."""
    return None if value is None else float(value)


def _id(ids: dict[str, int], name: str | None) -> float | None:
    return None if name is None else float(ids.get(name, UNKNOWN_ID))
