"""Which fields of a record changed."""

from typing import Any

import msgspec
import pytest
from hypothesis import given

from registerwatch.copy.history.changed_fields import device_changes
from registerwatch.copy.row_comparison import StoredRecord, differs
from registerwatch.register.device_details import Characteristics, SpecialType
from registerwatch.register.models import ADDED_IN, DETAILS, DOCUMENT_VERSION, Contradiction, Device
from registerwatch.register.other_codes import OtherCode
from tests.register.builders import PROPERTY, a_device, a_row, devices


def test_a_flag_that_is_told_for_the_first_time_is_no_change_and_any_later_one_is() -> None:
    unknown, no, yes = a_device(), a_device(latex=False), a_device(latex=True)

    assert device_changes(unknown, no) == {}
    assert device_changes(no, yes) == {"latex": False}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("reference", "R-1"),
        ("other_codes", (OtherCode("14099999999999", "container_package"),)),
        ("contradictions", (Contradiction("risk_class", "Class I", "Class IIa"),)),
    ],
)
def test_the_first_value_of_a_field_that_the_document_was_too_old_to_have_is_no_change(name: str, value: Any) -> None:
    old, new = a_device(trade_name="A"), a_device(trade_name="B", **{name: value})
    before, since = ADDED_IN.get(name, 1) - 1, ADDED_IN.get(name, 1)

    assert device_changes(old, new, version=before) == {"trade_name": "A"}
    assert device_changes(old, new, version=since).keys() == {"trade_name", name}
    assert device_changes(new, old, version=before).keys() == {"trade_name", name}, "what is gone is a change"


def test_a_row_that_brings_only_such_values_is_not_read_in_full_for_that() -> None:
    def row_differs(document_version: int, **told: Any) -> bool:
        stored = StoredRecord(a_device(trade_name="A"), True, True, document_version=document_version)
        return differs(a_row(trade_name="A", **told), {"u-1": stored})

    assert row_differs(DOCUMENT_VERSION, reference="R-1")
    assert not row_differs(0, reference="R-1")
    assert differs(a_row(trade_name="B"), {"u-1": StoredRecord(a_device(trade_name="A"), True, True)})


@PROPERTY
@given(devices(detailed=True), devices(detailed=True))
def test_only_a_detail_that_was_known_before_can_have_changed(old: Device, new: Device) -> None:
    changed = device_changes(old, new)

    for name in DETAILS:
        before, after = getattr(old, name), getattr(new, name)
        if before is msgspec.UNSET or before == after:
            assert name not in changed
        elif name not in ("characteristics", "special_type"):
            assert changed[name] == before


def test_a_characteristic_changes_and_one_more_that_is_known_is_no_change() -> None:
    def changes(old: dict[str, bool | None], new: dict[str, bool | None]) -> bool:
        devices = [a_device(characteristics=Characteristics.of(each)) for each in (old, new)]
        return bool(device_changes(*devices))

    assert not changes({"active": True}, {"active": True, "kit": False})
    assert not changes({"active": True, "kit": None}, {"active": True, "kit": False})
    assert changes({"active": True}, {"active": False})


def test_the_same_special_type_by_another_name_of_another_source_is_no_change() -> None:
    lake, register = SpecialType("MDR software"), SpecialType("Software", "refdata.special-device-type.software")
    other = SpecialType("Lenses", "refdata.special-device-type.lenses")

    assert device_changes(a_device(special_type=lake), a_device(special_type=register)) == {}
    assert device_changes(a_device(special_type=lake), a_device()) == {}
    assert device_changes(a_device(special_type=register), a_device()).keys() == {"special_type"}
    assert device_changes(a_device(special_type=register), a_device(special_type=other)).keys() == {"special_type"}
