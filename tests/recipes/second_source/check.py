"""A record is read from the new source, and every surface names it as the one that told the record."""

from pathlib import Path

import pytest

from tests.support.harness import ServiceStarter

pytestmark = pytest.mark.anyio

UDI = "04099999999992"
REAL = {"register_url": "https://ec.europa.eu/tools/eudamed/api"}


async def test_a_record_of_the_source_is_served_and_names_it(start_service: ServiceStarter, tmp_path: Path) -> None:
    async with start_service() as harness:
        (tmp_path / "national.csv").write_text(f"{UDI};Trocar\n")
        source = harness.service.bulk_source("national")
        await harness.service.bulk_loader.load(source, lambda _progress: None)
        (tmp_path / "national.csv").write_text(f"{UDI};Trocar two\n")
        await harness.service.bulk_loader.load(source, lambda _progress: None)
        await harness.update_index()

        device = (await harness.get(f"/v1/devices/{UDI}")).json()
        [found] = (await harness.get("/v1/search", q="trocar two")).json()["results"]
        [entry] = (await harness.get(f"/v1/devices/{UDI}/history")).json()["entries"]

    assert (device["trade_name"], device["source"]) == ("Trocar two", "national-register")
    assert found["udi"] == UDI
    assert entry["source"] == "national-register"


async def test_its_page_names_the_source(start_service: ServiceStarter, tmp_path: Path) -> None:
    async with start_service(**REAL) as harness:
        (tmp_path / "national.csv").write_text(f"{UDI};Trocar\n")
        await harness.service.bulk_loader.load(harness.service.bulk_source("national"), lambda _progress: None)

        assert "<dt>Source</dt><dd>national-register</dd>" in (await harness.get(f"/d/{UDI}")).text
