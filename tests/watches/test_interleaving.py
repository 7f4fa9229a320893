"""Readings that overlap, arrive late, tell only some, or meet a wrong clock: nothing is lost and nothing false."""

import asyncio
from typing import Any

from registerwatch.accounts import repository as account_repository
from registerwatch.notifications.models import EventType
from registerwatch.notifications.tables import deliveries
from registerwatch.platform.structs import replace
from registerwatch.register.models import Certificate, Completeness, DeviceReading
from registerwatch.register.observation import DeviceObservation, ReadContext
from registerwatch.watches.models import NO_CERTIFICATES
from registerwatch.watches.observe import WatchObserver
from tests.register.builders import UDI, a_device, a_full_reading, a_row
from tests.support.harness import ServiceHarness
from tests.watches.builders import OFF, ON
from tests.watches.steps import add_webhook, tried_at

OTHER = "04099999999985"
DAY = 24 * 3600


def anew(**differs: Any) -> DeviceReading:
    """A full reading of a device on the market."""
    return a_full_reading("u-1", UDI, **{"version": 1, "status_code": ON, "trade_name": "Alpha", **differs})


def without_certificates(reading: DeviceReading) -> DeviceReading:
    """The same reading, of which the certificate search could not be read."""
    return replace(reading, completeness=Completeness.ALL_BUT_CERTIFICATES, searched=False)


async def test_a_read_that_a_row_overtook_is_left_and_its_watch_is_due_at_once(harness: ServiceHarness) -> None:
    await harness.owner_watching()
    await harness.store(anew())
    harness.clock.move(60)
    began = await harness.service.records.revision()
    await harness.store(a_row(version=1, reference="R-2"), lists_all=False)

    await harness.store(anew(reference="R-2", certs=(Certificate("Z-1"),)), since=began)

    assert await tried_at(harness) == [0]


async def test_a_read_that_another_overtook_leaves_the_watch_due_at_once(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    await harness.store(anew())
    harness.clock.move(60)
    began = await harness.service.records.revision()
    await harness.store(anew(status_code=OFF), since=began)

    await harness.store(anew(), since=began)

    assert len(await harness.events(caller)) == 1
    assert await tried_at(harness) == [0], "which of the two saw the later state is not known before the next read"


async def test_a_watch_whose_first_read_was_overtaken_begins_with_the_next_one(harness: ServiceHarness) -> None:
    early = await harness.owner_watching("a@acme.example")
    await harness.store(anew())
    late = await harness.owner_watching("b@acme.example")
    harness.clock.move(60)
    began = await harness.service.records.revision()
    await harness.store(a_row(version=1, reference="R-2"), lists_all=False)
    await harness.store(anew(), since=began)
    assert (await harness.watch(late)).snapshot is None

    await harness.store(anew(reference="R-2", status_code=OFF))
    await harness.store(anew(reference="R-3", status_code=OFF))

    told = [[each.split(":")[0] for each in await harness.summaries(caller)] for caller in (early, late)]
    assert told == [["status", "reference"], ["reference"]]


async def test_a_sync_reads_again_what_was_overtaken(harness: ServiceHarness) -> None:
    owner, (device,) = await harness.sign_up(), harness.unique_devices(1)
    await harness.post_watches(owner.api_key, device.primary_di)
    harness.clock.move(60)
    harness.world.change(device.uuid, reference="NEW-1")
    harness.to_register.held = {"basicUdiData"}
    sync = asyncio.create_task(harness.post_sync(owner.api_key))
    await harness.to_register.reached.wait()
    harness.clock.move(2)
    row = a_row(device.uuid, device.primary_di, version=device.version_number, trade_name="ROW")
    await harness.service.records.store([row], read_at=harness.now)
    harness.clock.move(1)
    harness.to_register.held = set()
    harness.to_register.let.set()

    answer = await sync

    assert "NEW-1" in str(answer["events"])


async def test_a_row_that_was_asked_for_before_a_read_in_full_changes_nothing(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    await harness.store(anew(reference="R-1"))
    began = await harness.service.records.revision()
    await harness.store(anew(reference="R-2"))

    await harness.store(a_row(version=1, reference="R-1"), lists_all=False, since=began)

    assert (await harness.service.records.known(UDI))["u-1"].device.reference == "R-2"
    assert await harness.summaries(caller) == ["reference: R-1 → R-2"]


async def test_what_a_source_that_lags_left_in_the_copy_is_never_compared(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    await harness.store(anew(reference="R 1"))
    harness.clock.move(DAY + 3600)
    await harness.store(a_row(version=2, lags=True, reference="R-ONE"), lists_all=False)
    await harness.store(a_row(version=2, status_code=OFF), lists_all=False)
    harness.clock.move(10)

    await harness.store(anew(version=2, status_code=OFF, reference="R 1"))

    (summary,) = await harness.summaries(caller)
    assert "reference" not in summary


async def test_certificates_that_cannot_be_read_are_told_until_they_can(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    read = anew(certs=(Certificate("Z-1", expiry="2030-01-01"),))
    await harness.store(read)
    began = harness.now + DAY
    for _ in range(4):
        harness.clock.move(DAY)
        await harness.store(without_certificates(read))

    watch = await harness.watch(caller)
    assert (watch.last_error, watch.failing_since) == (NO_CERTIFICATES, began)
    assert watch.last_sync == harness.now
    assert watch.health(harness.clock.now()) == "partial"
    await harness.store(read)
    watch = await harness.watch(caller)
    assert (watch.last_error, watch.failing_since) == ("", None)


async def test_a_clock_that_was_put_right_silences_nothing(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    harness.clock.move(3 * DAY)
    await harness.store(anew())
    harness.clock.move(-3 * DAY)

    await harness.store(anew(status_code=OFF))

    assert len(await harness.events(caller)) == 1


async def test_what_a_delivery_on_its_way_cannot_take_along_goes_out_by_another(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching("a@acme.example", UDI, OTHER)
    await add_webhook(harness, caller)
    other = a_full_reading("u-2", OTHER, version=1, status_code=ON)
    await harness.store(anew(), other)
    context = ReadContext(held_until=harness.now + 120, account_id=caller.account.id)
    await harness.store(anew(status_code=OFF), context=context)
    harness.clock.move(121)  # the clock of another node
    (first,) = await harness.deliveries.claim()
    harness.clock.move(-121)

    await harness.store(replace(other, device=replace(other.device, reference="R-2")), context=context)

    bodies = [row["body"] for row in await harness.rows(deliveries)]
    assert [body is None for body in sorted(bodies, key=str)] == [True, False]
    assert len(await harness.events(caller)) == 2
    harness.clock.move(300)
    claimed = {each.delivery.id: each.delivery.body or "" for each in await harness.deliveries.claim()}
    assert len(claimed) == 2
    assert sorted(body.count('"summary"') for body in claimed.values()) == [1, 1]
    assert claimed[first.delivery.id] == first.delivery.body
    assert first.delivery.type is EventType.CHANGED


async def test_deleting_an_account_and_observing_its_watches_wait_in_no_circle(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching("a@acme.example", OTHER, UDI)
    await harness.store(anew())
    now = harness.now

    async def delete() -> None:
        async with harness.database.transaction() as connection:
            await account_repository.delete_account(connection, caller.account.id)

    async def observe() -> None:
        observation = DeviceObservation(a_device("u-1", UDI, version=1, status_code=OFF))
        async with harness.database.transaction() as connection:
            await WatchObserver(harness.service.notifications.outbox).observe(
                connection, [observation], ReadContext(), unconfirmed=[OTHER], now=now, read_at=now
            )

    async with asyncio.timeout(20):
        await asyncio.gather(*(observe() for _ in range(5)), delete(), *(observe() for _ in range(5)))
