"""Getting in over REST: trial, login, logout, a forgotten password."""

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from sqlalchemy import text

from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.accounts.sessions.sign_in import SESSION_SECONDS
from registerwatch.mail.mailer import NoMailer
from registerwatch.platform.clock import iso_utc
from tests.accounts.second_factors import app_of
from tests.rest.answers import granted, me, refused
from tests.support.harness import EMAIL, PASSWORD, ServiceHarness, ServiceStarter, auth_headers

HOUR, DAY = 3600, 24 * 3600
KEY = re.compile(r"rw_[A-Za-z0-9_-]{43}")
SESSION = re.compile(r"us_[A-Za-z0-9_-]{43}")
LINK = re.compile(r"http://localhost:8000/password/reset\?token=([A-Za-z0-9_-]{43})$", re.MULTILINE)

BODIES: dict[str, dict[str, object]] = {
    "/v1/trial": {"name": "Acme", "email": "new@acme.example", "password": PASSWORD},
    "/v1/login": {"email": EMAIL, "password": PASSWORD},
    "/v1/password/forgot": {"email": EMAIL},
    "/v1/password/reset": {"token": "nobody's", "password": PASSWORD},
}
NO_OBJECTS = {
    "no JSON": b"email=a",
    "half of it": b'{"email": "owner@acme.exa',
    "a list": b"[]",
    "a text": b'"owner@acme.example"',
    "a number": b"7",
    "null": b"null",
    "no UTF-8": b'{"email": "\xff\xfe"}',
    "white space": b"  ",
}


@pytest.fixture
async def harness(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    async with start_service() as harness:
        yield harness
        await harness.finish_background_work()


@pytest.fixture
async def limited(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    async with start_service(rate_limits=True) as harness:
        yield harness
        await harness.finish_background_work()


async def mailed_token(harness: ServiceHarness, email: str = EMAIL) -> str:
    """The token of the link that is mailed to a user who asks for one."""
    granted(await harness.post("/v1/password/forgot", email=email))
    await harness.finish_background_work()
    mail = harness.mail.mails[-1]
    assert mail.to == email
    found = LINK.search(mail.text)
    assert found, mail.text
    return found[1]


# Trial


async def test_a_trial_answers_with_the_account_a_session_and_its_first_key(harness: ServiceHarness) -> None:
    opened = granted(await harness.post("/v1/trial", name="Acme GmbH", email=EMAIL, password=PASSWORD))

    account = granted(await me(harness, opened["session"]))
    assert opened == {
        **account,
        "session": opened["session"],
        "existing": False,
        "api_key": opened["api_key"],
    }
    assert SESSION.fullmatch(opened["session"])
    assert KEY.fullmatch(opened["api_key"])
    assert (account["email"], account["name"], account["role"]) == (EMAIL, "Acme GmbH", "owner")
    assert (account["plan"], account["watch_cap"], account["watch_count"]) == ("trial", 25, 0)
    assert account["expires_at"] == iso_utc(harness.now + 7 * DAY)
    assert account["expired"] is False
    assert [(user["email"], user["role"]) for user in account["users"]] == [(EMAIL, "owner")]
    key = opened["api_key"]
    assert [(each["label"], each["prefix"], each["revoked"]) for each in account["keys"]] == [
        ("first key", f"{key[:5]}…{key[-4:]}", False)
    ]


async def test_the_first_key_works_and_is_told_this_once(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()

    for answer in (await me(harness, owner.api_key), await harness.post("/v1/login", email=EMAIL, password=PASSWORD)):
        assert owner.api_key not in answer.text
        assert "api_key" not in granted(answer)


async def test_a_trial_without_a_name_has_the_domain_of_its_address_for_one(harness: ServiceHarness) -> None:
    names: tuple[dict[str, object], ...] = ({}, {"name": None}, {"name": ""}, {"name": " \n "})
    for number, name in enumerate(names):
        opened = granted(
            await harness.post("/v1/trial", email=f"owner@company{number}.example", password=PASSWORD, **name)
        )
        assert opened["name"] == f"company{number}.example"


async def test_a_trial_ends_after_seven_days_and_its_account_can_still_be_read(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    harness.clock.move(7 * DAY - 2)
    assert granted(await me(harness, owner.session))["expired"] is False
    harness.clock.move(2)
    account = granted(await me(harness, owner.session))
    assert account["expired"] is True
    assert account["expires_at"] == owner.answer["expires_at"]


async def test_a_trial_of_somebody_who_has_an_account_signs_in_and_makes_no_key(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()

    for email in (EMAIL, EMAIL.upper(), f"  {EMAIL}\t"):
        again = granted(await harness.post("/v1/trial", name="Another name", email=email, password=PASSWORD))
        account = granted(await me(harness, again["session"]))
        assert again == {**account, "session": again["session"], "existing": True}
        assert again["session"] != owner.session
        assert account == granted(await me(harness, owner.session))
        assert account["name"] == "Acme"
        assert len(account["keys"]) == 1


async def test_a_trial_of_a_member_signs_in_to_their_account_as_a_member(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.post("/v1/users", owner.session, email="member@acme.example", password="a member's own")

    again = granted(await harness.post("/v1/trial", email="member@acme.example", password="a member's own"))

    assert (again["email"], again["role"], again["existing"]) == (EMAIL, "member", True)


async def test_a_trial_with_a_known_address_and_a_wrong_password_says_that_the_account_exists(
    harness: ServiceHarness,
) -> None:
    await harness.prove_address(await harness.sign_up())
    before = harness.all_rows()
    for password in ("another password", "short", ""):
        assert "exists" in refused(await harness.post("/v1/trial", email=EMAIL, password=password), 400)
    assert await harness.all_rows_but_failed_sign_ins() == before


async def test_a_password_has_at_least_eight_characters_whichever_they_are(harness: ServiceHarness) -> None:
    for password in ("", "1234567", "ünïcöd"):
        response = await harness.post("/v1/trial", email=EMAIL, password=password)
        assert "8 characters" in refused(response, 400), password
    assert "1,024" in refused(await harness.post("/v1/trial", email=EMAIL, password="x" * 1025), 400)
    assert harness.all_rows()["accounts"] == []

    for number, password in enumerate(("12345678", "ünïcödes", " " * 8, "🩺" * 8, "x" * 1024, "a\x00b\x00c\x00d\x00")):
        email = f"owner{number}@acme.example"
        assert granted(await harness.post("/v1/trial", email=email, password=password))["existing"] is False
        assert granted(await harness.post("/v1/login", email=email, password=password))["email"] == email


async def test_what_is_no_address_opens_no_trial(harness: ServiceHarness) -> None:
    for email in ("", " ", "owner", "owner@", "@acme.example", "owner@acme", "owner@acme.example, other@acme.example"):
        assert "e-mail address" in refused(await harness.post("/v1/trial", email=email, password=PASSWORD), 400), email
    assert harness.all_rows()["accounts"] == []


async def test_the_ninth_trial_within_an_hour_is_refused_with_the_time_to_wait(limited: ServiceHarness) -> None:
    for number in range(8):
        password = PASSWORD if number % 2 else "short"
        response = await limited.post("/v1/trial", email=f"owner{number}@acme.example", password=password)
        assert response.status_code == (200 if number % 2 else 400)
        assert _told(response) == ("8", str(7 - number), "8;w=3600")

    response = await limited.post("/v1/trial", email=EMAIL, password=PASSWORD)

    assert "8 in 3600 s" in refused(response, 429)
    assert _told(response) == ("8", "0", "8;w=3600")
    wait = int(response.headers["retry-after"])
    assert wait == int(response.headers["ratelimit-reset"])
    assert 0 < wait <= HOUR
    assert limited.all_rows()["users"][-1]["email"] == "owner7@acme.example"
    limited.clock.move(wait)
    assert (await limited.post("/v1/trial", email=EMAIL, password=PASSWORD)).status_code == 200


# Login and logout


async def test_a_login_answers_with_the_account_and_a_new_session(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()

    for email in (EMAIL, EMAIL.upper(), f" {EMAIL} "):
        opened = granted(await harness.post("/v1/login", email=email, password=PASSWORD))
        assert opened == {**granted(await me(harness, opened["session"])), "session": opened["session"]}
        assert SESSION.fullmatch(opened["session"])
        assert opened["session"] != owner.session
    assert (await me(harness, owner.session)).status_code == 200, "the others go on"


async def test_the_same_password_from_another_keyboard_signs_in(harness: ServiceHarness) -> None:
    """An accented letter can be one character or two (NFC and NFD)."""
    await harness.sign_up(password="pass-e\u0301-e\u0301")
    granted(await harness.post("/v1/login", email=EMAIL, password="pass-\u00e9-\u00e9"))


async def test_whatever_is_wrong_with_a_login_the_answer_is_the_same(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.post("/v1/users", owner.session, email="removed@acme.example", password=PASSWORD)
    removed = granted(await me(harness, owner.session))["users"][1]["id"]
    await harness.client.delete(f"/v1/users/{removed}", headers=auth_headers(owner.session))
    await harness.sign_up("old@acme.example")
    async with harness.database.transaction() as connection:
        await connection.execute(text("UPDATE users SET password_hash = NULL WHERE email = 'old@acme.example'"))
    before = harness.all_rows()
    wrong = (
        (EMAIL, "another password"),
        (EMAIL, ""),
        (EMAIL, PASSWORD.upper()),
        (EMAIL, f"{PASSWORD} "),
        ("nobody@acme.example", PASSWORD),
        ("removed@acme.example", PASSWORD),
        ("old@acme.example", PASSWORD),
        ("old@acme.example", ""),
        ("no address", PASSWORD),
        ("", PASSWORD),
        ("x" * 10_000, PASSWORD),
    )
    harness.client.headers["X-Request-Id"] = "the-same"  # else no two answers are alike
    answers = [await harness.post("/v1/login", email=email, password=password) for email, password in wrong]

    assert {refused(answer, 401) for answer in answers} == {"Email or password is wrong."}
    assert len({str(sorted(answer.headers.items())) for answer in answers}) == 1
    assert await harness.all_rows_but_failed_sign_ins() == before


async def test_a_session_lasts_fourteen_days(harness: ServiceHarness) -> None:
    await harness.sign_up()
    harness.clock.move(DAY)
    session = await harness.sign_in(EMAIL)
    harness.clock.move(SESSION_SECONDS - 2)
    assert SESSION_SECONDS == 14 * DAY
    assert (await me(harness, session)).status_code == 200
    harness.clock.move(2)
    refused(await me(harness, session), 401)


async def test_the_twenty_first_login_within_an_hour_is_refused_even_with_the_right_password(
    limited: ServiceHarness,
) -> None:
    await limited.sign_up()
    for number in range(20):
        password = "wrong password" if number % 2 else PASSWORD
        response = await limited.post("/v1/login", email=EMAIL, password=password)
        assert response.status_code == (401 if number % 2 else 200)
        assert _told(response) == ("20", str(19 - number), "20;w=3600")

    response = await limited.post("/v1/login", email=EMAIL, password=PASSWORD)

    assert "20 in 3600 s" in refused(response, 429)
    assert 0 < int(response.headers["retry-after"]) <= HOUR
    assert "session" not in response.text
    limited.clock.move(HOUR)
    assert (await limited.post("/v1/login", email=EMAIL, password=PASSWORD)).status_code == 200


async def test_signing_out_ends_the_carried_session_alone(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    session = await harness.sign_in(EMAIL)

    assert granted(await harness.post("/v1/logout", session)) == {"ok": True}

    refused(await me(harness, session), 401)
    assert (await me(harness, owner.session)).status_code == 200
    assert (await me(harness, owner.api_key)).status_code == 200


async def test_signing_out_says_ok_whatever_is_carried_and_leaves_keys_alone(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.post("/v1/logout", owner.session)
    before = harness.all_rows()
    for credential in ("", owner.session, owner.api_key, "us_nobody", "rw_nobody", "x" * 10_000):
        assert granted(await harness.post("/v1/logout", credential)) == {"ok": True}
    for body in (b"[]", b"7", b"no JSON", b"{}"):
        assert granted(await harness.client.post("/v1/logout", content=body)) == {"ok": True}
    assert harness.all_rows() == before


# A forgotten password


async def test_forgetting_answers_alike_whether_somebody_has_the_address_and_mails_whoever_has_it(
    harness: ServiceHarness,
) -> None:
    await harness.prove_address(await harness.sign_up())
    harness.client.headers["X-Request-Id"] = "the-same"  # else no two answers are alike

    answers = [
        await harness.post("/v1/password/forgot", email=email)
        for email in (EMAIL.upper(), "nobody@acme.example", "nobody@elsewhere.example")
    ]
    await harness.finish_background_work()

    assert [granted(answer) for answer in answers] == [{"ok": True}] * 3
    assert len({str(sorted(answer.headers.items())) for answer in answers}) == 1
    assert [mail.to for mail in harness.mail.mails] == [EMAIL]


async def test_a_mailed_link_sets_a_password_once_and_ends_what_the_old_one_had_opened(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.prove_address(owner)
    await harness.post("/v1/users", owner.session, email="member@acme.example", password="a member's own")
    member = await harness.sign_in("member@acme.example", "a member's own")
    other, token = await mailed_token(harness), await mailed_token(harness)
    assert (await me(harness, owner.session)).status_code == 200, "asking changes nothing"

    assert granted(await harness.post("/v1/password/reset", token=token, password="a new password")) == {"ok": True}

    refused(await me(harness, owner.session), 401)
    refused(await harness.post("/v1/login", email=EMAIL, password=PASSWORD), 401)
    granted(await harness.post("/v1/login", email=EMAIL, password="a new password"))
    assert (await me(harness, owner.api_key)).status_code == 200
    assert (await me(harness, member)).status_code == 200
    for used in (token, other):
        assert "link" in refused(await harness.post("/v1/password/reset", token=used, password="a third one"), 400)
    granted(await harness.post("/v1/login", email=EMAIL, password="a new password"))


async def test_a_member_who_forgot_sets_their_own_password(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.post("/v1/users", owner.session, email="member@acme.example", password="a member's own")

    token = await mailed_token(harness, "member@acme.example")
    granted(await harness.post("/v1/password/reset", token=token, password="another one"))

    assert granted(await harness.post("/v1/login", email="member@acme.example", password="another one"))["role"] == (
        "member"
    )
    granted(await harness.post("/v1/login", email=EMAIL, password=PASSWORD))
    assert (await me(harness, owner.session)).status_code == 200


async def test_a_user_without_a_password_gets_one_by_a_link(harness: ServiceHarness) -> None:
    await harness.sign_up()
    async with harness.database.transaction() as connection:
        await connection.execute(text("UPDATE users SET password_hash = NULL"))
    granted(await harness.post("/v1/password/reset", token=await mailed_token(harness), password="a first one"))
    granted(await harness.post("/v1/login", email=EMAIL, password="a first one"))


async def test_a_link_that_is_not_valid_changes_nothing(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    token = await mailed_token(harness)
    digest = harness.all_rows()["reset_tokens"][0]["digest"]
    before = harness.all_rows()
    for wrong in ("", " ", token[:-1], f"{token}x", f" {token}", token.swapcase(), digest, owner.session, "x" * 10_000):
        message = refused(await harness.post("/v1/password/reset", token=wrong, password="a new password"), 400)
        assert "link" in message
    assert "8 characters" in refused(await harness.post("/v1/password/reset", token=token, password="1234567"), 400)
    assert harness.all_rows() == before

    granted(await harness.post("/v1/password/reset", token=token, password="a new password"))


async def test_nobody_is_sent_more_than_three_mails_an_hour_and_the_answer_does_not_tell(
    harness: ServiceHarness,
) -> None:
    await harness.prove_address(await harness.sign_up())
    for _ in range(5):
        assert granted(await harness.post("/v1/password/forgot", email=EMAIL)) == {"ok": True}
        await harness.finish_background_work()
    assert len(harness.mail.mails) == 3
    harness.clock.move(HOUR + 1)
    await mailed_token(harness)
    assert len(harness.mail.mails) == 4


async def test_forgetting_answers_alike_where_no_mail_can_be_sent(harness: ServiceHarness) -> None:
    await harness.sign_up()
    harness.service.accounts.password_reset._mailer = NoMailer()
    for email in (EMAIL, "nobody@acme.example"):
        assert granted(await harness.post("/v1/password/forgot", email=email)) == {"ok": True}
    await harness.finish_background_work()


@pytest.mark.parametrize(
    ("path", "amount"), [("/v1/password/forgot", 5), ("/v1/password/reset", 20)], ids=["forgot", "reset"]
)
async def test_links_are_limited_by_the_address_that_asks(limited: ServiceHarness, path: str, amount: int) -> None:
    for number in range(amount):
        response = await limited.post(path, **BODIES[path])
        assert response.status_code == (200 if path.endswith("forgot") else 400)
        assert _told(response) == (str(amount), str(amount - 1 - number), f"{amount};w=3600")
    response = await limited.post(path, **BODIES[path])
    refused(response, 429)
    assert 0 < int(response.headers["retry-after"]) <= HOUR


# Bodies


@pytest.mark.parametrize("path", BODIES)
async def test_a_body_that_is_no_object_is_refused_with_what_to_send(harness: ServiceHarness, path: str) -> None:
    await harness.sign_up()
    before = harness.all_rows()
    for name, body in NO_OBJECTS.items():
        response = await harness.client.post(path, content=body, headers={"Content-Type": "application/json"})
        assert refused(response, 400), name
    for headers in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"}):
        response = await harness.client.post(path, content=b'{"email": "x"}', headers=headers)
        assert "Content-Type: application/json" in refused(response, 400)
    response = await harness.client.post(path, data={"email": EMAIL, "password": PASSWORD})
    assert "JSON object" in refused(response, 400)
    assert harness.all_rows() == before


@pytest.mark.parametrize("path", [*BODIES, "/v1/logout"])
async def test_a_post_without_a_body_is_403_and_does_nothing(harness: ServiceHarness, path: str) -> None:
    owner = await harness.sign_up()
    before = harness.all_rows()
    for headers in ({}, {"Content-Type": "application/json", **auth_headers(owner.session)}):
        response = await harness.client.post(path, headers=headers)
        assert "{}" in refused(response, 403)
        assert response.headers["access-control-allow-origin"] == "*"
    assert harness.all_rows() == before


@pytest.mark.parametrize("path", BODIES)
async def test_fields_that_are_missing_or_of_another_type_are_named_and_their_values_are_not(
    harness: ServiceHarness, path: str
) -> None:
    before = harness.all_rows()
    right = BODIES[path]
    for field in right.keys() - {"name"}:
        body = {name: value for name, value in right.items() if name != field}
        assert f"`{field}`" in refused(await harness.post(path, **body), 400)
    for field in right:
        for wrong in (7, 7.5, True, [right[field]], {"value": right[field]}):
            message = refused(await harness.post(path, **{**right, field: wrong}), 400)
            assert f"`{field}`" in message
            assert str(right[field]) not in message
    assert harness.all_rows() == before


async def test_fields_that_a_client_may_not_set_are_refused(harness: ServiceHarness) -> None:
    wanted = {"id": 7, "plan": "operator", "role": "member", "watch_cap": 1_000_000, "api_key": "rw_mine"}
    for name, value in wanted.items():
        fields = {"email": EMAIL, "password": PASSWORD, name: value}
        assert f"`{name}`" in refused(await harness.post("/v1/trial", **fields), 400)
    assert harness.all_rows()["accounts"] == []


async def test_other_sites_may_read_every_answer(limited: ServiceHarness) -> None:
    for path, body in BODIES.items():
        preflight = await limited.client.options(path, headers={"Origin": "https://elsewhere.example"})
        assert preflight.status_code == 204
        response = await limited.post(path, **body)
        assert response.headers["access-control-allow-origin"] == "*"
        assert "RateLimit-Limit" in response.headers["access-control-expose-headers"]


def _told(response: httpx2.Response) -> tuple[str, str, str]:
    """What an answer says of its limit."""
    assert int(response.headers["ratelimit-reset"]) > 0
    return (
        response.headers["ratelimit-limit"],
        response.headers["ratelimit-remaining"],
        response.headers["ratelimit-policy"],
    )


# Sessions that are open


async def sessions_of(harness: ServiceHarness, credential: str) -> list[dict[str, Any]]:
    """What `GET /v1/sessions` lists."""
    answer = granted(await harness.client.get("/v1/sessions", headers=auth_headers(credential)))
    found: list[dict[str, Any]] = answer["sessions"]
    return found


async def delete(harness: ServiceHarness, credential: str, path: str) -> None:
    """DELETE that answers as always."""
    assert granted(await harness.client.delete(path, headers=auth_headers(credential))) == {"ok": True}


async def test_a_user_sees_their_own_sessions_and_a_key_those_of_everybody(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.post("/v1/users", owner.session, email="member@acme.example", password="a member's own")
    harness.clock.move(60)
    second = await harness.sign_in(EMAIL)
    harness.clock.move(60)
    member = await harness.sign_in("member@acme.example", "a member's own")

    own, members, all_of_them = [await sessions_of(harness, each) for each in (second, member, owner.api_key)]

    assert [(each["email"], each["current"]) for each in own] == [(EMAIL, True), (EMAIL, False)]
    assert [(each["email"], each["current"]) for each in members] == [("member@acme.example", True)]
    assert [each["id"] for each in all_of_them] == [members[0]["id"], own[0]["id"], own[1]["id"]]
    assert not any(each["current"] for each in all_of_them)
    assert own[0] == {
        "id": own[0]["id"],
        "email": EMAIL,
        "created_at": iso_utc(harness.now - 60),
        "last_used_at": None,
        "expires_at": iso_utc(harness.now - 60 + SESSION_SECONDS),
        "current": True,
    }
    stored = str(harness.all_rows()["sessions"])
    for each in all_of_them:
        assert each["id"].removeprefix("ses_") not in stored, "an id is no part of a digest"


async def test_one_session_is_ended_or_all_others_and_nobody_elses(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.post("/v1/users", owner.session, email="member@acme.example", password="a member's own")
    member = await harness.sign_in("member@acme.example", "a member's own")
    here, there, elsewhere = [await harness.sign_in(EMAIL) for _ in range(3)]
    [id_of_member] = [each["id"] for each in await sessions_of(harness, member)]
    [own] = [each["id"] for each in await sessions_of(harness, there) if each["current"]]

    await delete(harness, here, f"/v1/sessions/{own}")
    refused(await me(harness, there), 401)
    for nothing in (id_of_member, own, "ses_0", "1", "%00"):
        await delete(harness, here, f"/v1/sessions/{nothing}")
    for each in (owner.session, here, elsewhere, member):
        granted(await me(harness, each))

    await delete(harness, here, "/v1/sessions")
    refused(await me(harness, owner.session), 401)
    refused(await me(harness, elsewhere), 401)
    for kept in (here, member, owner.api_key):
        granted(await me(harness, kept))

    await delete(harness, owner.api_key, "/v1/sessions")
    refused(await me(harness, here), 401)
    refused(await me(harness, member), 401)
    trail = granted(await harness.client.get("/v1/audit", headers=auth_headers(owner.api_key)))["entries"]
    assert [entry["subject"] for entry in trail if entry["action"] == "sessions ended"] == ["2", "2", "1"]


async def test_a_session_shows_when_it_was_last_used(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    granted(await me(harness, owner.session))
    await harness.service.accounts.uses.store()

    assert [each["last_used_at"] for each in await sessions_of(harness, owner.session)] == [iso_utc(harness.now)]


@pytest.mark.parametrize("path", ["/v1/login", "/v1/trial"])
async def test_a_user_with_a_second_factor_sends_its_code_with_the_password(path: str, harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    accounts, fields = harness.service.accounts, {"email": owner.email, "password": owner.password}
    caller = await accounts.sessions.caller(credential_of(None, owner.session))
    app = await app_of(accounts, caller, harness.clock)

    needed = await harness.post(path, **fields)
    empty = await harness.post(path, **fields, code="")
    wrong = await harness.post(path, **fields, code="000000")
    right = await harness.post(path, **fields, code=app.next_code())
    spare = await harness.post(path, **fields, code=app.recovery_codes[0])

    assert [each.status_code for each in (needed, empty, wrong, right, spare)] == [401, 401, 401, 200, 200]
    assert needed.json()["code"] == empty.json()["code"] == "second-factor-needed"
    assert "`code`" in needed.json()["error"]
    assert wrong.json()["code"] == "wrong-code"
    assert right.json()["session"] != spare.json()["session"]
    assert (await harness.client.get("/v1/me", headers=auth_headers(owner.api_key))).status_code == 200
