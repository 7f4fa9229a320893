"""Certificates of manufacturers over REST: what is listed, what it proves, and what an empty answer means."""

import json
from typing import Any

import pytest
from sqlalchemy import update

from registerwatch.copy.tables import record_history
from registerwatch.platform.clock import iso_utc
from tests.mcp.messages import used
from tests.pages.markup import Markup
from tests.register.certificate_rows import (
    BODY,
    BODY_NAME,
    SEEN_AT,
    SRN,
    STATUS,
    a_certificate,
    a_refusal,
    certificate_id,
    note_history,
    note_walk,
    scopes,
    store_certificates,
)
from tests.support.harness import ServiceHarness, ServiceStarter

OTHER_SRN = "FR-MF-000000007"
OF_MANUFACTURER = "A certificate of the manufacturer; its scope names no device."


async def listed(harness: ServiceHarness, **params: str | int) -> list[str]:
    """Numbers of the certificates that are listed."""
    response = await harness.get("/v1/certificates", **params)
    assert response.status_code == 200, response.text
    return [each["number"] for each in response.json()["certificates"]]


async def ask(harness: ServiceHarness, path: str, **params: str | int) -> dict[str, Any]:
    """An answer with status 200."""
    response = await harness.get(path, **params)
    assert response.status_code == 200, response.text
    return dict(response.json())


async def test_certificates_are_found_by_each_of_their_properties_and_by_several(harness: ServiceHarness) -> None:
    await note_walk(harness.database)
    await store_certificates(
        harness.database,
        a_certificate(1, number="G10 012345 0012 Rev. 01"),
        a_certificate(2, status="suspended", notified_body="2797", expiry="2027-02-01"),
        a_certificate(3, status="withdrawn", expiry=None),
        a_certificate(4, status="brand-new-code", srn=OTHER_SRN, expiry="2026-12-31"),
    )

    assert await listed(harness, number="g10 0123450012REV.01") == ["G10 012345 0012 Rev. 01"]
    assert await listed(harness, number="G10") == []
    assert await listed(harness, srn=SRN.lower()) == ["Z-25-003", "Z-25-002", "G10 012345 0012 Rev. 01"]
    assert await listed(harness, notified_body="2797") == ["Z-25-002"]
    assert await listed(harness, status="suspended,withdrawn") == ["Z-25-003", "Z-25-002"]
    assert await listed(harness, status=f"{STATUS}brand-new-code") == ["Z-25-004"]
    assert await listed(harness, expires_before="2027-02-02") == ["Z-25-004", "Z-25-002"]
    assert await listed(harness, expires_before="2027-02-01") == ["Z-25-004"]
    assert await listed(harness, expires_before="2099-01-01", srn=SRN, status="suspended") == ["Z-25-002"]


async def test_undated_certificates_are_listed_and_counted_where_a_date_is_asked_for(harness: ServiceHarness) -> None:
    await note_walk(harness.database)
    await store_certificates(harness.database, a_certificate(1), a_certificate(2, expiry=None))

    everything = await ask(harness, "/v1/certificates", srn=SRN)
    ending = await ask(harness, "/v1/certificates", srn=SRN, expires_before="2031-01-01")

    assert [each["expiry"] for each in everything["certificates"]] == [None, "2030-09-16"]
    assert (everything["total"], everything["undated"]) == (2, 1)
    assert [each["number"] for each in ending["certificates"]] == ["Z-25-001"]
    assert (ending["total"], ending["undated"]) == (1, 1)


async def test_pages_lead_to_every_certificate_once(harness: ServiceHarness) -> None:
    await note_walk(harness.database)
    await store_certificates(harness.database, *(a_certificate(number) for number in range(1, 8)))

    found: list[str] = []
    after = ""
    while True:
        answer = await ask(harness, "/v1/certificates", srn=SRN, limit=3, after=after)
        found += [each["id"] for each in answer["certificates"]]
        assert answer["total"] == 7
        if answer["after"] is None:
            break
        after = answer["after"]

    assert found == [certificate_id(number) for number in range(7, 0, -1)]


async def test_what_there_cannot_be_is_refused_with_what_there_is(harness: ServiceHarness) -> None:
    cases = {
        "": "at least one of number, srn",
        "srn=DE": "CC-XX-digits",
        "notified_body=TÜV": "four digits",
        "status=valid": "known are issued, supplemented",
        "expires_before=soon": "such as 2027-01-31",
        "number=%20": "at least one of",
        f"number={'9' * 121}": "120",
        "number=Z-1%00": "NUL",
        "srn=DE-MF-000006413&limit=0": "limit",
        "srn=DE-MF-000006413&limit=101": "limit",
        "srn=DE-MF-000006413&after=%27;DROP": "`after`",
        "state=issued": "no parameter `state`",
    }
    for query, message in cases.items():
        response = await harness.client.get(f"/v1/certificates?{query}")
        assert (response.status_code, message in response.json()["error"]) == (400, True), response.text
    assert (await harness.get("/v1/actors/04012345678901/certificates")).status_code == 400
    assert (await harness.get("/v1/certificates/a b")).status_code == 400
    assert (await harness.get(f"/v1/certificates/{'0' * 65}")).status_code == 400


async def test_a_certificate_says_what_it_is_of_and_what_it_proves(harness: ServiceHarness) -> None:
    await note_walk(harness.database)
    await store_certificates(harness.database, a_certificate(1, **scopes()), bodies={BODY: BODY_NAME})

    by_uuid = await ask(harness, f"/v1/certificates/{a_certificate(1)['uuid'].upper()}")
    by_ulid = await ask(harness, f"/v1/certificates/{certificate_id(1).lower()}")

    assert by_uuid == by_ulid
    assert by_uuid["found"] is True
    assert (by_uuid["type"], by_uuid["status"]) == ("MDR quality management system", "Issued")
    assert (by_uuid["notified_body"], by_uuid["notified_body_name"]) == (BODY, BODY_NAME)
    assert (by_uuid["names_devices"], by_uuid["basic_udis"]) == (False, [])
    assert by_uuid["scopes"][0]["description"] == "Software"
    assert by_uuid["proves"] == OF_MANUFACTURER
    assert (by_uuid["state"], by_uuid["as_of"], by_uuid["error"]) == ("complete", iso_utc(SEEN_AT), None)


async def test_changes_that_are_left_out_or_were_deleted_are_no_complete_history(harness: ServiceHarness) -> None:
    await note_walk(harness.database)
    await store_certificates(harness.database, a_certificate(1), a_certificate(2))
    for number in range(51):
        await note_history(harness.database, 1, SEEN_AT + number, revision=str(number))
    await note_history(harness.database, 2, SEEN_AT, revision="1")
    address = f"/v1/certificates/{certificate_id(2)}"

    many, one = await ask(harness, f"/v1/certificates/{certificate_id(1)}"), await ask(harness, address)
    async with harness.database.transaction() as connection:
        of_one = record_history.c.subject == certificate_id(2)
        await connection.execute(update(record_history).where(of_one).values(dropped_at=SEEN_AT - 1))
    pruned = await ask(harness, address)

    assert (len(many["history"]), many["history_complete"]) == (50, False)
    assert (len(one["history"]), one["history_complete"]) == (1, True)
    assert (len(pruned["history"]), pruned["history_complete"]) == (1, False)


async def test_a_scope_that_names_devices_and_one_that_nobody_read_are_two_things(harness: ServiceHarness) -> None:
    await note_walk(harness.database)
    naming = scopes("++E494ZIRKON5F5", "++E494B", risk_class_code="refdata.risk-class.class-iia")
    await store_certificates(harness.database, a_certificate(1, **naming), a_certificate(2))

    named = await ask(harness, f"/v1/certificates/{certificate_id(1)}")
    unread = await ask(harness, f"/v1/certificates/{certificate_id(2)}")

    assert (named["names_devices"], named["basic_udis"]) == (True, ["++E494B", "++E494ZIRKON5F5"])
    assert named["scopes"][0]["risk_class"] == "Class IIa"
    assert "names 2 Basic UDI-DIs, and no other device" in named["proves"]
    assert (unread["names_devices"], unread["scopes"], unread["scopes_read_at"]) == (None, None, None)
    assert "was not read yet" in unread["proves"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"status": "suspended"}, "It proves nothing today: the register calls it suspended."),
        ({"status": "cancelled", "expiry": None}, "the register calls it cancelled."),
        ({"status": "restricted"}, "The register calls it restricted."),
        ({"expiry": "2027-01-14"}, "Its date of expiry has passed."),
        ({"expiry": "2027-01-15"}, ""),
        ({"valid_from": "2027-06-01"}, "It proves nothing today: it is not valid before 1 Jun 2027."),
        ({"valid_from": "2027-01-15"}, ""),
        ({"expiry": "soon"}, ""),
        ({"unlisted_at": SEEN_AT}, "The register no longer lists it."),
        ({"status": "something-else"}, ""),
        ({"status": ""}, ""),
    ],
)
@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_what_proves_nothing_today_says_why(harness: ServiceHarness, fields: dict[str, Any], words: str) -> None:
    await store_certificates(harness.database, a_certificate(1, **scopes(), **fields))

    told = (await ask(harness, f"/v1/certificates/{certificate_id(1)}"))["proves"]

    assert told == f"{OF_MANUFACTURER} {words}".strip() if words.startswith(("It", "The")) else words in told
    page = Markup.of(await harness.client.get(f"/c/{certificate_id(1)}"))
    assert told in page.main
    assert ("Not valid yet" in page.main) == ("not valid before" in told)


async def test_every_status_has_words_and_unknown_ones_are_made_readable(harness: ServiceHarness) -> None:
    statuses = ("issued", "reissued", "withdrawn", "temporarily-held", "")
    rows = [a_certificate(number, status=each) for number, each in enumerate(statuses)]
    await store_certificates(harness.database, *rows)

    answer = await ask(harness, "/v1/certificates", srn=SRN)

    told = {each["status_code"].removeprefix(STATUS): each["status"] for each in answer["certificates"]}
    assert told == {
        "issued": "Issued",
        "reissued": "Reissued",
        "withdrawn": "Withdrawn",
        "temporarily-held": "Temporarily held",
        "": "",
    }


async def test_a_manufacturer_has_its_certificates_and_refused_applications(harness: ServiceHarness) -> None:
    await note_walk(harness.database)
    await store_certificates(
        harness.database,
        a_certificate(1),
        a_certificate(2, srn=OTHER_SRN),
        refused=(a_refusal(1), a_refusal(2, srn=OTHER_SRN)),
        bodies={BODY: BODY_NAME},
    )

    answer = await ask(harness, f"/v1/actors/{SRN.lower()}/certificates")

    assert answer["srn"] == SRN
    assert [each["number"] for each in answer["certificates"]] == ["Z-25-001"]
    [refused] = answer["refusals"]["items"]
    assert (refused["reference"], refused["refused_on"]) == ("APP-001", "2026-05-04")
    assert (refused["notified_body_name"], refused["procedure"]) == (BODY_NAME, "Annex ix chapter i")
    assert (answer["refusals"]["state"], answer["refusals"]["more"]) == ("complete", False)


@pytest.mark.parametrize(
    ("walk", "state", "as_of", "words"),
    [
        (None, "unread", None, "has not been read yet"),
        ({"complete_at": None}, "unread", None, "has not been read yet"),
        ({"complete_at": None, "problem": "It has a fault."}, "failed", None, "could not be read. It has a fault."),
        ({"problem": "It has a fault."}, "outdated", iso_utc(SEEN_AT), "could not be read again. It has a fault."),
        ({}, "complete", iso_utc(SEEN_AT), None),
    ],
)
async def test_nothing_found_not_looked_yet_and_could_not_look_are_three_answers(
    harness: ServiceHarness, walk: dict[str, Any] | None, state: str, as_of: str | None, words: str | None
) -> None:
    if walk is not None:
        await note_walk(harness.database, **walk)
    await store_certificates(harness.database)

    missing = await harness.get("/v1/certificates/00000000-0000-0000-0000-000000000000")
    lists = [
        await ask(harness, "/v1/certificates", number="Z-1"),
        await ask(harness, f"/v1/actors/{SRN}/certificates"),
        (await ask(harness, f"/v1/actors/{SRN}/certificates"))["refusals"],
    ]

    assert (missing.status_code, missing.json()["found"]) == (404, False)
    for each in (missing.json(), *lists):
        assert (each["state"], each["as_of"]) == (state, as_of)
        assert each["error"] is None or (words or "with this id on 15 Jan 2027") in each["error"]
    assert all((each["error"] is None) is (words is None) for each in lists)
    if state == "outdated":
        assert "had no certificate with this id on" in missing.json()["error"]


async def test_an_answer_is_kept_only_where_the_list_was_read_whole(harness: ServiceHarness) -> None:
    await store_certificates(harness.database, a_certificate(1))
    paths = (f"/v1/actors/{SRN}/certificates", f"/v1/certificates?srn={SRN}", f"/v1/certificates/{certificate_id(1)}")

    before = [(await harness.client.get(path)).headers["cache-control"] for path in paths]
    await note_walk(harness.database)
    after = [await harness.client.get(path) for path in paths]
    again = [
        await harness.client.get(path, headers={"If-None-Match": each.headers["etag"]})
        for path, each in zip(paths, after, strict=True)
    ]

    assert before == ["no-cache"] * 3
    assert [each.headers["cache-control"] for each in after] == [
        "public, max-age=60",
        "public, max-age=30",
        "public, max-age=60",
    ]
    assert [each.status_code for each in again] == [304] * 3
    assert all(each.headers["access-control-allow-origin"] == "*" for each in after)


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_reads_of_certificates_are_limited_by_address(start_service: ServiceStarter) -> None:
    async with start_service(rate_limits=True) as harness:
        answers = [await harness.get("/v1/certificates", number="Z-1") for _ in range(61)]

    assert [each.status_code for each in answers[-2:]] == [200, 429]
    assert answers[0].headers["ratelimit-limit"] == "60"


async def test_hostile_texts_stay_texts(harness: ServiceHarness) -> None:
    hostile = "<script>alert(1)</script>\u202e'; DROP TABLE certificates; --"
    await store_certificates(harness.database, a_certificate(1, number=hostile, actor_name=hostile, expiry=hostile))

    answer = await ask(harness, "/v1/certificates", number=hostile)

    assert [each["number"] for each in answer["certificates"]] == [hostile]
    assert json.dumps(answer).count("DROP TABLE") == 3


async def test_an_actor_has_its_newest_certificates_beside_its_devices(harness: ServiceHarness) -> None:
    await harness.store_actor(srn=SRN, name="AIRAmed GmbH")
    unread = (await ask(harness, f"/v1/actors/{SRN}"))["certificates"]
    await note_walk(harness.database)
    nothing = (await ask(harness, f"/v1/actors/{SRN}"))["certificates"]
    await store_certificates(harness.database, *(a_certificate(number, **scopes()) for number in range(1, 24)))

    told = (await ask(harness, f"/v1/actors/{SRN}"))["certificates"]
    tool = (await used(harness, "get_actor", srn=SRN)).payload

    assert (unread["state"], unread["total"], unread["newest"]) == ("unread", 0, [])
    assert (nothing["state"], nothing["as_of"], nothing["error"]) == ("complete", iso_utc(SEEN_AT), None)
    assert told["total"] == 23
    assert [each["id"] for each in told["newest"]] == [certificate_id(number) for number in range(23, 3, -1)]
    assert all(each["names_devices"] is False for each in told["newest"])
    assert tool["certificates"] == told


async def test_a_search_by_number_tells_certificates_beside_what_it_always_told(harness: ServiceHarness) -> None:
    await harness.fill_copy()
    plain = (await harness.get("/v1/search", q="Z-25-001")).json()
    await store_certificates(
        harness.database, a_certificate(1), a_certificate(2, number="z-25 - 001"), a_certificate(3)
    )

    found = (await harness.get("/v1/search", q="z-25-001 ")).json()
    tool = (await used(harness, "search_devices", q="z-25-001 ")).payload

    assert "certificates" not in plain
    assert [each["number"] for each in found.pop("certificates")] == ["z-25 - 001", "Z-25-001"]
    assert found == plain
    assert [each["number"] for each in tool["certificates"]] == ["z-25 - 001", "Z-25-001"]
    for query in ("Z", "set", SRN):
        assert "certificates" not in (await harness.get("/v1/search", q=query)).json()
