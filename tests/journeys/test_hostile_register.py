"""Every failure of the register, at each request of a read: nothing stored changes, and `error` tells."""

from typing import get_args

import pytest

from registerwatch.platform.structs import replace
from registerwatch.register.models import Completeness, Device, DeviceReading
from registerwatch_standins.register.faults import Kind, Mode
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.records import Registration
from tests.support.harness import ServiceHarness, ServiceStarter
from tests.support.long_forms import some_by_day
from tests.support.table_rows import copy_rows

DEVICE_REQUESTS: tuple[Kind, ...] = ("search", "detail", "basic")
ACTOR_REQUESTS: tuple[Kind, ...] = ("actor-search", "search")
EVERY_MODE: tuple[Mode, ...] = get_args(Mode)
PAGE_MODES = {"empty-page", "ignored-filter", "wrong-rows"}
"""Modes that only a search can show."""


def _modes(kind: Kind) -> list[Mode]:
    """The ways in which a request of this kind can fail."""
    return [mode for mode in EVERY_MODE if (mode != "wrong-record" if "search" in kind else mode not in PAGE_MODES)]


def _devices(harness: ServiceHarness) -> list[Registration]:
    """Devices without a twin whose Basic UDI-DI is not the one of the records that a fault puts in its place."""
    others = {record.basic_udi for record in harness.world.newest(0, 2)}
    return [
        record
        for record in harness.world.newest(2, 118)
        if record.basic_udi not in {None, *others} and len(harness.world.by_primary_di(record.primary_di)) == 1
    ]


def _a_device(harness: ServiceHarness) -> Registration:
    return _devices(harness)[0]


@pytest.mark.parametrize("kind", some_by_day(DEVICE_REQUESTS, ("search",)))
async def test_a_failure_during_a_device_read_changes_nothing_and_is_told(
    start_service: ServiceStarter, kind: Kind
) -> None:
    async with start_service(background=True) as harness:
        await harness.fill_copy()
        for mode, record in zip(_modes(kind), _devices(harness), strict=False):
            udi = record.primary_di
            assert (await harness.get("/v1/refresh", q=udi)).json()["refreshed"] is True, mode
            await harness.update_index()
            before = copy_rows(harness.database)
            harness.world.change(record.uuid, reference="CHANGED", trade_names={"en": "Changed"})
            harness.faults.fail(kind, mode, contains="" if kind != "search" else udi)

            answer = (await harness.get("/v1/refresh", q=udi)).json()

            assert answer["refreshed"] is False, mode
            assert answer["error"], f"{mode}: the reason is told"
            assert answer["device"]["error"] == answer["error"], mode
            assert answer["device"]["reference"] == record.reference, f"{mode}: what is stored is served"
            assert copy_rows(harness.database) == before, mode

            harness.faults.clear()
            harness.clock.move(120)
            healed = (await harness.get("/v1/refresh", q=udi)).json()
            assert (healed["refreshed"], healed["changed"], healed["error"]) == (True, True, None), mode
            assert healed["device"]["reference"] == "CHANGED", mode


@pytest.mark.parametrize("kind", some_by_day(ACTOR_REQUESTS, ("actor-search",)))
async def test_a_failure_during_an_actor_read_changes_nothing_and_is_told(
    start_service: ServiceStarter, kind: Kind
) -> None:
    async with start_service(background=True) as harness:
        await harness.fill_copy()
        srn = _a_device(harness).manufacturer.srn
        for mode in _modes(kind):
            name = f"Named before {mode}"
            harness.world.change_actor(srn, name=name)
            assert (await harness.get("/v1/refresh", q=srn)).json()["refreshed"] is True, mode
            await harness.update_index()
            before = copy_rows(harness.database)
            harness.world.change_actor(srn, name="Changed GmbH")
            harness.faults.fail(kind, mode, contains=srn)

            answer = (await harness.get("/v1/refresh", q=srn)).json()

            assert answer["refreshed"] is False, mode
            assert answer["actor"]["error"] == answer["error"] != "", mode
            assert answer["actor"]["name"] == name, mode
            assert copy_rows(harness.database) == before, mode
            harness.faults.clear()
            harness.clock.move(120)


@pytest.mark.parametrize("kind", DEVICE_REQUESTS)
async def test_a_device_that_is_not_stored_is_never_made_up_from_a_failure(
    start_service: ServiceStarter, kind: Kind
) -> None:
    async with start_service(background=True) as harness:
        for mode, record in zip(_modes(kind), _devices(harness), strict=False):
            harness.faults.fail(kind, mode)

            response = await harness.get(f"/v1/devices/{record.primary_di}")

            assert response.status_code == 404, mode
            assert response.json()["found"] is False, mode
            assert "could not be read" in response.json()["error"], mode
            assert copy_rows(harness.database)["devices"] == [], mode
            harness.faults.clear()
            harness.clock.move(120)


async def test_a_device_that_the_register_does_not_have_is_told_apart_from_an_unreadable_one(
    start_service: ServiceStarter,
) -> None:
    async with start_service(background=True) as harness:
        response = await harness.get("/v1/devices/04099999999992")

        assert response.status_code == 404
        assert response.json()["error"] == "The register has no device with this UDI-DI."


async def test_an_ignored_filter_never_stores_a_wrong_record_even_without_a_probe(
    start_service: ServiceStarter,
) -> None:
    async with start_service(background=True) as harness:
        udi = _a_device(harness).primary_di
        assert (await harness.get(f"/v1/devices/{udi}")).status_code == 200, "the filter is proven now"
        harness.faults.fail("search", "ignored-filter")

        response = await harness.get("/v1/devices/04099999999992")

        assert response.status_code == 404
        assert "ignored the filter" in response.json()["error"]
        assert {row["primary_di"] for row in copy_rows(harness.database)["devices"]} == {udi}


def _certified(harness: ServiceHarness) -> Registration:
    """A device with one certificate in its Basic UDI-DI record and one that only the certificate search has."""
    listed = next(each for record in harness.world.newest(0, harness.world.count) for each in record.certificates)
    certificates = (
        replace(listed, number="D-1", listed_in="basic-udi-record"),
        replace(listed, number="Z-2", listed_in="certificate-search"),
    )
    return harness.world.change(_a_device(harness).uuid, new_version=False, certificates=certificates)


async def test_a_first_read_without_the_certificate_search_shows_what_the_basic_udi_di_record_lists(
    start_service: ServiceStarter,
) -> None:
    async with start_service(background=True, world=GeneratedWorld(400, seed=7)) as harness:
        await harness.fill_copy()
        record = _certified(harness)
        harness.faults.fail("certificates", "http-503")

        async def numbers() -> list[str]:
            answer = (await harness.get("/v1/refresh", q=record.primary_di)).json()
            assert answer["refreshed"] is True
            return [each["number"] for each in answer["device"]["certs"]]

        assert await numbers() == ["D-1"], "better than the none of the bulk row"
        harness.faults.clear()
        harness.clock.move(120)
        assert await numbers() == ["D-1", "Z-2"]
        harness.faults.fail("certificates", "http-503")
        assert await numbers() == ["D-1", "Z-2"], "a search that is down removes nothing"


async def test_a_fill_that_lags_does_not_bring_a_record_back_that_the_register_lists_no_more(
    start_service: ServiceStarter,
) -> None:
    async with start_service(background=True) as harness:
        record = _a_device(harness)
        gone = Device(uuid="00000000-0000-4000-8000-000000000000", udi=record.primary_di, version=99)
        bulk_row = DeviceReading(device=gone, completeness=Completeness.SOME, source="data_lake", lags=True)
        now = harness.now
        await harness.service.records.store([bulk_row], read_at=now - 3600)
        assert (await harness.get("/v1/refresh", q=record.primary_di)).json()["device"]["uuid"] == record.uuid

        for hours in (1, 30, 60):
            await harness.service.records.store([bulk_row], read_at=now + hours * 3600)
            assert (await harness.get(f"/v1/devices/{record.primary_di}")).json()["uuid"] == record.uuid


async def test_a_passing_failure_is_tried_again_and_nobody_notices(start_service: ServiceStarter) -> None:
    async with start_service(background=True) as harness:
        udi = _a_device(harness).primary_di
        harness.faults.fail("detail", "http-503", times=1)

        assert (await harness.get(f"/v1/devices/{udi}")).status_code == 200


async def test_a_stale_record_is_served_at_once_and_refreshed_behind_the_readers_back(
    start_service: ServiceStarter,
) -> None:
    async with start_service(background=True) as harness:
        record = _a_device(harness)
        path = f"/v1/devices/{record.primary_di}"
        await harness.get(path)
        harness.world.change(record.uuid, reference="NEW-1")
        assert (await harness.get(path)).json()["reference"] == record.reference
        await harness.finish_background_work()
        assert (await harness.get(path)).json()["reference"] == record.reference, "six hours are not over"

        harness.clock.move(6 * 3600 + 1)
        assert (await harness.get(path)).json()["reference"] == record.reference
        await harness.finish_background_work()
        assert (await harness.get(path)).json()["reference"] == "NEW-1"


async def test_a_stale_record_is_served_with_its_age_while_the_register_is_down(start_service: ServiceStarter) -> None:
    async with start_service(background=True) as harness:
        record = _a_device(harness)
        path = f"/v1/devices/{record.primary_di}"
        fresh = (await harness.get(path)).json()
        harness.faults.fail("any", "http-502")
        harness.clock.move(7 * 3600)

        assert (await harness.get(path)).json() == fresh
        await harness.finish_background_work()
        stale = (await harness.get(path)).json()

        assert stale["read_at"] == fresh["read_at"]
        assert "status 502" in stale["error"]
        assert {**stale, "error": None} == fresh


async def test_throttling_stops_every_request_until_the_register_wants_them_again(
    start_service: ServiceStarter,
) -> None:
    async with start_service(background=True) as harness:
        first, second = (record.primary_di for record in harness.world.newest(0, 2))
        harness.faults.fail("any", "throttled-429", retry_after=90)
        assert "slow down" in (await harness.get(f"/v1/devices/{first}")).json()["error"]
        asked = harness.register_log.total

        assert "slow down" in (await harness.get(f"/v1/devices/{second}")).json()["error"]
        assert harness.register_log.total == asked, "nobody asked again"

        harness.faults.clear()
        harness.clock.move(91)
        assert (await harness.get(f"/v1/devices/{second}")).status_code == 200


async def test_a_record_that_the_register_lists_no_more_stops_answering_for_its_twin(
    start_service: ServiceStarter,
) -> None:
    async with start_service(background=True) as harness:
        record = _a_device(harness)
        udi = record.primary_di
        await harness.get(f"/v1/devices/{udi}")
        gone = next(iter((await harness.service.records.known(udi)).values())).device
        newer = replace(gone, uuid="ffffffff-0000-4000-8000-000000000000", version=99, reference="OLD")
        reading = DeviceReading(device=newer, completeness=Completeness.EVERYTHING, source="eudamed", detail_version=99)
        await harness.service.records.store([reading], read_at=1)
        assert (await harness.get(f"/v1/devices/{udi}")).json()["reference"] == "OLD"

        assert (await harness.get("/v1/refresh", q=udi)).json()["changed"] is True

        assert (await harness.get(f"/v1/devices/{udi}")).json()["uuid"] == record.uuid
