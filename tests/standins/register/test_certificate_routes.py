"""The routes about certificates: the bare listing, the detail, refused applications, notified bodies, the build."""

from contextlib import suppress
from typing import Any, get_args

import httpx2
import pytest

from registerwatch_standins.register.faults import Drift, Kind, Mode
from registerwatch_standins.register.filters import ActorFilter, CertificateFilter
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.wire.actors import EMAIL, TELEPHONE
from registerwatch_standins.register.world import World

from .conftest import LANGUAGE, PAGE, Clock, Register

ROUTES: dict[Kind, str] = {
    "certificates": "/certificates/search/",
    "refusals": "/applications/search/",
    "bodies": "/ses/notifiedBodies",
    "build": "/applicationInfo",
    "flags": "/configurationParameters",
    "nomenclature": "/devices/nomenclatures/",
}

WITHOUT_CODES = {"build", "flags", "nomenclature"}
HARMLESS = {"renamed-filter", "ignored-filter", "wrong-rows"}
"""What no request without a filter can show."""


@pytest.fixture
def world(clock: Clock) -> World:
    return GeneratedWorld(700, seed=5, certificates=640, clock=clock)


async def walk(register: Register, path: str = "/certificates/search/") -> list[dict[str, Any]]:
    """All pages of 300 rows, as long as there is another."""
    pages = [(await register.get(path, page=0, pageSize=300)).json()]
    while not pages[-1]["last"]:
        pages.append((await register.get(path, page=len(pages), pageSize=300)).json())
    return pages


async def test_a_bare_listing_has_20_rows_and_300_where_they_are_asked_for(register: Register) -> None:
    bare = (await register.get("/certificates/search/")).json()
    assert (bare["size"], bare["numberOfElements"], bare["totalElements"]) == (20, 20, 640)
    pages = await walk(register)
    assert [page["numberOfElements"] for page in pages] == [300, 300, 40]
    rows = [row for page in pages for row in page["content"]]
    assert rows[:20] == bare["content"]
    assert len({row["uuid"] for row in rows}) == len({row["ulid"] for row in rows}) == 640
    assert any(row["expiryDate"] is None for row in rows)
    assert len({row["certificateStatus"]["code"] for row in rows}) > 5
    number = rows[100]["certificateNumber"]
    found = (await register.get("/certificates/search/", certificateNumber=number)).json()["content"]
    assert found == [row for row in rows if row["certificateNumber"] == number]


async def test_a_certificate_has_a_record_that_names_devices_in_its_scopes_or_does_not(register: Register) -> None:
    world = register.world
    srn = world.newest(0, 1)[0].manufacturer.srn
    for basic_udis in ((), ("++X1", "++X2")):
        row = world.list_certificate(srn, number="Z-1", basic_udis=basic_udis)
        response = await register.get(f"/certificates/{row.uuid}")
        record = response.json()
        assert (record["uuid"], record["ulid"]) == (row.uuid, row.ulid)
        assert record["certificateId"] == "0123Z-1"
        assert (record["manufacturer"]["srn"], record["notifiedBody"]["srn"]) == (srn, "0123")
        assert all(contact in response.text for contact in (EMAIL, TELEPHONE))
        named = tuple(each["basicUdiData"]["code"] for each in record["scopes"] if each["basicUdiData"])
        assert named == basic_udis
        assert record["scopes"]
    world.scopes_named = 1
    rows = world.search_certificates(CertificateFilter(), 0, 700)[1]
    assert all(world.scope(row) == row.basic_udis for row in rows if row.names_devices is None)


async def test_the_document_of_a_certificate_is_a_pdf_of_the_size_that_is_told(register: Register) -> None:
    row = register.world.search_certificates(CertificateFilter(), 7, 1)[1][0]
    [entry] = (await register.get(f"/certificates/{row.uuid}")).json()["documents"]
    for path in (f"/documents/{entry['uuid']}", f"/documents/{entry['uuid']}/"):
        document = await register.get(path)
        assert (document.status_code, document.headers["content-type"]) == (200, entry["fileContentType"])
        assert document.content.startswith(b"%PDF-")
        assert len(document.content) == entry["fileSize"]
    assert (await register.get(f"/documents/{row.uuid}")).status_code == 302


async def test_a_decision_against_a_certificate_has_a_date_and_a_reason(register: Register) -> None:
    srn = register.world.newest(0, 1)[0].manufacturer.srn
    row = register.world.list_certificate(srn)
    before = (await register.get(f"/certificates/{row.uuid}")).json()
    register.world.change_certificate(row.uuid, status="withdrawn")
    after = (await register.get(f"/certificates/{row.uuid}")).json()
    assert (before["decisionDate"], before["statusChangeReasons"]) == (None, [])
    assert (after["decisionDate"], len(after["statusChangeReasons"])) == ("2026-10-01T00:00:00", 1)
    assert after["additionalStatusChangeReason"]["texts"]


async def test_an_unknown_certificate_is_redirected_to_no_page(register: Register) -> None:
    assert (await register.get("/certificates/00000000-0000-4000-8000-000000000000")).status_code == 302


async def test_refused_applications_come_in_pages(register: Register) -> None:
    srn = register.world.newest(0, 1)[0].manufacturer.srn
    for number in range(25):
        register.world.refuse_application(srn, reference=f"R-{number}")
    bare = (await register.get("/applications/search/")).json()
    assert (bare["size"], bare["numberOfElements"], bare["totalPages"]) == (20, 20, 2)
    row = bare["content"][0]
    assert (row["applicationReferenceNumber"], row["actorSrn"]) == ("R-24", srn)
    assert row["certificateRefusalDate"] == "2026-10-01T00:00:00"
    assert len((await walk(register, "/applications/search/"))[0]["content"]) == bare["totalElements"]


async def test_notified_bodies_are_a_bare_list_of_all_that_are_in_use(register: Register) -> None:
    srn = register.world.newest(0, 1)[0].manufacturer.srn
    register.world.list_certificate(srn, notified_body="2999", notified_body_name="A new body")
    bodies = (await register.get("/ses/notifiedBodies")).json()
    assert all(set(each) == {"uuid", "name", "eudamedIdentifier", "legislationStatusMap"} for each in bodies)
    names = {each["eudamedIdentifier"]: each["name"] for each in bodies}
    assert names["2999"] == "A new body"
    assert {row["notifiedBodySrn"] for page in await walk(register) for row in page["content"]} <= names.keys()


async def test_the_build_can_be_set(register: Register) -> None:
    first = (await register.get("/applicationInfo")).json()["buildVersion"]
    register.world.build_version = "9.9.9"
    assert (await register.get("/applicationInfo")).json()["buildVersion"] == "9.9.9" != first


async def test_every_route_fails_by_its_own_kind(register: Register) -> None:
    uuid = register.world.search_certificates(CertificateFilter(), 0, 1)[1][0].uuid
    paths = {**ROUTES, "certificate": f"/certificates/{uuid}"}
    for kind in paths:
        register.faults.clear()
        register.faults.fail(kind, "http-503")
        failing = {each for each, path in paths.items() if (await register.get(path)).status_code == 503}
        assert failing == {kind}
        register.faults.clear()
        register.faults.fail(kind, "json-of-null-fields")
        assert (await register.get(paths[kind])).status_code == 200
        register.faults.clear()
        register.faults.fail(kind, "json-of-wrong-shape")
        assert isinstance((await register.get(paths[kind])).json(), list)


@pytest.mark.parametrize("mode", [*get_args(Mode), *get_args(Drift)])
async def test_every_fault_can_be_shown_on_every_route(register: Register, mode: Mode | Drift) -> None:
    uuid = register.world.search_certificates(CertificateFilter(), 0, 1)[1][0].uuid
    for kind, path in {**ROUTES, "certificate": f"/certificates/{uuid}"}.items():
        if kind in WITHOUT_CODES and mode in ("unknown-codes", "renamed-filter"):
            continue
        true = (await register.get(path)).text
        register.faults.fail(kind, mode, size=70_000, times=1)
        with suppress(httpx2.TransportError):
            shown = await register.get(path)
            assert (shown.status_code, shown.text) != (200, true) or mode in HARMLESS, kind
        assert (await register.get(path)).text == true


async def test_a_faulty_detail_is_another_certificates(register: Register) -> None:
    uuid = register.world.search_certificates(CertificateFilter(), 0, 1)[1][0].uuid
    register.faults.fail("certificate", "wrong-record")
    assert (await register.get(f"/certificates/{uuid}")).json()["uuid"] != uuid


async def test_a_certificate_that_is_listed_between_two_pages_shifts_the_second(register: Register) -> None:
    srn = register.world.newest(0, 1)[0].manufacturer.srn
    register.faults.before("certificates", lambda: register.world.list_certificate(srn), contains="page=1")
    first, second, *_ = await walk(register)
    assert second["content"][0] == first["content"][-1]
    assert (first["totalElements"], second["totalElements"]) == (640, 641)
    gone = first["content"][5]["uuid"]
    register.faults.before("certificates", lambda: register.world.unlist_certificate(gone), skip=1)
    first, second, *_ = await walk(register)
    assert (first["totalElements"], second["totalElements"]) == (641, 640)
    rows = {row["uuid"] for page in await walk(register) for row in page["content"]}
    assert gone not in rows
    assert len(rows) == 640, "what happens once does not happen again"


async def test_a_renamed_filter_is_ignored_as_if_it_had_never_been_there(register: Register) -> None:
    world = register.world
    record, row = world.newest(3, 1)[0], world.search_certificates(CertificateFilter(), 9, 1)[1][0]
    srn, number = row.manufacturer.srn, row.certificate.number
    cases: list[tuple[str, Kind, dict[str, Any], int]] = [
        ("/devices/udiDiData", "search", {**PAGE, "srn": record.manufacturer.srn}, world.count),
        ("/devices/udiDiData", "search", {**PAGE, "primaryDi": record.primary_di}, world.count),
        ("/certificates/search/", "certificates", {"actorSrn": srn}, 640),
        ("/certificates/search/", "certificates", {"certificateNumber": number}, 640),
        ("/eos", "actor-search", {**LANGUAGE, "srn": srn}, world.search_actors(ActorFilter(), 0, 1)[0]),
    ]
    for path, kind, query, total in cases:
        name = list(query)[-1]
        assert 0 < (await register.get(path, **query)).json()["totalElements"] < total
        register.faults.fail(kind, "renamed-filter", names=("another",))
        assert (await register.get(path, **query)).json()["totalElements"] < total
        register.faults.clear()
        register.faults.fail(kind, "renamed-filter", names=(name,))
        assert (await register.get(path, **query)).json()["totalElements"] == total
        register.faults.clear()
        register.faults.fail(kind, "ignored-filter")
        assert (await register.get(path, **query)).json()["totalElements"] > 100_000
        register.faults.clear()


async def test_fields_and_codes_of_rows_can_be_renamed(register: Register) -> None:
    path = "/certificates/search/"
    row = (await register.get(path)).json()["content"][0]
    register.faults.fail("certificates", "json-of-renamed-fields", names=("certificateNumber",), times=1)
    renamed = (await register.get(path)).json()["content"][0]
    assert set(row) ^ set(renamed) == {"certificateNumber", "certificateNumberV2"}
    register.faults.fail("certificates", "json-of-renamed-fields", times=1)
    assert set((await register.get(path)).json()["content"][0]) == {f"{name}V2" for name in row}
    register.faults.fail("certificates", "unknown-codes", names=("certificateStatus",), times=1)
    unknown = (await register.get(path)).json()["content"][0]
    assert unknown == {**row, "certificateStatus": {"code": "refdata.certificate-status.of-a-later-build"}}
    register.faults.fail("bodies", "json-of-renamed-fields", names=("name",), times=1)
    assert "nameV2" in (await register.get("/ses/notifiedBodies")).json()[0]
    register.faults.fail("build", "json-of-renamed-fields", times=1)
    assert set((await register.get("/applicationInfo")).json()) >= {"buildVersionV2"}
    uuid = register.world.newest(0, 1)[0].uuid
    register.faults.fail("detail", "json-of-renamed-fields", names=("deviceStatus", "statusDate"), times=1)
    register.faults.fail("detail", "unknown-codes", names=("deviceStatus",), times=1)
    renamed, unknown = [await register.record("/devices/udiDiData", uuid) for _ in range(2)]
    assert "statusDateV2" in renamed["deviceStatusV2"]
    assert unknown["deviceStatus"]["type"] == {"code": "refdata.device-model-status.of-a-later-build"}
