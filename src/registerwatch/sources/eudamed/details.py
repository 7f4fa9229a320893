"""Further fields of a device, from its detail and its Basic UDI-DI record. Fields that are not given are unset."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from msgspec import UNSET, UnsetType

from registerwatch.register.codes import label
from registerwatch.register.device_details import (
    MAX_CODE,
    MAX_LISTED,
    MAX_TEXT,
    Availability,
    Characteristics,
    Condition,
    LinkedDevice,
    SafetySummary,
    SpecialType,
)
from registerwatch.sources.eudamed import wire
from registerwatch.sources.fields import key, text

MAX_WORD = 200
"""Characters of a reference or a revision that are kept."""
LEGACY = "LEGACY"
"""The criterion of a device that is registered under a directive."""


def details_of_detail(detail: wire.DeviceDetail) -> dict[str, Any]:
    """The fields that a device's detail gives, by their names."""
    market = detail.market_info_link
    return {
        "available_in": _available_in(market.ms_where_available if market else None) or UNSET,
        "placed_on_market_in": _country(detail.placed_on_the_market) or UNSET,
        "single_use": _or_unset(detail.single_use),
        "max_reuses": _or_unset(detail.max_number_of_reuses),
        "base_quantity": _or_unset(detail.base_quantity),
        "storage": _conditions(detail.storage_handling_conditions) or UNSET,
        "warnings": _conditions(detail.critical_warnings) or UNSET,
        "linked_device": _linked_device(detail.linked_udi_di_view),
        "information_url": web_address(text(detail.additional_information_url)),
        "characteristics": Characteristics.of(
            {
                "cmr_substance": detail.cmr_substance,
                "endocrine_disruptor": detail.endocrine_disruptor,
                "sterilization": detail.sterilization,
                "reprocessed": detail.reprocessed,
                "new_device": detail.new_device,
                "without_medical_purpose": detail.annex_xvi_applicable,
            }
        ),
    }


def special_type_of(record: wire.BasicUdiRecord) -> SpecialType | UnsetType:
    """The special type in a Basic UDI-DI record."""
    code = _code(record.special_device_type)
    return SpecialType(label(code), code) if code else UNSET


def safety_summary_of(record: wire.BasicUdiRecord) -> SafetySummary | UnsetType:
    """The summary of safety and clinical performance in a record."""
    linked = record.linked_sscp
    if linked is None or not text(linked.reference_number):
        return UNSET
    return SafetySummary(
        text(linked.reference_number)[:MAX_WORD],
        text(linked.revision_number)[:MAX_WORD],
        linked.issue_date,
        _or_unset(linked.validated),
        _or_unset(linked.inactive),
        linked.inactive_status_date,
    )


def characteristics_of(record: wire.BasicUdiRecord) -> Characteristics | UnsetType:
    """The flags in a record."""
    return Characteristics.of(
        {
            "active": record.active,
            "measuring_function": record.measuring_function,
            "administering_medicine": record.administering_medicine,
            "medicinal_product": record.medicinal_product,
            "human_product": record.human_product,
            "human_tissues": record.human_tissues,
            "animal_tissues": record.animal_tissues,
            "microbial_substances": record.microbial_substances,
            "sutures": record.sutures,
            "kit": record.kit,
            "reagent": record.reagent,
            "instrument": record.instrument,
            "self_testing": record.self_testing,
            "near_patient_testing": record.near_patient_testing,
            "professional_testing": record.professional_testing,
            "companion_diagnostics": record.companion_diagnostics,
        }
    )


def web_address(value: str) -> str | UnsetType:
    """An address that is safe to link to: http or https, with a host. Unset for any other text."""
    if not value or len(value) > MAX_TEXT or not value.isprintable() or any(each.isspace() for each in value):
        return UNSET
    try:
        parts = urlsplit(value)
        return value if parts.scheme.lower() in ("http", "https") and parts.hostname else UNSET
    except ValueError:
        return UNSET


def _available_in(listed: Iterable[wire.MarketCountry] | None) -> tuple[Availability, ...]:
    """Each country once, in the register's order."""
    found: dict[str, Availability] = {}
    for each in listed or ():
        country = _country(each.country)
        if country and len(found) < MAX_LISTED:
            found.setdefault(country, Availability(country, each.start_date, each.end_date))
    return tuple(found.values())


def _conditions(listed: Iterable[wire.DeviceCondition] | None) -> tuple[Condition, ...]:
    found: dict[Condition, None] = {}
    for each in listed or ():
        code, description = _code(each.type_code), text(each.description)[:MAX_TEXT]
        if (code or description) and len(found) < MAX_LISTED:
            found[Condition(code, label(code), description)] = None
    return tuple(found)


def _linked_device(linked: wire.LinkedUdiDi | None) -> LinkedDevice | UnsetType:
    udi = key(linked.udi_di.code if linked.udi_di else None) if linked else ""
    if linked is None or not udi:
        return UNSET
    criterion = text(linked.device_criterion).upper()
    return LinkedDevice(
        udi,
        key(linked.basic_udi_di.code if linked.basic_udi_di else None),
        criterion == LEGACY if criterion else UNSET,
        linked.device_linked_on_date,
    )


def _country(country: wire.Country | None) -> str:
    """`AT`, empty for values that are not a code of two letters."""
    code = text(country.iso2_code).upper() if country else ""
    return code if len(code) == 2 and code.isascii() and code.isalpha() else ""


def _code(value: wire.Code | None) -> str:
    return text(value.code)[:MAX_CODE] if value else ""


def _or_unset(value: Any) -> Any:
    return UNSET if value is None else value
