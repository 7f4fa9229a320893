"""Which fields of a record changed."""

from typing import Any

import pytest

from registerwatch.register.models import ADDED_IN, DOCUMENT_VERSION
from registerwatch.register.other_codes import OtherCode
from registerwatch.register.store.changed_fields import device_changes
from registerwatch.register.store.row_comparison import StoredRecord, differs
from tests.register.builders import a_device, a_row


def test_a_flag_that_is_told_for_the_first_time_is_no_change_and_any_later_one_is() -> None:
    unknown, no, yes = a_device(), a_device(latex=False), a_device(latex=True)

    assert device_changes(unknown, no) == {}
    assert device_changes(no, yes) == {"latex": False}


@pytest.mark.parametrize("name", ["reference", "other_codes"])
def test_the_first_value_of_a_field_that_the_document_was_too_old_to_have_is_no_change(name: str) -> None:
    value: Any = "R-1" if name == "reference" else (OtherCode("14099999999999", "container_package"),)
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
