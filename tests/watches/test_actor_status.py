"""The status of an actor comes from the actor itself where no device tells it, and its changes are events."""

from collections.abc import AsyncIterator

import pytest
from sqlalchemy import update

from registerwatch.platform.structs import replace
from registerwatch.watches.snapshot import decoded, encoded
from registerwatch.watches.tables import watches
from tests.register.forgetful_world import ForgetfulWorld
from tests.support.harness import ServiceHarness, ServiceStarter


@pytest.fixture
async def world() -> ForgetfulWorld:
    return ForgetfulWorld(120)


@pytest.fixture
async def harness(start_service: ServiceStarter, world: ForgetfulWorld) -> AsyncIterator[ServiceHarness]:
    async with start_service(world=world) as harness:
        yield harness


def representative(world: ForgetfulWorld) -> str:
    """The SRN of an authorised representative."""
    found = [each.authorised_representative for each in world.newest(0, 120)]
    return next(each.srn for each in found if each is not None)


def without_devices(world: ForgetfulWorld) -> str:
    """The SRN of a manufacturer under which no device is registered any more."""
    srn = world.newest(0, 1)[0].manufacturer.srn
    world.forgotten |= {each.uuid for each in world.newest(0, 120) if each.manufacturer.srn == srn}
    return srn


@pytest.mark.parametrize("actor", [representative, without_devices])
async def test_an_actor_under_which_no_device_is_registered_has_its_status_and_changes_of_it(
    harness: ServiceHarness, world: ForgetfulWorld, actor: object
) -> None:
    assert callable(actor)
    srn, owner = actor(world), await harness.sign_up()
    await harness.post_watches(owner.api_key, srn)
    assert (await harness.get(f"/v1/actors/{srn}")).json()["manufacturer_status"] == "Active"

    world.change_actor(srn, status="inactive")
    harness.clock.move(60)
    [event] = (await harness.post_sync(owner.api_key))["events"]

    assert event["summary"] == "manufacturer_status: Active → Inactive"
    shown = (await harness.get(f"/v1/actors/{srn}")).json()
    assert shown["manufacturer_status_code"] == "refdata.actor-status.inactive"


async def test_a_status_that_was_never_read_before_an_upgrade_is_no_change(
    harness: ServiceHarness, world: ForgetfulWorld
) -> None:
    srn, owner = representative(world), await harness.sign_up()
    [watch] = await harness.post_watches(owner.api_key, srn)
    [row] = await harness.rows(watches)
    before = replace(decoded(row["snapshot"]), manufacturer_status="", manufacturer_status_code="", field_set=1)
    async with harness.database.transaction() as connection:
        await connection.execute(update(watches).values(snapshot=encoded(before)))
    harness.clock.move(60)

    assert (await harness.post_sync(owner.api_key))["events"] == []

    world.change_actor(srn, status="inactive")
    harness.clock.move(60)
    assert len((await harness.post_sync(owner.api_key))["events"]) == 1
    assert watch["subject"] == srn


async def test_an_actor_whose_status_cannot_be_read_for_a_moment_was_not_read(
    harness: ServiceHarness, world: ForgetfulWorld
) -> None:
    srn, owner = representative(world), await harness.sign_up()
    await harness.post_watches(owner.api_key, srn)
    harness.faults.fail("actor-search", "json-of-renamed-fields", names=("actorStatus",))
    harness.faults.fail("actor", "http-503")
    harness.clock.move(60)

    await harness.post_sync(owner.api_key)

    [watch] = await harness.get_list(owner.api_key, "watches")
    assert watch["last_error"]
    assert (await harness.get(f"/v1/actors/{srn}")).json()["manufacturer_status"] == "Active"


async def test_an_actor_of_which_the_register_has_no_record_is_read_without_a_status(
    harness: ServiceHarness, world: ForgetfulWorld
) -> None:
    harness.faults.fail("actor-search", "json-of-renamed-fields", names=("actorStatus",))
    harness.faults.fail("actor", "redirect-302")

    actor = (await harness.get(f"/v1/actors/{representative(world)}")).json()

    assert (actor["manufacturer_status"], actor["error"]) == ("", None)
    assert actor["name"]
