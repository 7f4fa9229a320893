"""The first value of the new field is no change in a snapshot of before; another value is one, by its name."""

import pytest

from registerwatch.platform.structs import replace
from registerwatch.watches.diff import compare
from registerwatch.watches.events.event_rules import field_name
from registerwatch.watches.snapshot import FIELD_SET, snapshot_of_device
from tests.register.builders import a_device, a_full_reading
from tests.support.harness import ServiceHarness
from tests.watches.builders import ON

FIELD = "basic_udi"


def test_the_first_value_is_no_change_in_a_snapshot_of_before() -> None:
    device = a_device(basic_udi="B-1")
    now = snapshot_of_device(device, certificates_read=True, searched=True)
    empty = snapshot_of_device(a_device(), certificates_read=True, searched=True)
    before = replace(empty, field_set=FIELD_SET - 1)

    assert compare(before, now)[0] == []
    assert [each.field for each in compare(empty, now)[0]] == [FIELD]


@pytest.mark.anyio
async def test_another_value_is_an_event(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    for number in (1, 2):
        await harness.store(a_full_reading(status_code=ON, version=1, basic_udi=f"B-{number}"))

    assert await harness.summaries(caller) == [f"{FIELD}: B-1 → B-2"]
    assert field_name(FIELD) == "Basic UDI-DI"
