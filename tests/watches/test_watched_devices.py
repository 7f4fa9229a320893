"""Watches on devices become due where a read of another device has one of their certificates otherwise."""

import pytest

from registerwatch_standins.register.records import Registration
from tests.support.harness import NewAccount, ServiceHarness
from tests.support.statements import counted_statements
from tests.watches.certificate_steps import RECORD, SEARCH, certify, read, two_devices_of_one_manufacturer
from tests.watches.steps import due_subjects, tried_at


async def watched_and_other(
    harness: ServiceHarness, place: str = RECORD
) -> tuple[NewAccount, Registration, Registration]:
    """An account, a device that it watches, and another one with the same certificate that visitors have read."""
    watched, other = two_devices_of_one_manufacturer(harness)
    for device in (watched, other):
        certify(harness, device, place)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, watched.primary_di)
    await harness.post_sync(owner.api_key)
    await read(harness, other.primary_di)
    assert 0 not in await tried_at(harness), "both reads have the certificate alike"
    return owner, watched, other


@pytest.mark.parametrize("place", [RECORD, SEARCH])
@pytest.mark.parametrize(
    "differs", [{"status": "withdrawn"}, {"status": "suspended"}, {"status": "cancelled"}, {"expiry": "2029-01-01"}]
)
async def test_a_watch_is_due_where_a_newer_read_of_another_device_has_its_certificate_otherwise(
    harness: ServiceHarness, place: str, differs: dict[str, str]
) -> None:
    owner, watched, other = await watched_and_other(harness, place)
    for device in (watched, other):
        certify(harness, device, place, **differs)

    await read(harness, other.primary_di)

    assert await tried_at(harness) == [0]
    await harness.service.watches.recheck.run()
    [event] = await harness.get_list(owner.api_key, "events")
    assert event["subject"] == watched.primary_di
    await read(harness, other.primary_di)
    assert 0 not in await tried_at(harness)
    assert len(await harness.get_list(owner.api_key, "events")) == 1, "once"


async def test_a_watch_is_due_where_the_first_read_of_another_device_has_its_certificate_otherwise(
    harness: ServiceHarness,
) -> None:
    watched, other = two_devices_of_one_manufacturer(harness)
    certify(harness, watched)
    certify(harness, other, status="withdrawn")
    await harness.fill_copy()
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, watched.primary_di)
    await harness.post_sync(owner.api_key)
    assert 0 not in await tried_at(harness)

    await read(harness, other.primary_di)

    assert await tried_at(harness) == [0]


async def test_a_watch_that_is_imported_with_an_older_read_than_that_of_another_device_is_read_next(
    harness: ServiceHarness,
) -> None:
    doubted, other = two_devices_of_one_manufacturer(harness)
    srn = doubted.manufacturer.srn
    earlier, sound = [each for each in harness.separate_devices(120) if each.manufacturer.srn != srn][:2]
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, earlier.primary_di)
    certify(harness, doubted)
    certify(harness, other, status="withdrawn")
    for device in (sound, doubted, other):
        await read(harness, device.primary_di)
    harness.clock.move(60)

    await harness.post("/v1/import", owner.api_key, csv=f"{sound.primary_di}\n{doubted.primary_di}")

    assert await due_subjects(harness) == [each.primary_di for each in (doubted, earlier, sound)]
    await harness.service.watches.recheck.run()
    assert 0 not in await tried_at(harness)


async def test_a_watch_that_was_imported_and_not_read_since_is_due_as_any_other(harness: ServiceHarness) -> None:
    imported, other = two_devices_of_one_manufacturer(harness)
    certify(harness, imported)
    certify(harness, other)
    srn = imported.manufacturer.srn
    earlier = next(each for each in harness.separate_devices(120) if each.manufacturer.srn != srn)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, earlier.primary_di)
    await read(harness, imported.primary_di)
    await harness.post("/v1/import", owner.api_key, csv=imported.primary_di)
    assert await due_subjects(harness) == [earlier.primary_di, imported.primary_di]
    certify(harness, other, status="withdrawn")

    await read(harness, other.primary_di)

    assert await due_subjects(harness) == [imported.primary_di, earlier.primary_di]


async def test_devices_that_the_register_goes_on_having_otherwise_are_not_due_again_and_again(
    harness: ServiceHarness,
) -> None:
    owner, _, other = await watched_and_other(harness)
    await harness.post_watches(owner.api_key, other.primary_di)
    certify(harness, other, status="withdrawn")
    await read(harness, other.primary_di)
    assert sum(each == 0 for each in await tried_at(harness)) == 1, "the other one was read just now"

    await harness.service.watches.recheck.run()
    for _ in range(3):
        assert 0 not in await tried_at(harness)
        harness.clock.move(600)
        await harness.post_sync(owner.api_key)
        await read(harness, other.primary_di)

    assert 0 not in await tried_at(harness)


async def test_an_older_read_of_another_device_and_an_account_whose_period_has_ended_make_nothing_due(
    harness: ServiceHarness,
) -> None:
    owner, watched, other = await watched_and_other(harness)
    certify(harness, watched, status="withdrawn")
    await harness.post_sync(owner.api_key)
    assert 0 not in await tried_at(harness), "its own read is the newest"
    await harness.service.accounts.admin.set_period(owner.email, None, int(harness.now) + 60)
    certify(harness, other, status="suspended")

    await read(harness, other.primary_di)

    assert 0 not in await tried_at(harness)


async def test_a_certificate_of_another_manufacturer_or_another_revision_makes_nothing_due(
    harness: ServiceHarness,
) -> None:
    owner, watched, other = await watched_and_other(harness)
    stranger = next(each for each in harness.separate_devices(120) if each.manufacturer.srn != watched.manufacturer.srn)
    certify(harness, stranger, status="withdrawn")
    await read(harness, stranger.primary_di)
    certify(harness, watched, revision="01")
    certify(harness, other, revision="01")
    await read(harness, other.primary_di)
    await harness.post_sync(owner.api_key)

    certify(harness, other, revision="02", status="withdrawn")
    await read(harness, other.primary_di)

    assert 0 not in await tried_at(harness)


async def test_snapshots_are_looked_at_only_where_a_certificate_has_changed(harness: ServiceHarness) -> None:
    _, _, other = await watched_and_other(harness)

    async def looks() -> int:
        with counted_statements() as sent:
            await read(harness, other.primary_di)
        return sum("watches.snapshot" in each and ("instr(" in each or "strpos(" in each) for each in sent)

    assert await looks() == 0
    certify(harness, other, status="withdrawn")
    assert await looks() == 1
    assert await looks() == 0
