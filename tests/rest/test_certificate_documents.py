"""Documents of certificates: named with the certificate, fetched from the register when asked for, passed through."""

import asyncio
import hashlib
from base64 import b64encode
from typing import Any

import httpx2
import pytest
from sqlalchemy import text

from registerwatch.bootstrap import CERTIFICATE_SWEEP_SECONDS
from registerwatch.platform.fair_queue import FairQueue
from registerwatch.web import document_response
from registerwatch.web.document_response import MAX_DOCUMENTS, MAX_DOCUMENTS_OF_NETWORK
from registerwatch_standins.register.faults import Mode
from registerwatch_standins.register.records import CertificateListing
from tests.pages.markup import Markup
from tests.support.harness import ServiceHarness, ServiceStarter
from tests.support.readers import HeldReader


def a_listing(harness: ServiceHarness, **fields: Any) -> CertificateListing:
    return harness.world.list_certificate(harness.world.newest(0, 1)[0].manufacturer.srn, **fields)


async def a_read_certificate(harness: ServiceHarness, status: str = "withdrawn") -> tuple[str, dict[str, Any]]:
    """The id of a certificate whose record was read, and its document."""
    listing = a_listing(harness, number="Z-25-052", status=status)
    assert await harness.service.certificate_sweep.run_where_due() is not None
    while await harness.service.certificate_sweep.read_due_scopes():
        pass
    answer = await record(harness, listing.ulid)
    [document] = answer["documents"]
    return listing.ulid, document


async def record(harness: ServiceHarness, certificate_id: str) -> dict[str, Any]:
    response = await harness.get(f"/v1/certificates/{certificate_id}")
    assert response.status_code == 200, response.text
    return dict(response.json())


async def fetched(harness: ServiceHarness, document: dict[str, Any]) -> httpx2.Response:
    return await harness.get(document["address"])


async def test_a_certificate_says_why_and_when_its_status_changed_and_which_documents_there_are(
    harness: ServiceHarness,
) -> None:
    number, document = await a_read_certificate(harness)
    answer = await record(harness, number)
    page = Markup.of(await harness.get(f"/c/{number}"))

    assert answer["status_reasons"] == [
        {
            "label": "Non compliance with requirements",
            "code": "refdata.certificate-status-change-reason.non-compliance-with-requirements",
        }
    ]
    assert answer["additional_status_reason"] == "The manufacturer gave up the certificate."
    assert len(answer["decision_date"]) == len("2026-02-10")
    assert (document["name"], document["content_type"]) == ("Z-25-052.pdf", "application/pdf")
    assert document["size"] > 0
    assert not {"sha256", "first_seen_at"} & document.keys()
    assert answer["history"] == [], "what is read of the record is no change"
    assert page.facts["Reason of the status"].startswith("Non compliance with requirements; The manufacturer")
    assert page.link("Z-25-052.pdf") == document["address"]
    assert page.problems == []


async def test_before_its_record_is_read_nothing_is_said_of_either(harness: ServiceHarness) -> None:
    listing = a_listing(harness, number="Z-1")
    await harness.service.certificate_sweep.run_where_due()
    async with harness.database.transaction() as connection:
        await connection.execute(text("UPDATE certificates SET facts = NULL"))

    answer = await record(harness, listing.ulid)
    missing = await harness.get(f"/v1/certificates/{listing.ulid}/documents/x-1")

    assert not {"status_reasons", "additional_status_reason", "decision_date", "documents"} & answer.keys()
    assert missing.status_code == 404
    assert missing.json()["error"].endswith("so its documents are not known.")


async def test_a_document_is_passed_through_as_a_download_and_only_its_digest_is_kept(harness: ServiceHarness) -> None:
    number, document = await a_read_certificate(harness)
    harness.register_log.clear()

    first = await fetched(harness, document)
    harness.clock.move(60)
    await fetched(harness, document)

    digest = hashlib.sha256(first.content).digest()
    assert first.status_code == 200
    assert first.content.startswith(b"%PDF-")
    assert first.headers["content-type"] == "application/pdf"
    assert first.headers["content-disposition"] == (
        "attachment; filename=\"Z-25-052.pdf\"; filename*=UTF-8''Z-25-052.pdf"
    )
    assert first.headers["x-content-type-options"] == "nosniff"
    assert first.headers["content-security-policy"].startswith("default-src 'none'")
    assert first.headers["repr-digest"] == f"sha-256=:{b64encode(digest).decode()}:"
    assert harness.register_log.kinds["document"] == 2, "it is not stored"
    [stored] = harness.table_rows.read(["certificate_documents"])["certificate_documents"]
    assert stored == {
        "uuid": document["uuid"],
        "sha256": digest.hex(),
        "size": len(first.content),
        "first_seen_at": harness.now - 60,
    }
    [again] = (await record(harness, number))["documents"]
    assert (again["sha256"], again["first_seen_at"]) == (digest.hex(), "2027-01-15T08:00:00Z")


@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize("mode", ["html-200", "web-filter-200", "http-500", "redirect-302", "huge-body"])
async def test_what_is_no_pdf_or_could_not_be_read_is_said_so_and_never_passed_on(
    harness: ServiceHarness, mode: Mode
) -> None:
    _, document = await a_read_certificate(harness)
    harness.faults.fail("document", mode)

    response = await fetched(harness, document)

    assert response.status_code == 503, response.text
    assert response.json()["code"] == "register-unavailable"
    assert response.json()["error"].startswith("The document could not be read. ")
    assert harness.table_rows.read(["certificate_documents"])["certificate_documents"] == []


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_only_documents_that_the_record_names_are_asked_for(harness: ServiceHarness) -> None:
    number, document = await a_read_certificate(harness)
    harness.register_log.clear()

    other = await harness.get(f"/v1/certificates/{number}/documents/56fe9527-0928-40f9-8d1f-5074312e122d")
    unknown = await harness.get(f"/v1/certificates/c266239c-0000-4840-9017-4efac3289fbc/documents/{document['uuid']}")
    hostile = await harness.get(f"/v1/certificates/{number}/documents/..%2F..%2Fapi")

    assert (other.status_code, unknown.status_code) == (404, 404)
    assert other.json()["found"] is False
    assert hostile.status_code in (400, 404)
    assert not harness.register_log.total


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_documents_that_are_not_read_keep_their_places_and_leave_those_of_other_networks(
    harness: ServiceHarness,
) -> None:
    _, document = await a_read_certificate(harness)
    path = document["address"].removeprefix("http://localhost:8000")
    harness.register_log.clear()
    strangers = [HeldReader(harness, path) for _ in range(12)]
    reading = [asyncio.create_task(each.read()) for each in strangers]
    for each in strangers[:MAX_DOCUMENTS_OF_NETWORK]:
        await asyncio.wait_for(each.has_head.wait(), 5)

    other = await asyncio.wait_for(fetched(harness, document), 5)
    held = harness.register_log.kinds["document"] - 1
    for each in strangers:
        each.let.set()
    bodies = await asyncio.wait_for(asyncio.gather(*reading), 5)

    assert other.status_code == 200
    assert held == MAX_DOCUMENTS_OF_NETWORK, "no more than that are in memory for one network"
    assert set(bodies) == {other.content}
    assert int(other.headers["content-length"]) == len(other.content)


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_client_that_leaves_gives_its_place_back(harness: ServiceHarness) -> None:
    _, document = await a_read_certificate(harness)
    path = document["address"].removeprefix("http://localhost:8000")
    for _ in range(2 * MAX_DOCUMENTS):
        gone = HeldReader(harness, path)
        reading = asyncio.create_task(gone.read())
        await asyncio.wait_for(gone.has_head.wait(), 5)
        reading.cancel()
        await asyncio.wait([reading])
    harness.faults.fail("document", "http-500")
    for _ in range(2 * MAX_DOCUMENTS):
        assert (await fetched(harness, document)).status_code == 503


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_who_asks_for_many_documents_goes_before_nobody_of_another_network(harness: ServiceHarness) -> None:
    _, slow = await a_read_certificate(harness)
    harness.clock.move(CERTIFICATE_SWEEP_SECONDS)
    _, quick = await a_read_certificate(harness)
    path = slow["address"].removeprefix("http://localhost:8000")
    harness.to_register.held.add(slow["uuid"])
    strangers = [asyncio.create_task(HeldReader(harness, path).read()) for _ in range(20)]
    await asyncio.wait_for(harness.to_register.reached.wait(), 5)

    answer = await asyncio.wait_for(fetched(harness, quick), 5)
    for each in strangers:
        each.cancel()
    await asyncio.wait(strangers)

    assert answer.status_code == 200


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_document_that_finds_no_place_in_time_is_told_when_to_come_again(
    harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_response, "WAIT_SECONDS", 0.05)
    _, document = await a_read_certificate(harness)
    harness.app.state.documents = FairQueue(0, 1, document_response.BUSY)

    refused = await fetched(harness, document)

    assert (refused.status_code, refused.json()["error"]) == (503, document_response.BUSY)
    assert refused.headers["retry-after"] == "10"


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_documents_are_counted_with_everything_else_that_reads_the_register(
    start_service: ServiceStarter,
) -> None:
    async with start_service(rate_limits=True) as harness:
        _, document = await a_read_certificate(harness)

        answers = [(await fetched(harness, document)).status_code for _ in range(21)]

    assert answers == [200] * 20 + [429]


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_the_name_of_a_file_cannot_leave_its_header(harness: ServiceHarness) -> None:
    _, document = await a_read_certificate(harness)
    async with harness.database.transaction() as connection:
        hostile = 'a\\"; filename=\\"b.exe\\r\\nX: y Ü.pdf'
        await connection.execute(
            text("UPDATE certificates SET facts = replace(facts, :name, :hostile)"),
            {"name": "Z-25-052.pdf", "hostile": hostile},
        )

    response = await fetched(harness, document)

    assert response.status_code == 200
    assert "x" not in response.headers
    assert response.headers["content-disposition"] == (
        "attachment; filename=\"a_filename_b.exe_X_y.pdf\"; filename*=UTF-8''"
        "a%22%3B%20filename%3D%22b.exe%0D%0AX%3A%20y%20%C3%9C.pdf"
    )
