"""Importing over REST: what becomes of each line, trying it first, bodies that are the list itself."""

from typing import Any

import httpx2
import pytest

from registerwatch.platform.structs import replace
from tests.register.builders import a_udi
from tests.support.harness import ERROR_FIELDS, NewAccount, ServiceHarness, auth_headers

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

NO_IDENTIFIERS = {
    "n/a": "no digit",
    "Description": "no digit",
    "UDI-DI code": "no digit",
    "4.04519E+12": "shortened",
    "4,04519E+12": "1 digits",
    '="05060123456786"': "formula",
    "04012345678902": "check digit",
    "4012345678902": "check digit",
    "123456": "6 digits",
    "ART-1001": "form of no UDI-DI",
    "A1": "form of no UDI-DI",
    "REF 12/7": "form of no UDI-DI",
    "DE-MF-": "no digit",
}
IDENTIFIERS = {
    "04012345678901": "04012345678901",
    "4012345678901": "04012345678901",
    "(01)04012345678901(17)271231": "04012345678901",
    "de-mf-000006413": "DE-MF-000006413",
    "E4947660611": "E4947660611",
    "+E4947660611": "E4947660611",
    "A9997XYZ100T0479": "A9997XYZ100T0479",
    "=/A9997XYZ100T0479": "A9997XYZ100T0479",
    "110375286414": "110375286414",
    "B-04049154123456": "B-04049154123456",
}


async def imported(harness: ServiceHarness, owner: NewAccount, csv: str, **options: object) -> dict[str, Any]:
    response = await harness.post("/v1/import", owner.api_key, csv=csv, **options)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def test_lines_that_cannot_be_identifiers_are_errors_and_are_not_watched(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    answer = await imported(harness, owner, "\n".join(NO_IDENTIFIERS))

    assert (answer["added"], answer["skipped"], len(answer["errors"])) == (0, 0, 5)
    assert [line["line"] for line in answer["lines"]] == list(range(1, len(NO_IDENTIFIERS) + 1))
    for line, why in zip(answer["lines"], NO_IDENTIFIERS.values(), strict=True):
        assert (line["fate"], why in line["error"]) == ("error", True), line
    assert answer["errors"][0] == f"Line 1: {answer['lines'][0]['error']}"
    assert await harness.get_list(owner.api_key, "watches") == []


@pytest.mark.parametrize(("written", "watched"), IDENTIFIERS.items())
async def test_identifiers_of_every_issuing_agency_are_watched_as_the_register_writes_them(
    harness: ServiceHarness, owner: NewAccount, written: str, watched: str
) -> None:
    answer = await imported(harness, owner, written)

    assert [(line["subject"], line["fate"]) for line in answer["lines"]] == [(watched, "added")]
    assert [watch["subject"] for watch in await harness.get_list(owner.api_key, "watches")] == [watched]


async def test_what_the_copy_has_is_an_identifier_whatever_its_form(harness: ServiceHarness, owner: NewAccount) -> None:
    [device] = harness.unique_devices(1)
    harness.world.register(replace(device, uuid="u-odd", primary_di="ODD"))
    assert (await harness.get("/v1/refresh", q="ODD")).json()["refreshed"]

    assert (await imported(harness, owner, "ODD"))["added"] == 1


async def test_a_dry_run_tells_each_lines_fate_and_adds_nothing(harness: ServiceHarness, owner: NewAccount) -> None:
    await harness.post_watches(owner.api_key, a_udi(0))
    csv = "\n".join(["udi", a_udi(0), "n/a", *(a_udi(number) for number in range(1, 27))])

    tried = await imported(harness, owner, csv, dry_run=True)

    assert len(await harness.get_list(owner.api_key, "watches")) == 1
    fates = [line["fate"] for line in tried["lines"]]
    assert fates == ["skipped", "error", *["added"] * 24, *["left"] * 2]
    assert (tried["dry_run"], tried["added"], tried["skipped"]) == (True, 24, 1)
    done = await imported(harness, owner, csv)
    assert done == {**tried, "dry_run": False}
    assert len(await harness.get_list(owner.api_key, "watches")) == 25


async def send_csv(
    harness: ServiceHarness, owner: NewAccount, body: bytes, kind: str = "text/csv", query: str = ""
) -> httpx2.Response:
    headers = {**auth_headers(owner.api_key), "Content-Type": kind}
    return await harness.client.post(f"/v1/import{query}", content=body, headers=headers)


async def test_the_list_itself_can_be_the_body(harness: ServiceHarness, owner: NewAccount) -> None:
    body = f"udi,name\r\n{a_udi(1)},Prüfgerät\r\n".encode()

    tried = await send_csv(harness, owner, body, query="?dry_run=true")
    assert (tried.status_code, tried.json()["added"], tried.json()["dry_run"]) == (200, 1, True)
    assert await harness.get_list(owner.api_key, "watches") == []

    for number, (kind, content) in enumerate(
        [
            ("text/csv", body),
            ("text/csv; charset=utf-8; header=present", b"\xef\xbb\xbf" + body.replace(b"Pr", b"Q")),
            ("text/csv; charset=windows-1252", body.decode().encode("cp1252")),
        ]
    ):
        answer = await send_csv(harness, owner, content, kind)
        assert (answer.status_code, answer.json()["added"]) == (200, 0 if number else 1), kind
    assert len(await harness.get_list(owner.api_key, "watches")) == 1


@pytest.mark.parametrize(
    ("kind", "body", "query"),
    [
        ("text/csv", b"Pr\xfcfger\xe4t", ""),
        ("text/csv; charset=none-such", b"A", ""),
        ("text/csv", b"A", "?dry_run=perhaps"),
        ("text/plain", b"A", ""),
    ],
)
async def test_a_body_that_is_no_readable_list_is_refused_in_a_sentence(
    harness: ServiceHarness, owner: NewAccount, kind: str, body: bytes, query: str
) -> None:
    answer = await send_csv(harness, owner, body, kind, query)

    assert (answer.status_code, set(answer.json())) == (400, ERROR_FIELDS)


async def test_a_list_as_the_body_needs_an_active_account(harness: ServiceHarness, owner: NewAccount) -> None:
    await harness.service.accounts.admin.set_period(owner.email, None, harness.now)

    refused = await send_csv(harness, owner, b"x")
    anonymous = await harness.client.post("/v1/import", content=b"x", headers={"Content-Type": "text/csv"})

    assert (refused.status_code, anonymous.status_code) == (402, 401)
