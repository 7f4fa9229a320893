"""The bulk Data Lake."""

from datetime import timedelta

import pytest

from registerwatch_standins.register.generated import GeneratedWorld

from .conftest import Clock, Register, client_of

pytestmark = pytest.mark.anyio

VERSION = {"api-version": "v1.0", "format": "json"}


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
