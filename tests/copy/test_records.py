"""The stored copy: whatever is read in whatever order, one record answers for each UDI-DI, and no change is missed."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from registerwatch.copy.batch import DeviceChange
from registerwatch.copy.documents.documents import ChangedRow, DocumentReader
from registerwatch.copy.documents.open_documents import open_documents
from registerwatch.copy.records import RecordStore
from registerwatch.platform.db.engine import Database
from registerwatch.platform.structs import replace
from registerwatch.register.models import (
    LAG_SECONDS,
    Actor,
    Certificate,
    Completeness,
    Device,
    DeviceReading,
    RecordPrecedence,
    from_document,
    merge,
    precedence_of,
)
from tests.register.builders import DATA_LAKE, EUDAMED, FEW, UDI, a_device, a_full_reading, a_row, readings
from tests.support.table_rows import copy_rows

UDI_OF = {"u-1": "di-A", "u-2": "di-A", "u-3": "di-A", "u-4": "di-B", "u-5": "di-B"}
MDR, MDD = "refdata.applicable-legislation.mdr", "refdata.applicable-legislation.mdd"
NOW = 1_800_000_000

batches = st.lists(
    st.tuples(
        st.lists(
            st.sampled_from(sorted(UDI_OF)).flatmap(lambda uuid: readings(uuid, UDI_OF[uuid])),
            min_size=1,
            max_size=3,
            unique_by=lambda reading: reading.device.uuid,
        ),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)
"""Readings that are stored together, and whether they are all that the register lists of their UDI-DIs."""


@pytest.fixture
async def documents(database_url: str) -> AsyncIterator[DocumentReader]:
    opened = open_documents(database_url)
    yield opened
    await opened.close()


async def empty(database: Database) -> None:
    """Begin with a copy in which nothing is stored."""
    async with database.transaction() as connection:
        for statement in (
            "DELETE FROM devices",
            "DELETE FROM actors",
            "DELETE FROM record_history",
            "UPDATE copy_state SET revision = 0, devices = 0",
        ):
            await connection.execute(text(statement))


class Expected:
    """The copy as it ought to be, by the rules alone: one reading after another, the preferred record answers."""

    def __init__(self) -> None:
        self.devices: dict[str, Device] = {}
        self.precedences: dict[str, RecordPrecedence] = {}
        self._details: dict[str, int | None] = {}
        self._delisted: set[str] = set()
        """Records that the register lists no more."""

    def read(self, batch: list[DeviceReading], *, lists_all: bool) -> None:
        """Take up some readings; where they are all there is, other records of their UDI-DIs are delisted."""
        told = {reading.device.uuid for reading in batch}
        udis = {reading.device.udi for reading in batch}
        for uuid, precedence in self.precedences.items():
            if lists_all and uuid not in told and UDI_OF[uuid] in udis:
                self.precedences[uuid] = replace(precedence, latest_version=False)
                self._delisted.add(uuid)
        read_lately = {UDI_OF[uuid] for uuid in (*self._details, *self._delisted)}
        for reading in batch:
            if not reading.lags or reading.device.udi not in read_lately or self._is_newer_of_a_latest(reading):
                self._read(reading)

    def _is_newer_of_a_latest(self, reading: DeviceReading) -> bool:
        precedence = self.precedences.get(reading.device.uuid)
        return (
            precedence is not None
            and precedence.latest_version
            and (reading.device.version or 0) > precedence.version_number
        )

    def _read(self, reading: DeviceReading) -> None:
        uuid, before = reading.device.uuid, self.precedences.get(reading.device.uuid)
        merged = merge(self.devices.get(uuid), reading, stored_detail_version=self._details.get(uuid))
        if merged is None:
            return
        self.devices[uuid] = merged
        latest = reading.latest_version
        if reading.lags and before and not before.latest_version:
            latest = latest and (reading.device.version or 0) > before.version_number
        as_merged = DeviceReading(
            device=merged, completeness=reading.completeness, source=reading.source, latest_version=latest
        )
        if not reading.lags or before is None or (reading.device.version or 0) > before.version_number:
            self._delisted.discard(uuid)
        self.precedences[uuid] = precedence_of(as_merged)
        if reading.detail_version is not None:
            self._details[uuid] = reading.detail_version

    def current(self) -> dict[str, Device]:
        """The record that answers, by UDI-DI: a listed one where there is one."""
        preferred: dict[str, Device] = {}
        worst_first = sorted(self.precedences.values(), key=lambda each: each.rank, reverse=True)
        for each in sorted(worst_first, key=lambda each: each.uuid not in self._delisted):
            preferred[UDI_OF[each.uuid]] = self.devices[each.uuid]
        return preferred


class Follower:
    """Somebody who follows the revisions, a few at a time."""

    def __init__(self, documents: DocumentReader) -> None:
        self._documents = documents
        self._position = 0
        self.rows: dict[int, ChangedRow] = {}

    async def follow(self) -> None:
        """Take up all that changed since the last time."""
        while rows := await self._documents.changed_since(self._position, 2):
            revisions = [row.revision for row in rows]
            assert revisions == sorted(set(revisions)), "strictly increasing"
            assert revisions[0] > self._position
            self.rows |= {row.id: row for row in rows}
            self._position = revisions[-1]

    def current(self) -> dict[str, Device]:
        """The record that answers, by UDI-DI."""
        rows = [row for row in self.rows.values() if row.is_current]
        assert len({row.udi for row in rows}) == len(rows), "exactly one record answers for a UDI-DI"
        return {row.udi: from_document(row.document) for row in rows}


@FEW
@given(batches)
async def test_any_readings_in_any_order_leave_one_answer_for_each_udi_and_no_change_is_missed(
    database: Database, documents: DocumentReader, batches: list[tuple[list[DeviceReading], bool]]
) -> None:
    await empty(database)
    copy, expected, indexer = RecordStore(database), Expected(), Follower(documents)
    for batch, lists_all in batches:
        before = (await copy.state()).revision
        changes = await copy.store(batch, read_at=NOW, lists_all=lists_all)
        assert changes is not None
        expected.read(batch, lists_all=lists_all)
        await indexer.follow()

        state = await copy.state()
        assert indexer.current() == expected.current()
        assert {row.udi for row in indexer.rows.values()} == {each.udi for each in expected.devices.values()}
        assert state.devices == len(expected.devices) == len(indexer.rows)
        assert state.revision - before >= len(changes)
        assert {change.new.uuid for change in changes} <= {reading.device.uuid for reading in batch}
        for change in changes:
            assert change.new == expected.devices[change.new.uuid]
            assert change.is_current is (change.new.uuid == expected.current()[change.new.udi].uuid)

        assert await copy.store(batch, read_at=NOW + 1, lists_all=lists_all) == [], "the same again is no news"
        full = {each.device.uuid for each in batch if each.completeness is not Completeness.SOME}
        assert (await copy.state()).revision <= state.revision + len(full), "only reads in full are counted"


@FEW
@given(batches)
async def test_what_is_known_of_a_udi_is_what_is_stored_of_it(
    database: Database, batches: list[tuple[list[DeviceReading], bool]]
) -> None:
    await empty(database)
    copy, expected = RecordStore(database), Expected()
    for batch, lists_all in batches:
        await copy.store(batch, read_at=NOW, lists_all=lists_all)
        expected.read(batch, lists_all=lists_all)

    for udi in set(UDI_OF.values()):
        known = await copy.known(udi)
        assert {uuid: each.device for uuid, each in known.items()} == {
            uuid: device for uuid, device in expected.devices.items() if device.udi == udi
        }
    assert await copy.known("di-C") == {}


async def test_records_that_many_processes_store_at_once_leave_one_answer(
    database: Database, database_url: str, documents: DocumentReader
) -> None:
    other = Database(database_url)
    copies = (RecordStore(database), RecordStore(other))
    told = [
        a_full_reading(uuid, udi, version=version, legislation_code=MDR)
        for version in (1, 2, 3)
        for uuid, udi in UDI_OF.items()
    ]

    await asyncio.gather(*(copies[number % 2].store([reading], read_at=NOW) for number, reading in enumerate(told)))

    indexer = Follower(documents)
    await indexer.follow()
    assert set(indexer.current()) == {"di-A", "di-B"}
    state = await copies[0].state()
    assert state.devices == len(UDI_OF)
    assert state.revision >= len(UDI_OF)
    await other.close()


async def test_a_failed_transaction_stores_nothing_and_takes_no_revision(database: Database) -> None:
    copy = RecordStore(database)
    await copy.store([a_row()], read_at=NOW)
    before = copy_rows(database)

    async def broken_off() -> None:
        async with database.transaction() as connection:
            await copy.store_in(connection, [a_row("u-2", reference="R-2")], read_at=NOW)
            raise InterruptedError

    with pytest.raises(InterruptedError):
        await broken_off()

    assert copy_rows(database) == before


# Current records


async def stored(copy: RecordStore, readings: list[DeviceReading], *, read_at: int) -> list[DeviceChange]:
    """What storing readings changes, which no other read overtakes."""
    changes = await copy.store(readings, read_at=read_at)
    assert changes is not None
    return changes


async def current(database: Database) -> list[str]:
    async with database.reading() as connection:
        rows = await connection.execute(text("SELECT uuid FROM devices WHERE is_current ORDER BY primary_di, uuid"))
        return [row.uuid for row in rows.all()]


async def test_a_twin_that_is_preferred_displaces_the_other_and_gives_way_when_it_is_superseded(
    database: Database,
) -> None:
    copy = RecordStore(database)
    await copy.store([a_full_reading("u-1", legislation_code=MDD)], read_at=NOW)
    assert await current(database) == ["u-1"]

    await copy.store([a_full_reading("u-2", legislation_code=MDR)], read_at=NOW)
    assert await current(database) == ["u-2"]

    [change] = await stored(copy, [a_full_reading("u-2", legislation_code=MDR, latest=False)], read_at=NOW)
    assert not change.is_current
    assert await current(database) == ["u-1"]


async def test_a_key_that_appears_under_another_udi_leaves_one_answer_for_each(
    database: Database, documents: DocumentReader
) -> None:
    copy, indexer = RecordStore(database), Follower(documents)
    await copy.store([a_full_reading("u-1", "di-A")], read_at=NOW)

    await copy.store([a_full_reading("u-1", "di-B"), a_full_reading("u-2", "di-A")], read_at=NOW)

    await indexer.follow()
    assert set(indexer.current()) == {"di-A", "di-B"}
    assert (await copy.state()).devices == len(indexer.rows)


# Sources that lag


async def test_a_bulk_row_does_not_bring_a_superseded_record_back_at_the_same_version(database: Database) -> None:
    copy = RecordStore(database)
    await copy.store([a_row("u-1", version=2), a_row("u-2", version=1)], read_at=NOW)
    await copy.store([a_row("u-1", version=2, latest=False)], read_at=NOW + 60)  # as a walk through the register tells
    assert await current(database) == ["u-2"]

    await copy.store([a_row("u-1", version=2, lags=True, trade_name="Alpha")], read_at=NOW + LAG_SECONDS + 100)
    assert await current(database) == ["u-2"]
    assert (await copy.known(UDI))["u-1"].device.trade_name == "Alpha", "what it fills in is taken"

    await copy.store([a_row("u-1", version=3, lags=True)], read_at=NOW + LAG_SECONDS + 200)
    assert await current(database) == ["u-1"]


async def test_a_bulk_row_may_tell_that_a_record_is_superseded(database: Database) -> None:
    copy = RecordStore(database)
    await copy.store([a_row("u-1", version=2), a_row("u-2", version=1)], read_at=NOW)

    await copy.store([a_row("u-1", version=2, lags=True, latest=False)], read_at=NOW + 60)

    assert await current(database) == ["u-2"]


@pytest.mark.parametrize("version", [1, 5], ids=["the version that is stored", "a newer version"])
@pytest.mark.parametrize("stored_before", [True, False])
async def test_a_bulk_row_of_a_record_that_the_register_just_listed_no_more_does_not_answer(
    database: Database, stored_before: bool, version: int
) -> None:
    copy = RecordStore(database)
    if stored_before:
        await copy.store([a_row("u-2", version=1, lags=True, legislation_code=MDR)], read_at=NOW - 100)
    await copy.store([a_full_reading("u-1", legislation_code=MDD)], read_at=NOW, lists_all=True)
    assert await current(database) == ["u-1"]

    bulk = a_row("u-2", version=version, lags=True, legislation_code=MDR)
    assert await copy.store([bulk], read_at=NOW + LAG_SECONDS - 1) == []

    assert await current(database) == ["u-1"]


async def test_a_bulk_row_that_is_later_than_the_last_read_of_the_register_can_answer(database: Database) -> None:
    copy = RecordStore(database)
    await copy.store([a_full_reading("u-1", legislation_code=MDD)], read_at=NOW, lists_all=True)

    await copy.store([a_row("u-2", version=1, lags=True, legislation_code=MDR)], read_at=NOW + LAG_SECONDS)

    assert await current(database) == ["u-2"]


async def test_a_newer_version_of_a_record_that_the_register_listed_is_taken_from_a_bulk_row_at_once(
    database: Database,
) -> None:
    copy = RecordStore(database)
    await copy.store([a_full_reading("u-1", version=1, reference="R-1")], read_at=NOW, lists_all=True)

    [change] = await stored(copy, [a_row("u-1", version=2, lags=True, reference="R-2")], read_at=NOW + 60)

    assert change.new.reference == "R-2"


# Times of reading


async def rows_of(database: Database) -> list[dict[str, object]]:
    async with database.reading() as connection:
        return [dict(row._mapping) for row in (await connection.execute(text("SELECT * FROM devices"))).all()]


async def read_at(database: Database) -> dict[object, object]:
    return {row["uuid"]: row["read_at"] for row in await rows_of(database)}


async def test_a_full_reading_that_says_nothing_new_renews_its_time_and_its_number_and_nothing_else(
    database: Database,
) -> None:
    copy = RecordStore(database)
    await copy.store([a_full_reading()], read_at=NOW)
    (before,) = await rows_of(database)

    assert await copy.store([a_full_reading()], read_at=NOW + 100) == []

    ages = dict.fromkeys(("read_at", "detail_read_at", "certs_read_at", "basic_read_at"), NOW + 100)
    revisions = dict.fromkeys(("revision", "certs_revision", "own_revision"), 2)
    assert await rows_of(database) == [before | ages | revisions]
    assert (await copy.state()).last_read_at == NOW + 100


async def test_a_bulk_row_that_says_nothing_new_does_not_make_a_record_look_fresh(database: Database) -> None:
    copy = RecordStore(database)
    await copy.store([a_full_reading()], read_at=NOW)

    await copy.store([a_row(version=1)], read_at=NOW + 100)

    assert await read_at(database) == {"u-1": NOW}
    assert (await copy.state()).last_read_at == NOW


async def test_a_record_that_only_its_twin_displaced_does_not_count_as_read(database: Database) -> None:
    copy = RecordStore(database)
    await copy.store([a_full_reading("u-1", legislation_code=MDD)], read_at=NOW)
    await copy.store([a_full_reading("u-2", legislation_code=MDR)], read_at=NOW + 100)
    assert await current(database) == ["u-2"]

    assert await read_at(database) == {"u-1": NOW, "u-2": NOW + 100}


async def test_a_partial_reading_keeps_the_certificates_and_counts_as_read(database: Database) -> None:
    copy = RecordStore(database)
    await copy.store([a_full_reading(certs=(Certificate(number="Z-1"),))], read_at=NOW)
    partial = DeviceReading(
        device=a_device(version=2, reference="R-2"),
        completeness=Completeness.ALL_BUT_CERTIFICATES,
        source=EUDAMED,
        detail_version=2,
    )

    [change] = await stored(copy, [partial], read_at=NOW + 100)

    assert [each.number for each in change.new.certs] == ["Z-1"]
    assert change.new.reference == "R-2"
    assert await read_at(database) == {"u-1": NOW + 100}


def without_search(*numbers: str) -> DeviceReading:
    """A reading while the certificate search was down; the Basic UDI-DI record lists these certificates."""
    certs = tuple(Certificate(number=number) for number in numbers)
    return DeviceReading(
        device=a_device(version=1, certs=certs),
        completeness=Completeness.ALL_BUT_CERTIFICATES,
        source=EUDAMED,
        detail_version=1,
    )


@pytest.mark.parametrize("bulk_row_before", [True, False])
async def test_the_certificates_that_a_first_read_without_the_search_brings_are_better_than_none(
    database: Database, bulk_row_before: bool
) -> None:
    copy = RecordStore(database)
    if bulk_row_before:
        await copy.store([a_row(version=1, lags=True)], read_at=NOW - LAG_SECONDS)

    await copy.store([without_search("D-1")], read_at=NOW)
    await copy.store([without_search("D-1", "D-2")], read_at=NOW + 100)

    assert [each.number for each in (await copy.known(UDI))["u-1"].device.certs] == ["D-1"], "the second leaves them"


async def test_a_full_read_that_found_no_certificate_is_not_overruled_by_one_without_the_search(
    database: Database,
) -> None:
    copy = RecordStore(database)
    await copy.store([a_full_reading()], read_at=NOW)

    assert await copy.store([without_search("D-1")], read_at=NOW + 100) == []

    assert (await copy.known(UDI))["u-1"].device.certs == ()


# Sources


async def source_of(database: Database) -> str | None:
    [row] = copy_rows(database)["devices"]
    return str(row["source"])


async def test_the_source_of_a_record_is_the_one_that_brought_what_is_stored_of_it(database: Database) -> None:
    copy = RecordStore(database)

    await copy.store([a_row(version=1, reference="R-1", lags=True)], read_at=NOW)
    assert await source_of(database) == DATA_LAKE
    await copy.store([a_row(version=1, reference="R-1")], read_at=NOW + 1)
    assert await source_of(database) == DATA_LAKE, "a listing that says the same brought nothing"
    await copy.store([a_full_reading(reference="R-1")], read_at=NOW + 2)
    assert await source_of(database) == EUDAMED, "a full read brought all of it, the same or not"
    await copy.store([a_row(version=1, reference="R-0", lags=True)], read_at=NOW + 2 * LAG_SECONDS)
    assert await source_of(database) == EUDAMED, "what lags is not stored over a full read of the same version"
    await copy.store([a_row(version=2, reference="R-2", lags=True)], read_at=NOW + 3 * LAG_SECONDS)
    assert await source_of(database) == DATA_LAKE, "the later version is known from there alone"


async def test_a_source_that_only_says_that_a_record_is_superseded_did_not_bring_the_record(
    database: Database,
) -> None:
    copy = RecordStore(database)
    await copy.store([a_full_reading()], read_at=NOW)

    await copy.store([a_row(version=2, reference="R-2", latest=False, lags=True)], read_at=NOW + 2 * LAG_SECONDS)
    assert await source_of(database) == DATA_LAKE
    await copy.store([a_full_reading(version=2, reference="R-2")], read_at=NOW + 3 * LAG_SECONDS)
    await copy.store([a_row(version=2, reference="R-2", latest=False)], read_at=NOW + 4 * LAG_SECONDS)

    assert await source_of(database) == EUDAMED


# Actors


async def actors(database: Database) -> dict[str, tuple[object, ...]]:
    return {row["srn"]: tuple(row.values()) for row in copy_rows(database)["actors"]}


async def test_a_manufacturer_that_a_device_names_is_known_thinly(database: Database) -> None:
    named = a_row(manufacturer_srn="DE-MF-000000001", manufacturer_name="Alpha GmbH")
    await RecordStore(database).store([named, a_row("u-2", manufacturer_srn="FR-MF-000000002")], read_at=NOW)

    rows = await actors(database)

    assert set(rows) == {"DE-MF-000000001"}, "an actor without a name is not known"
    srn, name, country, status, total, complete, at, _, source, first_seen_at, *_ = rows["DE-MF-000000001"]
    assert (srn, name, country, status, total, bool(complete), at, source, first_seen_at) == (
        "DE-MF-000000001", "Alpha GmbH", "DE", "", None, False, NOW, EUDAMED, NOW,
    )  # fmt: skip


async def test_of_an_actor_that_was_read_itself_a_bulk_row_fills_in_an_unknown_status_alone(
    database: Database,
) -> None:
    copy = RecordStore(database)
    actor = Actor(srn="DE-MF-000000001", name="Alpha GmbH", country="DE", device_total=7, complete=True)
    assert await copy.store_actor(actor, read_at=NOW, source=EUDAMED)

    await copy.store([a_row(manufacturer_srn=actor.srn, manufacturer_name="Another")], read_at=NOW + 1)
    named = Actor(srn=actor.srn, name="A third", status_code="refdata.actor-status.active")
    async with database.transaction() as connection:
        await copy.store_bulk_actors(connection, [named], read_at=NOW + 2, source=DATA_LAKE)

    assert (await actors(database))[actor.srn][1:5] == ("Alpha GmbH", "DE", "refdata.actor-status.active", 7)
    assert (await actors(database))[actor.srn][8] == EUDAMED


async def test_reading_the_same_actor_again_is_no_news_but_counts_as_read(database: Database) -> None:
    copy = RecordStore(database)
    actor = Actor(srn="DE-MF-000000001", name="Alpha GmbH", country="DE", device_total=7, complete=True)
    await copy.store_actor(actor, read_at=NOW, source=EUDAMED)

    assert not await copy.store_actor(actor, read_at=NOW + 50, source=EUDAMED)

    at, reads = (await actors(database))[actor.srn][6:8]
    assert (at, reads) == (NOW + 50, 2)
    assert (await copy.state()).last_read_at == NOW + 50


async def test_an_actor_read_without_a_status_keeps_the_one_that_is_stored(database: Database) -> None:
    copy = RecordStore(database)
    known = Actor(srn="DE-MF-000000001", name="Alpha", status_code="refdata.actor-status.active", complete=True)
    await copy.store_actor(known, read_at=NOW, source=EUDAMED)

    unknown = Actor(srn="DE-MF-000000001", name="Alpha", status_code="", complete=True)
    changed = await copy.store_actor(unknown, read_at=NOW, source=EUDAMED)

    assert (await actors(database))["DE-MF-000000001"][3] == "refdata.actor-status.active"
    assert not changed
