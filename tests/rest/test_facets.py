"""Filters and facets of `/v1/search`, from the stand-in register to the answer."""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from registerwatch.copy.search.filters import Facet
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.records import Registration
from tests.support.harness import ERROR_FIELDS, ServiceHarness, ServiceStarter


@pytest.fixture
async def harness(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    async with start_service(world=GeneratedWorld(600, seed=11)) as harness:
        await harness.fill_copy()
        yield harness


async def search(harness: ServiceHarness, **sent: Any) -> dict[str, Any]:
    answer = await harness.get("/v1/search", **sent)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


async def counts(harness: ServiceHarness, facet: str, **sent: Any) -> dict[str, int]:
    told = (await search(harness, facets=facet, **sent))["facets"][facet]
    assert told["others"] == 0 or facet == "manufacturer"
    return {each["value"]: each["total"] for each in told["values"]}


def current(harness: ServiceHarness) -> list[Registration]:
    """Of every UDI-DI the record that answers."""
    best: dict[str, Registration] = {}
    for record in harness.world.newest(0, harness.world.count):
        best.setdefault(record.primary_di, record)
        rank = [(not each.latest_version, each.criterion == "LEGACY", -each.version_number, each.uuid)
                for each in (record, best[record.primary_di])]  # fmt: skip
        if rank[0] < rank[1]:
            best[record.primary_di] = record
    return list(best.values())


async def test_what_the_data_lake_tells_is_counted_and_found_exactly(harness: ServiceHarness) -> None:
    records = current(harness)
    flags = {None: "unknown", True: "yes", False: "no"}

    assert await counts(harness, "sterile", risk="i") == Counter(
        flags[each.sterile] for each in records if each.risk_class == "class-i"
    )
    assert await counts(harness, "country", status="on") == Counter(
        {"EL": "GR", "UK": "GB"}.get(each.manufacturer.srn[:2], each.manufacturer.srn[:2])
        for each in records
        if each.status == "on-the-market"
    )
    for reusable in ("yes", "no", "unknown"):
        found = await search(harness, reusable=reusable, legacy="no")
        assert found["total"] == sum(
            flags[each.reusable] == reusable and each.criterion != "LEGACY" for each in records
        ), reusable


async def test_a_search_answers_facets_only_where_they_are_asked_for(harness: ServiceHarness) -> None:
    assert "facets" not in await search(harness, status="on")
    assert set((await search(harness, status="on", facets="legacy,country"))["facets"]) == {"legacy", "country"}
    assert set((await search(harness, status="on", facets="all"))["facets"]) == {facet.value for facet in Facet}


async def test_every_value_that_is_told_finds_as_many_devices(harness: ServiceHarness) -> None:
    told = (await search(harness, risk="iia", facets="all"))["facets"]
    for name, facet in told.items():
        for each in facet["values"]:
            if name not in ("status", "risk"):
                found = await search(harness, **{"risk": "iia", name: each["value"]})
                assert (name, each["value"], found["total"]) == (name, each["value"], each["total"])


async def test_a_manufacturer_has_its_name_and_a_code_of_the_nomenclature_where_one_is_loaded(
    harness: ServiceHarness,
) -> None:
    srn = current(harness)[0].manufacturer.srn
    name = current(harness)[0].manufacturer.name
    await harness.service.nomenclature.replace({"Q": "Invented dental devices", "Q01": "Below"})

    makers = (await search(harness, manufacturer=srn, facets="manufacturer"))["facets"]["manufacturer"]["values"]
    codes = (await search(harness, status="on", facets="emdn"))["facets"]["emdn"]["values"]

    assert [(each["value"], each["label"]) for each in makers] == [(srn, name)]
    labels = {each["value"]: each["label"] for each in codes}
    assert labels["Q"] == "Invented dental devices"
    assert labels["P"] == "P"


async def test_codes_of_the_nomenclature_are_counted_level_by_level(harness: ServiceHarness) -> None:
    codes = {each.primary_di: each.emdn for each in current(harness)}
    for above in ("", "q", "Q01"):
        told = await counts(harness, "emdn", **({"emdn": above} if above else {"legacy": "no"}))
        if above:
            length = len(above) + 2
            below = [{code[:length] for code in emdn if code.startswith(above.upper()) and len(code) >= length}
                     for emdn in codes.values()]  # fmt: skip
            assert told == Counter(code for each in below for code in each), above
        else:
            assert all(len(code) == 1 for code in told)


async def test_an_identifier_that_is_searched_for_is_counted_too(harness: ServiceHarness) -> None:
    record = current(harness)[0]

    by_udi = await counts(harness, "manufacturer", q=record.primary_di)
    by_srn = await search(harness, q=record.manufacturer.srn, facets="status")

    assert by_udi == {record.manufacturer.srn: 1}
    assert sum(each["total"] for each in by_srn["facets"]["status"]["values"]) == by_srn["total"]


async def test_a_certificate_that_a_read_brings_is_a_notified_body_of_the_device(harness: ServiceHarness) -> None:
    record = next(each for each in current(harness) if each.certificates)
    bodies = {each.notified_body for each in record.certificates}
    assert (await search(harness, notified_body=min(bodies)))["total"] == 0, "the Data Lake has no certificates"

    await harness.get("/v1/refresh", q=record.primary_di)
    await harness.service.indexer.catch_up()

    found = await search(harness, notified_body=min(bodies), facets="notified_body")
    assert [row["udi"] for row in found["results"]] == [record.primary_di]
    assert {each["value"] for each in found["facets"]["notified_body"]["values"]} == bodies


@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ({"country": "Germany"}, "code of two letters such as DE"),
        ({"country": ""}, "`country` is empty"),
        ({"emdn": "Q010"}, "pairs of digits"),
        ({"manufacturer": "Acme"}, "SRN such as DE-MF-000006413"),
        ({"notified_body": "12"}, "four digits"),
        ({"sterile": "maybe"}, "sterile"),
        ({"legislation": "MDR "}, "legislation"),
        ({"status": "on", "facets": "colour"}, "`facets` is `all`, or some of status, risk, manufacturer"),
        ({"status": "on", "facets": ""}, "`facets` is `all`"),
        ({"facets": "country"}, "Send a query in `q`, or a filter"),
    ],
)
async def test_a_value_that_no_filter_has_is_refused(
    harness: ServiceHarness, sent: dict[str, str], reason: str
) -> None:
    answer = await harness.get("/v1/search", **sent)

    assert (answer.status_code, set(answer.json())) == (400, ERROR_FIELDS)
    assert reason in answer.json()["error"]
