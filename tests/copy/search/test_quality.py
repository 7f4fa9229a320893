"""Searches find what they found before they were made faster: the same totals, and the same devices first."""

import pytest

from registerwatch.copy.search import hits, index, names, ties
from registerwatch.copy.search.index import SearchIndex
from registerwatch.register.models import Device
from tests.copy.search.index_folder import indexed
from tests.copy.search.quality import QUERIES, devices, expected, found


@pytest.fixture(scope="module")
def stored() -> list[Device]:
    """Devices of the stand-in register."""
    return devices()


@pytest.fixture(scope="module")
def searched(stored: list[Device], tmp_path_factory: pytest.TempPathFactory) -> SearchIndex:
    """Their index, in five commits."""
    return indexed(tmp_path_factory.mktemp("quality"), stored, batches=5)


async def test_five_hundred_searches_of_every_kind_find_what_they_always_found(
    stored: list[Device], searched: SearchIndex
) -> None:
    lines = expected()

    assert len(lines) == QUERIES
    assert await found(stored, searched) == lines


async def test_they_find_the_same_in_the_ways_that_an_index_of_millions_is_searched(
    stored: list[Device], searched: SearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (index, names, ties):
        monkeypatch.setattr(module, "MANY", 40)
    for module in (hits, index):
        monkeypatch.setattr(module, "SMALL", 0)

    assert await found(stored, searched) == expected()
    assert await found(stored, searched) == expected(), "the second time too, when hits of many searches are kept"
