"""A sync of many watches where the register allows few requests: what answers most of them is asked first."""

from typing import Any

import pytest

from registerwatch.platform.structs import replace
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.records import Registration
from registerwatch_standins.register.world import World
from tests.register.builders import a_registered_certificate, a_udi
from tests.support.harness import NewAccount, ServiceHarness, ServiceStarter

MANUFACTURERS, DEVICES_OF_EACH, PER_MINUTE = 5, 5, 20


def families(world: World) -> list[Registration]:
    """Five devices of each of five manufacturers, those of one manufacturer under one Basic UDI-DI."""
    found: dict[str, Registration] = {}
    for each in world.newest(0, world.count):
        if each.legislation == "mdr" and each.basic_udi and "-MF-" in each.manufacturer.srn:
            found.setdefault(each.manufacturer.srn, each)
    made = []
    for number, like in enumerate(list(found.values())[:MANUFACTURERS]):
        like = replace(like, basic_udi=f"++FAMILY{number}", certificates=())
        for place in range(number * DEVICES_OF_EACH, (number + 1) * DEVICES_OF_EACH):
            uuid = f"00000000-0000-4000-8000-{place:012d}"
            made.append(world.register(replace(like, uuid=uuid, primary_di=a_udi(place))))
    return made


async def watching(harness: ServiceHarness, devices: list[Registration]) -> NewAccount:
    """The owner of a new account who watches devices that were read an hour ago."""
    owner = await harness.sign_up()
    await harness.service.accounts.admin.set_period(owner.email, None, harness.now + 10**8)
    listed = "\n".join(
        each.primary_di for each in devices[::5] + [each for each in devices if each not in devices[::5]]
    )
    assert (await harness.post("/v1/import", owner.api_key, csv=listed)).json()["added"] == len(devices)
    for device in devices:
        await harness.service.refresher.refresh(device.primary_di)
        harness.clock.move(15)
    harness.clock.move(3600)
    harness.register_log.clear()
    return owner


async def synced(harness: ServiceHarness, owner: NewAccount) -> dict[str, Any]:
    answer = await harness.post_sync(owner.api_key)
    print(f"{answer['synced']} of 25 watches read with {len(harness.register_log.requests)} requests")
    return answer


async def test_most_of_25_watches_are_read_where_the_register_allows_20_requests_a_minute(
    start_service: ServiceStarter,
) -> None:
    world = GeneratedWorld(700, seed=5)
    async with start_service(
        world=world, register_requests_per_minute=PER_MINUTE, sync_time_limit=60.0, trial_watch_cap=50
    ) as harness:
        devices = families(world)
        owner = await watching(harness, devices)
        listed = a_registered_certificate("D-1")
        world.change(devices[0].uuid, certificates=(listed,))
        world.change(devices[7].uuid, reference="NEW-1")

        answer = await synced(harness, owner)

        assert answer["synced"] >= 20
        told = {each["subject"] for each in answer["events"]}
        assert told >= {each.primary_di for each in devices[:5]}
        assert devices[7].primary_di in told


async def test_what_a_list_shows_otherwise_than_the_copy_is_searched(start_service: ServiceStarter) -> None:
    world = GeneratedWorld(700, seed=5)
    async with start_service(world=world, trial_watch_cap=50) as harness:
        devices = families(world)[:DEVICES_OF_EACH]
        owner = await watching(harness, devices)
        twin = replace(devices[1], uuid="00000000-0000-4000-9000-000000000001", version_number=9, reference="TWIN-1")
        world.register(twin)
        world.remove(devices[2].uuid)

        answer = await harness.post_sync(owner.api_key)

        searched = [each.query for each in harness.register_log.requests if "primaryDi" in each.query]
        assert len(searched) == 2
        assert {each["subject"]: each["changes"][0]["new"] for each in answer["events"]} == {twin.primary_di: "TWIN-1"}
        assert (answer["synced"], answer["failed"]) == (4, 1)


@pytest.mark.parametrize("fault", ["ignored-filter", "http-500", "empty-page"])
async def test_devices_are_searched_where_the_list_cannot_be_believed(
    start_service: ServiceStarter, fault: Any
) -> None:
    world = GeneratedWorld(700, seed=5)
    async with start_service(world=world, trial_watch_cap=50) as harness:
        devices = families(world)[:DEVICES_OF_EACH]
        owner = await watching(harness, devices)
        world.change(devices[3].uuid, reference="NEW-1")
        harness.faults.fail("search", fault, contains="srn=")

        answer = await harness.post_sync(owner.api_key)

        assert [each["summary"].split(":")[0] for each in answer["events"]] == ["reference"]
        assert answer["synced"] == DEVICES_OF_EACH
