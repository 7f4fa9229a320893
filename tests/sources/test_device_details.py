"""What else is read of a device: from the detail, the Basic UDI-DI record and the Data Lake, each as it answers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from registerwatch.register.device_details import (
    MAX_LISTED,
    MAX_TEXT,
    Availability,
    Characteristics,
    Condition,
    LinkedDevice,
    SafetySummary,
    SpecialType,
)
from registerwatch.register.models import DETAILS, Device
from registerwatch.sources.data_lake import wire as lake
from registerwatch.sources.data_lake.convert import reading_of_row
from registerwatch.sources.eudamed import wire
from registerwatch.sources.eudamed.details import web_address
from tests.register.builders import PROPERTY, UDI, a_device
from tests.sources.reader import reading_of

DETAIL: dict[str, Any] = {
    "uuid": "u-1",
    "primaryDi": {"code": UDI},
    "marketInfoLink": {
        "msWhereAvailable": [
            {"country": {"name": "Austria", "iso2Code": "AT"}, "startDate": None, "endDate": None},
            {"country": {"name": "Belgium", "iso2Code": "BE"}, "startDate": "2026-01-15", "endDate": "2026-12-31"},
            {"country": {"name": "Austria", "iso2Code": "AT"}, "startDate": "2026-02-01"},
            {"country": None},
        ]
    },
    "placedOnTheMarket": {"name": "Austria", "type": "EU_MEMBER_STATE", "iso2Code": "AT"},
    "singleUse": False,
    "maxNumberOfReuses": 100,
    "baseQuantity": 1,
    "storageHandlingConditions": [
        {"typeCode": "refdata.storage-handling-conditions-type.SHC005", "mandatory": False, "description": None},
        {
            "typeCode": "refdata.storage-handling-conditions-type.SHC099",
            "description": {"texts": [{"language": {"isoCode": "en"}, "text": "Store in the original packaging"}]},
        },
    ],
    "criticalWarnings": [{"typeCode": "refdata.critical-warnings-type.CW018", "description": None}],
    "linkedUdiDiView": {
        "udiDi": {"code": "04000000000020"},
        "basicUdiDi": {"code": "B-04000000000020"},
        "deviceCriterion": "LEGACY",
        "deviceLinkedOnDate": "2026-01-15",
    },
    "additionalInformationUrl": "https://www.acme.example/instructions/",
    "cmrSubstance": False,
    "endocrineDisruptor": None,
    "sterilization": True,
    "reprocessed": False,
    "newDevice": None,
    "annexXVIApplicable": False,
}
BASIC: dict[str, Any] = {
    "specialDeviceType": {"code": "refdata.special-device-type.contact-lenses"},
    "linkedSscp": {
        "referenceNumber": "61339", "revisionNumber": "10", "issueDate": "2025-12-01", "validated": True,
        "inactive": False, "inactiveStatusDate": None, "uuid": None,
    },
    "active": True,
    "kit": None,
    "measuringFunction": False,
}  # fmt: skip
NOTHING = dict.fromkeys(DETAILS, UNSET)


def read(detail: dict[str, Any] | None, basic: dict[str, Any], stored: Device | None = None) -> dict[str, Any]:
    """The details of a device after a read of it."""
    row = wire.device_row.read({"uuid": "u-1", "primaryDi": UDI, "versionNumber": 1})
    found = None if detail is None else wire.device_detail.read(detail)
    device = reading_of(row, found, wire.basic_udi_record.read(basic), stored).device
    return {name: getattr(device, name) for name in DETAILS}


def test_every_detail_is_read_from_the_forms_that_the_register_answers_in() -> None:
    assert read(DETAIL, BASIC) == {
        "available_in": (Availability("AT"), Availability("BE", "2026-01-15", "2026-12-31")),
        "placed_on_market_in": "AT",
        "single_use": False,
        "max_reuses": 100,
        "base_quantity": 1,
        "special_type": SpecialType("Contact lenses", "refdata.special-device-type.contact-lenses"),
        "characteristics": Characteristics(
            active=True,
            measuring_function=False,
            cmr_substance=False,
            sterilization=True,
            reprocessed=False,
            without_medical_purpose=False,
        ),
        "storage": (
            Condition("refdata.storage-handling-conditions-type.SHC005", "SHC005"),
            Condition("refdata.storage-handling-conditions-type.SHC099", "SHC099", "Store in the original packaging"),
        ),
        "warnings": (Condition("refdata.critical-warnings-type.CW018", "CW018"),),
        "safety_summary": SafetySummary("61339", "10", "2025-12-01", validated=True, inactive=False),
        "linked_device": LinkedDevice("04000000000020", "B-04000000000020", legacy=True, linked_on="2026-01-15"),
        "information_url": "https://www.acme.example/instructions/",
    }


def test_what_the_register_does_not_say_is_missing_and_never_false() -> None:
    empty = {name: None if name not in ("uuid", "primaryDi") else value for name, value in DETAIL.items()}

    assert read(empty, dict.fromkeys(BASIC)) == NOTHING
    assert read({"uuid": "u-1"}, {}) == NOTHING


def test_a_read_that_leaves_the_detail_out_keeps_what_the_detail_said() -> None:
    told = read(DETAIL, BASIC)

    assert read(None, BASIC | {"active": False}, a_device(**told)) == told | {
        "characteristics": Characteristics.of({**told["characteristics"].known, "active": False})
    }


@PROPERTY
@given(
    st.sampled_from(sorted({*DETAIL} - {"uuid", "primaryDi"})),
    st.recursive(st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5), st.lists, max_leaves=4)
    | st.dictionaries(st.sampled_from(["code", "texts", "msWhereAvailable"]), st.integers() | st.text(max_size=3)),
)
def test_a_detail_of_another_form_costs_itself_alone(name: str, value: Any) -> None:
    told, other = read(DETAIL, BASIC), read(DETAIL | {name: value}, BASIC)

    assert sum(told[each] != other[each] for each in DETAILS) <= 1


def test_long_lists_and_texts_are_cut() -> None:
    conditions = [{"typeCode": f"refdata.x.SHC{number:03}", "description": "d" * 9_000} for number in range(300)]
    listed = [{"country": {"iso2Code": a + b}} for a in "ABCDEFGH" for b in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    told = read(
        DETAIL | {"storageHandlingConditions": conditions, "marketInfoLink": {"msWhereAvailable": listed}}, BASIC
    )

    assert len(told["storage"]) == len(told["available_in"]) == MAX_LISTED
    assert {len(each.description) for each in told["storage"]} == {MAX_TEXT}


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "data:text/html,<script>",
        "www.acme.example",
        "//acme.example",
        "http://",
        "https:///path",
        "https://acme.example/a b",
        "https://acme.example/\u202e",
        "https://acme.example/\n",
        "http://[::1",
        "ftp://acme.example",
        "https://acme.example/" + "a" * MAX_TEXT,
        "",
    ],
)
def test_only_addresses_of_the_web_are_told(address: str) -> None:
    assert web_address(address) is UNSET


def test_a_row_of_the_data_lake_has_flags_and_the_special_type() -> None:
    row = lake.device_row.read(
        {
            "UUID": "u-1", "PRIMARY_DI": UDI, "SPECIAL_DEVICE_TYPE_ID": -43.0, "ACTIVE": 1.0, "KIT": 0.0,
            "CMR_SUBSTANCE": "0", "REAGENT": None, "HUMAN_PRODUCT": 7,
        }
    )  # fmt: skip
    device = reading_of_row(row).device

    assert device.special_type == SpecialType("MDR software")
    assert device.characteristics == Characteristics(active=True, cmr_substance=False, kit=False)
    bare = reading_of_row(lake.device_row.read({"UUID": "u-1", "PRIMARY_DI": UDI})).device
    assert {name: getattr(bare, name) for name in DETAILS} == NOTHING
