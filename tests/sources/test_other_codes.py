"""Other codes of a device, as each source gives them: what is of another form is left out, and is never an error."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.platform.structs import replace
from registerwatch.register.other_codes import MAX_CODES, OtherCode, may_be_code
from registerwatch.sources.data_lake.convert import reading_of_row
from registerwatch.sources.data_lake.wire import DeviceRow, device_row
from registerwatch.sources.eudamed import wire
from registerwatch.sources.eudamed.other_codes import other_codes_of
from registerwatch.sources.record_file import reading_of_record, record_of_line
from registerwatch_standins.register import records
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.wire import datalake as sent_datalake
from registerwatch_standins.register.wire import devices as sent
from tests.register.builders import PROPERTY, UDI

GS1 = "refdata.issuing-agency.gs1"
INNER, CARTON, PALLET, SINGLE = "14099999999999", "24099999999996", "34099999999993", "04099999999985"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just(CARTON),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["itemIdentifier", "code", "containedItems", "numberOfItems", "issuingAgency"]), inner
        )
    ),
    max_leaves=12,
)


def a_detail(**fields: Any) -> wire.DeviceDetail:
    reply = {"uuid": "u-1", "primaryDi": {"code": UDI, "issuingAgency": {"code": GS1}}, **fields}
    return wire.device_detail.read(reply)


def an_identifier(code: Any) -> dict[str, Any]:
    return {"code": code, "issuingAgency": {"code": GS1}, "type": "DI"}


def an_item(code: Any, *around: Any, holds: Any = None) -> dict[str, Any]:
    return {"itemIdentifier": an_identifier(code), "numberOfItems": holds, "containedItems": [*around]}


def test_what_holds_a_package_with_the_code_of_the_device_holds_as_many_devices() -> None:
    outer = an_item(CARTON, an_item(PALLET, holds=6), holds=4)

    codes = other_codes_of(a_detail(containedItem=an_item(UDI, an_item(UDI, outer, holds=10))))
    uncounted = other_codes_of(a_detail(containedItem=an_item(UDI, an_item(UDI, outer))))

    assert codes == (
        OtherCode(CARTON, "container_package", GS1, 40, UDI),
        OtherCode(PALLET, "container_package", GS1, 6, CARTON),
    )
    assert uncounted[0] == OtherCode(CARTON, "container_package", GS1, None, UDI)


def test_the_detail_names_the_unit_of_use_the_marking_other_agencies_codes_and_every_level_of_packages() -> None:
    packages = an_item(UDI, an_item(INNER, an_item(CARTON, holds=4), an_item(PALLET, holds=40), holds=10))

    codes = other_codes_of(
        a_detail(
            unitOfUse=an_identifier(SINGLE),
            directMarkingDi=an_identifier(SINGLE),
            secondaryDi=[an_identifier("E4947660611"), an_identifier("E4947660612")],
            containedItem=packages,
        )
    )

    assert codes == (
        OtherCode(SINGLE, "unit_of_use", GS1),
        OtherCode(SINGLE, "direct_marking", GS1),
        OtherCode("E4947660611", "secondary", GS1),
        OtherCode("E4947660612", "secondary", GS1),
        OtherCode(INNER, "container_package", GS1, 10, UDI),
        OtherCode(CARTON, "container_package", GS1, 4, INNER),
        OtherCode(PALLET, "container_package", GS1, 40, INNER),
    )


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"unitOfUse": None, "containedItem": None},
        {"unitOfUse": an_identifier(UDI), "directMarkingDi": an_identifier(f" {UDI} ")},
        {"secondaryDi": SINGLE, "unitOfUse": 4099999999985, "directMarkingDi": an_identifier(4099999999985)},
        {"secondaryDi": an_identifier("N/A"), "unitOfUse": an_identifier("00000000000000")},
        {"unitOfUse": an_identifier("DE-MF-000006413"), "secondaryDi": an_identifier("see the label 12")},
        {"containedItem": an_item(SINGLE, an_item(CARTON))},
        {"containedItem": [an_item(UDI, an_item(CARTON))]},
        {"containedItem": an_item(UDI, {"itemIdentifier": CARTON}, CARTON, an_item(None, an_item(CARTON)))},
    ],
)
def test_what_is_of_another_form_no_code_or_the_udi_di_itself_is_left_out(fields: dict[str, Any]) -> None:
    assert other_codes_of(a_detail(**fields)) == ()


@pytest.mark.parametrize("holds", [None, 0, -4, 2**40, True, "10", 2.5])
def test_a_package_whose_quantity_is_no_number_of_devices_keeps_its_code(holds: Any) -> None:
    assert other_codes_of(a_detail(containedItem=an_item(UDI, an_item(CARTON, holds=holds)))) == (
        OtherCode(CARTON, "container_package", GS1, None, UDI),
    )


def test_of_thousands_of_packages_the_first_are_taken() -> None:
    many = an_item(UDI, *(an_item(f"{number:014}", holds=2) for number in range(10, 5_010)))
    row = DeviceRow(uuid="u-1", primary_di=UDI, container_package_dis=",".join(f"{n:014}" for n in range(10, 5_010)))

    assert len(other_codes_of(a_detail(containedItem=many))) == MAX_CODES
    assert len(reading_of_row(row).device.other_codes or ()) == MAX_CODES


@PROPERTY
@given(tree=json_values, single=json_values)
def test_whatever_is_sent_in_these_places_a_detail_can_be_read(tree: Any, single: Any) -> None:
    codes = other_codes_of(a_detail(containedItem=tree, unitOfUse=single, secondaryDi=single))

    assert all(may_be_code(each.code) and each.code != UDI for each in codes)


def test_columns_of_the_data_lake_are_lists_and_tell_that_there_are_none_where_they_are_empty() -> None:
    row = {"UUID": "u-1", "PRIMARY_DI": UDI}
    listed = {
        "UNIT_OF_USE_DI": SINGLE,
        "DIRECT_MARKETING_DI": f" {SINGLE}",
        "SECONDARY_DI": 4099999999985,
        "CONTAINER_PACKAGE_DIS": f"{INNER}, {CARTON},,{UDI},{INNER}",
    }

    def codes(columns: dict[str, Any]) -> object:
        return reading_of_row(device_row.read(row | columns)).device.other_codes

    assert codes(listed) == (
        OtherCode(SINGLE, "unit_of_use"),
        OtherCode(SINGLE, "direct_marking"),
        OtherCode(INNER, "container_package"),
        OtherCode(CARTON, "container_package"),
    )
    assert codes(dict.fromkeys(listed)) == ()
    assert codes({}) is msgspec.UNSET


def test_a_line_of_a_file_has_them_as_they_are_served() -> None:
    line = {"uuid": "u-1", "primary_di": UDI}
    served = [{"code": CARTON, "kind": "container_package", "quantity": 10, "contains": UDI}]

    def codes(**fields: Any) -> object:
        return reading_of_record(
            record_of_line(msgspec.json.encode(line | fields), 1, Path("records.jsonl"))
        ).device.other_codes

    assert codes(other_codes=served) == (OtherCode(CARTON, "container_package", "", 10, UDI),)
    assert codes(other_codes=None) == ()
    assert codes() is msgspec.UNSET


def test_the_stand_in_sends_them_in_these_forms() -> None:
    record = replace(
        GeneratedWorld(1, seed=7).newest(0, 1)[0],
        primary_di=UDI,
        other_codes=(
            records.OtherCode(SINGLE, "unit_of_use"),
            records.OtherCode(INNER, "container_package", 10, UDI),
            records.OtherCode(CARTON, "container_package", 4, INNER),
        ),
    )
    agency = f"refdata.issuing-agency.{record.issuing_agency}"

    detail = wire.device_detail.read(sent.detail(record))
    row = device_row.read(sent_datalake.udi_row(record))

    assert other_codes_of(detail) == (
        OtherCode(SINGLE, "unit_of_use", agency),
        OtherCode(INNER, "container_package", agency, 10, UDI),
        OtherCode(CARTON, "container_package", agency, 4, INNER),
    )
    assert [(each.kind, each.code) for each in reading_of_row(row).device.other_codes or ()] == [
        ("unit_of_use", SINGLE),
        ("container_package", INNER),
        ("container_package", CARTON),
    ]
