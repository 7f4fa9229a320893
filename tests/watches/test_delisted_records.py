"""Records that the register no longer lists: they answer for no UDI-DI that has a listed one, and hide no change."""

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from registerwatch_standins.register.records import Registration
from tests.register.forgetful_world import ForgetfulWorld
from tests.support.harness import ServiceHarness, ServiceStarter

pytestmark = pytest.mark.anyio

TWIN = "ffffffff-0000-4000-8000-000000000000"


@pytest.fixture
async def world() -> ForgetfulWorld:
    return ForgetfulWorld(120)


@pytest.fixture
async def harness(start_service: ServiceStarter, world: ForgetfulWorld) -> AsyncIterator[ServiceHarness]:
    async with start_service(world=world) as harness:
        yield harness


def with_twin(harness: ServiceHarness) -> Registration:
    """A regulation record whose UDI-DI gets a second one, of a higher version."""
    record = next(each for each in harness.unique_devices(120) if each.legislation == "mdr")
    harness.world.register(replace(record, uuid=TWIN, version_number=record.version_number + 6, reference="TWIN-1"))
    return record


async def test_a_deleted_twin_gives_way_to_the_remaining_record_though_that_is_no_latest_version(
    harness: ServiceHarness, world: ForgetfulWorld
) -> None:
    record, owner = with_twin(harness), await harness.sign_up()
    await harness.post_watches(owner.api_key, record.primary_di)
    assert (await harness.get(f"/v1/devices/{record.primary_di}")).json()["uuid"] == TWIN

    world.forgotten.add(TWIN)
    world.change(record.uuid, latest_version=False, new_version=False, reference="LEFT-1")
    harness.clock.move(60)
    first = await harness.post_sync(owner.api_key)
    world.change(record.uuid, new_version=False, reference="LEFT-2")
    harness.clock.move(60)
    second = await harness.post_sync(owner.api_key)

    device = (await harness.get(f"/v1/devices/{record.primary_di}")).json()
    assert (device["uuid"], device["reference"], device["error"]) == (record.uuid, "LEFT-2", None)
    assert "reference: TWIN-1 → LEFT-1" in first["events"][0]["summary"]
    assert [event["summary"] for event in second["events"]] == ["reference: LEFT-1 → LEFT-2"]
    [watch] = await harness.get_list(owner.api_key, "watches")
    assert watch["last_error"] == ""


async def test_a_deleted_twin_that_comes_back_answers_again(harness: ServiceHarness, world: ForgetfulWorld) -> None:
    record = with_twin(harness)
    path = f"/v1/devices/{record.primary_di}"
    await harness.get(path)
    world.forgotten.add(TWIN)
    await harness.get("/v1/refresh", q=record.primary_di)
    assert (await harness.get(path)).json()["uuid"] == record.uuid

    world.forgotten.clear()
    await harness.get("/v1/refresh", q=record.primary_di)

    assert (await harness.get(path)).json()["uuid"] == TWIN


async def test_a_bulk_source_that_lags_brings_no_deleted_twin_back(
    harness: ServiceHarness, world: ForgetfulWorld
) -> None:
    record = with_twin(harness)
    await harness.fill_copy()
    await harness.get("/v1/refresh", q=record.primary_di)
    world.forgotten.add(TWIN)
    await harness.get("/v1/refresh", q=record.primary_di)
    harness.clock.move(7 * 24 * 3600)

    await harness.fill_copy()  # the bulk source still lists what the register has deleted

    device = (await harness.get(f"/v1/devices/{record.primary_di}")).json()
    assert device["uuid"] == record.uuid


async def test_a_watch_that_was_read_and_could_not_be_compared_says_so(harness: ServiceHarness) -> None:
    record, owner = with_twin(harness), await harness.sign_up()
    await harness.post_watches(owner.api_key, record.primary_di)
    harness.world.change(TWIN, version_number=record.version_number - 1)  # what is stored of it has a higher version
    harness.clock.move(60)

    answer = await harness.post_sync(owner.api_key)

    [watch] = await harness.get_list(owner.api_key, "watches")
    assert answer["synced"] == 0
    assert watch["last_error"].startswith("The register was read, but not the record that answers")
