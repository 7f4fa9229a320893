"""Values that no register should send: what can be kept is kept, one record never stops the others, nothing crashes."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from registerwatch.bootstrap import build_service, running
from registerwatch.copy.search.filters import Filters
from registerwatch.errors import BulkLoadRefused
from registerwatch.ingest.subject_reads import Refreshed
from registerwatch.register.outcomes import NotFound, ReadFailed
from registerwatch.settings import Settings
from registerwatch.sources import record_file
from registerwatch.sources.data_lake import wire as data_lake
from registerwatch.sources.data_lake.convert import reading_of_row as reading_of_bulk_row
from registerwatch.sources.eudamed import convert, wire
from tests.register.canned import CannedRegister, in_turn, ok, one_device
from tests.sources.reader import reading_of
from tests.support.fakes import SteppedClock
from tests.support.harness import FAST_RETRIES, PACE, REGISTER

UDI = "04099999999992"
NEIGHBOUR = "04012345678901"
LONG = "x" * 100_000

ROWS: dict[str, dict[str, Any]] = {
    "NUL in the manufacturer": {"MF_SRN": "DE-MF-000000001", "MF_NAME": "Al\x00pha"},
    "NUL in the SRN": {"MF_SRN": "DE-MF\x00-1", "MF_NAME": "Alpha"},
    "NUL in the trade name": {"TRADE_NAME": "Al\x00pha"},
    "NUL in the UDI-DI": {"PRIMARY_DI": "0409\x00"},
    "NUL in the key": {"UUID": "u\x00"},
    "a version of 10^10": {"VERSION_NUMBER": 10**10},
    "a version of 10^20": {"VERSION_NUMBER": 10**20},
    "a version of -10^10": {"VERSION_NUMBER": "-10000000000"},
    "a long trade name": {"TRADE_NAME": LONG},
    "a long UDI-DI": {"PRIMARY_DI": LONG},
    "a long reference": {"REFERENCE": LONG},
    "control characters": {"TRADE_NAME": "\x1b[31m\x07\x85\u202e\ufeff"},
    "a noncharacter": {"TRADE_NAME": "\uffff", "MF_SRN": "DE-MF-000000001", "MF_NAME": "\ufffe"},
    "an emoji": {"TRADE_NAME": "🦷", "MF_SRN": "DE-MF-000000001", "MF_NAME": "👩‍⚕️"},
}


def a_service(database_url: str, folder: Path, transport: httpx2.AsyncBaseTransport) -> Any:
    """A service over a register that a test wrote."""
    settings = Settings(
        data_dir=folder,
        database_url=database_url,
        register_url=REGISTER,
        datalake_url=f"{REGISTER}/datalake",
        register_requests_per_minute=PACE,
        datalake_requests_per_minute=PACE,
    )
    return running(
        build_service(settings, clock=SteppedClock(), transport=transport, retry_policies=FAST_RETRIES, start_pace=PACE)
    )


@pytest.mark.parametrize("columns", ROWS.values(), ids=ROWS)
async def test_one_bulk_row_never_keeps_the_others_from_being_stored_and_found(
    database_url: str, tmp_path: Path, columns: dict[str, Any]
) -> None:
    rows = [
        {"UUID": "u-1", "PRIMARY_DI": UDI, **columns},
        {"UUID": "u-2", "PRIMARY_DI": NEIGHBOUR, "TRADE_NAME": "Neighbour"},
    ]
    lake = in_turn(ok({"value": rows}), ok({"value": []}))
    async with a_service(database_url, tmp_path, lake) as service:
        await service.bulk_loader.load(service.bulk_source("datalake"), lambda _progress: None)
        await service.indexer.catch_up()

        found = await service.search.search("neighbour", Filters())
        assert [row.udi for row in found.results] == [NEIGHBOUR]
        assert (await service.records.state()).devices in {1, 2}


def a_walk_of(pages: int, unreadable: Any) -> CannedRegister:
    """A register of so many full pages and a half one; the second row of each is one that cannot be read."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        page = int(request.url.params["page"])
        numbers = range(page * 300, min((page + 1) * 300, pages * 300 + 150))
        rows: list[Any] = [{"uuid": f"u-{each}", "primaryDi": f"{each:014}", "versionNumber": 1} for each in numbers]
        rows[1] = unreadable
        return ok({"content": rows, "totalElements": pages * 300 + 150, "last": None})

    return CannedRegister(answer)


UNREADABLE_ROWS = {
    "no key": {"uuid": None, "primaryDi": UDI},
    "a version of 10^10": {"uuid": "u", "versionNumber": 10**10},
}


@pytest.mark.parametrize("unreadable", UNREADABLE_ROWS.values(), ids=UNREADABLE_ROWS)
async def test_a_walk_passes_rows_that_cannot_be_read_and_stores_all_others(
    database_url: str, tmp_path: Path, unreadable: Any
) -> None:
    async with a_service(database_url, tmp_path, a_walk_of(3, unreadable)) as service:
        done = await service.bulk_loader.load(service.bulk_source("register"), lambda _progress: None)

        assert (done.records, done.changed, done.total) == (3 * 299 + 149, 3 * 299 + 149, 1_050)
        assert (await service.records.state()).devices == 3 * 299 + 149
        run = await service.bulk_loader.run("register")
        assert run.finished_at is not None


async def test_rows_that_cannot_be_read_do_not_keep_a_walk_from_stopping_at_what_it_knows(
    database_url: str, tmp_path: Path
) -> None:
    register = a_walk_of(9, {"uuid": None})
    async with a_service(database_url, tmp_path, register) as service:
        await service.bulk_loader.load(service.bulk_source("register"), lambda _progress: None)
        register.asked.clear()

        await service.bulk_loader.load(service.bulk_source("register"), lambda _progress: None)

    assert len(register.asked) <= 4, "three known pages, one asked for ahead"


FIELDS: dict[str, dict[str, Any]] = {
    "NUL in the manufacturer": {"manufacturerSrn": "DE-MF-000000001", "manufacturerName": "Al\x00pha"},
    "NUL in the trade name": {"tradeName": "Al\x00pha"},
    "NUL in the key": {"uuid": "u\x00"},
    "NUL in a code": {"riskClass": {"code": "refdata.\x00"}},
    "a version of 10^10": {"versionNumber": 10**10},
    "a version of 10^20": {"versionNumber": 10**20},
    "a version of -10^10": {"versionNumber": -(10**10)},
    "long texts": {"tradeName": LONG, "reference": LONG},
}


@pytest.mark.parametrize("fields", FIELDS.values(), ids=FIELDS)
async def test_a_device_with_an_impossible_value_is_read_or_unreadable_and_no_crash(
    database_url: str, tmp_path: Path, fields: dict[str, Any]
) -> None:
    register = one_device({"uuid": "u-1", "primaryDi": UDI, "versionNumber": 1, **fields})
    async with a_service(database_url, tmp_path, register) as service:
        result = await service.refresher.refresh(UDI)

        assert isinstance(result, Refreshed | ReadFailed)
        if isinstance(result, Refreshed):
            assert await service.documents.device(UDI) is not None


def test_a_basic_udi_di_that_no_index_can_hold_is_none() -> None:
    long, row = "B" * 5_000, wire.DeviceRow(uuid="u-1", primary_di=UDI, basic_udi="B-1")
    basic = wire.BasicUdiRecord(basic_udi=wire.Identifier(code=long))
    readings = (
        convert.reading_of_row(wire.DeviceRow(uuid="u-1", primary_di=UDI, basic_udi=long)),
        reading_of_bulk_row(data_lake.DeviceRow(uuid="u-1", primary_di=UDI, basic_udi=long)),
        record_file.reading_of_record(record_file.FileRecord(uuid="u-1", primary_di=UDI, basic_udi=long)),
    )

    assert [each.device.basic_udi for each in readings] == ["", "", ""]
    assert reading_of(row, None, basic, None).device.basic_udi == "B-1"


@pytest.mark.parametrize("total", [-1, 2**31, 2**63, 10**30])
async def test_an_impossible_count_of_an_actors_devices_is_unreadable(
    database_url: str, tmp_path: Path, total: int
) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.params.get("srn") != "DE-MF-000000001":
            return ok({"content": [], "totalElements": 0})
        row = {"srn": "DE-MF-000000001", "name": "Alpha", "uuid": "u-1", "manufacturerSrn": "DE-MF-000000001"}
        is_actor_search = request.url.path.endswith("/eos")
        return ok({"content": [row], "totalElements": 1 if is_actor_search else total})

    async with a_service(database_url, tmp_path, CannedRegister(answer)) as service:
        assert isinstance(await service.refresher.refresh("DE-MF-000000001"), ReadFailed)


@pytest.mark.parametrize(
    "fields",
    [{"primary_di": "0409\x00"}, {"manufacturer": {"srn": "DE-MF-1", "name": "\x00"}}],
    ids=["UDI-DI", "manufacturer"],
)
async def test_a_line_that_no_database_can_hold_is_stored_cleaned_or_refused(
    database_url: str, tmp_path: Path, fields: dict[str, Any]
) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps({"uuid": "u-1", "primary_di": UDI, **fields}) + "\n")
    async with a_service(database_url, tmp_path, in_turn(ok({}))) as service:
        with suppress(BulkLoadRefused):
            done = await service.bulk_loader.load(service.bulk_source(str(path)), lambda _progress: None)
            assert done.records == 1
        run = await service.bulk_loader.run(f"file:{path}")
        assert run is None or run.finished_at is not None


async def test_a_register_that_says_nothing_at_all_is_no_answer(database_url: str, tmp_path: Path) -> None:
    async with a_service(database_url, tmp_path, in_turn(ok(None))) as service:
        for subject in (UDI, "DE-MF-000000001"):
            result = await service.refresher.refresh(subject)
            assert isinstance(result, ReadFailed)
            assert not isinstance(result, NotFound)
