"""Every UDI-DI of 16,308 real registrations, found by each code that can stand on its label."""

import gzip
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from registerwatch.register.identifiers import parse, udi_spellings
from registerwatch.register.identifiers.check_digits import hibc_character
from registerwatch.register.identifiers.hibc import PRIMARY
from registerwatch_standins.register.file_world import FileWorld
from tests.conftest import RECORDS
from tests.support.harness import ServiceHarness, ServiceStarter

YEAR = 2026
EVERY = 400
"""Of so many UDI-DIs one is asked for over the surfaces; the others through the service that they ask."""


@pytest.fixture(scope="module")
def udi_dis() -> list[str]:
    """The UDI-DIs of the file's lines."""
    if not RECORDS.exists():
        pytest.skip("the file of real records is not here")
    with gzip.open(RECORDS, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["primary_di"] for line in lines]


@pytest.fixture
async def harness(start_service: ServiceStarter, real_records: Path) -> AsyncIterator[ServiceHarness]:
    async with start_service(world=FileWorld(real_records)) as harness:
        yield harness


def codes_of(udi: str) -> Iterator[str]:
    """Each way in which a UDI-DI can be written and scanned."""
    yield udi
    if udi.isdigit() and len(udi) == 14:
        yield from _of_gs1(udi)
    elif PRIMARY.fullmatch(udi):
        primary = f"+{udi}"
        concatenated = f"{primary}/$$3280131A1"
        yield from (primary, f"{primary}{hibc_character(primary)}", f"{concatenated}{hibc_character(concatenated)}")


def _of_gs1(udi: str) -> Iterator[str]:
    for zeros, length in ((1, 13), (2, 12), (6, 8)):
        if udi.startswith("0" * zeros):
            yield udi[-length:]
    yield f"{udi[:1]} {udi[1:7]} {udi[7:13]} {udi[13:]}"
    yield f"{udi[1:7]}-{udi[7:]}" if udi.startswith("0") else f"{udi[:7]}-{udi[7:]}"
    yield f"(01){udi}"
    yield f"(01){udi}(17)280131(10)A1"
    yield f"01{udi}1728013110A1"
    yield f"]d201{udi}10A1\x1d21B2"
    yield f"https://id.gs1.org/01/{udi}/10/A1?17=280131"
    yield f"B-{udi}"


def test_every_real_udi_di_is_among_what_each_of_its_codes_can_mean(udi_dis: list[str], is_nightly: bool) -> None:
    assert len(udi_dis) == 16_308
    for udi in udi_dis if is_nightly else udi_dis[::10]:
        for code in codes_of(udi):
            assert udi in udi_spellings(code), code


def test_no_code_of_a_real_device_says_something_else_than_what_it_says(udi_dis: list[str]) -> None:
    for udi in udi_dis:
        parsed = parse(f"(01){udi}(17)280131(10)A1", YEAR)
        assert (parsed.subject, parsed.warnings) == (udi, ())
        assert [(part.name, part.value) for part in parsed.parts] == [("expiry", "2028-01-31"), ("lot", "A1")]


async def test_every_real_device_is_found_by_each_of_its_codes(
    harness: ServiceHarness, udi_dis: list[str], database_kind: str, is_nightly: bool
) -> None:
    """By day, and on PostgreSQL, where each code is a round trip, some of them."""
    await harness.fill_copy()
    distinct = sorted(set(udi_dis))
    for udi in distinct if is_nightly and database_kind == "sqlite" else distinct[::40]:
        for code in codes_of(udi):
            assert await harness.service.codes.subject(code) == udi, code
    for udi in distinct[::EVERY]:
        for code in codes_of(udi):
            found = (await harness.get("/v1/search", q=code)).json()
            assert ([row["udi"] for row in found["results"]], found["match"]) == ([udi], "udi"), code
