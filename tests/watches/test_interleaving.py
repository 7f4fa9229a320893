"""Readings that overlap, arrive late, tell only some, or meet a wrong clock: nothing is lost and nothing false."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from registerwatch.accounts import repository as account_repository
from registerwatch.db.tables import deliveries
from registerwatch.net.safe_http import PostResult, SafeHttpClient
from registerwatch.notifications.delivery import DeliveryService
from registerwatch.notifications.models import EventType
from registerwatch.register.models import Certificate, Completeness, DeviceReading
from registerwatch.register.observation import DeviceObservation, ReadContext
from registerwatch.watches.observe import NO_CERTIFICATES, WatchObserver
from tests.conftest import StageMaker
from tests.register.builders import UDI, a_device, a_full_reading, a_row
from tests.watches.builders import OFF, ON
from tests.watches.room import HoldingBack, Room, lone_devices, rows_of, synced, watched_at

pytestmark = pytest.mark.anyio

OTHER = "04099999999985"
DAY = 24 * 3600


def anew(**differs: Any) -> DeviceReading:
    """A full reading of a device on the market."""
    return a_full_reading("u-1", UDI, **{"version": 1, "status_code": ON, "trade_name": "Alpha", **differs})


def without_certificates(reading: DeviceReading) -> DeviceReading:
    """The same reading, of which the certificate search could not be read."""
    return replace(reading, completeness=Completeness.ALL_BUT_CERTIFICATES, searched=False)


async def test_a_read_that_a_row_overtook_is_left_and_its_watch_is_due_at_once(room: Room) -> None:
    await room.watch_service()
    await room.read(anew())
    room.clock.move(60)
    began = await room.copy.revision()
    await room.read(a_row(version=1, reference="R-2"), lists_all=False)

    await room.read(anew(reference="R-2", certs=(Certificate("Z-1"),)), since=began)

    assert await room.tried_at() == [0]


async def test_a_read_that_another_overtook_leaves_the_watch_due_at_once(room: Room) -> None:
    caller = await room.watch_service()
    await room.read(anew())
    room.clock.move(60)
    began = await room.copy.revision()
    await room.read(anew(status_code=OFF), since=began)

    await room.read(anew(), since=began)

    assert len(await room.events(caller)) == 1
    assert await room.tried_at() == [0], "which of the two saw the later state is not known before the next read"


async def test_a_sync_reads_again_what_was_overtaken(staged: StageMaker) -> None:
    ways: list[HoldingBack] = []

    def through(way: Any) -> HoldingBack:
        ways.append(HoldingBack(way))
        return ways[0]

    async with staged(background=False, through=through) as stage:
        owner, (device,) = await stage.sign_up(), lone_devices(stage, 1)
        await watched_at(stage, owner.api_key, device.primary_di)
        stage.clock.move(60)
        stage.world.change(device.uuid, reference="NEW-1")
        ways[0].held = {"basicUdiData"}
        sync = asyncio.create_task(synced(stage, owner.api_key))
        await ways[0].reached.wait()
        stage.clock.move(2)
        row = a_row(device.uuid, device.primary_di, version=device.version_number, trade_name="ROW")
        await stage.service.records.store([row], read_at=int(stage.clock.now()))
        stage.clock.move(1)
        ways[0].held = set()
        ways[0].let.set()

        answer = await sync

    assert "NEW-1" in str(answer["events"])


async def test_a_row_that_was_asked_for_before_a_read_in_full_changes_nothing(room: Room) -> None:
    caller = await room.watch_service()
    await room.read(anew(reference="R-1"))
    began = await room.copy.revision()
    await room.read(anew(reference="R-2"))

    await room.read(a_row(version=1, reference="R-1"), lists_all=False, since=began)

    assert (await room.copy.known(UDI))["u-1"].device.reference == "R-2"
    assert await room.summaries(caller) == ["reference: R-1 → R-2"]


async def test_what_a_source_that_lags_left_in_the_copy_is_never_compared(room: Room) -> None:
    caller = await room.watch_service()
    await room.read(anew(reference="R 1"))
    room.clock.move(DAY + 3600)
    await room.read(a_row(version=2, lags=True, reference="R-ONE"), lists_all=False)
    await room.read(a_row(version=2, status_code=OFF), lists_all=False)
    room.clock.move(10)

    await room.read(anew(version=2, status_code=OFF, reference="R 1"))

    (summary,) = await room.summaries(caller)
    assert "reference" not in summary


async def test_certificates_that_cannot_be_read_are_told_until_they_can(room: Room) -> None:
    caller = await room.watch_service()
    read = anew(certs=(Certificate("Z-1", expiry="2030-01-01"),))
    await room.read(read)
    began = int(room.clock.now()) + DAY
    for _ in range(4):
        room.clock.move(DAY)
        await room.read(without_certificates(read))

    watch = await room.watch(caller)
    assert (watch.last_error, watch.failing_since) == (NO_CERTIFICATES, began)
    assert watch.last_sync == int(room.clock.now())
    assert watch.is_failing(room.clock.now())
    await room.read(read)
    watch = await room.watch(caller)
    assert (watch.last_error, watch.failing_since) == ("", None)


async def test_a_clock_that_was_put_right_silences_nothing(room: Room) -> None:
    caller = await room.watch_service()
    room.clock.move(3 * DAY)
    await room.read(anew())
    room.clock.move(-3 * DAY)

    await room.read(anew(status_code=OFF))

    assert len(await room.events(caller)) == 1


async def test_what_a_delivery_on_its_way_cannot_take_along_goes_out_by_another(room: Room) -> None:
    caller = await room.watch_service("a@acme.example", UDI, OTHER)
    await room.with_webhook(caller)
    other = a_full_reading("u-2", OTHER, version=1, status_code=ON)
    await room.read(anew(), other)
    context = ReadContext(held_until=int(room.clock.now()) + 120, account_id=caller.account.id)
    await room.read(anew(status_code=OFF), context=context)
    delivery_service = DeliveryService(
        room.database,
        room.clock,
        SafeHttpClient(_Nobody(), allow_private=True, seconds=1.0),
        service="S",
        user_agent="u",
    )
    room.clock.move(121)  # the clock of another node
    (first,) = await delivery_service.claim()
    room.clock.move(-121)

    await room.read(replace(other, device=replace(other.device, reference="R-2")), context=context)

    bodies = [row["body"] for row in await rows_of(room.database, deliveries)]
    assert [body is None for body in sorted(bodies, key=str)] == [True, False]
    assert len(await room.events(caller)) == 2
    room.clock.move(300)
    claimed = {each.delivery.id: each.delivery.body or "" for each in await delivery_service.claim()}
    assert len(claimed) == 2
    assert sorted(body.count('"summary"') for body in claimed.values()) == [1, 1]
    assert claimed[first.delivery.id] == first.delivery.body
    assert first.delivery.type is EventType.CHANGED


async def test_deleting_an_account_and_observing_its_watches_wait_in_no_circle(room: Room) -> None:
    caller = await room.watch_service("a@acme.example", OTHER, UDI)
    await room.read(anew())
    now = int(room.clock.now())

    async def delete() -> None:
        async with room.database.transaction() as connection:
            await account_repository.delete_account(connection, caller.account.id)

    async def observe() -> None:
        observation = DeviceObservation(a_device("u-1", UDI, version=1, status_code=OFF))
        async with room.database.transaction() as connection:
            await WatchObserver(room.outbox).observe(
                connection, [observation], ReadContext(), unconfirmed=[OTHER], now=now
            )

    async with asyncio.timeout(20):
        await asyncio.gather(*(observe() for _ in range(5)), delete(), *(observe() for _ in range(5)))


class _Nobody:
    async def handle_async_request(self, request: Any) -> Any:
        raise AssertionError(f"nothing is sent here: {PostResult}")
