"""Whether the process lives, and whether it takes requests."""

from pathlib import Path

import pytest

from registerwatch.register.search.index import SearchIndex
from registerwatch.register.search.indexer import MAX_SILENT_LAG, Indexer
from registerwatch.rest.system import ENDING, UNINDEXED
from registerwatch_standins.register.generated import GeneratedWorld
from tests.support.harness import ServiceStarter

pytestmark = pytest.mark.anyio


async def test_a_process_is_ready_when_its_index_was_level_and_its_database_answers(
    start_service: ServiceStarter,
) -> None:
    async with start_service() as harness:
        await harness.update_index()

        ready = await harness.get("/ready")

        assert (ready.status_code, ready.json()) == (200, {"ready": True})
        assert ready.headers["cache-control"] == "no-store"


async def test_a_process_that_is_ending_is_not_ready_and_goes_on_serving(start_service: ServiceStarter) -> None:
    async with start_service() as harness:
        await harness.fill_copy()
        harness.app.state.readiness.is_ending = True

        refused = await harness.get("/ready")

        assert (refused.status_code, refused.json()["error"]) == (503, ENDING)
        assert (await harness.get("/live")).json() == {"live": True}
        udi = harness.world.newest(0, 1)[0].primary_di
        assert (await harness.get(f"/v1/devices/{udi}")).status_code == 200


async def test_a_process_without_its_index_is_not_ready(start_service: ServiceStarter) -> None:
    async with start_service() as harness:
        await harness.update_index()
        harness.service.indexer.has_caught_up = False

        refused = await harness.get("/ready")

        assert (refused.status_code, refused.json()["error"]) == (503, UNINDEXED)


async def test_without_its_database_a_process_lives_and_is_not_ready(
    start_service: ServiceStarter, database_url: str
) -> None:
    async with start_service() as harness:
        await harness.update_index()
        await harness.service.documents.close()
        path = harness.database.sqlite_path
        if path is None:
            pytest.skip("a server that is gone is a journey of its own")
        path.rename(path.with_suffix(".away"))

        assert (await harness.get("/ready")).status_code == 503
        assert (await harness.get("/live")).status_code == 200
        path.with_suffix(".away").rename(path)


async def test_an_index_that_is_far_behind_was_never_level_until_it_has_caught_up(
    start_service: ServiceStarter, tmp_path: Path
) -> None:
    async with start_service(world=GeneratedWorld(MAX_SILENT_LAG + 500, seed=3)) as harness:
        await harness.service.bulk_loader.load(harness.service.bulk_source("datalake"), lambda _progress: None)
        writing = Indexer(harness.service.documents, SearchIndex(tmp_path / "another"))
        reading = Indexer(harness.service.documents, SearchIndex(tmp_path / "another"))
        await writing.step()
        await reading.step()
        assert were_level(writing, reading) == (False, False), "one has a batch, the other sees what the one has"

        await writing.catch_up()
        await reading.step()

        assert were_level(writing, reading) == (True, True)
        await reading.close()
        await writing.close()


def were_level(*followers: Indexer) -> tuple[bool, ...]:
    return tuple(each.has_caught_up for each in followers)


async def test_a_copy_that_became_another_one_is_indexed_anew_and_not_ready_before(
    start_service: ServiceStarter,
) -> None:
    async with start_service() as harness:
        await harness.fill_copy()
        indexer = harness.service.indexer
        before = harness.service.index.documents
        await harness.service.records.renew_identity()

        await indexer.step()
        assert were_level(indexer) == (False,)
        await indexer.catch_up()

        assert were_level(indexer) == (True,)
        assert (harness.service.index.documents, await indexer.lag()) == (before, 0)
