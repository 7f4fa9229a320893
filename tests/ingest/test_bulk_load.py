"""Filling the copy: from a file, from the Data Lake, from the register; wherever it stops, it goes on."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest
from sqlalchemy import text

from registerwatch.errors import BulkLoadRefused
from registerwatch.ingest.bulk_load import DEAD_SECONDS, KNOWN_BATCHES_TO_STOP, LoadProgress
from registerwatch.platform.db.engine import Database
from registerwatch.platform.structs import replace
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.budget_row import Host
from registerwatch.sources.data_lake.client import DataLakeClient
from registerwatch.sources.eudamed.client import PAGE_SIZE
from registerwatch.sources.requests import retry_policies_of_slow_host
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.identifiers import sibling_udi_di
from registerwatch_standins.register.record_file import write_records
from registerwatch_standins.register.world import World
from tests.support.harness import ServiceHarness, ServiceStarter

Watch = Callable[[LoadProgress], None]
Fill = Callable[[ServiceHarness, Path, Watch], Awaitable[LoadProgress]]

DEVICES = {"datalake": 2_300, "register": 1_000, "file": 4_300}
BATCHES = {"datalake": 3, "register": 4, "file": 3}
"""Batches of devices."""


async def fill(
    harness: ServiceHarness, source: str, folder: Path, watch: Watch = lambda _progress: None
) -> LoadProgress:
    """Fill the copy from one source."""
    name = str(folder / "records.jsonl") if source == "file" else source
    return await harness.service.bulk_loader.load(harness.service.bulk_source(name), watch)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of records."""
    folder = tmp_path_factory.mktemp("records")
    write_records(folder / "records.jsonl", DEVICES["file"], 7)
    return folder


def world_for(source: str) -> World:
    return GeneratedWorld(DEVICES.get(source, 10) if source != "file" else 10, seed=7)


async def rows(database: Database) -> list[tuple[object, ...]]:
    """Everything that is stored of the devices but the time of reading."""
    columns = "id, primary_di, uuid, is_current, latest_version, version_number, detail_version, revision, document"
    async with database.reading() as connection:
        return [tuple(row) for row in await connection.execute(text(f"SELECT {columns} FROM devices ORDER BY id"))]


class Killed(Exception):
    """The process ends here."""


def killed(_progress: LoadProgress) -> None:
    """Stand in for a kill at this point."""
    raise Killed


sources = pytest.mark.parametrize("source", DEVICES)
on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"])
"""What a fill asks for and when it ends does not depend on the database."""


@sources
async def test_a_fill_stores_every_record_once_and_tells_its_progress(
    start_service: ServiceStarter, folder: Path, source: str
) -> None:
    told: list[LoadProgress] = []
    async with start_service(world=world_for(source)) as harness:
        done = await fill(harness, source, folder, told.append)

        assert done.records == done.changed == DEVICES[source]
        assert (await harness.service.records.state()).devices == DEVICES[source]
        with_devices = [each for each in told if not each.actors]
        assert len(with_devices) == BATCHES[source]
        assert [each.records for each in with_devices] == sorted({each.records for each in told})
        assert bool(told[-1].actors) == (source == "datalake"), "its actors come after its devices"
        about = {"register": DEVICES[source], "datalake": DataLakeClient.expected_records}
        assert {each.total for each in told} == {about.get(source)}
        [run] = await harness.service.bulk_loader.runs()
        assert (run.records, run.changed, run.cursor) == (DEVICES[source], DEVICES[source], "")
        assert run.finished_at is not None


@sources
@pytest.mark.nightly
async def test_a_fill_that_is_interrupted_after_every_batch_makes_the_same_copy(
    start_service: ServiceStarter, folder: Path, source: str
) -> None:
    async with start_service(world=world_for(source)) as harness:
        await fill(harness, source, folder)
        undisturbed = await rows(harness.database)
        await _emptied(harness.database)

        stored: list[int] = []
        for _ in range(BATCHES[source] - 1):
            with pytest.raises(Killed):
                await fill(harness, source, folder, killed)
            await _everything_settled()
            stored.append((await harness.service.records.state()).devices)
        done = await fill(harness, source, folder)

        assert stored == sorted(set(stored)), "each run stored one batch more"
        assert 0 < stored[0] < stored[-1] < DEVICES[source]
        assert done.records == done.changed == DEVICES[source]
        assert [row[1:] for row in await rows(harness.database)] == [row[1:] for row in undisturbed]


@on_sqlite
@sources
async def test_a_fill_that_is_interrupted_after_its_last_batch_has_nothing_left_to_do(
    start_service: ServiceStarter, folder: Path, source: str
) -> None:
    async with start_service(world=world_for(source)) as harness:
        with pytest.raises(Killed):
            await fill(
                harness,
                source,
                folder,
                lambda progress: killed(progress) if progress.records == DEVICES[source] else None,
            )
        await _everything_settled()
        before = await rows(harness.database)
        harness.register_log.clear()

        done = await fill(harness, source, folder)

        assert await rows(harness.database) == before
        assert done.records <= DEVICES[source], "no record is counted twice"
        assert (await harness.service.records.state()).devices == DEVICES[source]


@on_sqlite
@sources
async def test_a_fill_that_is_interrupted_leaves_nothing_going_on(
    start_service: ServiceStarter, folder: Path, source: str
) -> None:
    async with start_service(world=world_for(source)) as harness:
        with pytest.raises(Killed):
            await fill(harness, source, folder, killed)

        left = _asked_ahead()
        await _everything_settled()
        assert left == []


@sources
async def test_a_second_fill_of_the_same_changes_nothing(
    start_service: ServiceStarter, folder: Path, source: str
) -> None:
    async with start_service(world=world_for(source)) as harness:
        await fill(harness, source, folder)
        before, state = await rows(harness.database), await harness.service.records.state()

        done = await fill(harness, source, folder)

        assert done.changed == 0
        assert await rows(harness.database) == before
        assert (await harness.service.records.state()).revision == state.revision


@on_sqlite
@pytest.mark.parametrize("source", ["datalake", "register"])
async def test_a_second_fill_brings_what_has_changed_since(
    start_service: ServiceStarter, folder: Path, source: str
) -> None:
    async with start_service(world=world_for(source)) as harness:
        await fill(harness, source, folder)
        newest = harness.world.newest(0, 1)[0]
        harness.world.change(newest.uuid, reference="NEW-1")

        done = await fill(harness, source, folder)

        assert done.changed == 1
        stored = await harness.service.documents.device(newest.primary_di)
        assert stored is not None
        assert b'"reference":"NEW-1"' in stored.document


@on_sqlite
@pytest.mark.parametrize(
    "mode", ["http-400", "json-of-wrong-shape", "http-503", "timeout", "broken-json", "redirect-302"]
)
@pytest.mark.parametrize("source", ["datalake", "register"])
async def test_a_fill_that_cannot_go_on_says_so_and_keeps_what_it_has(
    start_service: ServiceStarter, folder: Path, source: str, mode: str
) -> None:
    size = 1_000 if source == "datalake" else 300
    async with start_service(world=world_for(source)) as harness:
        harness.faults.fail("datalake" if source == "datalake" else "search", mode, skip=1)  # type: ignore[arg-type]
        with pytest.raises(BulkLoadRefused, match="What was read is stored; the same command goes on"):
            await fill(harness, source, folder)
        assert (await harness.service.records.state()).devices == size
        run = await harness.service.bulk_loader.run(source)
        assert run is not None
        assert run.finished_at is None

        harness.faults.clear()
        done = await fill(harness, source, folder)

        assert done.records == DEVICES[source]
        assert (await harness.service.records.state()).devices == DEVICES[source]


@on_sqlite
@pytest.mark.parametrize("page", range(4))
async def test_an_empty_page_of_the_register_is_never_taken_for_its_end(
    start_service: ServiceStarter, folder: Path, page: int
) -> None:
    async with start_service(world=world_for("register")) as harness:
        harness.faults.fail("search", "empty-page", contains=f"page={page}&")

        with pytest.raises(BulkLoadRefused):
            await fill(harness, "register", folder)

        run = await harness.service.bulk_loader.run("register")
        assert run is None or run.finished_at is None
        harness.faults.clear()
        harness.clock.move(120)
        await fill(harness, "register", folder)
        assert (await harness.service.records.state()).devices == DEVICES["register"]


@on_sqlite
async def test_a_walk_of_a_known_register_stops_at_known_pages(start_service: ServiceStarter, folder: Path) -> None:
    async with start_service(world=GeneratedWorld(3_000, seed=7)) as harness:
        await fill(harness, "register", folder)
        assert harness.register_log.kinds["search"] == 10
        newest = harness.world.newest(0, 1)[0]
        harness.world.change(newest.uuid, reference="NEW-1")
        harness.register_log.clear()

        done = await fill(harness, "register", folder)

        assert done.changed == 1
        assert harness.register_log.kinds["search"] <= 5, "one page with news, three known ones, one asked for ahead"
        run = await harness.service.bulk_loader.run("register")
        assert run is not None
        assert run.finished_at is not None


@on_sqlite
async def test_a_walk_of_a_known_register_that_is_interrupted_still_stops_at_known_pages(
    start_service: ServiceStarter, folder: Path
) -> None:
    async with start_service(world=GeneratedWorld(3_000, seed=7)) as harness:
        await fill(harness, "register", folder)
        harness.faults.fail("search", "http-400", contains="page=1&")
        with pytest.raises(BulkLoadRefused):
            await fill(harness, "register", folder)
        harness.faults.clear()
        harness.register_log.clear()

        await fill(harness, "register", folder)

        assert harness.register_log.kinds["search"] <= 5


@on_sqlite
async def test_the_first_walk_does_not_stop_at_pages_that_another_source_stored(
    start_service: ServiceStarter, folder: Path
) -> None:
    async with start_service(world=GeneratedWorld(2_000, seed=7)) as harness:
        await fill(harness, "datalake", folder)
        harness.world.change(harness.world.oldest(0, 1)[0].uuid, reference="NEW-1")

        done = await fill(harness, "register", folder)

        assert done.records == 2_000


@on_sqlite
async def test_actors_of_the_data_lake_are_known_after_a_fill(start_service: ServiceStarter, folder: Path) -> None:
    async with start_service(world=world_for("datalake")) as harness:
        await fill(harness, "datalake", folder)

        for record in harness.world.newest(0, 2_300)[::400]:
            for party in filter(None, (record.manufacturer, record.authorised_representative)):
                stored = await harness.service.documents.actor(party.srn)
                assert stored is not None
                assert stored.actor.name == party.name


@on_sqlite
async def test_a_data_lake_whose_actors_cannot_be_read_keeps_its_devices_and_says_so(
    start_service: ServiceStarter, folder: Path
) -> None:
    async with start_service(world=GeneratedWorld(50, seed=7)) as harness:
        harness.faults.fail("datalake", "http-400", contains="/actors")

        with pytest.raises(BulkLoadRefused):
            await fill(harness, "datalake", folder)

        assert (await harness.service.records.state()).devices == 50


# Files


@on_sqlite
async def test_a_broken_line_stops_the_fill_by_its_number_and_keeps_the_batches_before_it(
    start_service: ServiceStarter, tmp_path: Path
) -> None:
    path = tmp_path / "records.jsonl"
    write_records(path, 2_100, 7)
    whole = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*whole[:2_049], b"{broken", *whole[2_050:]]))
    async with start_service(world=world_for("file")) as harness:
        with pytest.raises(BulkLoadRefused, match="Line 2050 of"):
            await fill_from_file(harness, path)
        assert (await harness.service.records.state()).devices == 2_000

        path.write_bytes(b"\n".join(whole))
        await fill_from_file(harness, path)
        assert (await harness.service.records.state()).devices == 2_100


@on_sqlite
async def test_a_file_that_is_not_there_is_refused(start_service: ServiceStarter, tmp_path: Path) -> None:
    async with start_service(world=world_for("file")) as harness:
        for path in (tmp_path / "missing.jsonl", tmp_path):
            with pytest.raises(BulkLoadRefused, match="There is no file"):
                await fill_from_file(harness, path)


@on_sqlite
async def test_blank_lines_and_an_empty_file_are_no_records(start_service: ServiceStarter, tmp_path: Path) -> None:
    (tmp_path / "blank.jsonl").write_bytes(b"\n  \n\n")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    async with start_service(world=world_for("file")) as harness:
        for name in ("blank.jsonl", "empty.jsonl"):
            done = await fill_from_file(harness, tmp_path / name)
            assert (done.records, done.changed) == (0, 0)


async def fill_from_file(harness: ServiceHarness, path: Path) -> LoadProgress:
    """Fill the copy from a file of records."""
    return await harness.service.bulk_loader.load(harness.service.bulk_source(str(path)), lambda _progress: None)


async def _emptied(database: Database) -> None:
    async with database.transaction() as connection:
        for statement in (
            "DELETE FROM devices",
            "DELETE FROM actors",
            "DELETE FROM fills",
            "UPDATE copy_state SET revision = 0, devices = 0",
        ):
            await connection.execute(text(statement))


def _asked_ahead() -> list["asyncio.Task[object]"]:
    """Batches that a fill has asked for and not taken."""
    return [task for task in asyncio.all_tasks() if "anext_awaitable" in repr(task)]


async def _everything_settled() -> None:
    """Let a batch that was asked for ahead come to its end, so that it does not meet the next run."""
    while ahead := _asked_ahead():
        await asyncio.wait(ahead)


@on_sqlite
@pytest.mark.nightly
async def test_a_walk_to_what_is_known_that_is_broken_off_leaves_no_gap(start_service: ServiceStarter) -> None:
    """While nobody walks, new registrations push what a broken walk has stored to later pages."""
    world = GeneratedWorld(2_000, seed=7)
    async with start_service(world=world) as harness:
        await fill(harness, "register", Path())
        for walk in range(4):
            _register(world, 8 * PAGE_SIZE)
            with pytest.raises(Killed):
                await fill(harness, "register", Path(), _killed_after(4 if walk % 2 else 2))
            await _everything_settled()
            _register(world, 5 * PAGE_SIZE)
            await fill(harness, "register", Path())

            assert (await harness.service.records.state()).devices == world.count

        asked = harness.register_log.total
        await fill(harness, "register", Path())
        assert harness.register_log.total - asked == KNOWN_BATCHES_TO_STOP, (
            "where nothing is new it stops as soon as ever"
        )


def _register(world: World, number: int) -> None:
    """New registrations."""
    template = world.newest(0, 1)[0]
    for _ in range(number):
        world.register(
            replace(template, uuid=str(uuid4()), primary_di=sibling_udi_di(template.primary_di, world.count))
        )


def _killed_after(batches: int) -> Watch:
    """Stand in for a kill after so many batches."""
    told: list[LoadProgress] = []

    def watch(progress: LoadProgress) -> None:
        told.append(progress)
        if len(told) == batches:
            raise Killed

    return watch


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_the_data_lake_has_its_own_budget_and_time_for_slow_pages(start_service: ServiceStarter) -> None:
    async with start_service(datalake_timeout=180.0) as harness:
        seconds: dict[str, float] = {}

        async def note(request: httpx2.Request) -> None:
            seconds[request.url.path.split("/")[1]] = request.extensions["timeout"]["read"]

        harness.service.http.event_hooks = {"request": [note]}
        await harness.fill_copy()
        await harness.get("/v1/refresh", q=harness.unique_devices(1)[0].primary_di)

        assert harness.service.budgets[Host.DATA_LAKE].sent[RequestPriority.BULK_LOAD] >= 1
        assert harness.service.budgets[Host.REGISTER].sent[RequestPriority.BULK_LOAD] == 0
        assert seconds["eudamed"] <= 5 < 25 < seconds["datalake"]


def test_six_slow_tries_fit_into_the_time_of_a_page_and_into_that_of_a_claim() -> None:
    policy = retry_policies_of_slow_host(180.0)[RequestPriority.BULK_LOAD]

    assert policy.limit >= policy.tries * 180
    assert policy.tries >= 5
    assert retry_policies_of_slow_host(600.0)[RequestPriority.BULK_LOAD].limit < DEAD_SECONDS
