"""Documents of an older version, which lack fields: served whole at once, read in full when next due; what is read of
such a field for the first time has not changed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import fields
from sqlalchemy import text

from registerwatch.copy.history.changed_fields import CONSTANT
from registerwatch.platform.structs import replace
from registerwatch.register.models import (
    ADDED_IN,
    DOCUMENT_VERSION,
    FIRST_VERSION,
    Device,
    SearchRow,
    document,
)
from registerwatch.watches.snapshot import COMPARED, Snapshot, decoded, encoded
from registerwatch_standins.register.records import Condition, LinkedDevice, OtherCode, Sscp
from tests.files.lists.steps import ListSteps
from tests.mcp.messages import used
from tests.notifications.feeds.feed_reader import feed_of
from tests.register.builders import a_registered_certificate, a_udi
from tests.support.harness import NewAccount, ServiceHarness, ServiceStarter
from tests.support.table_rows import Rows, copy_rows

NOT_IN_STAND_IN = {"contradictions", "former_status"}
"""No record that is read in full from the stand-in has one. `store/test_changed_fields.py` has the rule for them."""
FIELDS = [each.name for each in fields(Device) if not each.required and each.name not in {*CONSTANT, *NOT_IN_STAND_IN}]
"""Every other field that a document of an older version can lack."""
EMPTY = msgspec.json.decode(document(Device(udi="", uuid="")))
CHANGED = {"version", "updated"}
"""What changes with every change of a record."""


RARE: Sequence[dict[str, Any]] = (
    {"max_reuses": 3},
    {"storage": (Condition("SHC005"),)},
    {"warnings": (Condition("CW018"),)},
    {"special_type": "software"},
    {"sscp": Sscp("61339", "10", "2025-12-01")},
    {"legacy_twin": LinkedDevice("04099999999992", "2026-01-15")},
)
"""Fields of records of the stand-in, each of one device at least."""


async def rewrite(harness: ServiceHarness, lacks: Mapping[str, str]) -> None:
    """Leave of each UDI-DI the document, and of its watch the snapshot, that a release before one field has stored."""
    async with harness.database.transaction() as connection:
        for udi, name in lacks.items():
            [row] = await connection.execute(text("SELECT document FROM devices WHERE primary_di = :udi"), {"udi": udi})
            kept = {key: value for key, value in msgspec.json.decode(row.document).items() if key != name}
            older = {
                "udi": udi,
                "document": msgspec.json.encode(kept).decode(),
                "version": ADDED_IN.get(name, FIRST_VERSION) - 1,
            }
            await connection.execute(
                text("UPDATE devices SET document = :document, document_version = :version WHERE primary_di = :udi"),
                older,
            )
        for watch in (await connection.execute(text("SELECT id, subject, snapshot FROM watches"))).all():
            if watch.snapshot is None:
                continue
            seen = earlier(decoded(watch.snapshot), lacks[watch.subject])
            await connection.execute(
                text("UPDATE watches SET snapshot = :snapshot WHERE id = :id"),
                {"id": watch.id, "snapshot": encoded(seen)},
            )


def earlier(seen: Snapshot, name: str) -> Snapshot:
    """A snapshot of a release that did not compare one field yet."""
    if name not in Snapshot.__struct_fields__:
        return seen
    empty = getattr(Snapshot(), name)
    return replace(seen, **{name: empty}, field_set=COMPARED.get(name, 1) - 1)


async def read_in_full(harness: ServiceHarness) -> dict[str, dict[str, Any]]:
    """What is served of many devices after they were read, by UDI-DI."""
    await harness.fill_copy()
    records = [each for each in harness.unique_devices(120) if each.reference and each.trade_names]
    harness.world.change(records[0].uuid, certificates=(a_registered_certificate("Z-1"),))
    for record, fields_of_it in zip(records[1:], RARE, strict=False):
        harness.world.change(record.uuid, **fields_of_it)
    served = {}
    for number, each in enumerate(records[:50]):
        code = OtherCode(a_udi(number), "container_package", 10, each.primary_di)
        harness.world.change(each.uuid, other_codes=(code,))
        await harness.get("/v1/refresh", q=each.primary_di)
        served[each.primary_di] = (await harness.get(f"/v1/devices/{each.primary_di}")).json()
    return served


def one_for_each_field(served: Mapping[str, Mapping[str, Any]], names: Sequence[str] = FIELDS) -> dict[str, str]:
    """Of each field a device that has a value of it: names of fields by UDI-DI. Fields that few devices have go first.

    A field that fails here needs a value in the stand-in register, at least of some device.
    """
    filled = {name: [udi for udi, each in served.items() if each.get(name) != EMPTY.get(name)] for name in names}
    lacks: dict[str, str] = {}
    for name in sorted(filled, key=lambda each: len(filled[each])):
        left = [udi for udi in filled[name] if udi not in lacks]
        assert left, f"no device of the stand-in has a value of {name}: give it one in its `wire/`, or in RARE"
        lacks[left[0]] = name
    return lacks


async def test_whichever_field_a_release_adds_it_is_served_at_once_and_its_first_value_has_not_changed(
    start_service: ServiceStarter, is_nightly: bool
) -> None:
    async with start_service(trial_watch_cap=100) as harness:
        served = await read_in_full(harness)
        lacks = one_for_each_field(served, FIELDS if is_nightly else FIELDS[::5])
        owner = await harness.sign_up()
        await harness.post_watches(owner.session, *lacks)
        await harness.post_sync(owner.session)
        served = {udi: (await harness.get(f"/v1/devices/{udi}")).json() for udi in lacks}
        steps = ListSteps(harness, owner)
        list_id = await steps.kept("code\n" + "\n".join(lacks))
        lines = await steps.lines(list_id, limit=100)
        feed = (await harness.post("/v1/feeds", owner.api_key)).json()["feed"]["events"]
        told_before = {udi: {each["id"] for each in of} for udi, of in (await history_of(harness, lacks)).items()}
        await rewrite(harness, lacks)
        harness.register_log.clear()

        for udi, name in lacks.items():
            await served_with_the_default(harness, udi, name, served[udi])
        await harness.finish_background_work()
        assert await harness.get_list(owner.session, "events") == []
        assert not harness.register_log.total, "a fresh record is not read for its form alone"

        harness.clock.move(7 * 3600)
        changed = {udi: "status_date" if name == "reference" else "reference" for udi, name in lacks.items()}
        for udi, field in changed.items():
            [record] = harness.world.by_primary_di(udi)
            fields_of_record: dict[str, Any] = {field: "2026-12-31"}
            harness.world.change(record.uuid, **fields_of_record)
        synced = await harness.post_sync(owner.session)
        assert harness.register_log.kinds["detail"] == len(lacks), "their versions are known, yet details were read"
        await steps.follow()
        await harness.update_index()

        for udi, name in lacks.items():
            now = (await harness.get(f"/v1/devices/{udi}")).json()
            assert {key for key in served[udi] if now[key] != served[udi][key]} <= {
                changed[udi], *CHANGED, "read_at", "certs_read_at", "basic_read_at", "trade_name",
            }, name  # fmt: skip
        told = await history_of(harness, lacks)
        for udi, name in lacks.items():
            [entry] = [each for each in told[udi] if each["id"] not in told_before[udi]]
            assert (entry["first_read"], {each["field"] for each in entry["changes"]}) == (
                [],
                {changed[udi], *CHANGED} - {name},
            ), name
        events = {each["subject"]: {change["field"] for change in each["changes"]} for each in synced["events"]}
        expected = {udi: {changed[udi], "version"} & COMPARED.keys() - {name} for udi, name in lacks.items()}
        assert events == expected
        shown = feed_of((await harness.client.get(feed[feed.index("/v1") :])).content).entries
        assert len(shown) == sum(map(bool, expected.values()))
        assert await steps.lines(list_id, limit=100) == lines
        assert versions(copy_rows(harness.database)["devices"], lacks) == {DOCUMENT_VERSION}


async def served_with_the_default(harness: ServiceHarness, udi: str, name: str, served: dict[str, Any]) -> None:
    """Every surface shows a device whose document lacks a field: the field's default, in the order of the model."""
    meanwhile = (await harness.get(f"/v1/devices/{udi}")).json()
    expected = {
        key: EMPTY[key] if key == name else value for key, value in served.items() if key != name or key in EMPTY
    }
    assert meanwhile == expected, name
    assert list(meanwhile) == list(expected), name

    for query in (udi, served["other_codes"][0]["code"]):
        [found] = (await harness.get("/v1/search", q=query)).json()["results"]
        assert found == {key: expected[key] for key in SearchRow.__struct_fields__}, (name, query)
    assert (await used(harness, "get_device", udi=udi)).payload == expected, name
    for path in (f"/d/{udi}", f"/d/{udi}/history", f"/compare?d={udi}&at=2027-01-15"):
        assert (await harness.get(path)).status_code == 200, (name, path)


async def history_of(harness: ServiceHarness, udis: Mapping[str, str]) -> dict[str, list[dict[str, Any]]]:
    """The entries of the histories of devices."""
    return {udi: (await harness.get(f"/v1/devices/{udi}/history")).json()["entries"] for udi in udis}


def versions(rows: Rows, udis: Mapping[str, str]) -> set[int]:
    return {row["document_version"] for row in rows if row["primary_di"] in udis}


async def test_a_bulk_load_that_fills_in_new_fields_is_no_change_and_makes_no_watch_due(
    harness: ServiceHarness,
) -> None:
    await harness.fill_copy()
    rows = [row for row in copy_rows(harness.database)["devices"] if row["is_current"]]
    stored = {row["primary_di"]: msgspec.json.decode(row["document"]) for row in rows}
    told = {name for each in stored.values() for name, value in each.items() if value != EMPTY.get(name)}
    lacks = one_for_each_field(stored, [name for name in FIELDS if name in told])
    await harness.owner_watching("owner@acme.example", *lacks)
    async with harness.database.transaction() as connection:
        await connection.execute(text("UPDATE watches SET tried_at = 1"))
    harness.clock.move(2 * 24 * 3600)
    await rewrite(harness, lacks)
    before = harness.all_rows()

    done = await harness.service.bulk_loader.load(harness.service.bulk_source("datalake"), lambda _progress: None)

    after = harness.all_rows()
    assert done.changed == len(lacks)
    assert (after["record_history"], after["watches"]) == (before["record_history"], before["watches"])
    assert versions(after["devices"], lacks) == versions(before["devices"], lacks), "no detail was read"


async def a_watched_device(harness: ServiceHarness) -> tuple[str, NewAccount]:
    """A UDI-DI whose record is stored in full and watched, and its watcher. The document is of an older version."""
    record = next(each for each in harness.world.newest(0, 120) if each.status_date)
    owner = await harness.sign_up()
    await harness.post("/v1/watches", owner.session, subject=record.primary_di)
    await rewrite(harness, {record.primary_di: "status_date"})
    return record.primary_di, owner


async def test_after_that_the_detail_is_left_out_again_and_changes_are_events(harness: ServiceHarness) -> None:
    udi, owner = await a_watched_device(harness)
    await harness.post("/v1/sync", owner.session)
    harness.register_log.clear()

    await harness.post("/v1/sync", owner.session)
    assert harness.register_log.kinds["detail"] == 0
    [record] = [each for each in harness.world.newest(0, 120) if each.primary_di == udi]
    harness.world.change(record.uuid, reference="R-NEW", status_date="2026-12-31")
    synced = (await harness.post("/v1/sync", owner.session)).json()

    [event] = synced["events"]
    assert [change["field"] for change in event["changes"]] == ["status_date", "reference", "version"]


async def test_a_listing_that_says_what_an_older_document_says_changes_nothing(harness: ServiceHarness) -> None:
    await harness.fill_copy()
    async with harness.database.transaction() as connection:
        await connection.execute(text("UPDATE devices SET document_version = 0"))
    before = copy_rows(harness.database)["devices"]

    done = await harness.service.bulk_loader.load(harness.service.bulk_source("datalake"), lambda _progress: None)

    assert done.changed == 0
    assert copy_rows(harness.database)["devices"] == before


async def test_an_older_document_is_no_baseline_of_an_imported_watch(harness: ServiceHarness) -> None:
    udi, _ = await a_watched_device(harness)
    other = await harness.sign_up("other@acme.example")

    added = (await harness.post("/v1/import", other.session, csv=udi)).json()["added"]

    assert added == 1
    assert harness.table_rows.read(["watches"])["watches"][-1]["snapshot"] is None
