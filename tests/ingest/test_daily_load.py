"""One fill a day in the background: once, whoever does it, and to its end."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import ValidationError

from registerwatch.bootstrap import Service, build_service
from registerwatch.ingest.bulk_load import DEAD_SECONDS
from registerwatch.ingest.daily_load import DAY, HOUR, DailyLoad
from registerwatch.settings import Settings
from registerwatch_standins.register.generated import GeneratedWorld
from tests.support.harness import PACE, ServiceHarness, ServiceStarter

DEVICES = 2_300
PAGES = 3


@pytest.fixture
async def harness(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    """A register of three pages, whose copy is filled at two in the morning; the background is the test's."""
    async with start_service(world=GeneratedWorld(DEVICES, seed=7), mirror="datalake") as harness:
        harness.clock.move(DAY - harness.clock.now() % DAY + 3 * HOUR)
        yield harness


def daily_of(service: Service) -> DailyLoad:
    assert service.daily_load is not None
    return service.daily_load


def another_node(harness: ServiceHarness, folder: Path) -> Service:
    """A second process over the same database."""
    settings = harness.service.settings.model_copy(update={"data_dir": folder})
    return build_service(settings, clock=harness.clock, transport=harness.service.http._transport, start_pace=PACE)


async def test_it_fills_once_a_day_from_its_hour_on(harness: ServiceHarness) -> None:
    daily = daily_of(harness.service)

    first = await daily.run_where_due()
    assert first is not None
    assert first.records == DEVICES
    harness.clock.move(22 * HOUR)
    assert datetime.fromtimestamp(harness.clock.now(), UTC).hour == 1
    assert await daily.run_where_due() is None, "the day is not over"
    harness.clock.move(HOUR)
    second = await daily.run_where_due()

    assert second is not None
    assert (second.records, second.changed) == (DEVICES, 0)


async def test_two_nodes_fill_once(harness: ServiceHarness, tmp_path: Path) -> None:
    other = another_node(harness, tmp_path / "other")
    asked = harness.register_log.total

    done = await asyncio.gather(daily_of(harness.service).run_where_due(), daily_of(other).run_where_due())

    assert [each is None for each in done].count(True) == 1
    assert harness.register_log.total == asked + PAGES + 1, "the pages and the actors, each once"
    await other.close()


async def test_where_a_node_dies_another_goes_on_behind_its_last_batch(harness: ServiceHarness, tmp_path: Path) -> None:
    other = another_node(harness, tmp_path / "other")
    first = asyncio.create_task(daily_of(harness.service).run_where_due())
    while not await stored(harness):
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    before = await stored(harness)
    assert 0 < before < DEVICES

    assert await daily_of(other).run_where_due() is None, "it may be alive yet"
    harness.clock.move(DEAD_SECONDS)
    asked = harness.register_log.total
    done = await daily_of(other).run_where_due()

    assert done is not None
    assert (done.records, done.changed) == (DEVICES, DEVICES)
    assert await stored(harness) == DEVICES
    assert harness.register_log.total - asked <= PAGES, "what was stored was not asked for again"
    await other.close()


async def test_a_source_that_fails_is_asked_again_half_an_hour_later(harness: ServiceHarness) -> None:
    daily = daily_of(harness.service)
    harness.faults.fail("datalake", "http-500")

    assert await daily.run_where_due() is None
    harness.faults.clear()
    assert await daily.run_where_due() is None
    harness.clock.move(DEAD_SECONDS)
    done = await daily.run_where_due()

    assert done is not None
    assert done.records == DEVICES


async def test_what_the_fill_finds_changed_becomes_an_event_once_the_register_confirms_it(
    harness: ServiceHarness,
) -> None:
    owner = await harness.sign_up()
    record = harness.world.newest(0, 1)[0]
    await harness.service.accounts.admin.set_period(owner.email, None, harness.now + 10 * DAY)
    await harness.post("/v1/watches", owner.session, subject=record.primary_di)
    await daily_of(harness.service).run_where_due()
    harness.clock.move(2 * DAY)
    harness.world.change(record.uuid, reference="R-2")

    await daily_of(harness.service).run_where_due()
    assert (await events(harness, owner.session)) == [], "the Data Lake lags: it proves nothing"
    await harness.service.watches.recheck.run()

    [event] = await events(harness, owner.session)
    assert [change["field"] for change in event["changes"]] == ["reference", "version"]


async def test_from_the_register_only_what_is_new_is_asked_for(start_service: ServiceStarter) -> None:
    world = GeneratedWorld(3_000, seed=7)
    async with start_service(world=world, mirror="register") as harness:
        daily = daily_of(harness.service)
        first = await daily.run_where_due()
        assert first is not None
        assert first.records == 3_000
        harness.clock.move(DAY)
        asked = harness.register_log.total

        second = await daily.run_where_due()

        assert second is not None
        assert (second.records, harness.register_log.total - asked) == (900, 3)


async def test_without_the_setting_there_is_none(start_service: ServiceStarter) -> None:
    async with start_service() as harness:
        assert harness.service.daily_load is None
    for wrong in ({"mirror": "everything"}, {"mirror_hour": 24}):
        with pytest.raises(ValidationError):
            Settings(**wrong)


async def stored(harness: ServiceHarness) -> int:
    return (await harness.service.records.state()).devices


async def events(harness: ServiceHarness, session: str) -> list[dict[str, list[dict[str, str]]]]:
    answer = await harness.client.get("/v1/events", headers={"Authorization": f"Bearer {session}"})
    return list(answer.json()["events"])


async def test_nothing_is_read_while_a_check_of_the_list_has_failed(harness: ServiceHarness) -> None:
    harness.faults.fail("datalake", "json-of-renamed-fields", names=("MF_SRN",))
    await harness.service.register_checks.run_where_due()
    harness.faults.clear()

    assert await daily_of(harness.service).run_where_due() is None
    assert (await harness.service.records.state()).devices == 0

    harness.clock.move(DEAD_SECONDS)
    await harness.service.register_checks.run_where_due()
    done = await daily_of(harness.service).run_where_due()
    assert done is not None
    assert done.records == DEVICES
