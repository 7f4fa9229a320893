"""An index that is deleted or damaged, at the start or while it is used: told everywhere, and built anew by itself."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE

import pytest
from prometheus_client.parser import text_string_to_metric_families

from registerwatch.bootstrap import running
from registerwatch.copy.search.fields import LAYOUT
from registerwatch.errors import IndexUnavailable
from registerwatch.rest.health.system import UNINDEXED
from tests.copy.search.index_folder import indexed
from tests.mcp.messages import used
from tests.register.builders import a_device
from tests.support.harness import ServiceHarness, ServiceStarter, build_harness

ROOT = Path(__file__).parents[3]
QUERY = {"status": "on"}

Damage = Callable[[Path], None]


@pytest.fixture(params=["sqlite"])
def database_kind(request: pytest.FixtureRequest) -> str:
    """The index does not meet the database itself; one kind is enough."""
    return str(request.param)


def segment_file(folder: Path, part: str) -> Path:
    """A file of a segment of the index in this folder."""
    return next(iter(sorted((folder / LAYOUT).glob(f"*.{part}"))))


def delete_all(folder: Path) -> None:
    shutil.rmtree(folder)


def delete_layout(folder: Path) -> None:
    shutil.rmtree(folder / LAYOUT)


def delete_meta(folder: Path) -> None:
    (folder / LAYOUT / "meta.json").unlink()


def cut_meta(folder: Path) -> None:
    path = folder / LAYOUT / "meta.json"
    path.write_bytes(path.read_bytes()[:40])


def delete_a_segment(folder: Path) -> None:
    segment_file(folder, "term").unlink()


def change_a_segment(folder: Path) -> None:
    path = segment_file(folder, "idx")
    content = bytearray(path.read_bytes())
    content[: len(content) // 2] = bytes(len(content) // 2)
    path.unlink()  # a new file, so that what is mapped into memory stays as it is
    path.write_bytes(content)


def cut_a_segment(folder: Path) -> None:
    path = segment_file(folder, "fast")
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[: len(content) // 2])


def delete_the_note(folder: Path) -> None:
    (folder / LAYOUT / "follows.json").unlink()


DAMAGES: list[Damage] = [
    delete_all,
    delete_layout,
    delete_meta,
    cut_meta,
    delete_a_segment,
    change_a_segment,
    cut_a_segment,
    delete_the_note,
]


async def total(harness: ServiceHarness) -> int:
    """How many devices a search finds."""
    answer = (await harness.get("/v1/search", **QUERY)).json()
    assert answer["error"] is None
    return int(answer["total"])


async def metric(harness: ServiceHarness, name: str) -> float:
    told = text_string_to_metric_families((await harness.get("/metrics")).text)
    return next(sample.value for family in told for sample in family.samples if sample.name == name)


@pytest.mark.parametrize("damage", DAMAGES)
async def test_damage_is_found_at_the_next_look_told_everywhere_and_mended(
    harness: ServiceHarness, tmp_path: Path, damage: Damage
) -> None:
    await harness.fill_copy()
    before = await total(harness)
    assert before > 0
    damage(tmp_path / "index")

    await harness.service.indexer.step()

    found = await harness.get("/v1/search", **QUERY)
    assert (found.status_code, found.json()["code"]) == (503, "index-unavailable")
    assert "is being built" in found.json()["error"]
    assert "is being built" in (await used(harness, "search_devices", q="set")).payload["error"]
    assert "is being built" in (await harness.get("/", **QUERY)).text
    ready = await harness.get("/ready")
    assert (ready.status_code, ready.json()["error"]) == (503, UNINDEXED)
    health = (await harness.get("/health")).json()
    assert (health["status"], health["parts"]["index"]["status"]) == ("failing", "failing")
    assert "is being built" in health["error"]
    assert (health["index"]["rebuilds"], await metric(harness, "registerwatch_index_rebuilds_total")) == (1, 1)
    assert await metric(harness, "registerwatch_index_complete") == 0

    await harness.update_index()

    assert await total(harness) == before
    assert (await harness.get("/ready")).status_code == 200
    healthy = (await harness.get("/health")).json()
    assert (healthy["status"], healthy["index"]["error"]) == ("ok", None)
    assert await metric(harness, "registerwatch_index_complete") == 1


async def test_files_that_are_written_over_while_they_are_loaded_are_told_at_once(
    harness: ServiceHarness, database_url: str, tmp_path: Path
) -> None:
    await harness.fill_copy()
    before = await total(harness)
    other = build_harness(database_url, tmp_path)
    assert not await other.service.indexer.catch_up(), "the first process writes"
    for path in (tmp_path / "index" / LAYOUT).glob("*.*"):
        if path.suffix != ".json":
            os.truncate(path, path.stat().st_size + 4)

    found = await other.get("/v1/search", q="set")

    assert found.status_code == 503
    assert "is being built" in found.json()["error"]
    await harness.update_index()
    await other.service.indexer.step()
    assert await total(harness) == await total(other) == before
    await other.close()


def test_a_search_over_files_that_are_cut_off_while_they_are_loaded_ends_no_process(tmp_path: Path) -> None:
    index = indexed(tmp_path, [a_device(f"u-{each}", f"di-{each}", trade_name="Alpha") for each in range(3000)])
    command = [sys.executable, "-m", "tests.copy.search.searching_process", str(tmp_path / "index")]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        for part in ("fast", "fieldnorm", "idx", "term"):
            os.truncate(next(index.folder.glob(f"*.{part}")), 4)

        said, _ = process.communicate("search\n", timeout=30)

    assert (said, process.returncode) == ("0\n", 0)


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_service_starts_over_a_damaged_index_and_builds_it_anew(
    database_url: str, tmp_path: Path, damage: Damage
) -> None:
    harness = build_harness(database_url, tmp_path)
    await harness.fill_copy()
    before = await total(harness)
    await harness.close()
    damage(tmp_path / "index")

    harness = build_harness(database_url, tmp_path)
    async with running(harness.service, background=False):
        await harness.update_index()

        assert await total(harness) == before
        assert (await harness.get("/ready")).status_code == 200
        await harness.close_own()


async def test_a_running_service_notices_within_seconds_that_its_index_was_deleted(
    start_service: ServiceStarter, tmp_path: Path
) -> None:
    async with start_service() as harness:
        await harness.fill_copy()
        before = await total(harness)
        built = harness.service.indexer.rebuilds
        shutil.rmtree(tmp_path / "index")

        await harness.update_index()  # as its loop does every half second

        assert harness.service.indexer.rebuilds == built + 1
        assert await total(harness) == before


@pytest.mark.parametrize("damage", [delete_layout, cut_meta])
async def test_a_second_process_tells_that_the_index_which_it_reads_is_gone(
    harness: ServiceHarness, database_url: str, tmp_path: Path, damage: Damage
) -> None:
    await harness.fill_copy()
    other = build_harness(database_url, tmp_path)
    assert not await other.service.indexer.catch_up(), "the first process writes"
    before = await total(other)
    damage(tmp_path / "index")

    await other.service.indexer.step()

    assert "is being built" in (await other.get("/v1/search", **QUERY)).json()["error"]
    assert (await other.get("/ready")).status_code == 503
    await harness.update_index()
    await other.service.indexer.step()
    assert await total(other) == before
    assert (await other.get("/ready")).status_code == 200
    await other.close()


async def test_an_index_that_cannot_be_written_is_told_and_what_it_has_stays_findable(
    harness: ServiceHarness, tmp_path: Path
) -> None:
    await harness.fill_copy()
    before = await total(harness)
    shutil.rmtree(tmp_path / "index")
    (tmp_path / "index").write_text("a file stands where the folder should be")
    record = harness.unique_devices(1)[0]
    harness.world.change(record.uuid, reference="NEW-1")
    await harness.get("/v1/refresh", q=record.primary_di)

    with pytest.raises(IndexUnavailable):
        await harness.update_index()

    found = (await harness.get("/v1/search", **QUERY)).json()
    assert found["total"] == before
    assert found["error"].startswith("The search index cannot be written; ")
    (tmp_path / "index").unlink()
    await harness.update_index()
    assert await total(harness) == before


async def test_of_two_processes_whose_index_was_deleted_with_its_lock_one_builds_it_for_both(
    harness: ServiceHarness, database_url: str, tmp_path: Path
) -> None:
    await harness.fill_copy()
    before = await total(harness)
    other = build_harness(database_url, tmp_path)
    assert not await other.service.indexer.catch_up(), "the first process writes"
    delete_all(tmp_path / "index")

    assert await other.service.indexer.catch_up()
    assert not await harness.service.indexer.catch_up(), "its lock is not the one in the folder any more"

    assert await total(harness) == await total(other) == before
    await other.close()
