"""Further facts about a device: where it is available, how it is used, what it is made of. Pure.

All of them are optional: a missing one was not given, or not read. Watches do not compare them.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from registerwatch.platform.structs import replace

MAX_TEXT = 2_000
"""Characters of a description, and of an address, that are kept."""
MAX_CODE = 100
MAX_LISTED = 100
"""Countries, conditions and warnings of one device that are kept."""


def _doc(description: str, *examples: object, form: str = "") -> msgspec.Meta:
    extra = {"format": form} if form else None
    return msgspec.Meta(description=description, examples=list(examples) or None, extra_json_schema=extra)


def _flag(question: str) -> msgspec.Meta:
    return _doc(f"{question} Missing when the register does not say.", True)


class Availability(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A country in which a device is or was made available."""

    country: Annotated[str, _doc("Country (ISO 3166-1; `XI` is Northern Ireland).", "AT")]
    since: Annotated[str | None, _doc("First day, missing when the register has none.", "2021-05-26", form="date")] = (
        None
    )
    until: Annotated[str | None, _doc("Last day, likewise.", "2025-12-31", form="date")] = None


class Condition(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A condition of storage or handling, or a critical warning."""

    code: Annotated[
        str, _doc("The register's code, missing when it has none.", "refdata.storage-handling-conditions-type.SHC005")
    ] = ""
    label: Annotated[str, _doc("The end of the code, made readable: the register has no words for it.", "SHC005")] = ""
    description: Annotated[
        str, _doc("The manufacturer's own words, missing when there are none.", "Store in the original packaging")
    ] = ""


class SpecialType(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The kind of a device to which rules of its own apply, such as software or contact lenses."""

    label: Annotated[str, _doc("In English.", "MDR software")]
    code: Annotated[
        str,
        _doc(
            "The register's code, missing where only the Data Lake has the type.",
            "refdata.special-device-type.software",
        ),
    ] = ""


class SafetySummary(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The summary of safety and clinical performance (SSCP) that the register refers to."""

    reference: Annotated[str, _doc("Reference number.", "61339")]
    revision: Annotated[str, _doc("Revision, missing when the register has none.", "10")] = ""
    issue_date: Annotated[str | None, _doc("Date of issue, likewise.", "2025-12-01", form="date")] = None
    validated: Annotated[bool | UnsetType, _flag("Whether a notified body has validated it.")] = UNSET
    inactive: Annotated[bool | UnsetType, _flag("Whether it is no longer in use.")] = UNSET
    inactive_since: Annotated[
        str | None,
        _doc("Since when it is no longer in use, missing when the register does not say.", "2026-03-01", form="date"),
    ] = None


class LinkedDevice(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The registration of the same device under other legislation: mostly its legacy twin under a directive."""

    udi: Annotated[str, _doc("UDI-DI of it.", "04012345678918")]
    basic_udi: Annotated[str, _doc("Basic UDI-DI of it, missing when it has none.", "B-04012345678918")] = ""
    legacy: Annotated[bool | UnsetType, _flag("Whether it is registered under a directive.")] = UNSET
    linked_on: Annotated[
        str | None,
        _doc("Day on which the two were linked, missing when the register has none.", "2026-01-15", form="date"),
    ] = None


class Characteristics(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """What a device is or has. A flag that is missing is not false: it is not known."""

    active: Annotated[bool | UnsetType, _flag("Whether it is an active device.")] = UNSET
    measuring_function: Annotated[bool | UnsetType, _flag("Whether it has a measuring function.")] = UNSET
    administering_medicine: Annotated[
        bool | UnsetType, _flag("Whether it administers or removes medicinal products.")
    ] = UNSET
    medicinal_product: Annotated[
        bool | UnsetType, _flag("Whether it contains a substance that is a medicinal product when used by itself.")
    ] = UNSET
    human_product: Annotated[
        bool | UnsetType, _flag("Whether it contains a medicinal product derived from human blood or plasma.")
    ] = UNSET
    human_tissues: Annotated[
        bool | UnsetType, _flag("Whether it contains tissues or cells of human origin, or derivatives of them.")
    ] = UNSET
    animal_tissues: Annotated[
        bool | UnsetType, _flag("Whether it contains tissues or cells of animal origin, or derivatives of them.")
    ] = UNSET
    microbial_substances: Annotated[bool | UnsetType, _flag("Whether it contains substances of microbial origin.")] = (
        UNSET
    )
    cmr_substance: Annotated[
        bool | UnsetType,
        _flag("Whether it contains substances that are carcinogenic, mutagenic or toxic to reproduction (CMR)."),
    ] = UNSET
    endocrine_disruptor: Annotated[
        bool | UnsetType, _flag("Whether it contains substances with endocrine-disrupting properties.")
    ] = UNSET
    sterilization: Annotated[bool | UnsetType, _flag("Whether it has to be sterilised before use.")] = UNSET
    reprocessed: Annotated[bool | UnsetType, _flag("Whether it is a reprocessed single-use device.")] = UNSET
    new_device: Annotated[bool | UnsetType, _flag("Whether it is a new device.")] = UNSET
    sutures: Annotated[
        bool | UnsetType,
        _flag("Whether it is one of the implants that are exempted, such as sutures, staples or dental fillings."),
    ] = UNSET
    without_medical_purpose: Annotated[
        bool | UnsetType, _flag("Whether it is of a group without a medical purpose (Annex XVI of the MDR).")
    ] = UNSET
    kit: Annotated[bool | UnsetType, _flag("Whether it is a kit, of an in vitro diagnostic device.")] = UNSET
    reagent: Annotated[bool | UnsetType, _flag("Whether it is a reagent, likewise.")] = UNSET
    instrument: Annotated[bool | UnsetType, _flag("Whether it is an instrument, likewise.")] = UNSET
    self_testing: Annotated[bool | UnsetType, _flag("Whether it is for self-testing.")] = UNSET
    near_patient_testing: Annotated[bool | UnsetType, _flag("Whether it is for near-patient testing.")] = UNSET
    professional_testing: Annotated[bool | UnsetType, _flag("Whether it is for testing by professionals.")] = UNSET
    companion_diagnostics: Annotated[bool | UnsetType, _flag("Whether it is a companion diagnostic.")] = UNSET

    @classmethod
    def of(cls, values: Mapping[str, bool | None]) -> "Characteristics | UnsetType":
        """The flags that a source has, by their names here; unset where it has none."""
        known = {name: value for name, value in values.items() if value is not None}
        return cls(**known) if known else UNSET

    @property
    def known(self) -> dict[str, bool]:
        """The known flags, in their order."""
        return {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not UNSET}


def with_reported(
    stored: Characteristics | UnsetType, reported: Characteristics | UnsetType
) -> Characteristics | UnsetType:
    """The stored flags, replaced by those that a source reports now; a flag that it leaves open stays."""
    if stored is UNSET or reported is UNSET:
        return stored if reported is UNSET else reported
    return replace(stored, **reported.known)


def has_changed(old: Any, new: Any) -> bool:
    """Whether a detail differs from before. Its first value is not a change.

    Of characteristics, only flags that were known count. The Data Lake numbers special types otherwise than the
    register itself, so a type without a code equals any type and none.
    """
    if old is UNSET or old == new:
        return False
    if isinstance(old, Characteristics) and isinstance(new, Characteristics):
        return any(new.known.get(name, value) is not value for name, value in old.known.items())
    if isinstance(old, SpecialType):
        return bool(old.code) and (new is UNSET or bool(new.code and new.code != old.code))
    return True
