"""What a record was: after any sequence of stores, a record as of any instant is what was stored then."""

import asyncio
from collections.abc import Mapping
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from registerwatch.copy.history.changed_fields import registered
from registerwatch.copy.history.history_prune import HistoryPruner
from registerwatch.copy.history.history_reader import HistoryReader
from registerwatch.copy.history.record_history import RecordHistory, StoredChange, StoredState, device_of, device_state
from registerwatch.copy.records import RecordStore
from registerwatch.platform.db.engine import Database
from registerwatch.platform.structs import replace
from registerwatch.register.models import Actor, Certificate, Contradiction, Device, DeviceReading, from_document
from registerwatch.register.other_codes import OtherCode
from tests.copy.test_records import NOW, UDI_OF, batches, empty
from tests.register.builders import DATA_LAKE, EUDAMED, FEW, UDI, a_device, a_full_reading, a_row
from tests.support.harness import ServiceHarness

pauses = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["di-A", "", "di-B"])), min_size=6, max_size=6)
"""Before each batch: seconds that pass, and the UDI-DI that the register is found to list no more."""


async def answering(database: Database) -> dict[str, Device]:
    async with database.reading() as connection:
        rows = await connection.execute(text("SELECT primary_di, document FROM devices WHERE is_current"))
        return {row.primary_di: bare(from_document(row.document)) for row in rows}


def bare(device: Device) -> Device:
    """Without what only says whether a certificate could be confirmed lately."""
    return replace(device, certs=registered(device.certs))


def current_of(history: RecordHistory, instant: int) -> Device | None:
    states = history.as_of(instant)
    return None if states.current is None else device_of(states.states[states.current])


@FEW
@given(batches, pauses)
async def test_every_record_as_of_any_instant_is_what_was_stored_then(
    database: Database, stored: list[tuple[list[DeviceReading], bool]], passed: list[tuple[int, str]]
) -> None:
    await empty(database)
    copy, reader, now = RecordStore(database), HistoryReader(database), NOW
    journal: list[tuple[int, Mapping[str, Device]]] = [(0, {})]
    for (readings, lists_all), (seconds, gone) in zip(stored, passed, strict=False):
        now += seconds
        if gone:
            await copy.delist(gone, read_at=now, since=await copy.revision(), source=EUDAMED)
        await copy.store(readings, read_at=now, lists_all=lists_all)
        journal.append((now, await answering(database)))

    for udi in set(UDI_OF.values()):
        history = await reader.device(udi)
        for instant in range(NOW - 1, now + 2):
            expected = [answers for at, answers in journal if at <= instant][-1].get(udi)
            assert current_of(history, instant) == expected, (udi, instant - NOW)
        for change in history.changes:
            assert all(each.old != each.new for each in change.changes)


async def rows(database: Database) -> int:
    async with database.reading() as connection:
        return int((await connection.execute(text("SELECT count(*) FROM record_history"))).scalar_one())


async def test_what_is_new_or_unchanged_writes_no_history(database: Database) -> None:
    copy = RecordStore(database)
    row = a_row(lags=True, manufacturer_srn="DE-MF-000000001", manufacturer_name="Alpha", trade_name="A")

    for later in range(3):
        await copy.store([row], read_at=NOW + later)
        async with database.transaction() as connection:
            named = [Actor(srn="DE-MF-000000001", name="Alpha")]
            await copy.store_bulk_actors(connection, named, read_at=NOW + later, source=DATA_LAKE)

    assert await rows(database) == 0


async def test_what_a_first_full_read_fills_in_is_no_change_of_the_register(database: Database) -> None:
    copy, reader = RecordStore(database), HistoryReader(database)
    await copy.store([a_row(lags=True, trade_name="Old")], read_at=NOW)
    await copy.store(
        [a_full_reading(trade_name="New", status_date="2026-01-01", version=2)], read_at=NOW + 10, lists_all=True
    )

    [change] = (await reader.device(UDI)).changes

    assert [(each.field, each.old, each.new) for each in change.changes] == [("trade_name", "Old", "New")]
    assert set(change.first_read) == {"status_date", "version"}
    assert (change.observed_at, change.source, change.record) == (NOW + 10, EUDAMED, "u-1")


def test_how_certificates_were_found_is_no_change_that_a_history_shows() -> None:
    found = Certificate("Z-1", notified_body="0123", listed_in="search")
    scoped = replace(found, notified_body_name="A body", scoped=True)
    renamed = replace(found, notified_body_name="B body")
    states = [device_state(a_device(certs=(each,))) for each in (scoped, found, renamed, scoped)]
    stored = [
        StoredChange(later, "u-1", NOW + later, EUDAMED, {"certs": states[later - 1]["certs"]}) for later in (3, 2, 1)
    ]

    history = RecordHistory({"u-1": StoredState(states[-1], NOW)}, stored)

    assert [each.observed_at for each in history.changes] == [NOW + 3], "the body was named otherwise"
    assert device_of(history.as_of(NOW).states["u-1"]).certs == (scoped,)


async def test_of_lists_that_a_document_leaves_out_where_they_are_empty_there_is_none_before_the_first(
    database: Database,
) -> None:
    copy, reader = RecordStore(database), HistoryReader(database)
    told = (Contradiction("risk_class", "Class I", "Class IIa"),)
    codes = (OtherCode("04099999999985", "unit_of_use"),)
    await copy.store([a_full_reading()], read_at=NOW)
    before = await answering(database)
    await copy.store([a_full_reading(contradictions=told, other_codes=codes)], read_at=NOW + 1)

    history = await reader.device(UDI)

    assert current_of(history, NOW) == before[UDI]
    assert not {"contradictions", "other_codes"} & {*next(iter(history.as_of(NOW).states.values()))}


async def test_what_an_older_read_brings_later_is_observed_no_earlier_than_what_was_stored_before(
    database: Database,
) -> None:
    copy, reader = RecordStore(database), HistoryReader(database)
    for later, trade_name, manufacturer in ((0, "A", "Alpha"), (20, "B", "Alpha"), (10, "B", "Beta")):
        reading = a_full_reading(trade_name=trade_name, manufacturer_name=manufacturer)
        await copy.store([reading], read_at=NOW + later)

    history = await reader.device(UDI)

    assert [each.observed_at - NOW for each in history.changes] == [20, 20]
    for instant, expected in ((0, ("A", "Alpha")), (15, ("A", "Alpha")), (20, ("B", "Beta"))):
        device = current_of(history, NOW + instant)
        assert device is not None
        assert (device.trade_name, device.manufacturer_name) == expected, instant


async def test_an_overtaken_read_writes_no_history(database: Database) -> None:
    copy = RecordStore(database)
    await copy.store([a_full_reading(trade_name="A")], read_at=NOW, lists_all=True)
    since = await copy.revision()
    await copy.store([a_full_reading(trade_name="B")], read_at=NOW + 1, lists_all=True)

    await copy.store([a_full_reading(trade_name="A")], read_at=NOW + 1, lists_all=True, since=since)
    await copy.delist(UDI, read_at=NOW + 1, since=since)

    assert await rows(database) == 1


async def test_an_actor_as_of_any_instant(database: Database) -> None:
    copy, reader, srn = RecordStore(database), HistoryReader(database), "DE-MF-000000001"
    await copy.store([a_row(manufacturer_srn=srn, manufacturer_name="Alpha")], read_at=NOW)
    await copy.store([a_row(manufacturer_srn=srn, manufacturer_name="Alpha AG")], read_at=NOW + 1)
    for later, total in ((2, 7), (3, 7), (4, 9)):
        await copy.store_actor(
            Actor(srn=srn, name="Alpha SE", country="DE", device_total=total, complete=True),
            read_at=NOW + later,
            source=EUDAMED,
        )

    history = await reader.actor(srn)

    told = [history.as_of(NOW + later).states for later in range(-1, 5)]
    assert [(at[""]["name"], at[""]["device_total"]) if at else None for at in told] == [
        None, ("Alpha", None), ("Alpha AG", None), ("Alpha SE", 7), ("Alpha SE", 7), ("Alpha SE", 9),
    ]  # fmt: skip
    assert [[(each.field, each.old, each.new) for each in change.changes] for change in history.changes] == [
        [("device_total", 7, 9)],
        [("name", "Alpha AG", "Alpha SE")],
        [("name", "Alpha", "Alpha AG")],
    ]
    assert history.changes[1].first_read == ["device_total"]
    assert (history.observed_since, history.is_complete) == (NOW, True)


async def test_of_a_subject_that_changes_very_often_the_oldest_changes_go_and_that_is_told(database: Database) -> None:
    copy, reader, pruner = (
        RecordStore(database),
        HistoryReader(database),
        HistoryPruner(database, max_changes=3, chunk=2),
    )
    for later in range(7):
        await copy.store([a_full_reading(trade_name=f"N{later}")], read_at=NOW + 10 * later, lists_all=True)
    await copy.store([a_full_reading("u-2", "di-B", trade_name="B")], read_at=NOW, lists_all=True)
    await copy.store([a_full_reading("u-2", "di-B", trade_name="C")], read_at=NOW, lists_all=True)

    deleted, again = await pruner.prune(), await pruner.prune()

    history = await reader.device(UDI)
    assert (deleted, again, await rows(database)) == (3, 0, 4)
    assert (history.is_complete, (await reader.device("di-B")).is_complete) == (False, True)
    told = [current_of(history, NOW + later) for later in (60, 50, 40, 30, 29, 0)]
    assert [each and each.trade_name for each in told] == ["N6", "N5", "N4", "N3", None, None]
    assert history.as_of(NOW + 29).is_dropped
    assert not history.as_of(NOW + 30).is_dropped

    await copy.store([a_full_reading(trade_name="N7")], read_at=NOW + 70, lists_all=True)
    assert await pruner.prune() == 1
    assert (await reader.device(UDI)).stored[-1].dropped_at == NOW + 40


async def test_a_history_that_is_read_while_records_change_is_of_one_instant(database: Database) -> None:
    copy, reader = RecordStore(database), HistoryReader(database)
    stored = asyncio.Event()

    async def change() -> None:
        for later in range(60):
            await copy.store([a_full_reading(trade_name=f"N{later}")], read_at=NOW + later, lists_all=True)
        stored.set()

    async def read() -> None:
        while not stored.is_set():
            history = await reader.device(UDI)
            await asyncio.sleep(0)  # SQLite answers without a switch of tasks
            for each in history.changes:
                assert [(change.old, change.new) for change in each.changes] == [
                    (f"N{each.observed_at - NOW - 1}", f"N{each.observed_at - NOW}")
                ]

    await asyncio.gather(change(), read(), read())
    assert len((await reader.device(UDI)).changes) == 59


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_what_a_device_was_is_what_the_register_says_that_it_was(harness: ServiceHarness) -> None:
    [record] = harness.unique_devices(1)
    udi, reader = record.primary_di, HistoryReader(harness.service.database)
    said: list[tuple[int, datetime]] = []
    """When it was read, and the last change in the register before that, by the register's own clock."""
    for number in range(12):
        if number % 3:
            harness.world.change(record.uuid, reference=f"R-{number}", model=f"M-{number // 4}")
        harness.clock.move(60)
        await harness.service.refresher.refresh(udi)
        now = harness.world.by_uuid(record.uuid)
        assert now is not None
        said.append((int(harness.clock.now()), datetime.fromisoformat(now.version_date)))

    history, last = await reader.device(udi), harness.world.by_uuid(record.uuid)

    assert last is not None
    for at, moment in said:
        device, then = current_of(history, at), harness.world.as_of(last, moment)
        assert device is not None
        assert then is not None
        told = device.reference, device.device_model, device.version
        assert told == (then.reference or "", then.model or "", then.version_number)
