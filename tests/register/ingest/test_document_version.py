"""Documents that an earlier release stored, which lack fields: served whole at once, read in full when next due."""

from typing import Any

import msgspec
import pytest
from sqlalchemy import text

from registerwatch.register.models import DOCUMENT_VERSION, FLAGS
from registerwatch.structs import replace
from registerwatch.watches.snapshot import decoded
from tests.support.harness import NewAccount, ServiceHarness
from tests.support.table_rows import copy_rows

pytestmark = pytest.mark.anyio

LATER_FIELDS: dict[str, Any] = {
    "status_date": None,
    "emdn": [],
    "trade_names": {},
    "risk_class": "",
    **dict.fromkeys(FLAGS),
}
"""Fields that the earlier release did not have, and what is served of them meanwhile."""


async def make_older(harness: ServiceHarness) -> None:
    """Leave of documents and snapshots what a release before these fields would have stored."""
    async with harness.database.transaction() as connection:
        for row in (await connection.execute(text("SELECT id, document FROM devices"))).all():
            kept = {
                name: value for name, value in msgspec.json.decode(row.document).items() if name not in LATER_FIELDS
            }
            older = {"id": row.id, "document": msgspec.json.encode(kept).decode()}
            await connection.execute(
                text("UPDATE devices SET document = :document, document_version = 0 WHERE id = :id"), older
            )
        for watch in (await connection.execute(text("SELECT id, snapshot FROM watches"))).all():
            seen = replace(decoded(watch.snapshot), status_date="", risk_class="", field_set=0)
            older = {"id": watch.id, "snapshot": msgspec.json.encode(seen).decode()}
            await connection.execute(text("UPDATE watches SET snapshot = :snapshot WHERE id = :id"), older)


async def a_watched_device(harness: ServiceHarness) -> tuple[str, NewAccount, dict[str, Any]]:
    """A UDI-DI whose record is stored in full and watched, its watcher, and what is served of it."""
    record = next(each for each in harness.world.newest(0, 120) if each.status_date and each.emdn)
    owner = await harness.sign_up()
    await harness.post("/v1/watches", owner.session, subject=record.primary_di)
    return record.primary_di, owner, (await harness.get(f"/v1/devices/{record.primary_di}")).json()


async def test_an_older_document_is_served_with_every_field_and_read_in_full_when_next_due(
    harness: ServiceHarness,
) -> None:
    udi, owner, served = await a_watched_device(harness)
    await harness.update_index()
    await make_older(harness)
    harness.register_log.clear()

    meanwhile = (await harness.get(f"/v1/devices/{udi}")).json()
    [found] = (await harness.get("/v1/search", q=udi)).json()["results"]
    named = (await harness.get("/v1/search", q=served["manufacturer_srn"])).json()["results"]
    await harness.finish_background_work()

    assert meanwhile == served | LATER_FIELDS
    assert list(meanwhile) == list(served), "in the same order"
    assert found["risk_class"] == ""
    assert udi in [each["udi"] for each in named]
    assert not harness.register_log.total, "a fresh record is not read for its form alone"

    harness.clock.move(7 * 3600)
    await harness.get(f"/v1/devices/{udi}")
    await harness.finish_background_work()

    again = (await harness.get(f"/v1/devices/{udi}")).json()
    assert again == served | dict.fromkeys(("read_at", "certs_read_at"), again["read_at"])
    assert harness.register_log.kinds["detail"] == 1, "its version is known, yet its detail was read"
    [row] = [row for row in copy_rows(harness.database)["devices"] if row["primary_di"] == udi]
    assert row["document_version"] == DOCUMENT_VERSION
    assert await harness.get_list(owner.session, "events") == [], "what is read for the first time has not changed"


async def test_after_that_the_detail_is_left_out_again_and_changes_are_events(harness: ServiceHarness) -> None:
    udi, owner, _ = await a_watched_device(harness)
    await make_older(harness)
    await harness.post("/v1/sync", owner.session)
    harness.register_log.clear()

    await harness.post("/v1/sync", owner.session)
    assert harness.register_log.kinds["detail"] == 0
    [record] = [each for each in harness.world.newest(0, 120) if each.primary_di == udi]
    harness.world.change(record.uuid, reference="R-NEW")
    synced = (await harness.post("/v1/sync", owner.session)).json()

    [event] = synced["events"]
    assert [change["field"] for change in event["changes"]] == ["reference", "version"]


async def test_a_listing_that_says_what_an_older_document_says_changes_nothing(harness: ServiceHarness) -> None:
    await harness.fill_copy()
    async with harness.database.transaction() as connection:
        await connection.execute(text("UPDATE devices SET document_version = 0"))
    before = copy_rows(harness.database)["devices"]

    done = await harness.service.bulk_loader.load(harness.service.bulk_source("datalake"), lambda _progress: None)

    assert done.changed == 0
    assert copy_rows(harness.database)["devices"] == before


async def test_an_older_document_is_no_baseline_of_an_imported_watch(harness: ServiceHarness) -> None:
    udi, _, _ = await a_watched_device(harness)
    await make_older(harness)
    other = await harness.sign_up("other@acme.example")

    added = (await harness.post("/v1/import", other.session, csv=udi)).json()["added"]

    assert added == 1
    assert harness.table_rows.read(["watches"])["watches"][-1]["snapshot"] is None
