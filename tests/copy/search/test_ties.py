"""Equal hits come in the order of their UDI-DIs, so pages neither repeat nor skip when a record is read again."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from registerwatch.copy.search.filters import Filters
from registerwatch_standins.register.file_world import FileWorld
from tests.copy.search.index_folder import indexed, page_through
from tests.pages.registrations import MAKER, gtin, registration
from tests.register.builders import a_device
from tests.support.harness import ServiceHarness, built_harness

DEVICES = [gtin(number) for number in range(1, 31)]


@pytest.fixture
async def harness(database_url: str, tmp_path: Path) -> AsyncIterator[ServiceHarness]:
    """A service whose copy and index have thirty devices of one name, in no order."""
    path = tmp_path / "registrations.jsonl"
    path.write_text("".join(json.dumps(registration(udi, "Stem")) + "\n" for udi in DEVICES[::2] + DEVICES[1::2]))
    async with built_harness(database_url, tmp_path, world=FileWorld(path)) as harness:
        await harness.fill_copy()
        yield harness


@pytest.mark.parametrize("query", [{"q": "stem"}, {"q": "ste"}, {"q": MAKER["srn"]}, {"status": "on"}, {"q": "stemm"}])
async def test_pages_are_in_the_order_of_udi_dis_while_shown_records_are_read_again_in_between(
    harness: ServiceHarness, query: dict[str, str]
) -> None:
    found: list[str] = []
    page = 1
    while rows := (await harness.get("/v1/search", page=page, **query)).json()["results"]:
        found += [row["udi"] for row in rows]
        for udi in {found[0], found[-1]}:
            await harness.get("/v1/refresh", q=udi)
        await harness.update_index()
        page += 1

    assert found == DEVICES


def test_pages_of_many_equal_hits_between_better_and_worse_ones_have_each_device_once_in_order(tmp_path: Path) -> None:
    names = ["Stem"] * 3 + ["Stem cell"] * 300 + ["Stem cell culture medium"] * 40
    devices = [
        a_device(f"u-{number}", gtin(number * 37 % 997), trade_name=name) for number, name in enumerate(names, start=1)
    ]
    index = indexed(tmp_path, devices, batches=4)

    ids, totals = page_through(lambda limit, offset: index.by_name("stem", Filters(), limit=limit, offset=offset), 8)

    def place(number: int) -> tuple[int, str]:
        return len(devices[number - 1].trade_name), devices[number - 1].udi

    assert totals == {len(devices)}
    assert ids == sorted(range(1, len(devices) + 1), key=place)
