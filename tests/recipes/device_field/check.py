"""The new field is described, read and served; its first value is no event and no entry of a history."""

import pytest

from tests.ingest.test_document_version import history_of, rewrite
from tests.support.harness import ServiceHarness

pytestmark = pytest.mark.anyio

FIELD = "storage_applies"


async def test_the_field_is_described(harness: ServiceHarness) -> None:
    described = (await harness.get("/openapi.json")).json()["components"]["schemas"]

    assert [name for name, each in described.items() if FIELD in each.get("properties", {})] != []


async def test_its_first_value_is_served_and_is_no_event_and_no_entry(harness: ServiceHarness) -> None:
    [record] = harness.unique_devices(1)
    udi = record.primary_di
    owner = await harness.sign_up()
    await harness.post_watches(owner.session, udi)
    lacks = {udi: FIELD}
    before = await history_of(harness, lacks)
    await rewrite(harness, lacks)
    assert FIELD not in (await harness.get(f"/v1/devices/{udi}")).json()

    harness.clock.move(7 * 3600)
    synced = await harness.post_sync(owner.session)

    assert (await harness.get(f"/v1/devices/{udi}")).json()[FIELD] is bool(record.storage)
    assert synced["events"] == []
    assert await history_of(harness, lacks) == before
