"""Every failure of the register, at each request of a read: nothing stored changes, and `error` tells."""

from typing import get_args

import msgspec
import pytest
from msgspec.structs import replace

from registerwatch.register.models import Completeness, Device, DeviceReading
from registerwatch_standins.register.faults import Kind, Mode
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.records import Registration
from tests.conftest import StageMaker
from tests.support.dumps import stored
from tests.support.stage import Stage

pytestmark = pytest.mark.anyio

DEVICE_REQUESTS: tuple[Kind, ...] = ("search", "detail", "basic")
ACTOR_REQUESTS: tuple[Kind, ...] = ("actor-search", "search")
EVERY_MODE: tuple[Mode, ...] = get_args(Mode)
PAGE_MODES = {"empty-page", "ignored-filter", "wrong-rows"}
"""Modes that only a search can show."""


def _modes(kind: Kind) -> list[Mode]:
    """The ways in which a request of this kind can fail."""
    return [mode for mode in EVERY_MODE if (mode != "wrong-record" if "search" in kind else mode not in PAGE_MODES)]


def _devices(stage: Stage) -> list[Registration]:
    """Devices without a twin whose Basic UDI-DI is not the one of the records that a fault puts in its place."""
    others = {record.basic_udi for record in stage.world.newest(0, 2)}
    return [
        record
        for record in stage.world.newest(2, 118)
        if record.basic_udi not in {None, *others} and len(stage.world.by_primary_di(record.primary_di)) == 1
    ]


def _a_device(stage: Stage) -> Registration:
    return _devices(stage)[0]


@pytest.mark.parametrize("kind", DEVICE_REQUESTS)
async def test_a_failure_during_a_device_read_changes_nothing_and_is_told(staged: StageMaker, kind: Kind) -> None:
    async with staged() as stage:
        await stage.fill()
        for mode, record in zip(_modes(kind), _devices(stage), strict=False):
            udi = record.primary_di
            assert (await stage.get("/v1/refresh", q=udi)).json()["refreshed"] is True, mode
            await stage.level()
            before = stored(stage.service.database)
            stage.world.change(record.uuid, reference="CHANGED", trade_names={"en": "Changed"})
            stage.faults.fail(kind, mode, contains="" if kind != "search" else udi)

            answer = (await stage.get("/v1/refresh", q=udi)).json()

            assert answer["refreshed"] is False, mode
            assert answer["error"], f"{mode}: the reason is told"
            assert answer["device"]["error"] == answer["error"], mode
            assert answer["device"]["reference"] == record.reference, f"{mode}: what is stored is served"
            assert stored(stage.service.database) == before, mode

            stage.faults.clear()
            stage.clock.move(120)
            healed = (await stage.get("/v1/refresh", q=udi)).json()
            assert (healed["refreshed"], healed["changed"], healed["error"]) == (True, True, None), mode
            assert healed["device"]["reference"] == "CHANGED", mode


@pytest.mark.parametrize("kind", ACTOR_REQUESTS)
async def test_a_failure_during_an_actor_read_changes_nothing_and_is_told(staged: StageMaker, kind: Kind) -> None:
    async with staged() as stage:
        await stage.fill()
        srn = _a_device(stage).manufacturer.srn
        for mode in _modes(kind):
            name = f"Named before {mode}"
            stage.world.change_actor(srn, name=name)
            assert (await stage.get("/v1/refresh", q=srn)).json()["refreshed"] is True, mode
            await stage.level()
            before = stored(stage.service.database)
            stage.world.change_actor(srn, name="Changed GmbH")
            stage.faults.fail(kind, mode, contains=srn)

            answer = (await stage.get("/v1/refresh", q=srn)).json()

            assert answer["refreshed"] is False, mode
            assert answer["actor"]["error"] == answer["error"] != "", mode
            assert answer["actor"]["name"] == name, mode
            assert stored(stage.service.database) == before, mode
            stage.faults.clear()
            stage.clock.move(120)


@pytest.mark.parametrize("kind", DEVICE_REQUESTS)
async def test_a_device_that_is_not_stored_is_never_made_up_from_a_failure(staged: StageMaker, kind: Kind) -> None:
    async with staged() as stage:
        for mode, record in zip(_modes(kind), _devices(stage), strict=False):
            stage.faults.fail(kind, mode)

            response = await stage.get(f"/v1/devices/{record.primary_di}")

            assert response.status_code == 404, mode
            assert response.json()["found"] is False, mode
            assert "could not be read" in response.json()["error"], mode
            assert stored(stage.service.database)["devices"] == [], mode
            stage.faults.clear()
            stage.clock.move(120)


async def test_a_device_that_the_register_does_not_have_is_told_apart_from_an_unreadable_one(
    staged: StageMaker,
) -> None:
    async with staged() as stage:
        response = await stage.get("/v1/devices/04099999999992")

        assert response.status_code == 404
        assert response.json()["error"] == "The register has no device with this UDI-DI."


async def test_an_ignored_filter_never_stores_a_wrong_record_even_without_a_probe(staged: StageMaker) -> None:
    async with staged() as stage:
        udi = _a_device(stage).primary_di
        assert (await stage.get(f"/v1/devices/{udi}")).status_code == 200, "the filter is proven now"
        stage.faults.fail("search", "ignored-filter")

        response = await stage.get("/v1/devices/04099999999992")

        assert response.status_code == 404
        assert "ignored the filter" in response.json()["error"]
        assert {row["primary_di"] for row in stored(stage.service.database)["devices"]} == {udi}


def _certified(stage: Stage) -> Registration:
    """A device with one certificate in its Basic UDI-DI record and one that only the certificate search has."""
    listed = next(each for record in stage.world.newest(0, stage.world.count) for each in record.certificates)
    certificates = (
        replace(listed, number="D-1", listed_in="basic-udi-record"),
        replace(listed, number="Z-2", listed_in="certificate-search"),
    )
    return stage.world.change(_a_device(stage).uuid, new_version=False, certificates=certificates)


async def test_a_first_read_without_the_certificate_search_shows_what_the_basic_udi_di_record_lists(
    staged: StageMaker,
) -> None:
    async with staged(world=GeneratedWorld(400, seed=7)) as stage:
        await stage.fill()
        record = _certified(stage)
        stage.faults.fail("certificates", "http-503")

        async def numbers() -> list[str]:
            answer = (await stage.get("/v1/refresh", q=record.primary_di)).json()
            assert answer["refreshed"] is True
            return [each["number"] for each in answer["device"]["certs"]]

        assert await numbers() == ["D-1"], "better than the none of the bulk row"
        stage.faults.clear()
        stage.clock.move(120)
        assert await numbers() == ["D-1", "Z-2"]
        stage.faults.fail("certificates", "http-503")
        assert await numbers() == ["D-1", "Z-2"], "a search that is down removes nothing"


async def test_a_fill_that_lags_does_not_bring_a_record_back_that_the_register_lists_no_more(
    staged: StageMaker,
) -> None:
    async with staged() as stage:
        record = _a_device(stage)
        gone = Device(uuid="00000000-0000-4000-8000-000000000000", udi=record.primary_di, version=99)
        bulk_row = DeviceReading(device=gone, completeness=Completeness.SOME, lags=True)
        now = int(stage.clock.now())
        await stage.service.records.store([bulk_row], read_at=now - 3600)
        assert (await stage.get("/v1/refresh", q=record.primary_di)).json()["device"]["uuid"] == record.uuid

        for hours in (1, 30, 60):
            await stage.service.records.store([bulk_row], read_at=now + hours * 3600)
            assert (await stage.get(f"/v1/devices/{record.primary_di}")).json()["uuid"] == record.uuid


async def test_a_passing_failure_is_tried_again_and_nobody_notices(staged: StageMaker) -> None:
    async with staged() as stage:
        udi = _a_device(stage).primary_di
        stage.faults.fail("detail", "http-503", times=1)

        assert (await stage.get(f"/v1/devices/{udi}")).status_code == 200


async def test_a_stale_record_is_served_at_once_and_refreshed_behind_the_readers_back(staged: StageMaker) -> None:
    async with staged() as stage:
        record = _a_device(stage)
        path = f"/v1/devices/{record.primary_di}"
        await stage.get(path)
        stage.world.change(record.uuid, reference="NEW-1")
        assert (await stage.get(path)).json()["reference"] == record.reference
        await stage.settle()
        assert (await stage.get(path)).json()["reference"] == record.reference, "six hours are not over"

        stage.clock.move(6 * 3600 + 1)
        assert (await stage.get(path)).json()["reference"] == record.reference
        await stage.settle()
        assert (await stage.get(path)).json()["reference"] == "NEW-1"


async def test_a_stale_record_is_served_with_its_age_while_the_register_is_down(staged: StageMaker) -> None:
    async with staged() as stage:
        record = _a_device(stage)
        path = f"/v1/devices/{record.primary_di}"
        fresh = (await stage.get(path)).json()
        stage.faults.fail("any", "http-502")
        stage.clock.move(7 * 3600)

        assert (await stage.get(path)).json() == fresh
        await stage.settle()
        stale = (await stage.get(path)).json()

        assert stale["read_at"] == fresh["read_at"]
        assert "status 502" in stale["error"]
        assert {**stale, "error": None} == fresh


async def test_throttling_stops_every_request_until_the_register_wants_them_again(staged: StageMaker) -> None:
    async with staged() as stage:
        first, second = (record.primary_di for record in stage.world.newest(0, 2))
        stage.faults.fail("any", "throttled-429", retry_after=90)
        assert "slow down" in (await stage.get(f"/v1/devices/{first}")).json()["error"]
        asked = stage.log.total

        assert "slow down" in (await stage.get(f"/v1/devices/{second}")).json()["error"]
        assert stage.log.total == asked, "nobody asked again"

        stage.faults.clear()
        stage.clock.move(91)
        assert (await stage.get(f"/v1/devices/{second}")).status_code == 200


async def test_a_record_that_the_register_lists_no_more_stops_answering_for_its_twin(staged: StageMaker) -> None:
    async with staged() as stage:
        record = _a_device(stage)
        udi = record.primary_di
        await stage.get(f"/v1/devices/{udi}")
        gone = next(iter((await stage.service.records.known(udi)).values())).device
        newer = msgspec.structs.replace(gone, uuid="ffffffff-0000-4000-8000-000000000000", version=99, reference="OLD")
        reading = DeviceReading(device=newer, completeness=Completeness.EVERYTHING, detail_version=99)
        await stage.service.records.store([reading], read_at=1)
        assert (await stage.get(f"/v1/devices/{udi}")).json()["reference"] == "OLD"

        assert (await stage.get("/v1/refresh", q=udi)).json()["changed"] is True

        assert (await stage.get(f"/v1/devices/{udi}")).json()["uuid"] == record.uuid
