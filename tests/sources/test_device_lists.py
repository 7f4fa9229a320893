"""Listing devices of EUDAMED: pages of a manufacturer, rows of a UDI-DI, and what is not taken from an answer."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from registerwatch.platform.db.engine import Database
from registerwatch.platform.structs import replace
from registerwatch.register.models import Completeness
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.eudamed.device_lists import EudamedDeviceLists
from registerwatch.sources.eudamed.guards import IGNORED_FILTER, REPROBE_SECONDS
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.records import Registration
from registerwatch_standins.register.world import World
from tests.sources.reader import Reader, reading
from tests.support.fakes import SteppedClock


@pytest.fixture
def world() -> World:
    return GeneratedWorld(120, seed=7)


@pytest.fixture
async def reader(world: World, database: Database, clock: SteppedClock) -> AsyncIterator[Reader]:
    async with reading(world, database, clock) as reader:
        yield reader


@pytest.fixture
def listing(reader: Reader) -> EudamedDeviceLists:
    return EudamedDeviceLists(reader.client.interface)


@pytest.fixture
def device(world: World) -> Registration:
    return world.newest(0, 1)[0]


def register_more(world: World, like: Registration, number: int) -> None:
    for place in range(number):
        changed: dict[str, Any] = {"uuid": f"00000000-0000-4000-8000-{place:012}", "primary_di": f"{place:014}"}
        world.register(replace(like, **changed))


async def reason_of(listing: EudamedDeviceLists, srn: str) -> str:
    with pytest.raises(RegisterFailure) as failed:
        await listing.page(srn, 0)
    return failed.value.reason


async def test_pages_of_a_manufacturer_have_all_its_devices_once_after_one_probe(
    reader: Reader, listing: EudamedDeviceLists, device: Registration
) -> None:
    srn = device.manufacturer.srn
    register_more(reader.world, device, 300)

    first, last = await listing.page(srn, 0), await listing.page(srn, 1)
    beyond = await listing.page(srn, 2)

    assert (first.is_last, last.is_last, beyond.is_last) == (False, True, True)
    uuids = [each.device.uuid for page in (first, last) for each in page.rows]
    assert len(set(uuids)) == len(uuids) == first.total == last.total > 300
    assert beyond.rows == []
    assert {each.completeness for each in first.rows} == {Completeness.SOME}
    assert reader.asked() == {"search probe": 1, "search": 3}


async def test_a_field_that_cannot_be_read_costs_no_row_and_a_key_fails_no_page_but_the_first(
    reader: Reader, device: Registration
) -> None:
    srn = device.manufacturer.srn
    register_more(reader.world, device, 1)
    listing = EudamedDeviceLists(reader.client.interface, page_size=1)
    rows = [(await listing.page(srn, number)).rows[0].device for number in range(2)]
    for row in rows:
        reader.world.change(row.uuid, new_version=None, version_number=10**10)
    [without_version] = (await listing.page(srn, 1)).rows
    for place in (7, 8):
        reader.world.register(replace(device, uuid=f"00000000-0000-4000-8000-{place:012}", primary_di=" "))

    page = await listing.page(srn, 1)

    assert without_version.device == replace(rows[1], version=None)
    assert (page.rows, len(page.unreadable)) == ([], 1)
    assert "no row of it can be read" in await reason_of(listing, srn)


async def test_rows_of_a_udi_di_are_those_of_all_its_records(
    reader: Reader, listing: EudamedDeviceLists, device: Registration
) -> None:
    reader.world.register(replace(device, uuid="00000000-0000-4000-8000-000000000001"))

    assert len(await listing.records(device.primary_di)) == len(reader.world.by_primary_di(device.primary_di)) > 1
    assert await listing.records("04099999999992") == []


async def test_nothing_is_taken_while_a_filter_is_ignored_and_it_is_probed_again_after_some_minutes(
    reader: Reader, listing: EudamedDeviceLists, device: Registration
) -> None:
    srn = device.manufacturer.srn
    reader.faults.fail("search", "ignored-filter")
    for _ in range(3):
        assert await reason_of(listing, srn) == IGNORED_FILTER
    assert reader.asked() == {"search probe": 1}

    reader.faults.clear()
    reader.clock.move(REPROBE_SECONDS + 1)
    assert (await listing.page(srn, 0)).rows


async def test_rows_of_others_are_not_taken_and_the_filter_is_probed_before_it_is_used_again(
    reader: Reader, listing: EudamedDeviceLists, device: Registration
) -> None:
    srn = device.manufacturer.srn
    await listing.page(srn, 0)
    reader.faults.fail("search", "ignored-filter", contains=f"srn={srn}", times=1)
    reader.asked()

    assert await reason_of(listing, srn) == IGNORED_FILTER
    assert (await listing.page(srn, 0)).rows
    assert reader.asked() == {"search": 2, "search probe": 1}


@pytest.mark.parametrize("mode", ["empty-page", "json-of-wrong-shape", "http-503", "html-200"])
async def test_a_page_that_cannot_be_read_is_a_failure(
    reader: Reader, listing: EudamedDeviceLists, device: Registration, mode: Any
) -> None:
    reader.faults.fail("search", mode)

    assert await reason_of(listing, device.manufacturer.srn) not in ("", IGNORED_FILTER)
