"""Rows of the bulk Data Lake: upper-case columns, codes as numeric ids, no certificates and no dates."""

from registerwatch_standins.register.countries import country_name
from registerwatch_standins.register.records import ACTOR_TYPES, Actor, CodeKind, Registration
from registerwatch_standins.register.wire.actors import EMAIL, PERSON, TELEPHONE
from registerwatch_standins.register.wire.reference import LEGISLATION_IDS, RISK_CLASS_IDS, STATUS_IDS, UNKNOWN_ID


def udi_row(record: Registration) -> dict[str, object]:
    """A device."""
    representative = record.authorised_representative
    return {
        "UUID": record.uuid,
        "PRIMARY_DI": record.primary_di,
        "BASIC_UDI": record.basic_udi,
        "TRADE_NAME": record.trade_name,
        "DEVICE_NAME": record.device_name,
        "DEVICE_MODEL": record.model,
        "REFERENCE": record.reference,
        "RISK_CLASS_ID": RISK_CLASS_IDS.get(record.risk_class, UNKNOWN_ID),
        "APPLICABLE_LEGISLATION_ID": LEGISLATION_IDS.get(record.legislation, UNKNOWN_ID),
        "DEVICE_STATUS_TYPE_ID": STATUS_IDS.get(record.status, UNKNOWN_ID),
        "NOMENCLATURE_CODE": ",".join(f" {code}" for code in record.emdn),
        "MF_SRN": record.manufacturer.srn,
        "MF_NAME": record.manufacturer.name,
        "AR_SRN": representative.srn if representative else None,
        "AR_NAME": representative.name if representative else None,
        "VERSION_NUMBER": record.version_number,
        "LATEST_VERSION": record.latest_version,
        "DEVICE_CRITERION": record.criterion,
        "UNIT_OF_USE_DI": _listed(record, "unit_of_use"),
        "DIRECT_MARKETING_DI": _listed(record, "direct_marking"),
        "SECONDARY_DI": _listed(record, "secondary"),
        "CONTAINER_PACKAGE_DIS": _listed(record, "container_package"),
        "STERILE": _flag(record.sterile),
        "LATEX": _flag(record.latex),
        "IMPLANTABLE": _flag(record.implantable),
        "REUSABLE": _flag(record.reusable),
    }


def _listed(record: Registration, kind: CodeKind) -> str | None:
    """The codes of one kind in one cell, null for none."""
    return ",".join(each.code for each in record.other_codes if each.kind == kind) or None


def _flag(value: bool | None) -> int | None:
    """1, 0 or empty, which is not 0."""
    return None if value is None else int(value)


def actor_row(actor: Actor) -> dict[str, object]:
    """An actor. The live service sends contact data here too; these are made up."""
    return {
        "ACTOR_ID": actor.srn,
        "NAME": actor.name,
        "ACTOR_TYPE": ACTOR_TYPES.get(actor.type, actor.type).replace("-", " ").capitalize(),
        "STATUS": actor.status.upper(),
        "ACT_COUNTRY_ISO2_CODE": actor.country,
        "ACT_COUNTRY_NAME": country_name(actor.country),
        "ACT_ADDR_CITY_NAME": actor.city,
        "ACT_WEBSITE": actor.website,
        "ACT_EMAIL": EMAIL,
        "ACT_TELEPHONE": TELEPHONE,
        "PRRC_FIRST_NAME": PERSON["firstName"],
        "PRRC_FAMILY_NAME": PERSON["familyName"],
        "PRRC_EMAIL": EMAIL,
        "PRRC_TELEPHONE": TELEPHONE,
        "VERSION": actor.version_number,
    }
