"""Bringing records up to date: one read for all who ask, failures remembered, time bounded."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from registerwatch.bootstrap import Service, build_service, running
from registerwatch.ingest.refresh import (
    MAX_BACKGROUND_REFRESHES,
    MEMORY_SECONDS,
    NO_LONGER_LISTED,
    READ_THROUGH_SECONDS,
    ReadLimits,
    Refresher,
)
from registerwatch.ingest.subject_reads import Refreshed, RefreshResult, SubjectReads
from registerwatch.platform.clock import iso_utc
from registerwatch.platform.structs import replace
from registerwatch.register.outcomes import NotFound, ReadFailed
from registerwatch.settings import Settings
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch_standins.register.generated import GeneratedWorld
from tests.register.canned import CannedRegister, one_device
from tests.register.forgetful_world import ForgetfulWorld
from tests.register.virtual_time import loop_time
from tests.support.fakes import SteppedClock
from tests.support.harness import FAST_RETRIES, PACE, REGISTER, ServiceHarness, ServiceStarter, build_harness
from tests.support.table_rows import copy_rows


@pytest.fixture
def anyio_backend() -> str:
    """A loop whose time a test can move."""
    return "asyncio"


NOBODYS = "04099999999992"
on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"])
"""What is asked of the register and remembered does not depend on the database."""


class SilentRegister:
    """A register that has taken a request and does not answer until it is let."""

    def __init__(self, then: CannedRegister) -> None:
        self.reached, self.let = asyncio.Event(), asyncio.Event()

        async def answer(request: httpx2.Request) -> httpx2.Response:
            self.reached.set()
            await self.let.wait()
            return await then.handle_async_request(request)

        self.transport = CannedRegister(answer)


def a_service(database_url: str, folder: Path, transport: httpx2.AsyncBaseTransport) -> Service:
    """A service over a register that a test wrote."""
    return build_service(
        Settings(data_dir=folder, database_url=database_url, register_url=REGISTER, register_requests_per_minute=PACE),
        clock=SteppedClock(),
        transport=transport,
        retry_policies=FAST_RETRIES,
        start_pace=PACE,
    )


def a_row(**fields: Any) -> dict[str, Any]:
    return {"uuid": "u-1", "primaryDi": NOBODYS, "basicUdi": "B-1", "versionNumber": 1, **fields}


# One read for all


@on_sqlite
async def test_readers_of_one_subject_at_the_same_time_share_one_read(harness: ServiceHarness) -> None:
    udi = harness.world.newest(0, 1)[0].primary_di

    results = await asyncio.gather(*(harness.service.refresher.refresh(udi) for _ in range(20)))

    assert results == [Refreshed(changed=True)] * 20
    assert harness.register_log.kinds["detail"] == 1
    assert harness.service.refresher.results["found"] == 1


@on_sqlite
async def test_readers_of_different_subjects_read_side_by_side(harness: ServiceHarness) -> None:
    udis = [record.primary_di for record in harness.world.newest(0, 5)]

    results = await asyncio.gather(*(harness.service.refresher.refresh(udi) for udi in udis))

    assert results == [Refreshed(changed=True)] * 5
    assert harness.register_log.kinds["detail"] == 5


@on_sqlite
async def test_a_reader_who_goes_away_does_not_take_the_read_from_the_others(database_url: str, tmp_path: Path) -> None:
    register = SilentRegister(one_device(a_row()))
    async with running(a_service(database_url, tmp_path, register.transport)) as service:
        impatient = asyncio.create_task(service.refresher.refresh(NOBODYS))
        await register.reached.wait()
        patient = asyncio.create_task(service.refresher.refresh(NOBODYS))
        await asyncio.sleep(0)
        impatient.cancel()
        register.let.set()

        assert await patient == Refreshed(changed=True)
        assert impatient.cancelled() or impatient.done()


@on_sqlite
async def test_a_reader_does_not_share_a_read_for_a_watch_but_has_one_of_their_own_afterwards(
    database_url: str, tmp_path: Path
) -> None:
    register = SilentRegister(one_device(a_row()))
    async with running(a_service(database_url, tmp_path, register.transport)) as service:
        recheck = asyncio.create_task(service.refresher.refresh(NOBODYS, priority=RequestPriority.RECHECK))
        await register.reached.wait()
        waiting = asyncio.create_task(service.refresher.refresh(NOBODYS))
        await asyncio.sleep(0)
        register.let.set()

        assert await recheck == Refreshed(changed=True)
        assert await waiting == Refreshed(changed=False)
        assert service.refresher.reads_begun == 2


@on_sqlite
async def test_a_read_for_a_watch_does_not_wait_for_the_one_of_a_reader_who_has_theirs_afterwards(
    database_url: str, tmp_path: Path
) -> None:
    register = SilentRegister(one_device(a_row()))
    async with running(a_service(database_url, tmp_path, register.transport)) as service:
        waiting = asyncio.create_task(service.refresher.refresh(NOBODYS))
        await register.reached.wait()
        recheck = asyncio.create_task(service.refresher.refresh(NOBODYS, priority=RequestPriority.RECHECK))
        await asyncio.sleep(0)
        register.let.set()

        assert await recheck == Refreshed(changed=True)
        assert await waiting == Refreshed(changed=False)
        assert service.refresher.reads_begun == 3, "the first one was given up"


@on_sqlite
@pytest.mark.parametrize("is_first", [True, False], ids=["before", "meanwhile"])
async def test_a_refresh_behind_an_answer_is_put_off_by_a_read_for_a_watch_and_not_lost(
    database_url: str, tmp_path: Path, *, is_first: bool
) -> None:
    register = SilentRegister(one_device(a_row()))
    async with running(a_service(database_url, tmp_path, register.transport)) as service:
        refresher = service.refresher
        if is_first:
            assert refresher.refresh_in_background(NOBODYS)
            await register.reached.wait()
        recheck = asyncio.create_task(refresher.refresh(NOBODYS, priority=RequestPriority.RECHECK))
        await register.reached.wait()
        if not is_first:
            assert refresher.refresh_in_background(NOBODYS)
        register.let.set()

        await recheck
        await refresher.settled()

        assert refresher.reads_begun == (3 if is_first else 2)
        assert refresher.results["found"] == 2


@on_sqlite
async def test_what_a_read_for_a_watch_brought_in_vain_is_not_told_to_readers(harness: ServiceHarness) -> None:
    udi = harness.world.newest(0, 1)[0].primary_di
    refresher = harness.service.refresher
    await refresher.refresh(udi)
    harness.faults.fail("search", "http-400")

    result = await refresher.refresh(udi, priority=RequestPriority.RECHECK)

    assert isinstance(result, ReadFailed)
    assert (refresher.failure(udi), refresher.remembered(udi)) == (None, None)


async def test_a_refresh_that_a_read_of_another_process_overtakes_is_made_again(
    start_service: ServiceStarter, database_url: str, tmp_path: Path
) -> None:
    async with start_service() as harness:
        other = build_harness(database_url, tmp_path / "other", world=harness.world)
        async with running(other.service, background=False):
            udi = harness.unique_devices(1)[0].primary_di
            await harness.service.refresher.refresh(udi)
            harness.clock.move(60)
            other.clock.move(60)
            harness.to_register.held_answers = {"udiDiData"}
            refresh = asyncio.create_task(harness.get("/v1/refresh", q=udi))
            await harness.to_register.reached.wait()
            await other.service.refresher.refresh(udi, priority=RequestPriority.RECHECK)
            harness.to_register.held_answers = set()
            harness.to_register.let.set()

            answer = (await refresh).json()

            assert answer["device"]["read_at"] == iso_utc(harness.now)
            await other.close_own()


class NoPlaces:
    """A source for which the request budget has no place, in a minute of waiting."""

    name = "none"

    def __init__(self, clock: SteppedClock) -> None:
        self._clock = clock

    async def read_device(self, *_subject: object, **_how: object) -> ReadFailed:
        await self._clock.sleep(60)
        return ReadFailed("The register was not asked.", is_asked=False)


@on_sqlite
async def test_reads_of_a_subject_for_an_account_that_come_to_nothing_do_not_keep_its_recheck_for_good(
    harness: ServiceHarness,
) -> None:
    reads = SubjectReads(NoPlaces(harness.clock), harness.service.records, harness.clock)  # type: ignore[arg-type]
    refresher = Refresher(reads, harness.clock)

    async def add_and_delete_again_and_again() -> None:
        while True:
            await refresher.refresh(NOBODYS, priority=RequestPriority.WATCH)

    account = asyncio.create_task(add_and_delete_again_and_again())
    limits = ReadLimits(0, harness.clock.monotonic() + 420)
    async with asyncio.timeout(10):
        result = await refresher.refresh(NOBODYS, priority=RequestPriority.RECHECK, limits=limits)
    account.cancel()
    await asyncio.wait([account])
    await refresher.close()

    assert isinstance(result, ReadFailed)
    assert not result.is_asked


# What is new


async def test_a_refresh_tells_whether_it_brought_news(harness: ServiceHarness) -> None:
    record = harness.world.newest(0, 1)[0]
    refresh = harness.service.refresher.refresh

    assert await refresh(record.primary_di) == Refreshed(changed=True)
    assert await refresh(record.primary_di) == Refreshed(changed=False)
    harness.world.change(record.uuid, reference="NEW-1")
    assert await refresh(record.primary_di) == Refreshed(changed=True)
    assert await refresh(record.manufacturer.srn) == Refreshed(changed=True)
    assert await refresh(record.manufacturer.srn) == Refreshed(changed=False)


async def test_reading_an_authorised_representative_again_is_no_news(start_service: ServiceStarter) -> None:
    async with start_service(world=GeneratedWorld(400, seed=7)) as harness:
        await harness.fill_copy()
        represented = next(each for each in harness.world.newest(0, 400) if each.authorised_representative)
        assert represented.authorised_representative is not None
        srn = represented.authorised_representative.srn
        await harness.service.refresher.refresh(srn)

        assert await harness.service.refresher.refresh(srn) == Refreshed(changed=False)


async def test_a_record_that_the_register_lists_no_more_gives_way_to_the_one_that_it_lists(
    start_service: ServiceStarter,
) -> None:
    world = ForgetfulWorld(120)
    async with start_service(world=world) as harness:
        old = next(each for each in world.newest(0, 120) if each.legislation == "mdr")
        harness.world.change(old.uuid, version_number=7)
        await harness.service.refresher.refresh(old.primary_di)
        world.register(replace(old, uuid="ffffffff-0000-4000-8000-000000000000", version_number=1, reference="NEW-1"))
        world.forgotten.add(old.uuid)

        assert await harness.service.refresher.refresh(old.primary_di) == Refreshed(changed=True)

        document = await harness.service.documents.device(old.primary_di)
        assert document is not None
        assert b'"reference":"NEW-1"' in document.document


# Failures


@on_sqlite
@pytest.mark.parametrize("mode", ["http-503", "ignored-filter", "timeout", "json-of-wrong-shape"])
async def test_a_failed_read_through_is_remembered_for_a_minute_and_costs_nothing_meanwhile(
    harness: ServiceHarness, mode: Any
) -> None:
    udi = harness.world.newest(0, 1)[0].primary_di
    harness.faults.fail("search", mode)
    first = await harness.service.refresher.read_through(udi)
    assert isinstance(first, ReadFailed)
    asked = harness.register_log.total

    harness.clock.move(MEMORY_SECONDS - 2)
    assert await harness.service.refresher.read_through(udi) == first
    assert harness.register_log.total == asked

    harness.faults.clear()
    harness.clock.move(3)
    assert await harness.service.refresher.read_through(udi) is None


@on_sqlite
async def test_that_the_register_has_no_such_record_is_remembered_too_and_apart_from_failures(
    harness: ServiceHarness,
) -> None:
    assert await harness.service.refresher.read_through(NOBODYS) == NotFound()
    asked = harness.register_log.total
    assert await harness.service.refresher.read_through(NOBODYS) == NotFound()
    assert harness.register_log.total == asked
    assert harness.service.refresher.results == {"found": 0, "not_found": 1, "unreadable": 0}


@on_sqlite
async def test_who_asks_for_a_refresh_is_not_put_off_with_what_is_remembered(harness: ServiceHarness) -> None:
    udi = harness.world.newest(0, 1)[0].primary_di
    harness.faults.fail("search", "http-400")
    assert isinstance(await harness.service.refresher.refresh(udi), ReadFailed)
    harness.faults.clear()

    assert await harness.service.refresher.refresh(udi) == Refreshed(changed=True)
    assert harness.service.refresher.remembered(udi) is None
    assert harness.service.refresher.failure(udi) is None


async def test_trouble_with_a_stored_record_is_told_until_a_read_goes_well(harness: ServiceHarness) -> None:
    udi = harness.world.newest(0, 1)[0].primary_di
    refresher = harness.service.refresher
    await refresher.refresh(udi)
    before = copy_rows(harness.database)
    harness.faults.fail("basic", "http-400")

    await refresher.refresh(udi)

    assert "status 400" in (refresher.failure(udi) or "")
    assert copy_rows(harness.database) == before
    harness.clock.move(3_600)
    assert refresher.remembered(udi) is None
    assert refresher.failure(udi)
    harness.faults.clear()
    await refresher.refresh(udi)
    assert refresher.failure(udi) is None


@on_sqlite
async def test_a_stored_record_that_the_register_no_longer_lists_stays_and_says_so(
    start_service: ServiceStarter,
) -> None:
    world = ForgetfulWorld(120)
    async with start_service(world=world) as harness:
        record = world.newest(0, 1)[0]
        await harness.service.refresher.refresh(record.primary_di)
        world.forgotten.add(record.uuid)

        assert await harness.service.refresher.refresh(record.primary_di) == NotFound()

        assert await harness.service.documents.device(record.primary_di) is not None
        answer = (await harness.get(f"/v1/devices/{record.primary_di}")).json()
        assert (answer["listed"], answer["error"]) == (False, NO_LONGER_LISTED)


# Bounded time and work


@on_sqlite
async def test_a_read_through_of_a_silent_register_ends_in_bounded_time_and_the_read_goes_on(
    database_url: str, tmp_path: Path
) -> None:
    register = SilentRegister(one_device(a_row()))
    async with running(a_service(database_url, tmp_path, register.transport)) as service:
        with loop_time() as time:
            reader = asyncio.create_task(service.refresher.read_through(NOBODYS))
            await register.reached.wait()
            time.move(READ_THROUGH_SECONDS - 1)
            await asyncio.sleep(0)
            assert not reader.done()
            time.move(1.5)
            result = await reader

        assert isinstance(result, ReadFailed)
        assert "taking long" in result.reason
        register.let.set()
        await service.refresher.settled()
        assert await service.documents.device(NOBODYS) is not None


@on_sqlite
async def test_reads_behind_readers_backs_are_dropped_where_too_many_wait(database_url: str, tmp_path: Path) -> None:
    register = SilentRegister(one_device(a_row()))
    async with running(a_service(database_url, tmp_path, register.transport)) as service:
        for number in range(MAX_BACKGROUND_REFRESHES + 50):
            service.refresher.refresh_in_background(f"{number:014}")
        await register.reached.wait()

        assert _under_way() == MAX_BACKGROUND_REFRESHES
        await service.refresher.close()
        assert _under_way() == 0


def _under_way() -> int:
    return sum(task.get_name().startswith("refresh ") for task in asyncio.all_tasks())


@on_sqlite
async def test_a_read_behind_a_readers_back_is_not_repeated_right_after_it_failed(harness: ServiceHarness) -> None:
    udi = harness.world.newest(0, 1)[0].primary_di
    harness.faults.fail("search", "http-400")
    harness.service.refresher.refresh_in_background(udi)
    await harness.finish_background_work()
    asked = harness.register_log.total

    harness.service.refresher.refresh_in_background(udi)
    await harness.finish_background_work()

    assert harness.register_log.total == asked


@on_sqlite
async def test_a_record_without_a_version_is_read_in_full_once_and_not_at_every_look(
    database_url: str, tmp_path: Path
) -> None:
    register = one_device(a_row(versionNumber=None))
    async with running(a_service(database_url, tmp_path, register)) as service:
        await service.devices.read(NOBODYS)
        await service.refresher.settled()
        asked = len(register.asked)

        for _ in range(3):
            await service.devices.read(NOBODYS)
            await service.refresher.settled()

        assert len(register.asked) == asked


@pytest.mark.parametrize("subject", ["0401\x00", "0401\ud800"], ids=["NUL", "half a character"])
async def test_an_identifier_that_no_database_can_hold_is_answered_all_the_same(
    harness: ServiceHarness, subject: str
) -> None:
    result: RefreshResult = await harness.service.refresher.refresh(subject)

    assert isinstance(result, NotFound | ReadFailed)


@on_sqlite
async def test_a_closed_refresher_has_nothing_under_way(harness: ServiceHarness) -> None:
    refresher: Refresher = harness.service.refresher
    for record in harness.world.newest(0, 10):
        refresher.refresh_in_background(record.primary_di)

    await refresher.close()

    assert _under_way() == 0
