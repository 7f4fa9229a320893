"""The index follows the copy by its revisions, and says when it is behind."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from registerwatch.copy.documents.documents import DocumentReader
from registerwatch.copy.documents.open_documents import open_documents
from registerwatch.copy.records import RecordStore
from registerwatch.copy.search.filters import Filters
from registerwatch.copy.search.index import SearchIndex
from registerwatch.copy.search.index_files import META
from registerwatch.copy.search.indexer import BATCH, MAX_SILENT_LAG, Indexer, rebuild_request
from registerwatch.platform.db.engine import Database
from registerwatch.register.models import DeviceReading, from_document
from registerwatch.register.observation import ReadContext
from tests.register.builders import FEW, a_full_reading, a_row, readings

MDR, MDD = "refdata.applicable-legislation.mdr", "refdata.applicable-legislation.mdd"
NOW = 1_800_000_000
UDI_OF = {"u-1": "di-A", "u-2": "di-A", "u-3": "di-B"}


@dataclass(frozen=True, slots=True)
class Node:
    """One process's view: the copy, its quick reads, its index."""

    database: Database
    copy: RecordStore
    documents: DocumentReader
    index: SearchIndex
    indexer: Indexer

    async def store(self, *readings: DeviceReading) -> None:
        """Store some readings."""
        await self.copy.store(readings, read_at=NOW)

    async def found(self, name: str) -> list[str]:
        """Keys of the records that a name finds."""
        hits = self.index.by_name(name, Filters(), limit=10_000, offset=0)
        return sorted(from_document(each).uuid for each in await self.documents.rows(hits.ids))


@pytest.fixture
async def node(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[Node]:
    documents, index = open_documents(database_url), SearchIndex(tmp_path / "index")
    node = Node(database, RecordStore(database), documents, index, Indexer(documents, index))
    yield node
    await node.indexer.close()
    await documents.close()


async def test_what_is_stored_is_found_once_the_index_has_caught_up(node: Node) -> None:
    await node.store(a_row(trade_name="Alpha"))
    assert await node.indexer.lag() == 1
    assert await node.found("alpha") == []

    assert await node.indexer.catch_up()

    assert await node.found("alpha") == ["u-1"]
    assert await node.indexer.lag() == 0
    assert node.indexer.problem() is None


async def test_a_preferred_twin_takes_the_place_of_the_other_and_gives_it_back(node: Node) -> None:
    await node.store(a_full_reading("u-1", legislation_code=MDD, trade_name="Alpha legacy"))
    await node.indexer.catch_up()
    await node.store(a_full_reading("u-2", legislation_code=MDR, trade_name="Alpha"))
    await node.indexer.catch_up()
    assert (await node.found("alpha"), await node.found("legacy")) == (["u-2"], [])

    await node.store(a_full_reading("u-2", legislation_code=MDR, trade_name="Alpha", latest=False))
    await node.indexer.catch_up()

    assert (await node.found("alpha"), await node.found("legacy")) == (["u-1"], ["u-1"])


@FEW
@given(
    st.lists(
        st.lists(
            st.sampled_from(sorted(UDI_OF)).flatmap(lambda uuid: readings(uuid, UDI_OF[uuid])),
            min_size=1,
            max_size=2,
            unique_by=lambda reading: reading.device.uuid,
        ),
        min_size=1,
        max_size=4,
    )
)
async def test_after_any_readings_the_index_has_exactly_the_records_that_answer(
    node: Node, batches: list[list[DeviceReading]]
) -> None:
    for batch in batches:
        await node.store(*batch)
        await node.indexer.catch_up()

    async with node.database.reading() as connection:
        rows = (await connection.execute(text("SELECT id FROM devices WHERE is_current ORDER BY primary_di"))).all()
    hits = node.index.by_filters(Filters(), limit=100, offset=0)
    assert hits.ids == [row.id for row in rows]


async def test_progress_is_told_by_revision_up_to_the_last_one(node: Node) -> None:
    count = 2 * BATCH + 7
    await node.store(*(a_row(f"u-{each}", f"di-{each}") for each in range(count)))
    told: list[tuple[int, int]] = []

    await node.indexer.catch_up(lambda done, of: told.append((done, of)))

    assert told == [(BATCH, count), (2 * BATCH, count), (count, count)]


async def test_an_index_has_caught_up_with_reads_that_changed_no_row(node: Node) -> None:
    await node.store(a_full_reading(trade_name="Alpha"))
    await node.indexer.catch_up()
    meta = (node.index.folder / META).read_bytes()
    for minute in range(3):
        await node.copy.store([a_full_reading(trade_name="Alpha")], read_at=NOW + minute, context=ReadContext())
    assert await node.indexer.lag() == 3

    async with asyncio.timeout(10):
        assert await node.indexer.catch_up()

    assert (await node.indexer.lag(), node.indexer.problem()) == (0, None)
    assert (node.index.folder / META).read_bytes() == meta, "nothing was written but how far it is"
    again = Indexer(node.documents, SearchIndex(node.index.folder.parent))
    await node.indexer.close()
    assert await again.catch_up()
    assert again.rebuilds == 0
    await again.close()
    await node.store(a_full_reading(trade_name="Beta"))
    assert await node.indexer.catch_up()
    assert (await node.found("alpha"), await node.found("beta")) == ([], ["u-1"])


async def test_searches_say_so_while_the_index_is_far_behind(node: Node) -> None:
    count = MAX_SILENT_LAG + BATCH + 10
    await node.store(*(a_row(f"u-{each}", f"di-{each}") for each in range(count)))
    assert await node.indexer.step()

    problem = node.indexer.problem()

    assert problem == f"The search index is being built; {count - BATCH:,} of {count:,} changes are not findable yet."
    assert await node.indexer.lag() == count
    await node.indexer.catch_up()
    assert node.indexer.problem() is None


async def test_a_second_process_reads_what_the_first_one_indexes_and_takes_over_when_it_ends(node: Node) -> None:
    other_index = SearchIndex(node.index.folder.parent)
    other = Indexer(node.documents, other_index)
    await node.store(a_row(trade_name="Alpha"))
    await node.indexer.catch_up()

    assert not await other.catch_up(), "the first process writes"
    assert await Node(node.database, node.copy, node.documents, other_index, other).found("alpha") == ["u-1"]
    assert other.problem() is None

    await node.indexer.close()
    await node.store(a_row("u-2", "di-B", trade_name="Beta"))
    assert await other.catch_up()
    assert await node.indexer.lag() == 0
    await other.close()


async def test_a_rebuild_that_is_asked_for_is_done_once_and_finds_the_same(node: Node) -> None:
    await node.store(*(a_row(f"u-{each}", f"di-{each}", trade_name="Alpha") for each in range(10)))
    await node.indexer.catch_up()
    before = await node.found("alpha")
    rebuild_request(node.index.folder).touch()

    await node.indexer.catch_up()

    assert await node.found("alpha") == before
    assert len(before) == node.index.documents == 10
    assert not rebuild_request(node.index.folder).exists()


async def test_a_rebuild_that_a_kill_interrupts_is_done_by_the_next_process(node: Node) -> None:
    await node.store(*(a_row(f"u-{each}", f"di-{each}", trade_name="Alpha") for each in range(2 * BATCH)))
    await node.indexer.catch_up()
    rebuild_request(node.index.folder).touch()
    await node.indexer.step()
    await node.indexer.close()  # without a commit, as a kill would leave it

    told: list[int] = []
    next_one = Indexer(node.documents, SearchIndex(node.index.folder.parent))
    await next_one.catch_up(lambda done, _of: told.append(done))

    await next_one.close()
    assert told == [BATCH, 2 * BATCH], "it begins at the first revision"


async def test_an_index_whose_folder_vanishes_under_the_writer_is_built_anew(node: Node) -> None:
    await node.store(a_row("u-1", "di-A", trade_name="Alpha"))
    await node.indexer.catch_up()
    node.index.folder.rename(node.index.folder.with_name("gone"))  # as if it were deleted, at once
    await node.store(a_row("u-2", "di-B", trade_name="Alpha"))

    assert await node.indexer.catch_up()

    assert await node.found("alpha") == ["u-1", "u-2"]


async def test_a_database_that_is_restored_from_a_backup_is_indexed_as_it_is(node: Node) -> None:
    await node.store(a_row("u-1", "di-A", trade_name="Alpha"))
    async with node.database.reading() as connection:
        backup = (await connection.execute(text("SELECT revision FROM copy_state"))).scalar_one()
    await node.store(a_row("u-2", "di-B", trade_name="Beta"), a_row("u-3", "di-C", trade_name="Beta"))
    await node.indexer.catch_up()
    async with node.database.transaction() as connection:  # what restoring an older backup leaves
        await connection.execute(text(f"DELETE FROM devices WHERE revision > {backup}"))
        await connection.execute(text(f"UPDATE copy_state SET revision = {backup}, devices = 1"))
    await node.store(a_row("u-4", "di-D", trade_name="Gamma"))

    await node.indexer.catch_up()

    assert await node.found("gamma") == ["u-4"]
    assert await node.indexer.lag() == 0
    assert node.index.documents == 2
