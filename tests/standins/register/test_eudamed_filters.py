"""Which parameters are required, which filter, which are refused, and which are silently ignored."""

from typing import Any

import pytest

from registerwatch_standins.register.filters import CertificateFilter

from .conftest import LANGUAGE, PAGE, Register, client_of

pytestmark = pytest.mark.anyio


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
        "/actors/c7418f9f-3f31-4329-b2c1-956377dbe23b/publicInformation",
        "/no/such/path",
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


@pytest.mark.parametrize(
    "parameter", ["primaryDi", "basicUdi", "srn", "reference", "deviceModel", "tradeName", "cndCode"]
)
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


async def test_trade_names_match_by_substring_with_diacritics_but_without_case(register: Register) -> None:
    record = register.world.newest(0, 1)[0]
    register.world.change(record.uuid, trade_names={"de": "Zyx künstliche Hüfte"})
    assert (await register.search(tradeName="YX KÜNST"))["totalElements"] == 1
    assert (await register.search(tradeName="kunst"))["totalElements"] == 0


async def test_references_and_models_match_by_substring_and_emdn_by_prefix(register: Register) -> None:
    record = register.world.newest(0, 1)[0]
    register.world.change(record.uuid, reference="QQ-77-QQ", model="Model WWQ 1", emdn=("Z9988",))
    assert (await register.search(reference="-77-"))["totalElements"] == 1
    assert (await register.search(deviceModel="WWQ"))["totalElements"] == 1
    assert (await register.search(cndCode="Z99"))["totalElements"] == 1
    assert (await register.search(cndCode="9988"))["totalElements"] == 0


@pytest.mark.parametrize(
    ("parameter", "family", "field"),
    [
        ("riskClassCode", "risk-class", "risk_class"),
        ("deviceStatusCode", "device-model-status", "status"),
        ("applicableLegislation", "applicable-legislation", "legislation"),
    ],
)
async def test_code_filters_part_the_register(register: Register, parameter: str, family: str, field: str) -> None:
    records = register.world.newest(0, register.world.count)
    for name in {getattr(record, field) for record in records} - {"ivd-general", "ivd-annex-ii-list-b"}:
        page = await register.search(**{parameter: f"refdata.{family}.{name}"})
        assert page["totalElements"] == sum(getattr(record, field) == name for record in records) > 0


async def test_a_code_filter_narrows_an_exact_one(register: Register) -> None:
    record = register.world.newest(0, 1)[0]
    other = "refdata.risk-class.class-d"
    assert (await register.search(primaryDi=record.primary_di, riskClassCode=other))["totalElements"] == 0


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("riskClassCode", "refdata.risk-class.class-is"),
        ("riskClassCode", "refdata.risk-class.ivd-general"),
        ("riskClassCode", "class-i"),
        ("deviceStatusCode", "refdata.device-model-status.recalled"),
        ("deviceStatusCode", "on"),
        ("page", "x"),
    ],
)
async def test_an_unknown_code_is_400(register: Register, parameter: str, value: str) -> None:
    assert (await register.get("/devices/udiDiData", **{**PAGE, parameter: value})).status_code == 400


async def test_an_unknown_device_type_finds_nothing(register: Register) -> None:
    assert (await register.search(deviceTypes="refdata.special-mdr-device-type.toaster"))["totalElements"] == 0


@pytest.mark.parametrize("criterion", ["STANDARD", "LEGACY", "SPP"])
async def test_criteria_part_the_register(register: Register, criterion: str) -> None:
    records = register.world.newest(0, register.world.count)
    page = await register.search(deviceCriteria=criterion)
    assert page["totalElements"] == sum(record.criterion == criterion for record in records)


async def test_size_is_capped_at_300_and_pages_count_from_0(register: Register) -> None:
    first = await register.search(size=5000, pageSize=5000)
    assert (first["size"], first["numberOfElements"], first["number"]) == (300, 300, 0)
    assert (first["totalPages"], first["first"], first["last"]) == (3, True, False)
    last = await register.search(size=300, pageSize=300, page=2)
    assert (last["numberOfElements"], last["first"], last["last"]) == (100, False, True)
    beyond = await register.search(size=300, pageSize=300, page=3)
    assert (beyond["content"], beyond["totalElements"]) == ([], 700)


async def test_all_pages_together_are_the_register(register: Register) -> None:
    pages = [await register.search(size=50, pageSize=50, page=number) for number in range(14)]
    uuids = [row["uuid"] for page in pages for row in page["content"]]
    assert uuids == [record.uuid for record in register.world.newest(0, 700)]


@pytest.mark.parametrize(
    ("query", "passes"),
    [
        ({"countryIso2Code": "DE"}, lambda row: row["countryIso2Code"] == "DE"),
        ({"actorTypeCode": "refdata.actor-type.manufacturer"}, lambda row: row["srn"][3:5] == "MF"),
        (
            {"actorTypeCode": "refdata.actor-type.authorised-representative"},
            lambda row: row["srn"][3:5] == "AR",
        ),
        ({"name": "gMBh"}, lambda row: "gmbh" in row["name"].lower()),
    ],
)
async def test_actors_are_filtered(register: Register, query: dict[str, str], passes: Any) -> None:
    everyone = (await register.get("/eos", size=300, **LANGUAGE)).json()["content"]
    page = (await register.get("/eos", size=300, **LANGUAGE, **query)).json()
    assert 0 < page["totalElements"] < len(everyone)
    assert page["content"] == [row for row in everyone if passes(row)]
    assert [row["srn"] for row in everyone] == sorted(row["srn"] for row in everyone)


async def test_certificates_are_filtered_by_actor_body_and_number(register: Register) -> None:
    rows = register.world.search_certificates(CertificateFilter(), 0, 300)[1]
    chosen = rows[0].certificate
    for query, count in (
        ({}, len(rows)),
        (
            {"actorSrn": rows[0].manufacturer.srn},
            sum(row.manufacturer == rows[0].manufacturer for row in rows),
        ),
        (
            {"notifiedBodySrn": chosen.notified_body},
            sum(row.certificate.notified_body == chosen.notified_body for row in rows),
        ),
        ({"certificateNumber": chosen.number}, sum(row.certificate.number == chosen.number for row in rows)),
        ({"certificateNumber": chosen.number[:-1]}, 0),
        ({"actorSrn": "DE-MF-999999999"}, 0),
    ):
        page = (await register.get("/certificates/search/", size=300, **query)).json()
        assert page["totalElements"] == count


async def test_the_basic_udi_filter_of_certificates_filters_or_is_ignored(register: Register) -> None:
    listing = register.world.search_certificates(CertificateFilter(), 0, 1)[1][0]
    code = {"basicUdi": listing.basic_udis[0]}
    page = (await register.get("/certificates/search/", **code)).json()
    assert listing.uuid in {row["uuid"] for row in page["content"]}
    assert (await register.get("/certificates/search/", basicUdi="made-up")).json()["totalElements"] == 0
    async with client_of(register.world, basic_udi_filter_works=False) as client:
        ignored = (await client.get("/eudamed/certificates/search/", params={"basicUdi": "made-up"})).json()
    assert ignored["totalElements"] == register.world.search_certificates(CertificateFilter(), 0, 1)[0] > 0
