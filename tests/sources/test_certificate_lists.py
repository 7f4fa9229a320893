"""Reading the register's lists: what becomes of their rows, and of answers that cannot be true."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from registerwatch.ingest.list_walk import CHANGED, MISSED, walk
from registerwatch.register.certificates import (
    MAX_NAMED,
    NotifiedBody,
    Refusal,
    RegisteredCertificate,
    Scope,
    named_devices,
)
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.eudamed.certificate_lists import EudamedCertificateLists
from tests.register.canned import CannedRegister, a_page, in_turn, ok
from tests.sources.conftest import Sender
from tests.support.fakes import SteppedClock

BASE = "http://register.test/eudamed"
ROW = {
    "ulid": "01KTRNZDXJ464K52YBH502R56Q",
    "uuid": "u-1",
    "notifiedBodySrn": "0633",
    "actorSrn": "DE-MF-000006413",
    "actorName": "Acme",
    "certificateNumber": "Z-1",
    "certificateType": {"code": "refdata.certificate-mdr-type.quality-management-system"},
    "issueDate": "2025-09-17T00:00:00",
    "expiryDate": None,
    "startingValidityDate": "2025-09-18T00:00:00",
    "certificateStatus": {"code": "refdata.certificate-status.issued"},
    "versionNumber": 3,
    "latestVersion": True,
    "revisionNumber": 2,
}
ListsOf = Callable[[CannedRegister], EudamedCertificateLists]


@pytest.fixture
def lists(sender: Sender) -> ListsOf:
    return lambda register: EudamedCertificateLists(sender(register), BASE)


def a_row(number: int, **differs: Any) -> dict[str, Any]:
    return {**ROW, "ulid": f"ulid-{number}", "uuid": f"u-{number}", **differs}


async def test_a_row_of_the_certificate_search_is_taken_with_every_field(lists: ListsOf) -> None:
    register = in_turn(ok(a_page(ROW)))

    page = await lists(register).certificates(0)

    assert page.rows == [
        RegisteredCertificate(
            id="01KTRNZDXJ464K52YBH502R56Q",
            uuid="u-1",
            srn="DE-MF-000006413",
            actor_name="Acme",
            notified_body="0633",
            number="Z-1",
            revision="2",
            type_code="refdata.certificate-mdr-type.quality-management-system",
            status_code="refdata.certificate-status.issued",
            issue_date="2025-09-17",
            valid_from="2025-09-18",
            version=3,
        )
    ]
    assert (page.total, page.is_last) == (1, True)
    [request] = register.asked
    assert (request.url.params["page"], request.url.params["size"], request.url.params["pageSize"]) == (
        "0",
        "300",
        "300",
    )


async def test_the_real_reply_is_read(lists: ListsOf, captures: Path) -> None:
    reply = json.loads((captures / "certificate_search_page.json").read_bytes())

    page = await lists(in_turn(ok(reply))).certificates(0)

    assert [(each.number, each.expiry) for each in page.rows] == [("Z-25-052-S-IX-E", "2030-09-16")]
    assert (page.total, page.is_last) == (4538, False)


async def test_rows_that_cannot_be_read_are_left_out_and_counted_once(lists: ListsOf) -> None:
    broken = [a_row(7, uuid=None), a_row(8, certificateNumber=" "), a_row(9, certificateNumber=5), "nothing"]
    rows = [a_row(number) for number in range(6)]

    page = await lists(in_turn(ok(a_page(*rows, *broken, broken[0])))).certificates(0)

    assert len(page.rows) == 6
    assert (page.named, len(page.unreadable)) == ({"u-8": "ulid-8", "u-9": "ulid-9"}, 2), "two tell whose rows they are"
    with pytest.raises(RegisterFailure, match="unexpected form"):
        await lists(in_turn(ok(a_page(rows[0], *broken)))).certificates(0)


async def test_hostile_values_are_bounded_and_keys_are_checked(lists: ListsOf) -> None:
    hostile = a_row(1, actorName="A\x00" * 5_000, actorSrn="x" * 10_000, ulid="../../1")

    [row] = (await lists(in_turn(ok(a_page(hostile, a_row(2))))).certificates(0)).rows[:1]

    assert (row.id, len(row.actor_name), row.srn) == ("u-1", 500, "")
    page = await lists(in_turn(ok(a_page(a_row(1, uuid="../actors"), a_row(2))))).certificates(0)
    assert [each.uuid for each in page.rows] == ["u-2"]


async def test_rows_with_a_number_that_no_index_can_hold_count_as_unreadable(lists: ListsOf) -> None:
    fits = a_row(1, certificateNumber="Z" * 200, notifiedBodySrn="0" * 20, revisionNumber="R" * 100)
    too_long = [
        a_row(number, **{name: "x" * length})
        for number, (name, length) in enumerate(
            (("certificateNumber", 201), ("notifiedBodySrn", 21), ("revisionNumber", 101)), start=2
        )
    ]

    page = await lists(in_turn(ok(a_page(fits, a_row(5), a_row(6), *too_long)))).certificates(0)

    assert [each.uuid for each in page.rows] == ["u-1", "u-5", "u-6"]
    assert len(page.named) == 3
    refused = {"uuid": "r-1", "applicationReferenceNumber": "A", "notifiedBodySrn": "0123"}
    longer = {**refused, "uuid": "r-2", "applicationReferenceNumber": "A" * 201}
    refusals = await lists(in_turn(ok(a_page(refused, longer)))).refusals(0)
    assert ([each.id for each in refusals.rows], refusals.named) == (["r-1"], {"r-2": "r-2"})


@pytest.mark.parametrize(
    "answer",
    [
        a_page(total=4_000, last=False),
        a_page(ROW, total=3_200_000, last=False),
        a_page(ROW, a_row(2), total=1),
        {"content": None, "totalElements": 1},
        [],
    ],
)
async def test_an_answer_that_cannot_be_true_is_a_failure(lists: ListsOf, answer: Any) -> None:
    with pytest.raises(RegisterFailure):
        await lists(in_turn(ok(answer))).certificates(0)


async def test_refusals_and_bodies_are_read(lists: ListsOf) -> None:
    refused = {
        "uuid": "r-1",
        "applicationReferenceNumber": "APP-1",
        "conformityAssessmentProcedure": {"code": "refdata.x.annex-x"},
        "certificateRefusalDate": "2026-01-02T00:00:00",
        "actorSrn": "DE-MF-1",
    }
    bodies = [
        {"name": "TÜV", "eudamedIdentifier": "0123"},
        {"name": {"texts": [{"text": "BSI"}]}, "eudamedIdentifier": "2797"},
        {"name": "None"},
    ]

    [refusal] = (await lists(in_turn(ok(a_page(refused)))).refusals(0)).rows
    found = await lists(in_turn(ok(bodies))).notified_bodies()

    assert refusal == Refusal(
        id="r-1", srn="DE-MF-1", reference="APP-1", procedure_code="refdata.x.annex-x", refused_on="2026-01-02"
    )
    assert found == [NotifiedBody("0123", "TÜV"), NotifiedBody("2797", "BSI")]


async def test_scopes_are_read_in_whatever_form_they_name_devices(lists: ListsOf) -> None:
    scopes = [
        {"basicUdiData": {"basicUdi": {"code": "B-1"}}, "riskClass": {"code": "refdata.risk-class.class-iia"}},
        {"basicUdiData": {"code": "B-2"}, "deviceTypeCodes": [{"code": "refdata.device-type.sterile"}, "plain", 7]},
        {"basicUdiData": "B-3", "description": {"texts": [{"text": "Clamps"}]}},
        {"basicUdiData": 7, "description": "x" * 10_000},
        {"basicUdiData": None, "riskClass": None},
    ]

    found = (await lists(in_turn(ok({"uuid": "u-1", "scopes": scopes}))).record("u-1")).scopes

    assert found == [
        Scope("B-1", "refdata.risk-class.class-iia"),
        Scope("B-2", device_type_codes=("refdata.device-type.sterile", "plain")),
        Scope("B-3", description="Clamps"),
        Scope(description="x" * 2_000),
    ]
    assert (await lists(in_turn(ok({"uuid": "u-1", "scopes": None}))).record("u-1")).scopes == []


async def test_every_device_that_many_scopes_name_is_kept_up_to_a_bound_that_is_told(lists: ListsOf) -> None:
    scopes = [{"basicUdiData": f"B-{number}", "description": "Clamps"} for number in range(MAX_NAMED + 10)]

    some = (await lists(in_turn(ok({"uuid": "u-1", "scopes": [*scopes[:700], *scopes[:700]]}))).record("u-1")).scopes
    most = (await lists(in_turn(ok({"uuid": "u-1", "scopes": scopes}))).record("u-1")).scopes

    assert named_devices(some) == [f"B-{number}" for number in range(700)]
    assert (some[499], some[500]) == (Scope("B-499", description="Clamps"), Scope("B-500"))
    assert (len(most), len(named_devices(most))) == (MAX_NAMED, MAX_NAMED)


@pytest.mark.parametrize("record", [{"uuid": "u-2", "scopes": []}, {"uuid": None, "scopes": None}, {"uuid": "u-1"}])
async def test_another_certificate_and_one_without_scopes_are_no_answer(lists: ListsOf, record: Any) -> None:
    with pytest.raises(RegisterFailure):
        await lists(in_turn(ok(record))).record("u-1")
    with pytest.raises(RegisterFailure):
        await lists(in_turn(httpx2.Response(302))).record("u-1")


async def test_a_walk_is_complete_where_as_many_different_rows_came_as_the_register_counts(
    lists: ListsOf, clock: SteppedClock
) -> None:
    first, second = a_page(a_row(1), a_row(2), total=3, last=False), a_page(a_row(3), total=3)

    whole = await walk(lists(in_turn(ok(first), ok(second))).certificates, clock)
    shifted = await walk(lists(in_turn(ok(first), ok(a_page(a_row(2), total=3)))).certificates, clock)
    grown = await walk(lists(in_turn(ok(first), ok(a_page(a_row(3), total=4)))).certificates, clock)
    broken = await walk(lists(in_turn(ok(first), ok({"content": 7}))).certificates, clock)
    unreadable = await walk(lists(in_turn(ok(a_page(a_row(1), a_row(2, uuid=None))))).certificates, clock)

    assert (whole.is_complete, whole.proves_absence, whole.listed) == (True, True, 3)
    assert (shifted.problem, shifted.listed) == (MISSED, 2)
    assert (grown.problem, grown.listed) == (CHANGED, 3)
    assert (broken.is_complete, broken.listed) == (False, 2)
    assert (unreadable.is_complete, unreadable.proves_absence) == (True, False)


async def test_a_list_without_an_end_is_not_read_for_ever(lists: ListsOf, clock: SteppedClock) -> None:
    register = in_turn(ok(a_page(a_row(1), a_row(2), total=4, last=False)))

    walked = await walk(lists(register).certificates, clock)

    assert (walked.problem, len(register.asked)) == (MISSED, 5)
