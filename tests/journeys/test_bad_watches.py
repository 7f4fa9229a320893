"""Watches that nobody should ask for: a clear 400, nothing half-done, never a 500."""

from typing import Any

import httpx2

from tests.journeys.test_bad_input import STRANGE
from tests.support.harness import ERROR_FIELDS, NewAccount, ServiceHarness, auth_headers

NOT_TEXTS = [None, 7, 1.5, True, [], ["A1"], {}, {"subject": "A1"}]
NO_SUBJECTS = ["", " ", "\t\r\n", "\u00a0\u2003", "---", "+", "🩺", "جهاز", "9" * 121, "a b " * 100]
NO_LABELS = ["", "  ", "\n\t", "\u202e", "\x00\x07"]
BODIES = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'"A1"',
    b"\xff\xfe",
    b'{"subject": "\xff", "csv": "\xff"}',
    b'{"subject": "A1\\ud800"}',
    b"[" * 10_000,
]
BINARY = bytes(range(256)).decode("latin-1") * 20


MEANT = {"+E494ZIRKON5F5/$$7": "E494ZIRKON5F5"}
"""Strange texts that are codes, and what they mean."""


async def send_raw(harness: ServiceHarness, path: str, credential: str, body: bytes) -> httpx2.Response:
    """An answer to a body that is sent as it is."""
    headers = {**auth_headers(credential), "Content-Type": "application/json"}
    return await harness.client.post(path, content=body, headers=headers)


async def refused(harness: ServiceHarness, owner: NewAccount, path: str, *bodies: dict[str, Any]) -> None:
    """Each body is a 400 with a sentence, and nothing is stored."""
    before = harness.all_rows()
    for body in bodies:
        response = await harness.post(path, owner.api_key, **body)
        assert response.status_code == 400, (body, response.text)
        assert set(response.json()) == ERROR_FIELDS
        assert response.json()["error"]
    assert harness.all_rows() == before


async def test_what_is_no_subject_is_refused(harness: ServiceHarness, owner: NewAccount) -> None:
    bodies = [{"subject": value} for value in [*NOT_TEXTS, *NO_SUBJECTS]]

    await refused(harness, owner, "/v1/watches", {}, {"udi": "A1"}, *bodies)
    assert harness.register_log.total == 0


async def test_every_strange_subject_is_refused_or_watched_as_it_is_meant_and_never_a_500(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    for text in [*STRANGE.values(), "1\x00", "A1\u202e", "DE-MF-1\ufffe", "../../1", "a\\b1", "%00a1"]:
        response = await harness.post("/v1/watches", owner.api_key, subject=text)
        assert response.status_code in {200, 400}, (text, response.text)
        if response.status_code == 200:
            watch = response.json()["watch"]
            bare = "".join(text.split())
            assert watch["subject"] == MEANT.get(bare, bare)
            assert watch["last_error"] == "The register has no such record."
            removed = await harness.client.delete(f"/v1/watches/{watch['id']}", headers=auth_headers(owner.api_key))
            assert removed.json() == {"ok": True}

    assert await harness.get_list(owner.api_key, "watches") == []


async def test_a_body_that_is_no_object_of_texts_is_refused(harness: ServiceHarness, owner: NewAccount) -> None:
    before = harness.all_rows()

    for path in ("/v1/watches", "/v1/import"):
        for body in BODIES:
            response = await send_raw(harness, path, owner.api_key, body)
            assert response.status_code == (400 if body else 403), (path, body[:40], response.text)
            assert set(response.json()) == ERROR_FIELDS

    assert harness.all_rows() == before


async def test_half_a_sign_in_a_list_is_a_reason_and_adds_nothing(harness: ServiceHarness, owner: NewAccount) -> None:
    response = await send_raw(harness, "/v1/import", owner.api_key, b'{"csv": "A1\\ud800\\nB2"}')

    assert response.status_code in {200, 400}
    assert {each["subject"] for each in await harness.get_list(owner.api_key, "watches")} <= {"B2"}


async def test_what_is_no_name_is_refused(harness: ServiceHarness, owner: NewAccount) -> None:
    watch = (await harness.post("/v1/watches", owner.api_key, subject="A1")).json()["watch"]
    before = harness.all_rows()

    for label in [*NOT_TEXTS, *NO_LABELS]:
        response = await harness.client.patch(
            f"/v1/watches/{watch['id']}", json={"label": label}, headers=auth_headers(owner.api_key)
        )
        assert response.status_code == 400, (label, response.text)
        assert set(response.json()) == ERROR_FIELDS

    assert harness.all_rows() == before


async def test_every_strange_name_is_one_printable_line(harness: ServiceHarness, owner: NewAccount) -> None:
    watch = (await harness.post("/v1/watches", owner.api_key, subject="A1")).json()["watch"]

    for text in STRANGE.values():
        response = await harness.client.patch(
            f"/v1/watches/{watch['id']}", json={"label": text}, headers=auth_headers(owner.api_key)
        )
        assert response.status_code in {200, 400}, (text, response.text)
        if response.status_code == 200:
            label = response.json()["watch"]["label"]
            assert 0 < len(label) <= 80
            assert not set(label) & {chr(code) for code in (*range(32), 0x202E)}


async def test_an_id_that_is_no_number_is_refused(harness: ServiceHarness, owner: NewAccount) -> None:
    for word in ("abc", "1.5", "1e3", "%20", "٣", "1;2", "null"):
        removed, named = await removed_and_named(harness, owner, word)
        assert (removed.status_code, named.status_code) == (400, 400), word
        assert set(removed.json()) == set(named.json()) == ERROR_FIELDS


async def test_an_id_of_no_watch_is_ok_to_remove_and_not_to_name(harness: ServiceHarness, owner: NewAccount) -> None:
    for number in ("0", "-1", "999999", "9223372036854775808", "9" * 40):
        removed, named = await removed_and_named(harness, owner, number)
        assert (removed.status_code, removed.json()) == (200, {"ok": True}), number
        assert named.status_code == 400


async def removed_and_named(
    harness: ServiceHarness, owner: NewAccount, row: str
) -> tuple[httpx2.Response, httpx2.Response]:
    """The answers to removing and to naming a watch with this id."""
    headers = auth_headers(owner.api_key)
    return (
        await harness.client.delete(f"/v1/watches/{row}", headers=headers),
        await harness.client.patch(f"/v1/watches/{row}", json={"label": "Name"}, headers=headers),
    )


async def test_what_is_no_list_is_refused_and_adds_nothing(harness: ServiceHarness, owner: NewAccount) -> None:
    lists = [
        *NOT_TEXTS,
        BINARY,
        "A1\n" + BINARY,
        "A1\nB2\x00\nC3",
        "A1\n" + "9" * 1_000_000,
        "A1\n" * 501,
        "04012345678901\n" * 700_000,
        '"' * 1_000_000,
    ]

    await refused(harness, owner, "/v1/import", {}, *({"csv": csv} for csv in lists))
    assert harness.register_log.total == 0


async def test_a_list_of_nonsense_adds_nothing_and_tells_at_most_five_reasons(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    before = harness.all_rows()
    for csv in ("", "\n\n\n", "udi\n", ";;;\n,,,\n", "---\n" * 400, "🩺\n" * 400):
        response = await harness.post("/v1/import", owner.api_key, csv=csv)
        assert response.status_code == 200, response.text
        answer = response.json()
        assert (answer["added"], answer["skipped"]) == (0, 0)
        assert len(answer["errors"]) == (5 if len(csv) > 100 else 0)

    assert harness.all_rows() == before


async def test_every_strange_line_is_added_or_told_and_never_a_500(harness: ServiceHarness, owner: NewAccount) -> None:
    for text in STRANGE.values():
        response = await harness.post("/v1/import", owner.api_key, csv=text)
        assert response.status_code in {200, 400}, (text, response.text)

    assert (await harness.post("/v1/sync", owner.api_key)).status_code == 200
