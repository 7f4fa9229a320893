"""The bulk Data Lake: what it filters by, what it refuses and how, its two forms, its pages."""

import csv
import io
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from registerwatch_standins.register.generated import GeneratedWorld

from .conftest import Clock, Register, client_of

VERSION = {"api-version": "v1.0", "format": "json"}


async def rows(register: Register, path: str = "udi", **filters: Any) -> list[dict[str, Any]]:
    """The rows of all pages, as `nextLink` leads through them."""
    page = (await register.client.get(f"/datalake/{path}", params={**VERSION, **filters})).json()
    found: list[dict[str, Any]] = page["value"]
    while "nextLink" in page:
        page = (await register.client.get(page["nextLink"])).json()
        found += page["value"]
    return found


@pytest.mark.parametrize(
    ("query", "status", "answer"),
    [
        ({"format": "json"}, 404, '{"statusCode":404,"message":"Resource not found"}'),
        ({**VERSION, "api-version": "v9"}, 404, '{"statusCode":404,"message":"Resource not found"}'),
        ({"api-version": "v1.0"}, 400, "Required parameter format missing."),
        ({**VERSION, "format": "xml"}, 400, "Required parameter format missing."),
        ({**VERSION, "$top": "5"}, 400, "Invalid Query Parameter: $top"),
        ({**VERSION, "CND_CODE": "Q01"}, 400, "Invalid Query Parameter: CND_CODE"),
        ({**VERSION, "UUID": "u-1"}, 400, "Invalid Query Parameter: UUID"),
        ({**VERSION, "AR_SRN": "DE-AR-000000001"}, 400, "Invalid Query Parameter: AR_SRN"),
        ({**VERSION, "$after": "nonsense"}, 400, "Invalid Query Parameter: $after"),
        ({**VERSION, "format": "csv", "UUID": "u-1"}, 400, ""),
    ],
)
async def test_a_wrong_query_is_refused_each_in_its_form(
    register: Register, query: dict[str, str], status: int, answer: str
) -> None:
    response = await register.client.get("/datalake/udi", params=query)
    assert response.status_code == status
    assert response.text == answer or response.json()["error"] == {
        "code": "BadRequest",
        "message": answer,
        "status": 400,
    }


async def test_filters_are_exact_and_joined(register: Register) -> None:
    everything = await rows(register)
    row = next(each for each in everything if each["BASIC_UDI"] and each["REFERENCE"] and each["TRADE_NAME"])
    for column, value in (
        ("PRIMARY_DI", row["PRIMARY_DI"]),
        ("BASIC_UDI", row["BASIC_UDI"]),
        ("MF_SRN", row["MF_SRN"]),
        ("TRADE_NAME", row["TRADE_NAME"].upper()),
        ("REFERENCE", row["REFERENCE"].lower()),
        ("NOMENCLATURE_CODE", row["NOMENCLATURE_CODE"]),
        ("RISK_CLASS_ID", "-203.0"),
        ("RISK_CLASS_ID", "-203"),
        ("APPLICABLE_LEGISLATION_ID", "-197"),
    ):
        own = row[column] if "ID" not in column else float(value)
        expected = {each["UUID"] for each in everything if str(each[column]).lower() == str(own).lower()}
        found = await rows(register, **{column: value})
        assert {each["UUID"] for each in found} == expected != set()
        assert len(found) == len(expected)
    both = await rows(register, MF_SRN=row["MF_SRN"], RISK_CLASS_ID=row["RISK_CLASS_ID"])
    assert {(each["MF_SRN"], each["RISK_CLASS_ID"]) for each in both} == {(row["MF_SRN"], row["RISK_CLASS_ID"])}
    for nothing in ({"NOMENCLATURE_CODE": row["NOMENCLATURE_CODE"].strip()}, {"RISK_CLASS_ID": "IIa"}):
        assert await rows(register, **nothing) == []


async def test_csv_has_the_same_rows_as_integers_in_quotes_and_no_way_on(register: Register) -> None:
    response = await register.client.get("/datalake/udi", params={**VERSION, "format": "csv"})
    assert response.headers["content-type"] == "text/csv"
    first, line, *_ = response.text.splitlines()
    assert first.startswith('"ID","UDI_DI_DATA_ULID",')
    assert line.count('"') >= 120
    written = list(csv.DictReader(io.StringIO(response.text)))
    sent = await rows(register)
    assert [row["UUID"] for row in written] == [row["UUID"] for row in sent]
    for told, row in zip(written, sent, strict=True):
        plain = {name: int(value) if isinstance(value, float) else value for name, value in row.items()}
        assert told == {name: "" if value is None else str(value) for name, value in plain.items()}


async def test_an_actor_has_a_row_for_each_responsible_person_and_a_notified_body_its_number(
    register: Register,
) -> None:
    listed = await rows(register, "actors")
    by_id = Counter(row["ACTOR_ID"] for row in listed)
    assert set(by_id.values()) == {1, 2, 3}
    assert len({(row["ACTOR_ID"], row["PRRC_FAMILY_NAME"]) for row in listed}) == len(listed)
    assert {row["ACTOR_TYPE"] for row in listed if len(row["ACTOR_ID"]) == 4} == {"Notified Body"}
    kinds = {row["ACTOR_ID"][3:5]: row["ACTOR_TYPE"] for row in listed if len(row["ACTOR_ID"]) != 4}
    assert (kinds["MF"], kinds["AR"]) == ("Manufacturer", "Authorised Representative")
    chosen = listed[5]["ACTOR_ID"]
    assert [row["ACTOR_ID"] for row in await rows(register, "actors", ACTOR_ID=chosen)] == [chosen] * by_id[chosen]


async def test_the_key_of_reference_is_column_and_id(register: Register) -> None:
    named = [row for row in await rows(register, "reference") if row["LANGUAGE"] == "en"]
    keys = Counter((row["CODE"], row["ID"]) for row in named)
    assert set(keys.values()) == {1}
    assert {row["CODE"] for row in named if row["ID"] == -204.0} == {"RISK_CLASS_ID", "PLACED_ON_THE_MARKET_ID"}


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
