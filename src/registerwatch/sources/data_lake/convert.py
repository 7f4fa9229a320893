"""Converts the Data Lake's rows to devices and actors."""

from collections.abc import Iterator, Mapping

import msgspec

from registerwatch.register.codes import ACTOR_STATUS_PREFIX, label
from registerwatch.register.device_details import Characteristics, SpecialType
from registerwatch.register.models import Actor, ActorReference, Completeness, Device, DeviceReading
from registerwatch.register.other_codes import CodeKind, OtherCode, distinct_codes
from registerwatch.sources.data_lake.reference import KNOWN, Reference, code_of, ids_of
from registerwatch.sources.data_lake.wire import ActorRow, DeviceRow
from registerwatch.sources.fields import key, preferred_name, text

NAME = "data_lake"
"""The source's name."""
CHARACTERISTICS = tuple(name for name in Characteristics.__struct_fields__ if name in DeviceRow.__struct_fields__)
"""Characteristics that have a column."""


def reading_of_row(row: DeviceRow, reference: Reference = KNOWN) -> DeviceReading:
    """A bulk row as a reading: a part of a device, behind the register."""
    codes = {column: code_of(column, number, reference) for column, number in ids_of(row).items()}
    status, risk, legislation, special_type = (
        codes["DEVICE_STATUS_TYPE_ID"],
        codes["RISK_CLASS_ID"],
        codes["APPLICABLE_LEGISLATION_ID"],
        codes["SPECIAL_DEVICE_TYPE_ID"],
    )
    device = Device(
        uuid=key(row.uuid),
        udi=key(row.primary_di),
        basic_udi=key(row.basic_udi),
        trade_name=text(row.trade_name),
        device_name=text(row.device_name),
        device_model=text(row.device_model),
        reference=text(row.reference),
        status=label(status),
        status_code=status,
        risk_class=label(risk),
        risk_class_code=risk,
        legislation=label(legislation),
        legislation_code=legislation,
        emdn=tuple(term.strip() for term in text(row.nomenclature_code).split(",") if term.strip()),
        manufacturer_srn=key(row.mf_srn),
        manufacturer_name=_name(row.mf_name, row.mf_actor_names),
        sterile=row.sterile,
        latex=row.latex,
        implantable=row.implantable,
        reusable=row.reusable,
        authorised_representative=(
            ActorReference(text(row.ar_srn), _name(row.ar_name, row.ar_actor_names)) if text(row.ar_srn) else None
        ),
        version=row.version_number,
        other_codes=codes_of_columns(
            {
                "unit_of_use": row.unit_of_use_di,
                "direct_marking": row.direct_marketing_di,
                "secondary": row.secondary_di,
                "container_package": row.container_package_dis,
            },
            key(row.primary_di),
        ),
        special_type=SpecialType(label(special_type)) if special_type else msgspec.UNSET,
        characteristics=Characteristics.of({name: getattr(row, name) for name in CHARACTERISTICS}),
    )
    return DeviceReading(
        device=device,
        completeness=Completeness.SOME,
        source=NAME,
        latest_version=row.latest_version is not False,
        lags=True,
    )


def _name(name: str | None, names: Mapping[str, str] | None) -> str:
    """An actor's name: the plain one, else the preferred one of its names by language."""
    return text(name) or preferred_name(names or {})


def actor_of_row(row: ActorRow) -> Actor:
    """A bulk actor. Its status is a word such as `Active`: the end of the register's code."""
    status = "-".join(text(row.status).lower().replace("_", " ").split())
    return Actor(
        srn=key(row.actor_id),
        name=text(row.name),
        country=text(row.act_country_iso2_code),
        status_code=ACTOR_STATUS_PREFIX + status if status else "",
    )


def codes_of_columns(columns: Mapping[CodeKind, object], udi: str) -> tuple[OtherCode, ...] | msgspec.UnsetType:
    """The codes in columns that hold lists with commas. Unset where the row has none of the columns, so nothing is
    known; empty where all columns are empty, so the device has none.

    A value that is not a text is left out: a number has lost its leading zeros.
    """
    if all(value is msgspec.UNSET for value in columns.values()):
        return msgspec.UNSET
    return distinct_codes(
        (OtherCode(code, kind) for kind, value in columns.items() if value for code in _listed(value)), udi
    )


def _listed(value: object) -> Iterator[str]:
    return (each.strip() for each in value.split(",")) if isinstance(value, str) else iter(())
