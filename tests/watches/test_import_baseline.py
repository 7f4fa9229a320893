"""What an imported watch takes for its baseline from the copy, and when that is complete."""

from typing import Any

from registerwatch.platform.clock import iso_utc
from registerwatch.platform.structs import replace
from registerwatch_standins.register.records import Registration
from tests.register.builders import a_registered_certificate
from tests.support.harness import NOW, NewAccount, ServiceHarness, auth_headers
from tests.watches.steps import SEARCHED, sync

LISTED = a_registered_certificate("D-1")


async def imported(harness: ServiceHarness, subject: str) -> NewAccount:
    """An account that imported a watch."""
    owner = await harness.sign_up()
    assert (await harness.post("/v1/import", owner.api_key, csv=subject)).json()["added"] == 1
    return owner


async def the_watch(harness: ServiceHarness, owner: NewAccount) -> dict[str, Any]:
    """The account's only watch."""
    [watch] = await harness.get_list(owner.api_key, "watches")
    return watch


def certified(harness: ServiceHarness) -> Registration:
    """A registration that both places list a certificate for."""
    record = next(each for each in harness.unique_devices(120) if each.basic_udi)
    return harness.world.change(record.uuid, certificates=(LISTED, SEARCHED))


async def test_a_withdrawal_after_an_import_is_an_event_where_the_copy_knew_the_certificates(
    harness: ServiceHarness,
) -> None:
    record = certified(harness)
    await harness.get("/v1/refresh", q=record.primary_di)
    harness.clock.move(60)
    owner = await imported(harness, record.primary_di)
    watch = await the_watch(harness, owner)
    harness.world.change(record.uuid, certificates=(LISTED, replace(SEARCHED, status="withdrawn")))

    assert (watch["complete"], watch["last_sync"], watch["certificate"]) == (True, iso_utc(NOW), "D-1")
    assert await sync(harness, owner) == ["cert_status: Issued → Withdrawn"]


async def test_a_baseline_without_all_certificates_is_completed_by_the_first_full_read(harness: ServiceHarness) -> None:
    record = certified(harness)
    harness.faults.fail("certificates", "http-500")
    await harness.get("/v1/refresh", q=record.primary_di)
    harness.faults.clear()
    owner = await imported(harness, record.primary_di)
    before = await the_watch(harness, owner)
    harness.world.change(record.uuid, certificates=(replace(LISTED, status="withdrawn"), SEARCHED))

    told = await sync(harness, owner)

    assert (before["complete"], before["last_sync"], before["certificate"]) == (False, None, "D-1")
    assert told == ["cert_status: Issued → Withdrawn"], "what the copy knew counts, what it did not is no change"
    after = await the_watch(harness, owner)
    assert (after["complete"], after["last_sync"]) == (True, iso_utc(NOW + 60))
    harness.world.change(record.uuid, certificates=(replace(SEARCHED, status="suspended"),))
    assert await sync(harness, owner) == ["cert_status: Issued → Suspended"]


async def test_a_watch_is_not_complete_before_its_first_full_read(harness: ServiceHarness) -> None:
    record = certified(harness)
    owner = await imported(harness, record.primary_di)

    before = await the_watch(harness, owner)
    await sync(harness, owner)

    assert (before["complete"], before["last_sync"]) == (False, None)
    assert (await the_watch(harness, owner))["complete"] is True


async def test_a_watch_whose_certificates_could_not_be_read_is_not_complete(harness: ServiceHarness) -> None:
    record = certified(harness)
    owner = await harness.sign_up()
    harness.faults.fail("certificates", "http-500")

    [watch] = await harness.post_watches(owner.api_key, record.primary_di)
    listed = (await harness.client.get("/v1/watches", headers=auth_headers(owner.session))).json()["watches"]

    assert watch["complete"] is False
    assert [each["complete"] for each in listed] == [False]


async def test_a_watch_on_an_actor_is_complete_once_it_was_read(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    srn = certified(harness).manufacturer.srn

    [watch] = await harness.post_watches(owner.api_key, srn)

    assert watch["complete"] is True
