"""The stand-in register answers in the shapes of the captures: the same keys at every level, the same types."""

from collections.abc import AsyncIterator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import pytest

from registerwatch.platform.structs import replace
from registerwatch_standins.register.app import create_app
from registerwatch_standins.register.faults import Faults
from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.records import ClinicalSize, Condition, LinkedDevice, OtherCode, Registration, Sscp
from registerwatch_standins.register.transport import InProcessTransport
from registerwatch_standins.register.world import World
from tests.contracts.shapes import Shape, differences, shape_of
from tests.support.captures import OWN, SHARED, capture

LANGUAGE: dict[str, Any] = {"languageIso2Code": "en", "iso2Code": "en"}
PAGE = {**LANGUAGE, "page": 0, "pageSize": 300, "size": 300}
LAKE: dict[str, Any] = {"api-version": "v1.0", "format": "json"}
FOLDERS = [
    pytest.param(OWN, id="own copies"),
    pytest.param(SHARED, id="captures", marks=pytest.mark.skipif(not SHARED.exists(), reason="they are not here")),
]
NULL_ELSEWHERE = {
    "device search page": ("content.tradeName", "content.reference", "content.basicUdi"),
    "device detail": (
        "marketInfoLink.msWhereAvailable",
        "tradeName",
        "reference",
        "sterile",
        "latex",
        "deviceStatus.statusDate",
        "tradeName.texts.allLanguagesApplicable",
    ),
    "certificate search page": ("content.issueDate", "content.expiryDate", "content.startingValidityDate"),
    "certificate": ("expiryDate", "startingValidityDate", "issueDate"),
    "actor": ("actorDataPublicView.europeanVatNumber", "actorDataPublicView.website"),
    "Basic UDI-DI record": ("implantable", "reusable"),
    "Data Lake devices": (
        "value.TRADE_NAME",
        "value.REFERENCE",
        "value.STERILE",
        "value.LATEX",
        "value.IMPLANTABLE",
        "value.REUSABLE",
    ),
    "Data Lake actors": ("value.ACT_COUNTRY_NAME", "value.ACT_COUNTRY_ISO2_CODE"),
}
"""What no capture shows as null, but is told to be missing or null in some records."""


@pytest.fixture
def world() -> World:
    world = GeneratedWorld(1_200, seed=5, certificates=640)
    _enrich(world)
    return world


@pytest.fixture
async def client(world: World) -> AsyncIterator[httpx2.AsyncClient]:
    async with _client(world, Faults()) as client:
        yield client


def _client(world: World, faults: Faults) -> httpx2.AsyncClient:
    transport = InProcessTransport(create_app(world, faults))
    return httpx2.AsyncClient(transport=transport, base_url="http://register.test", headers={"user-agent": "a test"})


def _enrich(world: World) -> Registration:
    """Give a device everything that a device can have, and another one name for all languages."""
    world.change(world.newest(5, 1)[0].uuid, trade_names={"all": "Example"})
    record = next(each for each in world.newest(0, 1_200) if each.basic_udi and each.authorised_representative)
    listed = next(each for row in world.newest(0, 1_200) for each in row.certificates if each.listed_in[0] == "b")
    return world.change(
        record.uuid,
        other_codes=(
            OtherCode("04000000000006", "unit_of_use"),
            OtherCode("04000000000013", "direct_marking"),
            OtherCode("+E123ABC0", "secondary"),
            OtherCode("14000000000003", "container_package", 10),
            OtherCode("24000000000000", "container_package", 4, "14000000000003"),
        ),
        certificates=(
            replace(listed, type="MDR_QUALITY_MANAGEMENT_SYSTEM", revision="04", status="supplemented"),
            replace(listed, number="", revision=None, expiry=None, status="", notified_body=""),
            *record.certificates,
        ),
        storage=(Condition("SHC005"), Condition("SHC099", "Store in the original packaging")),
        warnings=(Condition("CW018"),),
        clinical_sizes=(ClinicalSize("CST19", value=5.5, unit="MU50"),),
        legacy_twin=LinkedDevice("04000000000020", "2026-01-15"),
        sscp=Sscp("60000", "10", "2025-12-01"),
    )


@cache
def shape(kind: str, folder: Path) -> Shape:
    """The shape of a kind of answer, of all captures that show one."""
    return shape_of(_examples(kind, folder), may_be_null=NULL_ELSEWHERE.get(kind, ()))


def _examples(kind: str, folder: Path) -> Iterator[Any]:
    def captured(*names: str) -> list[Any]:
        return [capture(name, folder) for name in names]

    match kind:
        case "device search page":
            page = capture("device_search_by_primary_di", folder)
            yield {**page, "content": capture("device_search_rows_2026", folder)}
        case "device detail":
            yield from captured("device_detail", "described_device_detail_packages")
        case "Basic UDI-DI record":
            names = ("mdr", "legacy", "sscp")
            yield from captured(*(f"described_basic_udi_record_{name}" for name in names))
            yield {
                **capture("described_basic_udi_record_sscp", folder),
                "linkedSscp": capture("linked_sscp_2026", folder),
            }
        case "actor search page":
            page = capture("eos_search_page", folder)
            yield {**page, "sort": None, "content": [capture("described_eos_row_2026", folder)]}
        case "certificate":
            yield capture("described_certificate_record", folder)
            entry = capture("certificate_document_entry", folder)
            yield {**capture("described_certificate_record", folder), "documents": [entry]}
        case _:
            yield capture(NAMES[kind], folder)


NAMES = {
    "actor": "actor_public_information",
    "certificate search page": "certificate_search_page",
    "refused applications page": "described_refused_applications_page",
    "notified bodies": "described_notified_bodies",
    "build": "application_info",
    "Data Lake devices": "described_datalake_udi_page",
    "Data Lake actors": "described_datalake_actors_page",
    "Data Lake reference": "datalake_reference_rows",
}
KINDS = ("device search page", "device detail", "Basic UDI-DI record", "actor search page", "certificate", *NAMES)


def requests(kind: str, world: World) -> Iterator[tuple[str, dict[str, Any]]]:
    """Requests that are answered in this kind, of records as different as the world has."""
    enriched = next(each for each in world.newest(0, 1_200) if each.other_codes)
    legacy = next(each for each in world.newest(0, 1_200) if each.legislation == "mdd" and each.certificates)
    devices = [enriched, legacy, *world.newest(0, 60)]
    rows = world.search_certificates(CertificateFilter(), 0, 60)[1]
    match kind:
        case "device search page":
            yield "/eudamed/devices/udiDiData", PAGE
            yield "/eudamed/devices/udiDiData", {**PAGE, "primaryDi": enriched.primary_di}
        case "device detail":
            yield from ((f"/eudamed/devices/udiDiData/{each.uuid}", LANGUAGE) for each in devices)
        case "Basic UDI-DI record":
            yield from ((f"/eudamed/devices/basicUdiData/udiDiData/{each.uuid}", LANGUAGE) for each in devices)
        case "actor search page":
            yield "/eudamed/eos", PAGE
        case "actor":
            actors = filter(None, (world.actor(each.manufacturer.srn) for each in devices))
            yield from ((f"/eudamed/actors/{each.uuid}/publicInformation", LANGUAGE) for each in actors)
        case "certificate search page":
            yield "/eudamed/certificates/search/", {"size": 300}
        case "certificate":
            yield from ((f"/eudamed/certificates/{each.uuid}", {}) for each in rows)
        case "refused applications page":
            yield "/eudamed/applications/search/", {}
        case "notified bodies":
            yield "/eudamed/ses/notifiedBodies", {}
        case "build":
            yield "/eudamed/applicationInfo", {}
        case _:
            path = {"devices": "udi", "actors": "actors", "reference": "reference"}[kind.split()[-1]]
            yield f"/datalake/{path}", LAKE
            if path == "udi":
                yield f"/datalake/{path}", {**LAKE, "PRIMARY_DI": enriched.primary_di}


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("kind", KINDS)
async def test_the_stand_in_answers_in_the_shape_of_the_captures(
    client: httpx2.AsyncClient, world: World, kind: str, folder: Path
) -> None:
    expected = shape(kind, folder)
    if kind.startswith("Data Lake"):
        expected.keys |= {frozenset({"value"}), frozenset({"value", "nextLink"})}
    seen = []
    for path, query in requests(kind, world):
        response = await client.get(path, params=query)
        assert response.status_code == 200, path
        seen.append(response.json())

    assert {difference for each in seen for difference in differences(expected, each)} == set()
    _all_keys_are_filled_somewhere(expected, seen, kind)


def _all_keys_are_filled_somewhere(expected: Shape, seen: list[Any], kind: str) -> None:
    """What has a value in a capture has one in some record of the stand-in: else nothing would be compared."""
    shown = shape_of(seen)
    assert sorted(set(_empty(expected, shown))) == [], kind


def _empty(expected: Shape, shown: Shape | None, path: str = "") -> Iterator[str]:
    if path in NEVER_FILLED or expected.types <= {"null"}:
        return
    if shown is None or shown.types <= {"null"}:
        yield path
        return
    if expected.items is not None:
        yield from _empty(expected.items, shown.items, f"{path}[]") if expected.items.types else ()
    for key, each in expected.fields.items():
        yield from _empty(each, shown.fields.get(key), f"{path}.{key}")


NEVER_FILLED: set[str] = set()
"""Paths that have a value in a capture and none in the stand-in."""


@pytest.mark.parametrize("folder", FOLDERS)
async def test_the_feature_flags_are_those_that_were_measured(client: httpx2.AsyncClient, folder: Path) -> None:
    flags = (await client.get("/eudamed/configurationParameters", params={"scope": "PUBLIC", **LANGUAGE})).json()
    measured = capture("described_configuration_parameters", folder)["flags"]
    assert {flag["name"]: flag["enable"] for flag in flags} == measured


@pytest.mark.parametrize("folder", FOLDERS)
async def test_columns_have_the_order_of_the_captures(client: httpx2.AsyncClient, folder: Path) -> None:
    for path, name in (("udi", "described_datalake_udi_page"), ("actors", "described_datalake_actors_page")):
        row = (await client.get(f"/datalake/{path}", params=LAKE)).json()["value"][0]
        assert list(row) == list(capture(name, folder)["value"][0])
    text = (await client.get("/datalake/udi", params={**LAKE, "format": "csv"})).text
    assert text.splitlines()[0] == (folder / "described_datalake_udi_page.csv").read_text().splitlines()[0]


@pytest.mark.parametrize("folder", FOLDERS)
async def test_the_data_lake_refuses_in_the_words_of_the_captures(client: httpx2.AsyncClient, folder: Path) -> None:
    unknown, no_version, no_format, no_filter = capture("datalake_errors", folder)
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (unknown, {**LAKE, "CND_CODE": "Q01"}),
        (no_version, {"format": "json"}),
        (no_format, {"api-version": "v1.0"}),
        (no_filter, {**LAKE, "format": "csv", "UUID": "u-1"}),
    ]
    for refusal, query in cases:
        response = await client.get("/datalake/udi", params=query)
        body = refusal["body"]
        assert (response.status_code, response.text if isinstance(body, str) else response.json()) == (
            refusal["status"],
            body,
        )


@pytest.mark.parametrize("folder", FOLDERS)
async def test_the_register_throttles_as_the_captures_do(world: World, folder: Path) -> None:
    empty, network_error, told = capture("throttle_answers", folder)
    faults = Faults()
    async with _client(world, faults) as client:
        faults.fail("search", "empty-page", times=1)
        faults.fail("search", "throttled-307-html", times=1)
        faults.fail("search", "throttled-429", retry_after=60, times=1)
        first, second, third = [await client.get("/eudamed/devices/udiDiData", params=PAGE) for _ in range(3)]

    assert (first.status_code, first.json()) == (empty["status"], {**empty["body"], **_total(world)})
    assert (second.status_code, "Network Error" in second.text, second.headers["content-type"][:9]) == (
        network_error["status"],
        "Network Error" in network_error["body"],
        "text/html",
    )
    assert (third.status_code, third.headers["Retry-After"], third.text) == (
        told["status"],
        told["headers"]["Retry-After"],
        told["body"],
    )


def _total(world: World) -> dict[str, int]:
    return {"totalElements": world.count, "totalPages": -(-world.count // 300)}


def test_the_copies_are_small_and_of_the_shapes_of_the_captures() -> None:
    assert sum(each.stat().st_size for each in OWN.iterdir()) < 150_000
    if not SHARED.exists():
        pytest.skip("the captures are not here")
    for path in sorted(OWN.glob("*.json")):
        own, captured = capture(path.stem), capture(path.stem, SHARED)
        assert list(differences(shape_of([captured]), own)) == [], path.name
