"""One process writes the index; wherever it is killed, the next one makes it whole."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from registerwatch.copy.search.filters import Filters
from registerwatch.copy.search.index import SearchIndex
from registerwatch.copy.search.index_writer import IndexWriter
from registerwatch.errors import IndexUnavailable
from registerwatch.register.models import document
from tests.copy.search.index_folder import COPY, EVERYTHING
from tests.register.builders import a_device

NO_FILTERS = Filters()
ROOT = Path(__file__).parents[3]


@contextmanager
def writing_process(folder: Path, stop: str) -> Iterator["subprocess.Popen[str]"]:
    """Another process that writes the index in this folder and now stands still; it is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.copy.search.writing_process", str(folder), stop],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=10)


def found(index: SearchIndex, text: str) -> list[int]:
    """Ids of the devices that a name finds after taking up what was committed."""
    index.refresh()
    return sorted(index.by_name(text, NO_FILTERS, limit=EVERYTHING, offset=0).ids)


def put(writer: IndexWriter, number: int, name: str, *, udi: str | None = None, is_current: bool = True) -> None:
    device = a_device(f"u-{number}", udi or f"di-{number}", trade_name=name)
    writer.put(number, document(device), is_current=is_current)


@pytest.fixture
def index(tmp_path: Path) -> SearchIndex:
    return SearchIndex(tmp_path / "index")


@pytest.fixture
def writer(index: SearchIndex) -> Iterator[IndexWriter]:
    writer = IndexWriter(index)
    yield writer
    writer.release()


def test_what_is_put_is_found_after_the_commit_and_not_before(index: SearchIndex, writer: IndexWriter) -> None:
    assert writer.acquire(COPY)
    put(writer, 1, "Alpha")
    assert found(index, "alpha") == []

    writer.commit(5)

    assert found(index, "alpha") == [1]
    assert (writer.revision, index.indexed_revision(COPY), index.documents) == (5, 5, 1)


def test_a_record_takes_the_place_of_the_one_with_its_udi(index: SearchIndex, writer: IndexWriter) -> None:
    assert writer.acquire(COPY)
    put(writer, 1, "Alpha", udi="di-A")
    put(writer, 1, "Beta", udi="di-A")
    put(writer, 2, "Gamma", udi="di-A")
    writer.commit(3)
    assert (found(index, "gamma"), index.documents) == ([2], 1)

    put(writer, 1, "Delta", udi="di-A")
    put(writer, 2, "Gamma", udi="di-A", is_current=False)
    writer.commit(5)

    assert (found(index, "delta"), found(index, "gamma"), index.documents) == ([1], [], 1)


def test_a_second_writer_is_refused_while_the_first_one_writes(index: SearchIndex, writer: IndexWriter) -> None:
    assert writer.acquire(COPY)
    second = IndexWriter(SearchIndex(index.folder.parent))

    assert not second.acquire(COPY)
    assert writer.acquire(COPY), "who has it keeps it"
    writer.finish()
    assert second.acquire(COPY)
    second.release()


def test_a_second_process_gets_the_index_once_the_first_one_is_killed(tmp_path: Path, writer: IndexWriter) -> None:
    with writing_process(tmp_path / "index", "after-mark"):
        assert not writer.acquire(COPY)

    assert writer.acquire(COPY)
    assert writer.revision == 2


@pytest.mark.parametrize("stop", ["before-commit", "before-mark", "after-mark"])
@pytest.mark.parametrize("begun", [False, True], ids=["new index", "index with older commits"])
def test_a_kill_at_any_point_of_a_commit_leaves_nothing_twice_and_nothing_out(
    tmp_path: Path, index: SearchIndex, writer: IndexWriter, stop: str, begun: bool
) -> None:
    if begun:
        assert writer.acquire(COPY)
        put(writer, 1, "Alpha of old")
        put(writer, 3, "Alpha of old")
        writer.commit(3)
        writer.finish()
    before = 3 if begun else 0

    with writing_process(tmp_path / "index", stop):
        pass

    assert writer.acquire(COPY)
    assert writer.revision == (before + 2 if stop == "after-mark" else before)
    put(writer, 1, "Alpha anew")
    put(writer, 2, "Alpha anew")
    writer.commit(before + 2)
    assert found(index, "alpha") == ([1, 2, 3] if begun else [1, 2])
    assert found(index, "anew") == [1, 2]
    assert index.documents == (3 if begun else 2)


def test_the_index_of_another_copy_is_built_anew(index: SearchIndex, writer: IndexWriter) -> None:
    assert writer.acquire(COPY)
    put(writer, 1, "Alpha")
    writer.commit(7)

    assert writer.acquire("another copy")

    assert writer.revision == 0
    put(writer, 2, "Beta")
    writer.commit(1)
    assert (found(index, "alpha"), found(index, "beta")) == ([], [2])
    assert (index.indexed_revision(COPY), index.indexed_revision("another copy")) == (0, 1)


def test_an_index_that_is_built_anew_stays_findable_until_the_commit(index: SearchIndex, writer: IndexWriter) -> None:
    assert writer.acquire(COPY)
    put(writer, 1, "Alpha")
    put(writer, 2, "Beta")
    writer.commit(2)

    writer.start_rebuild()
    put(writer, 2, "Beta")
    assert writer.revision == 0
    assert (found(index, "alpha"), found(index, "beta")) == ([1], [2])

    writer.commit(2)
    assert (found(index, "alpha"), found(index, "beta"), index.documents) == ([], [2], 1)


def test_a_rebuild_that_is_given_up_before_its_commit_leaves_the_index_as_it_was(
    index: SearchIndex, writer: IndexWriter
) -> None:
    assert writer.acquire(COPY)
    put(writer, 1, "Alpha")
    writer.commit(2)
    writer.start_rebuild()
    writer.release()

    assert writer.acquire(COPY)

    assert writer.revision == 2
    assert found(index, "alpha") == [1]


@pytest.mark.parametrize("mark", ["", "{", "[]", '{"copy": "a copy"}', '{"copy": "a copy", "revision": "x"}', "null"])
def test_an_unreadable_note_of_the_revision_means_building_anew(
    index: SearchIndex, writer: IndexWriter, mark: str
) -> None:
    assert writer.acquire(COPY)
    put(writer, 1, "Alpha")
    writer.commit(2)
    writer.finish()
    (index.folder / "follows.json").write_text(mark)

    assert index.indexed_revision(COPY) == 0
    assert writer.acquire(COPY)
    assert writer.revision == 0
    put(writer, 1, "Alpha")
    writer.commit(2)
    assert (found(index, "alpha"), index.documents) == ([1], 1)


def test_a_commit_that_cannot_be_written_is_told_and_another_process_can_take_over(
    index: SearchIndex, writer: IndexWriter
) -> None:
    assert writer.acquire(COPY)
    put(writer, 1, "Alpha")
    index.folder.rename(index.folder.with_name("gone"))  # as if it were deleted, at once

    with pytest.raises(IndexUnavailable, match="cannot be written"):
        writer.commit(1)

    second = IndexWriter(index)
    assert second.acquire(COPY)
    second.release()


def test_a_loss_that_a_commit_meets_first_counts_as_a_rebuild(index: SearchIndex, writer: IndexWriter) -> None:
    assert writer.acquire(COPY)
    put(writer, 1, "Alpha")
    writer.commit(1)
    put(writer, 2, "Beta")
    index.folder.rename(index.folder.with_name("gone"))
    with pytest.raises(IndexUnavailable, match="cannot be written"):
        writer.commit(2)

    assert writer.acquire(COPY)

    assert (writer.rebuilds, writer.revision) == (1, 0)


def test_a_place_that_cannot_hold_an_index_is_told(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file stands where the folder should be")

    with pytest.raises(IndexUnavailable, match="cannot be written"):
        IndexWriter(SearchIndex(tmp_path / "index")).acquire(COPY)


def test_a_commit_is_taken_up_though_the_file_of_the_one_before_had_the_same_time_and_size(
    index: SearchIndex, writer: IndexWriter
) -> None:
    reader, meta = SearchIndex(index.folder.parent), index.folder / "meta.json"
    assert writer.acquire(COPY)
    sizes = set()
    for number in range(1, 4):  # each commit replaces the one document, so that the files are alike
        put(writer, number, "Alpha", udi="di-1")
        writer.commit(number)
        os.utime(meta, (1_700_000_000, 1_700_000_000))
        assert found(reader, "alpha") == [number]
        sizes.add(meta.stat().st_size)
    assert len(sizes) < 3


def test_a_reader_takes_up_an_index_that_was_built_anew_in_the_same_moment(
    index: SearchIndex, writer: IndexWriter
) -> None:
    reader, meta = SearchIndex(index.folder.parent), index.folder / "meta.json"
    for number, copy in enumerate((COPY, "another copy", "a third copy"), start=1):
        assert writer.acquire(copy)
        put(writer, number, "Alpha")
        writer.commit(1)
        os.utime(meta, (1_700_000_000, 1_700_000_000))
        assert found(reader, "alpha") == [number]


def test_a_reader_takes_up_every_commit_of_the_writer(index: SearchIndex, writer: IndexWriter) -> None:
    reader = SearchIndex(index.folder.parent)
    assert writer.acquire(COPY)
    for number in range(1, 8):
        put(writer, number, "Alpha")
        writer.commit(number)
        assert found(reader, "alpha") == list(range(1, number + 1))
