"""16,308 real registrations through the stand-in register: filled, searched, read, refreshed."""

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from registerwatch_standins.register.file_world import FileWorld
from tests.conftest import RECORDS
from tests.support.harness import ServiceHarness, ServiceStarter

Record = dict[str, Any]


@pytest.fixture(scope="module")
def records() -> list[Record]:
    """The file's lines."""
    if not RECORDS.exists():
        pytest.skip("the file of real records is not here")
    with gzip.open(RECORDS, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture
async def harness(start_service: ServiceStarter, real_records: Path) -> AsyncIterator[ServiceHarness]:
    async with start_service(background=True, world=FileWorld(real_records)) as harness:
        yield harness


async def test_the_real_register_is_filled_searched_read_and_refreshed(
    harness: ServiceHarness, records: list[Record]
) -> None:
    await harness.fill_copy()
    await _check_sizes(harness, records)
    await _check_every_device(harness, records)
    await _check_manufacturers(harness, records)
    await _check_searches(harness, records)
    await _check_refresh(harness, records)


async def _check_sizes(harness: ServiceHarness, records: list[Record]) -> None:
    health = (await harness.get("/health")).json()
    assert health["copy"]["devices"] == len(records) == 16_308
    assert health["index"]["devices"] == len({record["primary_di"] for record in records})
    assert health["index"]["lag"] == 0


async def _check_every_device(harness: ServiceHarness, records: list[Record]) -> None:
    """Each UDI-DI answers with the preferred one of its records."""
    for record in _currents(records):
        stored = await harness.service.documents.device(record["primary_di"])
        assert stored is not None, record["primary_di"]
        assert json.loads(stored.document)["uuid"] == record["uuid"]


async def _check_manufacturers(harness: ServiceHarness, records: list[Record]) -> None:
    """Counts and pages of every manufacturer agree with the file."""
    devices: dict[str, set[str]] = defaultdict(set)
    for record in records:
        devices[record["manufacturer"]["srn"]].add(record["primary_di"])
    for srn, expected in sorted(devices.items(), key=lambda item: len(item[1]))[::12]:
        found: list[str] = []
        problems: set[str | None] = set()
        for page in range(1, len(expected) // 20 + 2):
            answer = (await harness.get(f"/v1/actors/{srn}", page=page)).json()
            assert len(answer["devices"]) <= 20
            found += [row["udi"] for row in answer["devices"]]
            problems.add(answer["error"])
        assert answer["name"]
        assert Counter(found) == Counter(expected), (srn, problems)
        assert (await harness.get("/v1/search", q=srn)).json()["total"] == len(expected)


async def _check_searches(harness: ServiceHarness, records: list[Record]) -> None:
    """Totals by filter are exact, names and references are found."""
    current = {record["primary_di"]: record for record in _currents(records)}
    for status, code in (
        ("on", "on-the-market"),
        ("off", "no-longer-on-the-market"),
        ("not-eu", "not-intended-for-eu-market"),
    ):
        total = sum(record["status"].endswith("." + code) for record in current.values())
        assert (await harness.get("/v1/search", status=status)).json()["total"] == total
    for risk in ("i", "iia", "iib", "iii", "a", "b", "c", "d"):
        total = sum(record["risk_class"].endswith(f".class-{risk}") for record in current.values())
        assert (await harness.get("/v1/search", risk=risk)).json()["total"] == total
    for record in list(current.values())[::400]:
        by_udi = (await harness.get("/v1/search", q=record["primary_di"])).json()
        assert [row["udi"] for row in by_udi["results"]] == [record["primary_di"]]
        assert by_udi["match"] == "udi"
        assert by_udi["refresh"] == f"/v1/refresh?q={record['primary_di']}"
        names = list((record["trade_names"] or {}).values())
        answers = [(await harness.get("/v1/search", q=name[:200])).json() for name in names]
        assert not names or any(answer["total"] for answer in answers), f"the bulk source tells one of {names}"


def _currents(records: list[Record]) -> Iterator[Record]:
    by_di: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_di[record["primary_di"]].append(record)
    for twins in by_di.values():
        yield min(twins, key=lambda twin: (not twin["legislation"].endswith(("mdr", "ivdr")), twin["uuid"]))


async def _check_refresh(harness: ServiceHarness, records: list[Record]) -> None:
    """A refresh brings certificates with their dates, and a change of the register is seen once."""
    certified = [record for record in _currents(records) if record["certificates"]]
    for record in certified[::300]:
        udi = record["primary_di"]
        answer = (await harness.get("/v1/refresh", q=udi)).json()
        assert (answer["refreshed"], answer["error"]) == (True, None)
        shown = {(each["number"], each.get("expiry")) for each in answer["device"]["certs"]}
        assert shown == {(each["number"], each["expiry"]) for each in record["certificates"]}, udi
        assert (await harness.get("/v1/refresh", q=udi)).json()["changed"] is False
    changed = certified[0]
    harness.world.change(changed["uuid"], reference="REF-NEW")
    answer = (await harness.get("/v1/refresh", q=changed["primary_di"])).json()
    assert answer["changed"] is True
    assert answer["device"]["reference"] == "REF-NEW"
    await harness.update_index()
    found = (await harness.get("/v1/search", q="ref-new")).json()
    assert (found["match"], [row["udi"] for row in found["results"]]) == ("reference", [changed["primary_di"]])
