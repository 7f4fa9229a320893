"""Details of records: read again weekly, and noted under their own version."""

from typing import Any

from tests.support.harness import ServiceHarness

WEEK = 7 * 24 * 3600


def fields(answer: dict[str, Any]) -> list[str]:
    """The changed fields of the only event of a sync."""
    [event] = answer["events"]
    return [change["field"] for change in event["changes"]]


async def test_a_status_date_that_moves_without_a_version_is_an_event_within_a_week(harness: ServiceHarness) -> None:
    owner, [record] = await harness.sign_up(), harness.unique_devices(1)
    await harness.service.accounts.admin.set_period(owner.email, None, harness.now + 2 * WEEK)
    await harness.post_watches(owner.api_key, record.primary_di)
    harness.world.change(record.uuid, new_version=False, status_date="2026-12-24")

    harness.clock.move(WEEK - 60)
    early = await harness.post_sync(owner.api_key)
    harness.clock.move(61)
    late = await harness.post_sync(owner.api_key)

    assert early["events"] == []
    assert fields(late) == ["status_date"]
    assert (await harness.get(f"/v1/devices/{record.primary_di}")).json()["status_date"] == "2026-12-24"
    harness.register_log.clear()
    await harness.post_sync(owner.api_key)
    assert harness.register_log.kinds["detail"] == 0, "it has a week again"


async def test_a_status_that_moves_without_a_version_comes_with_its_date(harness: ServiceHarness) -> None:
    owner, [record] = await harness.sign_up(), harness.unique_devices(1)
    harness.world.change(record.uuid, status="on-the-market")
    await harness.post_watches(owner.api_key, record.primary_di)
    off = {"status": "no-longer-on-the-market", "status_date": "2026-12-24"}
    harness.world.change(record.uuid, new_version=False, **off)

    harness.clock.move(60)
    assert fields(await harness.post_sync(owner.api_key)) == ["status", "status_date"]
    assert (await harness.get(f"/v1/devices/{record.primary_di}")).json()["status_date"] == "2026-12-24"


async def test_the_date_of_a_detail_that_is_behind_its_row_is_that_of_its_own_status(harness: ServiceHarness) -> None:
    owner, [record] = await harness.sign_up(), harness.unique_devices(1)
    harness.world.change(record.uuid, status="on-the-market", status_date="2024-03-23")
    await harness.post_watches(owner.api_key, record.primary_di)
    code = "refdata.device-model-status.on-the-market"
    status = {"type": {"code": code}, "statusDate": "2024-03-23"}
    behind = {"versionNumber": record.version_number, "deviceStatus": status}
    harness.world.change(record.uuid, status="no-longer-on-the-market", status_date="2026-12-24")
    harness.to_register.rewrites["/devices/udiDiData/"] = lambda detail: {**detail, **behind}

    harness.clock.move(60)
    assert fields(await harness.post_sync(owner.api_key)) == ["status", "version"]
    device = (await harness.get(f"/v1/devices/{record.primary_di}")).json()
    assert (device["status_date"], device["former_status"]["date"]) == (None, "2024-03-23")


async def test_a_detail_that_is_behind_its_row_is_read_again_until_it_is_not(harness: ServiceHarness) -> None:
    owner, [record] = await harness.sign_up(), harness.unique_devices(1)
    await harness.post_watches(owner.api_key, record.primary_di)
    behind = {"versionNumber": record.version_number, "deviceStatus": {"statusDate": record.status_date}}
    harness.world.change(record.uuid, reference="R-NEW", status_date="2026-12-24")
    harness.to_register.rewrites["/devices/udiDiData/"] = lambda detail: {**detail, **behind}

    harness.clock.move(60)
    first = await harness.post_sync(owner.api_key)
    harness.to_register.rewrites.clear()
    harness.clock.move(60)
    second = await harness.post_sync(owner.api_key)

    assert fields(first) == ["reference", "version"]
    assert fields(second) == ["status_date"]
    assert (await harness.get(f"/v1/devices/{record.primary_di}")).json()["status_date"] == "2026-12-24"
