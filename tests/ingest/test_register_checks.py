"""Checks of the register over the whole service: what is stored, when it is asked again, what it closes."""

from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from registerwatch.ingest.checks import register_checks as checks_module
from registerwatch.ingest.checks.check_rules import DAY_SECONDS, HOUR_SECONDS, RETRY_SECONDS, CheckedList, KnownChecks
from registerwatch.ingest.tables import register_checks
from registerwatch.sources.checks.assumptions import DAILY
from registerwatch.sources.checks.names import CheckName
from registerwatch_standins.register.generated import GeneratedWorld
from tests.support.harness import ServiceHarness, ServiceStarter


@pytest.fixture(autouse=True)
def own_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """A logger that nothing has used: one that a command used before keeps how it logged then."""
    monkeypatch.setattr(checks_module, "log", structlog.get_logger())


async def run(harness: ServiceHarness, seconds: int = 0) -> KnownChecks:
    """What is known after the next look, and what the register was asked."""
    harness.register_log.clear()
    harness.clock.move(seconds)
    await harness.service.register_checks.run_where_due()
    return await harness.service.register_checks.all()


def asked(harness: ServiceHarness) -> int:
    return len(harness.register_log.requests)


def warnings(logs: list[Any]) -> list[tuple[str, str]]:
    return [(each["event"], each["check"]) for each in logs if each["log_level"] == "warning"]


async def problem(harness: ServiceHarness, listing: CheckedList) -> str | None:
    return await harness.service.register_checks.problem(listing)


async def test_everything_is_looked_at_once_a_day_and_the_build_every_hour(harness: ServiceHarness) -> None:
    await harness.fill_copy()
    with capture_logs() as logs:
        known = await run(harness)

    assert {name for name, check in known.items() if not check.is_ok} == set()
    assert set(known) == {name for name in DAILY if "data lake" not in name.value}
    assert len(await harness.rows(register_checks)) == len(known)
    assert warnings(logs) == []
    assert 20 <= asked(harness) <= 26
    await run(harness, 60)
    assert asked(harness) == 0
    await run(harness, HOUR_SECONDS)
    assert asked(harness) == 1
    await run(harness, DAY_SECONDS)
    assert asked(harness) >= 20


async def test_a_new_build_is_told_and_everything_looked_at(harness: ServiceHarness) -> None:
    await run(harness)
    harness.world.build_version = "4.0.0"
    with capture_logs() as logs:
        known = await run(harness, HOUR_SECONDS)

    assert (known[CheckName.BUILD].found, known[CheckName.BUILD].changed_at) == ("4.0.0", harness.now)
    assert asked(harness) >= 20
    assert warnings(logs) == [("the register has changed", "build")]


async def test_safety_notices_that_are_switched_on_are_logged_with_what_that_means(harness: ServiceHarness) -> None:
    await run(harness)
    harness.world.feature_flags["ffVigFsn"] = True
    with capture_logs() as logs:
        known = await run(harness, DAY_SECONDS)
        await run(harness, DAY_SECONDS)

    assert known[CheckName.FLAGS].found.startswith(
        "ffVigFsn is on (it was off): EUDAMED publishes field safety notices"
    )
    assert warnings(logs) == [("the register answers differently than before", "flags")], "once"
    assert "this release does not read" in next(each["meaning"] for each in logs if "meaning" in each)
    assert [listing for listing in CheckedList if await problem(harness, listing)] == []

    harness.world.feature_flags["ffVigFsn"] = False
    with capture_logs() as logs:
        await run(harness, DAY_SECONDS)
    assert warnings(logs) == [("the register answers as before again", "flags")]


async def test_the_command_looks_at_everything_and_stores_what_is_daily(harness: ServiceHarness) -> None:
    seen: list[CheckName] = []
    found = await harness.service.register_checks.run(seen.append)

    assert set(found) == set(seen) == set(CheckName)
    assert set(await harness.service.register_checks.all()) == harness.service.register_checks.names


async def test_an_ignored_filter_closes_its_list_for_every_process_until_a_probe_passes(
    harness: ServiceHarness,
) -> None:
    await run(harness)
    harness.faults.fail("search", "renamed-filter", names=("srn",))
    with capture_logs() as logs:
        known = await run(harness, DAY_SECONDS)

    assert known[CheckName.FILTER_SRN].is_ok is False
    assert warnings(logs) == [("the register answers differently than before", "filter srn")]
    assert "filter srn" in (await problem(harness, CheckedList.DEVICES_OF_MANUFACTURER) or "")
    assert await problem(harness, CheckedList.DEVICES_BY_DI) is None
    with capture_logs() as logs:
        await run(harness, RETRY_SECONDS)
    assert (asked(harness), warnings(logs)) == (1, []), "the probe of the filter"

    harness.faults.clear()
    with capture_logs() as logs:
        await run(harness, RETRY_SECONDS)

    assert await problem(harness, CheckedList.DEVICES_OF_MANUFACTURER) is None
    assert warnings(logs) == [("the register answers as before again", "filter srn")]


async def test_a_renamed_field_closes_the_lists_that_show_it(harness: ServiceHarness) -> None:
    harness.faults.fail("certificates", "json-of-renamed-fields", names=("certificateStatus",))
    known = await run(harness)

    assert known[CheckName.CERTIFICATE_ROW].found == "Missing: certificateStatus."
    assert await problem(harness, CheckedList.CERTIFICATES)
    assert await problem(harness, CheckedList.REFUSALS) is None


async def test_a_code_without_a_label_is_told_and_closes_nothing(harness: ServiceHarness) -> None:
    harness.faults.fail("search", "unknown-codes", names=("riskClass",))
    with capture_logs() as logs:
        known = await run(harness)

    assert known[CheckName.RISK_CODES].found == "refdata.risk-class.of-a-later-build"
    assert warnings(logs) == [("the register answers differently than before", "codes risk class")]
    assert [listing for listing in CheckedList if await problem(harness, listing)] == []


async def test_a_register_that_is_down_takes_nothing_back_and_is_asked_again_when_it_answers(
    harness: ServiceHarness,
) -> None:
    harness.faults.fail("any", "http-503")
    down = await run(harness)
    assert {(check.is_ok, check.checked_at, check.unanswered_since) for check in down.values()} == {
        (None, None, harness.now)
    }
    await run(harness, RETRY_SECONDS)
    assert asked(harness) <= 3, "the build alone, twice"

    harness.faults.clear()
    up = await run(harness, RETRY_SECONDS)
    assert all(check.is_ok and check.unanswered_since is None for check in up.values())

    harness.faults.fail("any", "http-503")
    again = await run(harness, DAY_SECONDS)
    assert all(check.is_ok for check in again.values())
    assert {name for name, check in again.items() if check.unanswered_since == harness.now} == set(down)


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_the_data_lake_is_looked_at_where_the_copy_is_filled_from_it(start_service: ServiceStarter) -> None:
    async with start_service(world=GeneratedWorld(60, seed=3), mirror="datalake") as harness:
        assert (await run(harness))[CheckName.DATA_LAKE_ROW].is_ok

        harness.faults.fail("datalake", "json-of-renamed-fields", names=("MF_SRN",))
        known = await run(harness, DAY_SECONDS)

        assert known[CheckName.DATA_LAKE_ROW].found == "Missing: MF_SRN."
        assert await problem(harness, CheckedList.DATA_LAKE)


async def test_no_device_is_listed_for_watches_while_the_filter_by_manufacturer_is_ignored(
    harness: ServiceHarness,
) -> None:
    owner = await harness.sign_up()
    [device] = harness.unique_devices(1)
    await harness.post_watches(owner.api_key, device.primary_di, device.manufacturer.srn)
    await run(harness)
    harness.faults.fail("search", "renamed-filter", names=("srn",))
    await run(harness, DAY_SECONDS)
    harness.register_log.clear()

    await harness.service.device_sweep.refresh_queue()
    swept = await harness.service.device_sweep.run_next()

    assert swept is not None
    assert "filter srn" in swept.problem
    assert asked(harness) == 0
    harness.faults.clear()
    await run(harness, RETRY_SECONDS)
    again = await harness.service.device_sweep.run_next()
    assert again is not None
    assert (again.problem, again.has_ended) == ("", True)
