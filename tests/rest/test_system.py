"""Whether the process lives, and whether it takes requests."""

from pathlib import Path

import pytest

from registerwatch.copy.search.index import SearchIndex
from registerwatch.copy.search.indexer import MAX_SILENT_LAG, Indexer
from registerwatch.platform.db.driver_errors import DAMAGED
from registerwatch.platform.disk import NEARLY_FULL, NOT_WRITABLE, DiskCheck
from registerwatch.platform.health import KEPT_SECONDS
from registerwatch.rest.health.system import ENDING, UNINDEXED
from registerwatch_standins.register.generated import GeneratedWorld
from tests.register.builders import a_udi
from tests.support.harness import ServiceHarness, ServiceStarter, running_harness


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


async def test_a_process_without_its_index_is_not_ready(
    start_service: ServiceStarter, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start_service() as harness:
        await harness.update_index()
        monkeypatch.setattr(harness.service.indexer, "problem", lambda: "A turn that ends now has not caught up.")
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


async def test_health_tells_at_once_what_has_changed_since_it_was_last_asked(start_service: ServiceStarter) -> None:
    async with start_service() as harness:
        empty = (await harness.get("/health")).json()
        await harness.fill_copy()
        filled = (await harness.get("/health")).json()
        harness.clock.move(5)
        later = (await harness.get("/health")).json()
        udi = harness.world.newest(0, 1)[0].primary_di
        assert (await harness.get("/v1/refresh", q=udi)).status_code == 200
        refreshed = (await harness.get("/health")).json()

    assert (empty["copy"]["devices"], filled["copy"]["devices"]) == (0, harness.world.count)
    assert (empty["copy"]["age_seconds"], filled["index"]["lag"]) == (None, 0)
    assert later["copy"] == {**filled["copy"], "age_seconds": filled["copy"]["age_seconds"] + 5}
    assert refreshed["copy"]["age_seconds"] == 0
    assert refreshed["register"]["reads"]["found"] == filled["register"]["reads"]["found"] + 1


async def test_a_database_whose_disk_is_full_is_told_until_it_can_be_written_again(
    start_service: ServiceStarter, tmp_path: Path
) -> None:
    async with start_service(trial_watch_cap=500) as harness:
        await harness.update_index()
        if harness.database.kind != "sqlite":
            pytest.skip("what fills the disk of a server is out of this test's reach")
        assert (await harness.get("/health")).json()["parts"]["database"] == {"status": "ok", "error": None}

        pages = await _set_page_limit(harness, 1)
        harness.clock.move(KEPT_SECONDS)
        owner = await harness.sign_up()
        refused = await harness.post("/v1/import", owner.api_key, csv="\n".join(a_udi(n) for n in range(500)))
        health, ready = await harness.get("/health"), await harness.get("/ready")

        assert (refused.status_code, health.status_code, ready.status_code) == (503, 503, 503)
        assert health.json()["status"] == "failing"
        assert health.json()["error"] == health.json()["parts"]["database"]["error"] == ready.json()["error"]
        assert "disk of the database is full" in ready.json()["error"]
        assert str(tmp_path) not in health.text
        await _set_page_limit(harness, pages + 1_000)
        harness.clock.move(KEPT_SECONDS)
        assert (await harness.get("/health")).json()["status"] == "ok"
        assert (await harness.get("/ready")).status_code == 200


async def _set_page_limit(harness: ServiceHarness, pages: int) -> int:
    """Let the one connection that writes believe that its disk has room for so many pages; how many there are."""
    async with harness.database.engine.connect() as connection:
        await connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        return int((await connection.exec_driver_sql("PRAGMA page_count")).scalar_one())


async def test_a_data_folder_that_cannot_be_written_is_told(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    async with running_harness(database_url, tmp_path / "data") as harness:
        await harness.update_index()
        assert (await harness.get("/ready")).status_code == 200

        (tmp_path / "data").rename(tmp_path / "away")
        (tmp_path / "data").touch()
        harness.clock.move(KEPT_SECONDS)
        health, ready = await harness.get("/health"), await harness.get("/ready")

        assert (health.status_code, health.json()["parts"]["disk"]["status"]) == (503, "failing")
        assert (ready.status_code, ready.json()["error"]) == (503, NOT_WRITABLE)


async def test_a_disk_with_little_room_is_told_before_it_is_full(tmp_path: Path) -> None:
    assert await DiskCheck(tmp_path, min_free_bytes=0).problem() is None
    assert await DiskCheck(tmp_path, min_free_bytes=1 << 62).problem() == NEARLY_FULL


async def test_a_damaged_database_is_told_by_health_and_answered_with_503(start_service: ServiceStarter) -> None:
    async with start_service() as harness:
        await harness.update_index()
        path = harness.database.sqlite_path
        if path is None:
            pytest.skip("the files of a server are out of this test's reach")
        await harness.database.close()
        path.write_bytes(b"no database" * 1_000)
        for each in path.parent.glob("*.db-*"):
            each.unlink()

        health, read = await harness.get("/health"), await harness.client.get("/v1/me", headers={"X-API-Key": "rw_x"})

        assert (health.status_code, health.json()["parts"]["database"]["error"]) == (503, DAMAGED)
        assert health.json()["copy"] is None
        assert read.status_code == 503


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
