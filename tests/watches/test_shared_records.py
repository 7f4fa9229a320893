"""Basic UDI-DI records: read once for all devices under one, and what changes in one is told to every watch on them."""

import asyncio
from collections import Counter
from typing import Any, Final

import pytest
from sqlalchemy import text

from registerwatch.copy import records as record_store
from registerwatch.copy.tables import basic_records, devices, record_history
from registerwatch.platform.clock import iso_utc
from registerwatch.platform.structs import replace
from registerwatch.register.outcomes import ReadFailed
from registerwatch_standins.register.records import Registration
from registerwatch_standins.register.world import World
from tests.register.builders import a_registered_certificate, a_udi
from tests.support.harness import NewAccount, ServiceHarness, ServiceStarter

on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"])

LISTED = a_registered_certificate("D-1", expiry="2031-05-01")
SEARCHED = a_registered_certificate("Z-2", "certificate-search")
PART: Final = "basic"


def family(world: World, number: int) -> list[Registration]:
    """So many devices under one Basic UDI-DI, with a certificate in each place."""
    like = next(
        each
        for each in world.newest(0, 120)
        if each.legislation == "mdr" and each.basic_udi and len(world.by_primary_di(each.primary_di)) == 1
    )
    like = replace(like, basic_udi="++SHARED", certificates=())
    made = [
        world.register(replace(like, uuid=f"00000000-0000-4000-8000-{each:012d}", primary_di=a_udi(each)))
        for each in range(number)
    ]
    world.change(made[0].uuid, certificates=(LISTED, SEARCHED))
    return made


async def watching(
    harness: ServiceHarness, devices: list[Registration], email: str = "owner@acme.example"
) -> NewAccount:
    """The owner of a new account with a watch on each device, all read an hour ago."""
    owner = await harness.sign_up(email)
    listed = "\n".join(each.primary_di for each in devices)
    assert (await harness.post("/v1/import", owner.api_key, csv=listed)).json()["added"] == len(devices)
    await harness.post_sync(owner.api_key)
    harness.clock.move(3600)
    harness.register_log.clear()
    return owner


def asked(harness: ServiceHarness) -> Counter[str]:
    """Kinds of the requests since the last call."""
    kinds = Counter(harness.register_log.kinds)
    harness.register_log.clear()
    return kinds


async def served(harness: ServiceHarness, device: Registration) -> dict[str, Any]:
    answer: dict[str, Any] = (await harness.get(f"/v1/devices/{device.primary_di}")).json()
    return answer


# Requests


async def test_a_sync_reads_the_record_and_its_certificates_once_for_all_devices_under_it(
    harness: ServiceHarness,
) -> None:
    under = family(harness.world, 5)
    owner = await watching(harness, under)

    answer = await harness.post_sync(owner.api_key)

    assert (answer["synced"], answer["events"]) == (5, [])
    assert asked(harness) == {"search": 2, "basic": 1, "certificates": 1}, "a list with its probe"


async def test_each_sync_reads_the_record_anew_whoever_has_just_read_it(harness: ServiceHarness) -> None:
    under = family(harness.world, 2)
    owner = await watching(harness, under)
    await harness.post_sync(owner.api_key)
    await harness.post(f"/v1/refresh/{under[0].primary_di}")
    asked(harness)
    harness.world.change(under[0].uuid, certificates=(replace(LISTED, expiry="2033-01-01"), SEARCHED))

    answer = await harness.post_sync(owner.api_key)

    assert asked(harness)[PART] == 1
    assert [each["summary"] for each in answer["events"]] == ["cert_expiry: 2031-05-01 → 2033-01-01"] * 2


async def test_devices_without_a_key_of_the_record_are_read_one_by_one(harness: ServiceHarness) -> None:
    legacy = [each for each in harness.world.newest(0, 120) if each.basic_udi is None][:3]
    owner = await watching(harness, legacy)

    await harness.post_sync(owner.api_key)

    assert asked(harness)[PART] == len({each.primary_di for each in legacy})


@on_sqlite
async def test_a_round_of_the_recheck_reads_a_record_once_and_the_next_round_again(harness: ServiceHarness) -> None:
    under = family(harness.world, 3)
    await watching(harness, under)

    for listed in (2, 1):
        harness.clock.move(600)
        assert (await harness.service.watches.recheck.run()).found == 3
        assert asked(harness) == {"search": listed, "basic": 1, "certificates": 1}


@on_sqlite
async def test_watches_that_are_rechecked_hours_apart_share_one_read_of_the_record(
    start_service: ServiceStarter,
) -> None:
    async with start_service(recheck_watches_per_run=1) as harness:
        under = family(harness.world, 3)
        await watching(harness, under)
        counts = []

        for _ in range(6):
            harness.clock.move(3600)
            assert (await harness.service.watches.recheck.run()).found == 1
            counts.append(asked(harness)[PART])

        assert counts == [1, 0, 0, 1, 0, 0]


# What is known of ages


async def test_a_device_says_when_its_record_was_read_for_another_one(start_service: ServiceStarter) -> None:
    async with start_service(recheck_watches_per_run=1) as harness:
        first, second = family(harness.world, 2)
        owner = await watching(harness, [first, second])
        await harness.service.watches.recheck.run()
        read_at = harness.now
        harness.clock.move(1800)

        await harness.service.watches.recheck.run()

        watches = await harness.get_list(owner.api_key, "watches")
        assert [each["last_sync"] for each in watches] == [iso_utc(read_at)] * 2
        rows = {row["primary_di"]: row for row in await harness.rows(devices)}
        for device, own in ((first, read_at), (second, harness.now)):
            row = rows[device.primary_di]
            assert (row["watched_read_at"], row["watched_basic_at"], row["watched_certs_at"]) == (own, read_at, read_at)
            told = await served(harness, device)
            assert {told[name] for name in ("read_at", "basic_read_at", "certs_read_at")} == {iso_utc(read_at - 3600)}


async def test_a_device_tells_strangers_when_its_record_was_read_for_another_one(harness: ServiceHarness) -> None:
    first, second = family(harness.world, 2)
    for _ in range(2):
        harness.clock.move(7 * 3600)
        await harness.service.refresher.refresh(first.primary_di)
    read_at = harness.now
    harness.clock.move(1800)

    await served(harness, second)

    told = await served(harness, second)
    assert [told[name] for name in ("read_at", "basic_read_at", "certs_read_at")] == [
        iso_utc(harness.now),
        iso_utc(read_at),
        iso_utc(read_at),
    ]


# Changes


async def test_what_changes_in_a_record_is_told_by_one_read_to_every_watch_on_devices_under_it(
    start_service: ServiceStarter,
) -> None:
    async with start_service(recheck_watches_per_run=1) as harness:
        under = family(harness.world, 4)
        owner = await watching(harness, under)
        changed = (replace(LISTED, status="withdrawn"), replace(SEARCHED, expiry="2029-09-09"))
        harness.world.change(under[0].uuid, certificates=changed, device_name="Renamed", new_version=False)

        await harness.service.watches.recheck.run()

        assert asked(harness)[PART] == 1
        events = await harness.get_list(owner.api_key, "events")
        assert {each["subject"] for each in events} == {each.primary_di for each in under}
        assert len(events) == 4
        assert len({each["summary"] for each in events}) == 1
        assert "Withdrawn" in events[0]["summary"]
        assert "2029-09-09" in events[0]["summary"]
        for device in under:
            told = await served(harness, device)
            assert told["device_name"] == "Renamed"
            assert told["basic_read_at"] == iso_utc(harness.now)
        asked(harness)
        harness.clock.move(60)
        await harness.post_sync(owner.api_key)
        assert len(await harness.get_list(owner.api_key, "events")) == 4, "nothing is told twice"
        history = [row for row in await harness.rows(record_history) if '"device_name"' in row["old"]]
        assert len(history) == 4


@on_sqlite
async def test_a_change_reaches_every_device_in_transactions_of_few(
    start_service: ServiceStarter, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start_service(recheck_watches_per_run=1) as harness:
        under = family(harness.world, 12)
        owner = await watching(harness, under[:8])
        for device in under[8:]:
            await harness.service.refresher.refresh(device.primary_di)
        batches: list[int] = []
        propagate = record_store.RecordStore.propagate

        async def few(self: Any, key: str, **options: Any) -> bool:
            batches.append(1)
            return await propagate(self, key, **{**options, "most": 5})

        monkeypatch.setattr(record_store.RecordStore, "propagate", few)
        harness.world.change(under[3].uuid, certificates=(replace(LISTED, status="suspended"), SEARCHED))

        await harness.service.refresher.refresh(under[3].primary_di)

        assert len(batches) == 3
        stored = await harness.rows(devices)
        assert sum('"Suspended"' in row["document"] for row in stored) == 12
        events = await harness.get_list(owner.api_key, "events")
        assert len({each["subject"] for each in events}) == len(events) == 8


async def test_a_reader_that_was_killed_leaves_the_rest_to_the_next_recheck(start_service: ServiceStarter) -> None:
    async with start_service(recheck_watches_per_run=1) as harness:
        under = family(harness.world, 3)
        owner = await watching(harness, under)
        harness.world.change(under[0].uuid, certificates=(replace(LISTED, status="withdrawn"), SEARCHED))
        await harness.service.watches.recheck.run()
        async with harness.database.transaction() as connection:  # as if it had ended before the first batch
            await connection.execute(text("UPDATE basic_records SET propagated_to = ''"))
            await connection.execute(
                text("UPDATE devices SET document = replace(document, 'Withdrawn', 'Issued') WHERE primary_di = :udi"),
                {"udi": under[1].primary_di},
            )
        asked(harness)

        await harness.service.refresher.propagate_rest()

        assert asked(harness) == {}
        assert [row["propagated_to"] for row in await harness.rows(basic_records)] == [None]
        for device in under:
            assert {each["status"] for each in (await served(harness, device))["certs"]} == {"Withdrawn", "Issued"}
        assert len(await harness.get_list(owner.api_key, "events")) == 3


async def test_a_device_whose_risk_class_the_record_contradicts_is_read_before_anything_is_told(
    start_service: ServiceStarter,
) -> None:
    async with start_service(recheck_watches_per_run=1) as harness:
        first, second = family(harness.world, 2)
        owner = await watching(harness, [first, second])
        harness.world.change(first.uuid, risk_class="class-iii")

        await harness.service.watches.recheck.run()
        assert {each["subject"] for each in await harness.get_list(owner.api_key, "events")} == {first.primary_di}
        harness.clock.move(60)
        await harness.service.watches.recheck.run()

        events = await harness.get_list(owner.api_key, "events")
        assert {each["subject"] for each in events} == {first.primary_di, second.primary_di}


# Reads that overtake each other


@on_sqlite
async def test_a_read_that_had_the_record_of_before_does_not_undo_what_another_one_found(
    harness: ServiceHarness,
) -> None:
    first, second, third = family(harness.world, 3)
    owner = await watching(harness, [first, second])
    harness.to_register.held_answers = {f"basicUdiData/udiDiData/{third.uuid}"}
    late = asyncio.create_task(harness.service.refresher.refresh(third.primary_di))
    await harness.to_register.reached.wait()
    harness.world.change(first.uuid, certificates=(replace(LISTED, status="withdrawn"), SEARCHED))
    events = (await harness.post_sync(owner.api_key))["events"]
    asked(harness)
    harness.to_register.held_answers = set()
    harness.to_register.let.set()

    await late

    assert len(events) == 2
    assert asked(harness)[PART] == 0, "what the sync found is younger, since it began later"
    for device in (first, second, third):
        assert {each["status"] for each in (await served(harness, device))["certs"]} == {"Withdrawn", "Issued"}
    harness.clock.move(60)
    assert (await harness.post_sync(owner.api_key))["events"] == []


@on_sqlite
async def test_a_read_that_is_stopped_leaves_the_record_to_the_next_one(harness: ServiceHarness) -> None:
    first, second = family(harness.world, 2)
    await watching(harness, [first, second])
    harness.to_register.held = {"basicUdiData/udiDiData/"}
    refresh = harness.service.refresher.refresh
    one = asyncio.create_task(refresh(first.primary_di))
    await harness.to_register.reached.wait()
    other = asyncio.create_task(refresh(second.primary_di))
    harness.faults.fail(PART, "http-500", times=2)
    harness.to_register.held = set()
    harness.to_register.let.set()

    results = [await one, await other]

    assert [isinstance(each, ReadFailed) for each in results] == [True, False]
