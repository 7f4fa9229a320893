"""The bulk Data Lake."""

from datetime import timedelta
from typing import Any

import pytest

from registerwatch_standins.register.generated import GeneratedWorld

from .conftest import Clock, Register, client_of

pytestmark = pytest.mark.anyio

VERSION = {"api-version": "v1.0", "format": "json"}
LEGISLATION_IDS = {"mdr": -197, "ivdr": -198, "mdd": -53, "aimdd": -54, "ivdd": -55}


async def rows(register: Register, path: str, **query: Any) -> list[dict[str, Any]]:
    """The rows of the first page."""
    response = await register.client.get(f"/datalake{path}", params={**VERSION, **query})
    assert response.status_code == 200, response.text
    value: list[dict[str, Any]] = response.json()["value"]
    return value


async def test_there_are_no_certificates_and_no_dates(register: Register) -> None:
    columns = set((await rows(register, "/udi"))[0])
    assert not {column for column in columns if "CERT" in column or "DATE" in column}


@pytest.mark.parametrize(
    "query",
    [
        {"format": "json"},
        {"api-version": "v1.0"},
        {**VERSION, "format": "xml"},
        {**VERSION, "api-version": "v9"},
        {**VERSION, "$top": "5"},
        {**VERSION, "CND_CODE": "Q01"},
        {**VERSION, "$after": "nonsense"},
    ],
)
async def test_a_wrong_query_is_400(register: Register, query: dict[str, str]) -> None:
    response = await register.client.get("/datalake/udi", params=query)
    assert response.status_code == 400
    assert response.json()["error"]["status"] == 400


async def test_the_next_links_lead_through_the_whole_register(clock: Clock) -> None:
    world = GeneratedWorld(3000, seed=2, clock=clock)
    async with client_of(world) as client:
        url, pages = "http://register.test/datalake/udi?api-version=v1.0&format=json", []
        while url:
            page = (await client.get(url)).json()
            pages.append(page["value"])
            url = page.get("nextLink", "")
            assert not url or url.startswith("http://register.test/datalake/udi?api-version=v1.0&format=json&$after=")
    assert [len(page) for page in pages] == [1000, 1000, 1000, 0]
    assert [row["UUID"] for page in pages for row in page] == [record.uuid for record in world.oldest(0, 4000)]


async def test_actors_come_with_made_up_contact_data(register: Register) -> None:
    found = await rows(register, "/actors")
    assert {row["ACTOR_ID"] for row in found} >= {r.manufacturer.srn for r in register.world.newest(0, 700)}
    personal = {"ACT_EMAIL", "ACT_TELEPHONE", "PRRC_FIRST_NAME", "PRRC_FAMILY_NAME", "PRRC_EMAIL"}
    for row in found:
        assert row.keys() >= personal | {"NAME", "ACTOR_TYPE", "STATUS", "ACT_COUNTRY_ISO2_CODE", "ACT_COUNTRY_NAME"}
        assert row["ACT_EMAIL"].endswith("@example.org")


async def test_the_data_lake_lags_when_told_to(clock: Clock) -> None:
    world = GeneratedWorld(50, seed=2, clock=clock)
    record = world.newest(0, 1)[0]
    world.change(record.uuid, reference="LATE")

    async def reference() -> str:
        async with client_of(world, datalake_lag=timedelta(hours=6)) as client:
            value = (await client.get("/datalake/udi", params=VERSION)).json()["value"]
        return next(str(row["REFERENCE"]) for row in value if row["UUID"] == record.uuid)

    clock.advance(hours=5)
    assert await reference() == record.reference
    clock.advance(hours=2)
    assert await reference() == "LATE"
