"""What `/health` and `/metrics` tell of sweeps and of the checks of the register."""

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import insert

from registerwatch.copy.tables import device_sweeps, walks
from registerwatch.ingest.checks.check_rules import DAY_SECONDS
from registerwatch.ingest.checks.register_status import KEPT_SECONDS
from registerwatch.platform.clock import iso_utc
from registerwatch.sources.budget_row import Host
from registerwatch.sources.requests import ignore
from registerwatch.sources.unread_fields import FieldOf
from tests.ingest.test_register_status import NOW, a_sweep, a_walk
from tests.support.harness import ServiceHarness, ServiceStarter

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])


async def health(harness: ServiceHarness) -> dict[str, Any]:
    harness.clock.move(KEPT_SECONDS)
    answer: dict[str, Any] = (await harness.get("/health")).json()
    assert answer["status"] == "ok"
    return answer


async def metrics(harness: ServiceHarness) -> dict[tuple[str, ...], float]:
    harness.clock.move(KEPT_SECONDS)
    answer = await harness.get("/metrics")
    return {
        (sample.name.removeprefix("registerwatch_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


async def test_not_looked_fine_changed_and_unanswered_are_told_apart(harness: ServiceHarness) -> None:
    await harness.update_index()
    checks = (await health(harness))["checks"]
    assert (checks["build"], checks["changed"], checks["checks"]["filter srn"]["state"]) == (None, [], "not_looked")
    assert (await metrics(harness))["register_checks", "not_looked"] == len(checks["checks"])

    await harness.service.register_checks.run_where_due()
    checks = (await health(harness))["checks"]
    assert (checks["build"], {each["state"] for each in checks["checks"].values()}) == ("2.27.3", {"fine"})
    assert (await metrics(harness))["register_build", "2.27.3"] == 1

    harness.faults.fail("search", "renamed-filter", names=("srn",))
    harness.faults.fail("certificates", "http-503")
    harness.clock.move(DAY_SECONDS)
    await harness.service.register_checks.run_where_due()
    checks, told = (await health(harness))["checks"], await metrics(harness)
    row = checks["checks"]["shape certificate row"]
    assert checks["changed"] == ["filter srn"]
    assert (row["state"], row["found"], row["reason"][:12]) == ("unanswered", "", "The register")
    assert row["checked_at"] < row["unanswered_since"]
    assert told["register_check_changed", "filter srn"] == 1
    assert told["register_check_changed", "filter primaryDi"] == 0
    assert (told["register_checks", "changed"], told["register_checks", "unanswered"]) == (1, 8)
    assert told["register_check_age_seconds", "shape certificate row"] > DAY_SECONDS


async def test_ages_of_sweeps_and_lists_are_told_and_none_where_there_is_none(harness: ServiceHarness) -> None:
    await harness.update_index()
    assert (await health(harness))["sweeps"] == {
        "devices": {
            "manufacturers": 0,
            "unswept": 0,
            "behind": 0,
            "failing": 0,
            "oldest_at": None,
            "oldest_seconds": None,
        },
        "lists": {},
    }
    assert ("sweep_oldest_seconds",) not in await metrics(harness), "nothing is swept, which is no age of 0"

    async with harness.database.transaction() as connection:
        await connection.execute(insert(device_sweeps), [a_sweep("DE-MF-1", swept_at=NOW - 60), a_sweep("DE-MF-2")])
        await connection.execute(insert(walks), [a_walk("certificates"), a_walk("refusals", complete_at=None)])
    sweeps, told = (await health(harness))["sweeps"], await metrics(harness)

    assert 9_000 <= sweeps["devices"]["oldest_seconds"] <= 9_060
    assert (sweeps["devices"]["manufacturers"], sweeps["devices"]["unswept"]) == (2, 1)
    assert sweeps["lists"]["refusals"]["complete_at"] is None
    assert 4_200 <= sweeps["lists"]["certificates"]["age_seconds"] <= 4_260
    assert told["swept_manufacturers", "all"] == 2
    assert told["sweep_oldest_seconds",] >= 9_000
    assert told["list_age_seconds", "certificates"] >= 4_200
    assert ("list_age_seconds", "refusals") not in told
    assert told["list_records", "certificates"] == 300


async def test_a_field_that_cannot_be_read_is_counted_alike_on_every_surface(harness: ServiceHarness) -> None:
    await harness.update_index()
    assert (await health(harness))["checks"]["unread_fields"] == []
    for record in harness.world.newest(0, 2):
        harness.world.change(record.uuid, new_version=None, version_number=10**12)

    done = await harness.service.bulk_loader.load(harness.service.bulk_source("datalake"), ignore)
    await harness.service.unread_fields.store()
    [unread] = (await health(harness))["checks"]["unread_fields"]
    told, page = await metrics(harness), await harness.get("/status")

    field = FieldOf("Data Lake device", "VERSION_NUMBER")
    assert {each: count.records for each, count in done.unread.items()} == {field: 2}
    assert (unread["record"], unread["field"], unread["records"]) == (field.record, field.field, 2)
    assert unread["example"].startswith("1000000000000")
    assert told["unread_fields_total", field.field, field.record] == 2
    assert "VERSION_NUMBER" in page.text
    assert "Data Lake device" in page.text


async def test_the_pace_of_each_host_and_its_pauses_are_shown(start_service: ServiceStarter) -> None:
    async with start_service(register_requests_per_minute=60, datalake_requests_per_minute=6) as harness:
        await harness.update_index()
        await harness.service.budgets[Host.REGISTER].throttled(300)
        paces, shown = (await health(harness))["register"]["paces"], await metrics(harness)

    assert paces["data_lake"] == {"requests_per_minute": 6, "most": 6, "paused_until": None}
    assert (paces["register"]["requests_per_minute"], paces["register"]["most"]) == (30, 60)
    assert paces["register"]["paused_until"] == iso_utc(NOW + 300)
    assert (shown["register_pace", "register"], shown["register_pace_most", "register"]) == (30, 60)
    assert (shown["register_pace", "data_lake"], shown["register_throttled_total", "data_lake"]) == (6, 0)
    assert shown["register_throttled_total", "register"] == 1
