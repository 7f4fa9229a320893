"""Which parameters are required, which filter, which are refused, and which are silently ignored."""

from collections.abc import Callable
from typing import Any

import pytest

from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.records import Registration

from .conftest import LANGUAGE, PAGE, Register, client_of


@pytest.mark.parametrize("missing", ["page", "pageSize", "size", "iso2Code", "languageIso2Code"])
async def test_a_device_search_without_a_required_parameter_is_400(register: Register, missing: str) -> None:
    query = {name: value for name, value in PAGE.items() if name != missing}
    assert (await register.get("/devices/udiDiData", **query)).status_code == 400


async def test_records_need_a_language_and_the_actor_search_fails_without(register: Register) -> None:
    uuid = register.world.newest(0, 1)[0].uuid
    assert (await register.get(f"/devices/udiDiData/{uuid}")).status_code == 400
    assert (await register.get(f"/devices/basicUdiData/udiDiData/{uuid}")).status_code == 400
    assert (await register.get("/eos")).status_code == 500


@pytest.mark.parametrize(
    "path",
    [
        "/devices/udiDiData/c7418f9f-3f31-4329-b2c1-956377dbe23b",
        "/devices/basicUdiData/udiDiData/c7418f9f-3f31-4329-b2c1-956377dbe23b",
        "/devices/udiDiData/nonsense",
        "/devices/basicUdiData/c7418f9f-3f31-4329-b2c1-956377dbe23b/udiDiData",
        "/documents/c7418f9f-3f31-4329-b2c1-956377dbe23b",
    ],
)
async def test_what_is_not_there_is_a_redirect_to_a_page_with_status_200(register: Register, path: str) -> None:
    response = await register.get(path, **LANGUAGE)
    assert response.status_code == 302
    page = await register.client.get(response.headers["location"])
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize("parameter", ["udiDi", "manufacturerSrn", "primaryDI", "sort", "lastUpdateDateFrom"])
async def test_an_unknown_parameter_is_silently_ignored(register: Register, parameter: str) -> None:
    page = await register.search(**{parameter: "made-up"})
    assert page["totalElements"] == register.world.count
    assert page["content"] == (await register.search())["content"]


@pytest.mark.parametrize("parameter", ["primaryDi", "basicUdi", "srn"])
async def test_a_made_up_value_finds_nothing(register: Register, parameter: str) -> None:
    page = await register.search(**{parameter: "zzz-made-up"})
    assert (page["totalElements"], page["content"], page["totalPages"]) == (0, [], 0)
    assert page["first"]
    assert page["last"]


async def test_exact_filters_match_the_whole_value_alone(register: Register) -> None:
    record = next(each for each in register.world.newest(0, 700) if each.basic_udi)
    for parameter, value in (
        ("primaryDi", record.primary_di),
        ("basicUdi", record.basic_udi),
        ("srn", record.manufacturer.srn),
    ):
        found = await register.search(size=300, pageSize=300, **{parameter: value})
        assert record.uuid in {row["uuid"] for row in found["content"]}
        assert (await register.search(**{parameter: str(value)[:-1]}))["totalElements"] == 0


async def test_the_srn_filter_knows_authorised_representatives(register: Register) -> None:
    record = next(each for each in register.world.newest(0, 700) if each.authorised_representative)
    assert record.authorised_representative
    page = await register.search(srn=record.authorised_representative.srn, size=300, pageSize=300)
    assert page["totalElements"] > 0
    assert record.manufacturer.srn in {row["manufacturerSrn"] for row in page["content"]}


async def test_two_filters_narrow_each_other(register: Register) -> None:
    record, other = register.world.newest(0, 1)[0], register.world.oldest(0, 1)[0]
    both = {"primaryDi": record.primary_di, "srn": record.manufacturer.srn}
    assert record.uuid in {row["uuid"] for row in (await register.search(**both))["content"]}
    assert (await register.search(**{**both, "srn": other.manufacturer.srn}))["totalElements"] == 0


@pytest.mark.parametrize("path", ["/no/such/path", "/devices/basicUdiData/c7418f9f-3f31-4329-b2c1-956377dbe23b"])
async def test_a_path_that_is_wrong_is_404(register: Register, path: str) -> None:
    assert (await register.get(path, **LANGUAGE)).status_code == 404


async def test_filters_that_name_nothing_exactly_find_a_part_a_beginning_or_a_code(register: Register) -> None:
    records = register.world.newest(0, 700)
    chosen = next(each for each in records if each.model and each.reference and each.trade_name)
    status, legislation = "refdata.device-model-status.", "refdata.applicable-legislation."
    cases: list[tuple[str, str, Callable[[Registration], bool]]] = [
        ("tradeName", (chosen.trade_name or "")[2:9].upper(), lambda each: each.trade_name == chosen.trade_name),
        ("reference", (chosen.reference or "")[1:], lambda each: each.reference == chosen.reference),
        ("deviceModel", (chosen.model or "")[1:], lambda each: each.model == chosen.model),
        ("cndCode", chosen.emdn[0][:3], lambda each: each.emdn[0][:3] == chosen.emdn[0][:3]),
        ("riskClassCode", "refdata.risk-class.class-iib", lambda each: each.risk_class == "class-iib"),
        ("deviceStatusCode", status + "on-the-market", lambda each: each.status == "on-the-market"),
        ("applicableLegislation", legislation + "mdd", lambda each: each.legislation == "mdd"),
        ("deviceCriteria", "LEGACY", lambda each: each.criterion == "LEGACY"),
    ]
    for parameter, value, passes in cases:
        page = await register.search(size=300, pageSize=300, **{parameter: value})
        expected = {each.uuid for each in records if passes(each)}
        assert 0 < len(expected) <= page["totalElements"] < 700
        if page["totalElements"] <= 300 and parameter != "tradeName":
            assert expected <= {row["uuid"] for row in page["content"]}
    assert (await register.search(deviceTypes="refdata.special-device-type.nothing"))["totalElements"] == 0


@pytest.mark.parametrize(
    "query",
    [
        {"riskClassCode": "refdata.risk-class.class-x"},
        {"riskClassCode": "refdata.risk-class.aimdd"},
        {"deviceStatusCode": "refdata.device-model-status.lost"},
    ],
)
async def test_an_unknown_code_of_a_class_or_a_status_is_400(register: Register, query: dict[str, str]) -> None:
    assert (await register.get("/devices/udiDiData", **{**PAGE, **query})).status_code == 400


async def test_actors_are_found_by_country_type_and_a_part_of_the_name(register: Register) -> None:
    everyone = (await register.get("/eos", size=300, **LANGUAGE)).json()["content"]
    one = everyone[3]
    cases: list[tuple[dict[str, str], Callable[[dict[str, Any]], bool]]] = [
        ({"countryIso2Code": one["countryIso2Code"]}, lambda row: row["countryIso2Code"] == one["countryIso2Code"]),
        ({"actorTypeCode": one["actorType"]["code"]}, lambda row: row["actorType"] == one["actorType"]),
        ({"name": one["name"][2:].lower()}, lambda row: row["name"] == one["name"]),
    ]
    for query, passes in cases:
        page = (await register.get("/eos", size=300, **query, **LANGUAGE)).json()
        assert page["content"] == [row for row in everyone if passes(row)]


async def test_devices_under_a_basic_udi_di_are_found_by_the_key_of_its_record(register: Register) -> None:
    record = next(each for each in register.world.newest(0, 700) if each.basic_udi)
    basic = await register.record("/devices/basicUdiData/udiDiData", record.uuid)
    path = f"/devices/basicUdiData/{basic['uuid']}/udiDiData"
    found, searched = [(await register.get(path, **LANGUAGE)).json(), await register.search(basicUdi=record.basic_udi)]
    assert found["content"] == searched["content"]


async def test_without_a_size_a_page_has_20_rows_whatever_pagesize_says(register: Register) -> None:
    assert (await register.get("/eos", pageSize=100, **LANGUAGE)).json()["size"] == 20
    assert (await register.get("/certificates/search/", pageSize=1000)).json()["size"] == 300


async def test_actors_are_listed_by_their_srns_and_found_by_one(register: Register) -> None:
    everyone = (await register.get("/eos", size=300, **LANGUAGE)).json()["content"]
    assert [row["srn"] for row in everyone] == sorted(row["srn"] for row in everyone)
    for srn, found in ((everyone[3]["srn"], [everyone[3]]), ("DE-MF-999999999", [])):
        assert (await register.get("/eos", srn=srn, **LANGUAGE)).json()["content"] == found


async def test_size_is_capped_at_300_and_pages_count_from_0(register: Register) -> None:
    first = await register.search(size=5000, pageSize=5000)
    assert (first["size"], first["numberOfElements"], first["number"]) == (300, 300, 0)
    assert (first["totalPages"], first["first"], first["last"]) == (3, True, False)
    last = await register.search(size=300, pageSize=300, page=2)
    assert (last["numberOfElements"], last["first"], last["last"]) == (100, False, True)
    beyond = await register.search(size=300, pageSize=300, page=3)
    assert (beyond["content"], beyond["totalElements"]) == ([], 700)


async def test_certificates_are_filtered_by_actor_body_and_number(register: Register) -> None:
    rows = register.world.search_certificates(CertificateFilter(), 0, 300)[1]
    chosen = rows[0].certificate
    of_body = sum(row.certificate.notified_body == chosen.notified_body for row in rows)
    for query, count in (
        ({}, len(rows)),
        ({"actorSrn": rows[0].manufacturer.srn}, sum(row.manufacturer == rows[0].manufacturer for row in rows)),
        ({"notifiedBodySrn": chosen.notified_body}, of_body),
        ({"certificateNumber": chosen.number}, sum(row.certificate.number == chosen.number for row in rows)),
        ({"certificateNumber": chosen.number[:-1]}, 0),
        ({"actorSrn": "DE-MF-999999999"}, 0),
    ):
        page = (await register.get("/certificates/search/", size=300, **query)).json()
        assert page["totalElements"] == count


async def test_the_basic_udi_filter_of_certificates_filters_or_is_ignored(register: Register) -> None:
    rows = register.world.search_certificates(CertificateFilter(), 0, 300)[1]
    listing = next(row for row in rows if row.basic_udis)
    code = {"basicUdi": listing.basic_udis[0]}
    page = (await register.get("/certificates/search/", **code)).json()
    assert listing.uuid in {row["uuid"] for row in page["content"]}
    assert (await register.get("/certificates/search/", basicUdi="made-up")).json()["totalElements"] == 0
    async with client_of(register.world, basic_udi_filter_works=False) as client:
        ignored = (await client.get("/eudamed/certificates/search/", params={"basicUdi": "made-up"})).json()
    assert ignored["totalElements"] == register.world.search_certificates(CertificateFilter(), 0, 1)[0] > 0
