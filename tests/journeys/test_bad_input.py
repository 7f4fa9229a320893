"""Input that nobody should send: always a clear 400 or an empty result, never a 500, never another's record."""

import json
from collections.abc import AsyncIterator
from urllib.parse import quote

import httpx2
import pytest

from registerwatch.accounts.passwords.unproven_passwords import UNPROVEN_SECONDS
from registerwatch.web.limits.body_limits import MAX_BODY_BYTES
from tests.support.harness import (
    EMAIL,
    ERROR_FIELDS,
    PASSWORD,
    NewAccount,
    ServiceHarness,
    ServiceStarter,
    auth_headers,
)

STRANGE = {
    "10,000 characters": "9" * 10_000,
    "10,000 letters": "a" * 10_000,
    "NUL": "\x00",
    "control characters": "0401\x01\x02\x1b[31m",
    "emoji": "🩺🦷💉",
    "right-to-left": "جهاز طبي",
    "right-to-left override": "\u202e04012345678901",
    "combining": "Qzqz͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍",
    "SQL quote": "' OR 1=1 --",
    "SQL drop": "x'; DROP TABLE devices; --",
    "SQL wildcard": "%_%",
    "query syntax": 'names:* AND (title:"x" OR -y)^2~3 [a TO b}',
    "brackets": "((((((((((",
    "regular expression": "^.*$|(qzqz+)+$",
    "HIBCC with plus": "+E494ZIRKON5F5/$$7",
    "Basic UDI-DI": "++E494ZIRKON5F5",
    "slashes": "a/b/../../c",
    "backslash": "..\\..\\etc\\passwd",
    "template": "{{qz77*qz77}}${qz77*qz77}",
    "script": "<script>alert(1)</script>",
    "white space": " \t\u00a0\u2003 ",
    "surrogate-like": "\ufffe\uffff",
    "number in other digits": "٠٤٠١٢٣٤٥٦٧٨٩٠١",
    "float": "1e309",
}

ADDRESSES = {
    "Unicode": "jürgen.müller@acme.example",
    "Chinese": "用户@例子.example",
    "IDN": "owner@bücher.example",
    "plus": "owner+sales@acme.example",
    "apostrophe": "o'brien@acme.example",
    "signs": "!#$%&'*+-/=?^_`{|}~@acme.example",
    "capitals": "OWNER.Two@ACME.Example",
    "Turkish capital": "İpek@acme.example",
    "long s": "ſven@acme.example",
    "space around": "\t owner3@acme.example \n",
}
NO_ADDRESSES = {
    **STRANGE,
    "10,000 characters before @": "a" * 10_000 + "@acme.example",
    "10,000 characters after @": "owner@" + "a" * 10_000 + ".example",
    "10,000 dots": "owner@" + "a." * 10_000 + "example",
    "header after it": "owner@acme.example\r\nBcc: everybody@acme.example",
    "header before @": "owner\r\nBcc: everybody@acme.example",
    "line break": "owner@acme.example\n.",
    "line separator": "owner\u2028@acme.example",
    "NUL in it": "ow\x00ner@acme.example",
    "surrogate": "owner\ud800@acme.example",
    "surrogates as a pair the wrong way round": "owner\udc00\ud800@acme.example",
    "space in it": "ow ner@acme.example",
    "two": "owner@acme.example,other@acme.example",
    "with a name": "Owner <owner@acme.example>",
    "quoted": '"owner two"@acme.example',
    "IP address": "owner@[127.0.0.1]",
    "no dot": "owner@localhost",
    "two @": "owner@acme@acme.example",
    "wide @": "owner＠acme.example",
    "zero width": "own\u200ber@acme.example",
    "turned": "owner\u202e@acme.example",
    "dots": "..owner..@acme.example",
    "encoded": "owner%0d%0a@acme.example%00",
    "a megabyte": "a" * 1_000_000,
}
PASSWORDS = {
    "8 characters": "8 chars.",
    "8 emoji": "🩺" * 8,
    "1,000 characters": "x" * 1_000,
    "1,000 that grow to 18,000": "\ufdfa" * 1_000,
    "NUL": "pass\x00word",
    "NUL alone": "\x00" * 8,
    "controls": "\x01\x1b[31m\r\n\x7f\x80",
    "spaces": " " * 8,
    "combining": "p\u0301" * 8,
    "right-to-left": "كلمة السر",
    "SQL": "' OR '1'='1' --",
    "a hash": "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$aGFzaA",
    "braces": "{{7*7}}${7*7}%s%n",
    "surrogate": "password\ud800",
    "surrogates alone": "\udfff" * 8,
}
NO_PASSWORDS = {
    "7 characters": "7 chars",
    "7 that grow": "\ufdfa" * 7,
    "1,025 characters": "x" * 1_025,
    "a megabyte": "x" * 1_000_000,
}
NO_TEXTS: tuple[object, ...] = (0, -1, 2**64, 1e308, float("inf"), float("nan"), True, [], {}, ["x"] * 8, {"x": "y"})
BODIES: dict[str, dict[str, object]] = {
    "/v1/trial": {"name": "Acme", "email": "new@acme.example", "password": PASSWORD},
    "/v1/login": {"email": EMAIL, "password": PASSWORD},
    "/v1/password/forgot": {"email": EMAIL},
    "/v1/password/reset": {"token": "nobody's", "password": PASSWORD},
    "/v1/password": {"password": PASSWORD},
    "/v1/account/delete": {"password": PASSWORD},
    "/v1/users": {"email": "new@acme.example", "password": PASSWORD},
    "/v1/keys": {"label": "ERP"},
}


@pytest.fixture
async def harness(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    async with start_service(background=True) as harness:
        await harness.fill_copy()
        yield harness


async def test_a_strange_query_finds_nothing_or_is_refused(harness: ServiceHarness) -> None:
    for what, text in STRANGE.items():
        response = await harness.get("/v1/search", q=text)

        assert response.status_code in {200, 400}, (what, response.text)
        if response.status_code == 400:
            assert response.json()["error"]
        else:
            assert response.json()["total"] == 0
            assert response.json()["results"] == []


async def test_a_strange_identifier_is_nobodys_device(harness: ServiceHarness) -> None:
    for what, text in STRANGE.items():
        response = await harness.client.get(f"/v1/devices/{quote(text, safe='')}")

        assert response.status_code in {400, 404}, (what, response.text)
        assert response.json()["error"]


async def test_a_strange_srn_is_nobody_and_still_status_200(harness: ServiceHarness) -> None:
    for what, text in STRANGE.items():
        response = await harness.client.get(f"/v1/actors/{quote(text, safe='')}")

        assert response.status_code == 200, what
        assert response.json()["name"] == "", what
        assert response.json()["error"], what


async def test_a_strange_code_is_not_refreshed(harness: ServiceHarness) -> None:
    for what, text in STRANGE.items():
        response = await harness.get("/v1/refresh", q=text)

        assert response.status_code in {200, 400}, what
        if response.status_code == 200:
            assert response.json()["refreshed"] is False, what
            assert response.json()["error"], what


async def test_a_strange_path_is_a_404_with_an_error(harness: ServiceHarness) -> None:
    for text in [*STRANGE.values(), "", "/", "//", "%2e%2e%2f"]:
        response = await harness.client.get(f"/v1/nothing/{quote(text, safe='')}")

        assert response.status_code == 404, text
        assert set(response.json()) == ERROR_FIELDS, text


async def test_a_page_that_is_no_whole_number_from_1_is_refused(harness: ServiceHarness) -> None:
    for page in ["0", "-1", "abc", "", "1.5", "1e9", "٣", "99999999999999999999"]:
        response = await harness.get("/v1/search", q="titan", page=page)

        if page == "99999999999999999999":
            assert (response.status_code, response.json()["results"]) == (200, [])
        else:
            assert response.status_code == 400, page
            assert "page" in response.json()["error"]


async def test_a_page_behind_the_last_is_empty_and_keeps_the_total(harness: ServiceHarness) -> None:
    first = (await harness.get("/v1/search", q="titan")).json()

    far = (await harness.get("/v1/search", q="titan", page=1_000_000_000)).json()

    assert first["total"] > 0
    assert (far["results"], far["total"]) == ([], first["total"])


async def test_an_unknown_filter_is_refused_and_named(harness: ServiceHarness) -> None:
    for parameter, value in [("status", "ON"), ("status", "sold"), ("risk", "iv"), ("risk", "I"), ("colour", "red")]:
        response = await harness.get("/v1/search", q="titan", **{parameter: value})

        assert response.status_code == 400, value
        assert parameter in response.json()["error"]


async def test_a_search_without_query_and_filter_is_refused(harness: ServiceHarness) -> None:
    for parameters in ({}, {"q": ""}, {"q": "  "}):
        response = await harness.client.get("/v1/search", params=parameters)
        assert response.status_code == 400
        assert "`q`" in response.json()["error"]


async def test_percent_encoded_slashes_and_pluses_reach_the_identifier_as_they_are(harness: ServiceHarness) -> None:
    response = await harness.client.get("/v1/devices/%2B%2BE494%2FZIRKON%3F")

    assert response.status_code == 404
    assert response.json()["udi"] == "++E494/ZIRKON?"


async def test_an_actor_with_unknown_filters_is_a_200_with_an_error(harness: ServiceHarness) -> None:
    srn = harness.world.newest(0, 1)[0].manufacturer.srn
    for parameters in ({"status": "sold"}, {"risk": "iv"}, {"page": "0"}, {"page": "abc"}):
        response = await harness.client.get(f"/v1/actors/{srn}", params=parameters)
        assert response.status_code == 200
        assert response.json()["error"]


async def test_a_post_without_a_body_is_refused_everywhere_under_v1(harness: ServiceHarness) -> None:
    for path in ("/v1/search", "/v1/anything", "/v1/devices/1"):
        response = await harness.client.post(path)
        assert response.status_code == 403
        assert "{}" in response.json()["error"]


@pytest.mark.parametrize("method", ["POST", "TRACE", "TRACK", "PROPFIND"])
async def test_a_method_that_an_address_does_not_take_is_a_405_in_json(harness: ServiceHarness, method: str) -> None:
    response = await harness.client.request(method, "/v1/search", json={})

    assert response.status_code == 405
    body = response.json()
    assert (body["error"], body["code"]) == (f"This address does not take {method}.", "method-not-allowed")


# Accounts


@pytest.fixture
async def owner(harness: ServiceHarness) -> NewAccount:
    owner = await harness.sign_up()
    await harness.prove_address(owner)
    return owner


async def sent(harness: ServiceHarness, path: str, fields: object, credential: str = "") -> httpx2.Response:
    """The answer to a body that is sent as JSON in plain ASCII, so that it can hold every code point there is."""
    return await posted(harness, path, json.dumps(fields).encode(), credential)


async def posted(harness: ServiceHarness, path: str, body: bytes, credential: str = "") -> httpx2.Response:
    headers = {"Content-Type": "application/json", **auth_headers(credential)}
    return await harness.client.post(path, content=body, headers=headers)


async def test_an_unusual_address_opens_one_account_and_gets_its_mail(harness: ServiceHarness) -> None:
    for name, email in ADDRESSES.items():
        opened = (await sent(harness, "/v1/trial", {"email": email, "password": PASSWORD})).json()
        assert opened.get("existing") is False, (name, opened)
        for spelling in (email, opened["email"], email.strip().upper() if name != "long s" else email):
            again = await sent(harness, "/v1/trial", {"email": spelling, "password": PASSWORD})
            assert (again.status_code, again.json()["email"]) == (200, opened["email"]), (name, spelling)
            assert again.json()["existing"] is True, (name, spelling)
        assert (await sent(harness, "/v1/password/forgot", {"email": email})).json() == {"ok": True}
        await harness.finish_background_work()
        assert harness.mail.mails[-1].to == opened["email"], name
    spelled_otherwise = await sent(harness, "/v1/login", {"email": "owner@xn--bcher-kva.example", "password": PASSWORD})
    assert spelled_otherwise.json()["email"] == "owner@bücher.example"
    assert len(harness.all_rows()["accounts"]) == len(ADDRESSES)


async def test_what_is_no_address_is_nobodys_wherever_it_is_sent(harness: ServiceHarness, owner: NewAccount) -> None:
    before = harness.all_rows()
    for name, email in NO_ADDRESSES.items():
        fields = {"email": email, "password": PASSWORD}
        for path, credential in (("/v1/trial", ""), ("/v1/password/forgot", ""), ("/v1/users", owner.session)):
            response = await sent(harness, path, fields, credential)
            assert response.status_code == 400, (name, path, response.text)
            assert len(response.json()["error"]) < 1_000, (name, path)
        response = await sent(harness, "/v1/login", fields)
        assert response.status_code in {400, 401}, (name, response.text)
        assert harness.all_rows() == before, name
    await harness.finish_background_work()
    assert harness.mail.mails == []


async def test_a_password_that_is_long_enough_is_kept_as_it_is_whatever_is_in_it(harness: ServiceHarness) -> None:
    for number, (name, password) in enumerate(PASSWORDS.items()):
        fields = {"email": f"owner{number}@acme.example", "password": password}
        opened = await sent(harness, "/v1/trial", fields)
        assert opened.status_code == 200, (name, opened.text)
        assert (await sent(harness, "/v1/login", fields)).status_code == 200, name
        for other in (password[:-1], password + "\x00", password.replace("\x00", "")):
            if other != password:
                wrong = await sent(harness, "/v1/login", {**fields, "password": other})
                assert (wrong.status_code, wrong.json()["code"]) == (401, "wrong-password"), (name, other)
        key, session = opened.json()["api_key"], opened.json()["session"]
        assert (await sent(harness, "/v1/password", {"password": password}, session)).status_code == 200, name
        harness.clock.move(UNPROVEN_SECONDS)
        assert (await sent(harness, "/v1/account/delete", {"password": password}, key)).json() == {"ok": True}, name
    assert harness.all_rows()["accounts"] == []


async def test_a_password_that_cannot_be_one_is_refused_and_nothing_is_half_done(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    token = (await harness.service.accounts.password_reset.link(EMAIL)).partition("token=")[2]
    before = harness.all_rows()
    for name, password in NO_PASSWORDS.items():
        for path, credential, more in (
            ("/v1/trial", "", {"email": "new@acme.example"}),
            ("/v1/password/reset", "", {"token": token}),
            ("/v1/password", owner.session, {}),
            ("/v1/users", owner.session, {"email": "new@acme.example"}),
        ):
            response = await sent(harness, path, {**more, "password": password}, credential)
            assert response.status_code == 400, (name, path, response.text)
            assert password not in response.text
        for path, credential in (("/v1/login", ""), ("/v1/account/delete", owner.session), ("/v1/trial", "")):
            response = await sent(harness, path, {"email": EMAIL, "password": password}, credential)
            assert response.status_code in {400, 401}, (name, path, response.text)
        assert await harness.all_rows_but_failed_sign_ins() == before, name


async def test_a_strange_name_or_label_is_kept_as_one_short_line(harness: ServiceHarness) -> None:
    texts = {**STRANGE, "sixty kilobytes": "x" * 60_000, "NUL in it": "a\x00b"}
    for number, (name, text) in enumerate(texts.items()):
        email = f"owner{number}@acme.example"
        opened = await sent(harness, "/v1/trial", {"name": text, "email": email, "password": PASSWORD})
        assert opened.status_code == 200, (name, opened.text)
        key = await sent(harness, "/v1/keys", {"label": text}, opened.json()["session"])
        assert key.status_code == 200, (name, key.text)
        kept, label = opened.json()["name"], key.json()["label"]
        assert 0 < len(kept) <= 200, name
        assert len(label) <= 80, name
        assert not set(kept + label) & {chr(code) for code in (*range(32), *range(127, 160), 0x202E)}, name
        account = (await harness.client.get("/v1/me", headers=auth_headers(key.json()["api_key"]))).json()
        assert (account["name"], account["keys"][1]["label"]) == (kept, label), name


async def test_a_lone_surrogate_is_refused_or_left_out_and_never_breaks_an_answer(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    before = harness.all_rows()
    for text in ("\ud800", "x\udfffy", "\ud83d" * 90, "new@acme.example\udc00"):
        for path, field in (
            ("/v1/trial", "email"),
            ("/v1/users", "email"),
            ("/v1/login", "email"),
            ("/v1/login", "password"),
            ("/v1/password/forgot", "email"),
            ("/v1/password/reset", "token"),
            ("/v1/account/delete", "password"),
        ):
            response = await sent(harness, path, {**BODIES[path], field: text}, owner.session)
            assert response.status_code in {400, 401}, (path, field, response.text)
            assert response.json()["error"]
        for named in ({"channel": text}, {"channel": "webhook", "choice": {"tags": [text]}}):
            fields = {"url": "https://hooks.acme.example/registerwatch", **named}
            answer = await sent(harness, "/v1/channels", fields, owner.session)
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid-input")
        assert await harness.all_rows_but_failed_sign_ins() == before
    for number, text in enumerate(("\ud800", "A\udfffcme", "\ud83d" * 90)):
        fields = {"name": text, "email": f"new{number}@acme.example", "password": PASSWORD}
        assert (await sent(harness, "/v1/trial", {**fields, "\ud800": "\ud800"})).status_code == 400
        opened = (await sent(harness, "/v1/trial", fields)).json()
        assert opened["name"] == ("A cme" if "cme" in text else "acme.example")
        assert (await sent(harness, "/v1/keys", {"label": text}, opened["session"])).json()["label"] in {"", "A cme"}


@pytest.mark.parametrize("path", BODIES)
async def test_what_is_no_text_is_refused_where_a_text_belongs(
    harness: ServiceHarness, owner: NewAccount, path: str
) -> None:
    before = harness.all_rows()
    for field in BODIES[path]:
        for value in NO_TEXTS:
            response = await sent(harness, path, {**BODIES[path], field: value}, owner.session)
            assert response.status_code == 400, (field, value, response.text)
            assert f"`{field}`" in response.json()["error"]
        huge = json.dumps(BODIES[path]).replace(json.dumps(BODIES[path][field]), "9" * 5_000).encode()
        assert (await posted(harness, path, huge, owner.session)).status_code == 400
    assert harness.all_rows() == before


@pytest.mark.parametrize("path", [*BODIES, "/v1/logout"])
async def test_a_body_that_is_deep_huge_or_twisted_is_answered_and_harms_nobody(
    harness: ServiceHarness, owner: NewAccount, path: str
) -> None:
    before = harness.all_rows()
    for body in (
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"email":' * 100_000 + b"1" + b"}" * 100_000,
        b"[" + b"{}," * 1_600_000 + b"{}]",
        b'{"email": "' + b"a" * 5_000_000,
        b'{"label": [' + b"0," * 2_500_000 + b"0]}",
        b"\xef\xbb\xbf{}x",
        b"\xff\xfe{\x00}\x00x\x00",
        b"{}{}",
        b"{'email': 'a'}",
        b"\x00" * 1_000,
    ):
        credential = "" if path == "/v1/logout" else owner.session
        response = await posted(harness, path, body, credential)
        is_taken = path == "/v1/logout" and len(body) <= MAX_BODY_BYTES
        assert response.status_code == (200 if is_taken else 400), (body[:40], response.text)
        assert len(response.text) < 1_000
    assert harness.all_rows() == before
    assert (await harness.client.get("/v1/me", headers=auth_headers(owner.session))).status_code == 200


async def test_the_last_of_two_fields_with_one_name_counts(harness: ServiceHarness, owner: NewAccount) -> None:
    body = f'{{"email": "{EMAIL}", "password": "wrong one", "password": "{PASSWORD}"}}'.encode()
    assert (await posted(harness, "/v1/login", body)).status_code == 200
