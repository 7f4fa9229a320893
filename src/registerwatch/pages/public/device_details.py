"""Further details of a device in words for people. Only known ones are shown."""

from collections.abc import Sequence

import msgspec

from registerwatch.register.device_details import Availability, Condition
from registerwatch.register.models import Device
from registerwatch.web.countries import country_name

TITLES = {
    "active": "active device",
    "measuring_function": "measuring function",
    "administering_medicine": "administers or removes medicinal products",
    "medicinal_product": "medicinal product",
    "human_product": "product of human blood or plasma",
    "human_tissues": "human tissues or cells",
    "animal_tissues": "animal tissues or cells",
    "microbial_substances": "substances of microbial origin",
    "cmr_substance": "CMR substances",
    "endocrine_disruptor": "endocrine disruptors",
    "sterilization": "sterilisation before use",
    "reprocessed": "reprocessed single-use device",
    "new_device": "new device",
    "sutures": "sutures, staples and the like",
    "without_medical_purpose": "without a medical purpose (Annex XVI)",
    "kit": "kit",
    "reagent": "reagent",
    "instrument": "instrument",
    "self_testing": "self-testing",
    "near_patient_testing": "near-patient testing",
    "professional_testing": "professional testing",
    "companion_diagnostics": "companion diagnostics",
}
"""Titles of characteristics, by name."""


class DetailFact(msgspec.Struct, frozen=True):
    """A line: its title, and its words."""

    title: str
    text: str


class Country(msgspec.Struct, frozen=True):
    """A country in which a device is available, with its dates (ISO), empty if there are none."""

    name: str
    since: str
    until: str

    @classmethod
    def of(cls, availability: Availability) -> "Country":
        """A country by its name."""
        return cls(country_name(availability.country), availability.since or "", availability.until or "")

    @property
    def text(self) -> str:
        """Name and dates."""
        since, until = self.since and f"from {self.since}", self.until and f"until {self.until}"
        return " ".join(part for part in (self.name, since, until) if part)


def countries_of(device: Device) -> Sequence[Country]:
    """The countries in which it is available, by name."""
    return sorted(map(Country.of, device.available_in or ()), key=lambda each: each.name)


def facts_of(device: Device) -> Sequence[DetailFact]:
    """The other known details, without those that have an address."""
    single_use, reuses, quantity = device.single_use, device.max_reuses, device.base_quantity
    found = {
        "Single use": None if single_use is msgspec.UNSET else "Yes" if single_use else "No",
        "Reuses": f"at most {reuses:,}" if reuses else None,
        "Devices in what has the UDI-DI": f"{quantity:,}" if quantity else None,
        "Special type": device.special_type.label if device.special_type else None,
        "Is or has": _characteristics(device, True),
        "Is not and has not": _characteristics(device, False),
        "Storage and handling": _conditions(device.storage or ()),
        "Critical warnings": _conditions(device.warnings or ()),
        "Safety summary (SSCP)": _safety_summary(device),
        "First placed on the market in": country_name(device.placed_on_market_in or ""),
    }
    return [DetailFact(title, text) for title, text in found.items() if text]


def condition_text(condition: Condition) -> str:
    """`SHC099: Store in the original packaging`."""
    return ": ".join(part for part in (condition.label, condition.description) if part)


def _characteristics(device: Device, wanted: bool) -> str:
    known = device.characteristics.known if device.characteristics else {}
    return ", ".join(TITLES[name] for name, value in known.items() if value is wanted)


def _conditions(conditions: Sequence[Condition]) -> str:
    return "; ".join(map(condition_text, conditions))


def _safety_summary(device: Device) -> str | None:
    found = device.safety_summary
    if not found:
        return None
    revision = f"revision {found.revision}" if found.revision else ""
    issued = f"of {found.issue_date}" if found.issue_date else ""
    validated = "" if found.validated is msgspec.UNSET else "validated" if found.validated else "not validated"
    inactive = "no longer in use" if found.inactive is True else ""
    return ", ".join(part for part in (found.reference, revision, issued, validated, inactive) if part)
