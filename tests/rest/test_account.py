"""The account over REST: what it says of itself, its people, its keys, its passwords, its end."""

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from sqlalchemy import text

from registerwatch.accounts.plans import PlanName
from registerwatch.accounts.sessions.api_keys import MAX_ENDED_KEYS
from registerwatch.platform.clock import iso_utc
from tests.rest.answers import granted, me, refused
from tests.support.harness import EMAIL, PASSWORD, ServiceHarness, ServiceStarter, auth_headers
from tests.support.receiver import answer, receiver

DAY = 24 * 3600
MEMBER, MEMBERS = "member@acme.example", "a member's own"
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
KEY = re.compile(r"rw_[A-Za-z0-9_-]{43}")
MASKED = re.compile(r"rw_[A-Za-z0-9_-]{2}…[A-Za-z0-9_-]{4}")

ACCOUNT_FIELDS = {
    "email": str,
    "name": str,
    "role": str,
    "plan": str,
    "expires_at": str,
    "watch_cap": int,
    "watch_count": int,
    "expired": bool,
    "subscription": type(None),
    "webhook_url": str,
    "webhook_secret": str,
    "webhooks": list,
    "users": list,
    "keys": list,
}
AFTER_A_DELIVERY = {
    **ACCOUNT_FIELDS,
    "webhook_last_at": str,
    "webhook_last_ok": bool,
    "webhook_last_error": str,
}
WEBHOOK_FIELDS = {
    "id": int,
    "url": str,
    "secret": str,
    "created_at": str,
    "last_at": str,
    "last_ok": bool,
    "last_error": str,
}
USER_FIELDS = {"id": int, "email": str, "role": str, "created_at": str, "confirmed": bool}
KEY_FIELDS = {
    "id": int,
    "label": str,
    "prefix": str,
    "created_at": str,
    "revoked": bool,
    "scope": str,
    "expires_at": type(None),
    "last_used_at": type(None),
}
AUDIT_FIELDS = {"id": int, "created_at": str, "actor": str, "action": str, "subject": str}

OWNED = {
    "/v1/import": {"csv": "04099999999992"},
    "/v1/webhooks": {"url": "https://hooks.acme.example/"},
    "/v1/feeds": {},
}
"""Requests after which an account has one more of everything that it can have."""
NO_IDS = (
    "member",
    "1.0",
    "1e3",
    "0x1",
    "+1",
    "%2B1",
    "--1",
    "1%20",
    "%201",
    "1%0A",
    "١",
    "１",
    "½",
    "1,2",
    "1;2",
    "%00",
    "-",
)
NOBODYS_IDS = ("0", "-1", "999999999", str(2**31), str(2**63 - 1), str(2**63), str(2**64), "9" * 40, "-" + "9" * 40)


@pytest.fixture
async def harness(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    async with start_service(webhooks_allow_private=True) as harness:
        yield harness


def types_of(fields: dict[str, Any]) -> dict[str, type]:
    return {name: type(value) for name, value in fields.items()}


async def delete(harness: ServiceHarness, credential: str, path: str) -> httpx2.Response:
    return await harness.client.delete(path, headers=auth_headers(credential))


async def a_member(harness: ServiceHarness, credential: str, email: str = MEMBER) -> str:
    """A session of a member who is added."""
    granted(await harness.post("/v1/users", credential, email=email, password=MEMBERS))
    return await harness.sign_in(email, MEMBERS)


# The account object


async def test_the_account_has_the_fields_of_the_contract_and_no_other(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await a_member(harness, owner.session)

    account = granted(await me(harness, owner.session))

    assert types_of(account) == ACCOUNT_FIELDS
    assert INSTANT.fullmatch(account["expires_at"])
    assert (account["webhook_url"], account["webhook_secret"], account["subscription"]) == ("", "", None)
    assert (account["webhooks"], account["watch_count"]) == ([], 0)
    assert [(user["email"], user["role"]) for user in account["users"]] == [(EMAIL, "owner"), (MEMBER, "member")]
    for user in account["users"]:
        assert types_of(user) == USER_FIELDS
        assert user["created_at"] == iso_utc(harness.now)
    for key in account["keys"]:
        assert types_of(key) == KEY_FIELDS
        assert key["created_at"] == iso_utc(harness.now)
        assert MASKED.fullmatch(key["prefix"])


async def test_what_was_delivered_last_is_told_once_there_was_a_delivery(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    async with receiver() as box:
        saved = granted(await harness.post("/v1/webhook", owner.session, url=box.url))
        assert types_of(saved) == ACCOUNT_FIELDS
        granted(await harness.post("/v1/webhook/test", owner.session))
        good = granted(await me(harness, owner.session))
        harness.clock.move(60)
        box.manner = answer(500)
        granted(await harness.post("/v1/webhook/test", owner.session))
        bad = granted(await me(harness, owner.session))

    for account in (good, bad):
        assert types_of(account) == AFTER_A_DELIVERY
        assert [types_of(webhook) for webhook in account["webhooks"]] == [WEBHOOK_FIELDS]
        assert [webhook["secret"] for webhook in account["webhooks"]] == [account["webhook_secret"]]
        assert {webhook["url"] for webhook in account["webhooks"]} == {account["webhook_url"]} == {box.url}
    assert (good["webhook_last_ok"], good["webhook_last_error"]) == (True, "")
    assert (bad["webhook_last_ok"], bad["webhook_last_error"]) == (False, "the receiver answered 500")
    assert bad["webhook_last_at"] == iso_utc(harness.now) > good["webhook_last_at"]


async def test_owner_member_and_key_see_the_same_account_and_each_their_role(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    member = await a_member(harness, owner.session)

    seen = [granted(await me(harness, credential)) for credential in (owner.session, owner.api_key, member)]

    assert [account.pop("role") for account in seen] == ["owner", "owner", "member"]
    assert seen[0] == seen[1] == seen[2]


async def test_a_member_sees_the_webhooks_and_not_what_signs_them(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    member = await a_member(harness, owner.session)
    await harness.post("/v1/webhooks", owner.api_key, url="https://receiver.example/hook")

    owners, members = [granted(await me(harness, each))["webhooks"] for each in (owner.session, member)]

    assert owners[0]["secret"].startswith("whsec_")
    assert members == [{**owners[0], "secret": ""}]


async def test_every_answer_that_is_the_account_is_the_account(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    added = granted(await harness.post("/v1/users", owner.api_key, email=MEMBER, password=MEMBERS))
    assert types_of(added) == {**ACCOUNT_FIELDS, "user_id": int}
    for response in (
        await harness.post("/v1/password", owner.session, password="another password"),
        await delete(harness, owner.session, "/v1/users/2"),
        await delete(harness, owner.session, "/v1/keys/1"),
    ):
        assert types_of(granted(response)) == ACCOUNT_FIELDS
    assert granted(response) == granted(await me(harness, owner.session))


async def test_an_account_whose_period_has_ended_is_read_and_managed_as_before(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    harness.clock.move(7 * DAY)

    assert granted(await me(harness, owner.session))["expired"] is True
    assert granted(await harness.post("/v1/users", owner.session, email=MEMBER, password=MEMBERS))["expired"] is True
    assert granted(await harness.post("/v1/login", email=EMAIL, password=PASSWORD))["expired"] is True
    assert granted(await harness.post("/v1/trial", email=EMAIL, password=PASSWORD))["expired"] is True
    await harness.service.accounts.admin.set_period(EMAIL, PlanName.STANDARD, harness.now + DAY)
    account = granted(await me(harness, owner.api_key))
    assert (account["expired"], account["plan"], account["watch_cap"]) == (False, "standard", 250)


async def test_head_answers_as_get(harness: ServiceHarness) -> None:
    harness.client.headers["X-Request-Id"] = "the-same"  # else no two answers are alike
    owner = await harness.sign_up()
    for credential, status in ((owner.session, 200), (owner.api_key, 200), ("", 401), ("us_nobody", 401)):
        response = await harness.client.head("/v1/me", headers=auth_headers(credential))
        same = await me(harness, credential)
        assert response.status_code == same.status_code == status
        assert response.headers == same.headers


async def test_other_sites_may_read_every_answer_and_ask_with_a_credential(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    origin = {"Origin": "https://elsewhere.example"}
    for path, credential, status in (
        ("/v1/me", "", 401),
        ("/v1/me", "us_nobody", 401),
        ("/v1/me", owner.session, 200),
        ("/v1/keys/1", owner.session, 405),
    ):
        response = await harness.client.get(path, headers={**origin, **auth_headers(credential)})
        assert response.status_code == status
        assert response.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in response.headers
    asks = {**origin, "Access-Control-Request-Method": "DELETE", "Access-Control-Request-Headers": "x-api-key"}
    preflight = await harness.client.options("/v1/keys/1", headers=asks)
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-methods"] == "GET, POST, DELETE, OPTIONS"
    assert preflight.headers["access-control-allow-headers"] == "Content-Type, X-API-Key, Authorization"


# Passwords


async def test_a_session_sets_the_password_of_its_user_and_ends_their_other_sessions(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    member = await a_member(harness, owner.session)
    other = await harness.sign_in(MEMBER, MEMBERS)

    assert granted(await harness.post("/v1/password", member, password="another one"))["role"] == "member"

    assert (await me(harness, member)).status_code == 200
    refused(await me(harness, other), 401)
    refused(await harness.post("/v1/login", email=MEMBER, password=MEMBERS), 401)
    granted(await harness.post("/v1/login", email=MEMBER, password="another one"))
    for credential in (owner.session, owner.api_key):
        assert (await me(harness, credential)).status_code == 200
    granted(await harness.post("/v1/login", email=EMAIL, password=PASSWORD))


async def test_a_key_sets_the_password_of_the_owner(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    member = await a_member(harness, owner.session)

    assert granted(await harness.post("/v1/password", owner.api_key, password="another one"))["role"] == "owner"

    refused(await me(harness, owner.session), 401)
    refused(await harness.post("/v1/login", email=EMAIL, password=PASSWORD), 401)
    granted(await harness.post("/v1/login", email=EMAIL, password="another one"))
    for credential in (member, owner.api_key):
        assert (await me(harness, credential)).status_code == 200
    granted(await harness.post("/v1/login", email=MEMBER, password=MEMBERS))


async def test_an_account_from_before_passwords_sets_one_by_its_key(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    async with harness.database.transaction() as connection:
        await connection.execute(text("UPDATE users SET password_hash = NULL"))
    refused(await harness.post("/v1/login", email=EMAIL, password=PASSWORD), 401)

    granted(await harness.post("/v1/password", owner.api_key, password=PASSWORD))

    granted(await harness.post("/v1/login", email=EMAIL, password=PASSWORD))


async def test_a_password_that_is_too_short_or_too_long_is_not_set(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    before = harness.all_rows()
    for path, fields in (("/v1/password", {}), ("/v1/users", {"email": MEMBER})):
        for password in ("", "1234567"):
            assert "8 characters" in refused(await harness.post(path, owner.session, **fields, password=password), 400)
        assert "1,024" in refused(await harness.post(path, owner.session, **fields, password="x" * 1025), 400)
    assert harness.all_rows() == before


# The end of an account


@pytest.mark.parametrize("who", ["owner", "key", "member"])
async def test_with_an_owners_password_everything_of_the_account_goes_away(harness: ServiceHarness, who: str) -> None:
    other = await harness.sign_up("owner@other.example")
    kept = harness.all_rows()
    owner = await harness.sign_up()
    member = await a_member(harness, owner.session)
    for path, fields in OWNED.items():
        granted(await harness.post(path, owner.session, **fields))
    credential = {"owner": owner.session, "key": owner.api_key, "member": member}[who]

    assert granted(await harness.post("/v1/account/delete", credential, password=PASSWORD)) == {"ok": True}

    for each in (owner.session, owner.api_key, member):
        refused(await me(harness, each), 401)
    for email, password in ((EMAIL, PASSWORD), (MEMBER, MEMBERS)):
        refused(await harness.post("/v1/login", email=email, password=password), 401)
    left = harness.all_rows()
    by_digest: dict[str, list[dict[str, Any]]] = {"mail_counts": [], "confirmation_tokens": []}
    assert {**left, **by_digest} == {**kept, **by_digest}, "what limits and proves the use of an address outlives it"
    assert EMAIL not in str(left)
    assert MEMBER not in str(left)
    assert (await me(harness, other.session)).status_code == 200
    again = await harness.sign_up()
    assert again.answer["existing"] is False
    assert {user["id"] for user in again.answer["users"]}.isdisjoint({1, 2, 3}), "an id is not given twice"


async def test_any_other_password_is_401_and_deletes_nothing(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    member = await a_member(harness, owner.session)
    await harness.sign_up("owner@other.example", "another owner's")
    before = harness.all_rows()
    for credential in (owner.session, owner.api_key, member):
        for password in ("", "wrong", MEMBERS, "another owner's", PASSWORD.title(), "x" * 1024):
            refused(await harness.post("/v1/account/delete", credential, password=password), 401)
    assert harness.all_rows() == before


async def test_an_owner_without_a_password_deletes_nothing(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    async with harness.database.transaction() as connection:
        await connection.execute(text("UPDATE users SET password_hash = NULL"))
    for password in ("", "None", PASSWORD):
        refused(await harness.post("/v1/account/delete", owner.api_key, password=password), 401)


# Users


async def test_what_was_made_can_be_ended_by_the_number_that_its_answer_names(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    made = {"label": " ERP ", "scope": "watch", "expires_at": "2027-06-01T02:00:00+02:00"}

    key = granted(await harness.post("/v1/keys", owner.session, **made))
    user = granted(await harness.post("/v1/users", owner.session, email=MEMBER.upper(), password=MEMBERS))

    assert (key["label"], key["scope"], key["expires_at"]) == ("ERP", "watch", "2027-06-01T00:00:00Z")
    granted(await delete(harness, owner.session, f"/v1/keys/{key['id']}"))
    refused(await me(harness, key["api_key"]), 401)
    left = granted(await delete(harness, owner.session, f"/v1/users/{user['user_id']}"))
    assert [each["email"] for each in left["users"]] == [EMAIL]


async def test_a_key_that_a_key_with_an_end_makes_answers_the_end_that_it_has(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    ends = "2027-06-01T00:00:00Z"
    maker = granted(await harness.post("/v1/keys", owner.session, expires_at=ends))["api_key"]

    assert granted(await harness.post("/v1/keys", maker))["expires_at"] == ends


async def test_a_user_that_is_added_is_a_member_with_the_password_they_were_given(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()

    account = granted(await harness.post("/v1/users", owner.session, email=f" {MEMBER.upper()} ", password=MEMBERS))

    assert [(user["email"], user["role"]) for user in account["users"]] == [(EMAIL, "owner"), (MEMBER, "member")]
    assert account["role"] == "owner"
    assert granted(await harness.post("/v1/login", email=MEMBER, password=MEMBERS))["role"] == "member"
    await harness.finish_background_work()
    assert not [mail for mail in harness.mail.mails if MEMBERS in mail.subject + mail.text], (
        "the password is not mailed"
    )


async def test_an_address_that_somebody_has_or_nobody_can_have_is_not_added(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await a_member(harness, owner.session)
    await harness.sign_up("owner@other.example")
    before = harness.all_rows()
    for taken in (EMAIL, MEMBER, "owner@other.example", "OWNER@OTHER.EXAMPLE"):
        message = refused(await harness.post("/v1/users", owner.session, email=taken, password=MEMBERS), 400)
        assert "already" in message
    for bad in ("", "member", "member@", "@acme.example", "member@acme", "a b@acme.example"):
        message = refused(await harness.post("/v1/users", owner.session, email=bad, password=MEMBERS), 400)
        assert "e-mail address" in message
    assert harness.all_rows() == before


async def test_the_eleventh_user_is_a_409_and_a_removed_one_makes_room(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    for number in range(9):
        granted(await harness.post("/v1/users", owner.session, email=f"m{number}@acme.example", password=MEMBERS))

    message = refused(await harness.post("/v1/users", owner.session, email=MEMBER, password=MEMBERS), 409)

    assert "10 users" in message
    users = granted(await me(harness, owner.session))["users"]
    assert len(users) == 10
    granted(await delete(harness, owner.session, f"/v1/users/{users[4]['id']}"))
    granted(await harness.post("/v1/users", owner.session, email=MEMBER, password=MEMBERS))


async def test_the_operator_plan_allows_twenty_five_users_and_keys(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.service.accounts.admin.set_period(EMAIL, PlanName.OPERATOR, None)
    for number in range(24):
        granted(await harness.post("/v1/users", owner.session, email=f"m{number}@acme.example", password=MEMBERS))
        granted(await harness.post("/v1/keys", owner.session))
    assert "25 users" in refused(await harness.post("/v1/users", owner.session, email=MEMBER, password=MEMBERS), 409)
    assert "25 API keys" in refused(await harness.post("/v1/keys", owner.session), 409)


async def test_a_removed_user_is_out_at_once_and_the_answer_is_the_account_without_them(
    harness: ServiceHarness,
) -> None:
    owner = await harness.sign_up()
    member = await a_member(harness, owner.session)
    user_id = granted(await me(harness, owner.session))["users"][1]["id"]

    account = granted(await delete(harness, owner.api_key, f"/v1/users/{user_id}"))

    assert [user["email"] for user in account["users"]] == [EMAIL]
    refused(await me(harness, member), 401)
    refused(await harness.post("/v1/login", email=MEMBER, password=MEMBERS), 401)
    assert "no user" in refused(await delete(harness, owner.api_key, f"/v1/users/{user_id}"), 400)


async def test_the_last_owner_cannot_be_removed(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await a_member(harness, owner.session)
    user_id = owner.answer["users"][0]["id"]
    before = harness.all_rows()
    for credential in (owner.session, owner.api_key):
        assert "last owner" in refused(await delete(harness, credential, f"/v1/users/{user_id}"), 400)
    assert harness.all_rows() == before


# Keys


async def test_a_new_key_is_told_once_and_works_at_once(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()

    made = granted(await harness.post("/v1/keys", owner.session, label="ERP"))

    assert types_of(made) == {"api_key": str, "label": str, "id": int, "scope": str, "expires_at": type(None)}
    assert (made["label"], made["scope"]) == ("ERP", "manage")
    key = made["api_key"]
    assert KEY.fullmatch(key)
    account = granted(await me(harness, key))
    assert (account["keys"][1]["label"], account["keys"][1]["prefix"]) == ("ERP", f"{key[:5]}…{key[-4:]}")
    for path in ("/v1/me", "/v1/audit"):
        for secret in (key, owner.api_key):
            assert secret not in (await harness.client.get(path, headers=auth_headers(owner.session))).text


async def test_a_label_is_optional_one_line_and_trimmed_to_eighty_characters(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    labels: dict[str | None, str] = {
        None: "",
        "": "",
        "  ERP\r\n\tsystem ": "ERP system",
        "x" * 81: "x" * 80,
        "ü" * 500: "ü" * 80,
        "x" * 79 + "  y": "x" * 79,
        "<b>&amp;\"'": "<b>&amp;\"'",
    }
    for label, kept in labels.items():
        assert granted(await harness.post("/v1/keys", owner.session, label=label))["label"] == kept
    assert granted(await harness.post("/v1/keys", owner.session))["label"] == ""
    listed = granted(await me(harness, owner.session))["keys"]
    assert [key["label"] for key in listed] == ["first key", *labels.values(), ""]


async def test_the_eleventh_active_key_is_a_409_and_a_revoked_one_makes_room(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    for _ in range(9):
        granted(await harness.post("/v1/keys", owner.session))
    assert "10 API keys" in refused(await harness.post("/v1/keys", owner.session), 409)
    keys = granted(await me(harness, owner.session))["keys"]
    assert len(keys) == 10
    granted(await delete(harness, owner.session, f"/v1/keys/{keys[3]['id']}"))
    granted(await harness.post("/v1/keys", owner.session))
    refused(await harness.post("/v1/keys", owner.session), 409)


async def test_the_keys_that_an_account_lists_are_bounded_however_many_it_made(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    for number in range(MAX_ENDED_KEYS + 20):
        ends = iso_utc(int(harness.clock.now()) + 1)
        granted(await harness.post("/v1/keys", owner.session, label=f"{number}", expires_at=ends))
        harness.clock.move(1)

    first, *others = granted(await me(harness, owner.session))["keys"]
    assert (first["label"], len(others)) == ("first key", MAX_ENDED_KEYS + 1)
    assert [key["label"] for key in others[-2:]] == [f"{MAX_ENDED_KEYS + 18}", f"{MAX_ENDED_KEYS + 19}"]


async def test_a_revoked_key_stops_at_once_and_stays_listed_as_revoked(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    key = granted(await harness.post("/v1/keys", owner.session, label="ERP"))["api_key"]
    key_id = granted(await me(harness, owner.session))["keys"][1]["id"]

    account = granted(await delete(harness, owner.session, f"/v1/keys/{key_id}"))

    assert [each["revoked"] for each in account["keys"]] == [False, True]
    before = harness.all_rows()
    harness.clock.move(1)
    assert granted(await delete(harness, owner.session, f"/v1/keys/{key_id}")) == account
    assert harness.all_rows() == before, "it keeps the time of its revocation"
    refused(await me(harness, key), 401)
    for credential in (owner.session, owner.api_key):
        assert (await me(harness, credential)).status_code == 200


async def test_every_key_may_be_revoked_even_by_itself_and_sessions_go_on(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    member = await a_member(harness, owner.session)
    key_id = owner.answer["keys"][0]["id"]

    assert granted(await delete(harness, owner.api_key, f"/v1/keys/{key_id}"))["keys"][0]["revoked"] is True

    refused(await delete(harness, owner.api_key, f"/v1/keys/{key_id}"), 401)
    for credential in (owner.session, member):
        assert (await me(harness, credential)).status_code == 200
    granted(await harness.post("/v1/keys", owner.session))


@pytest.mark.parametrize("kind", ["users", "keys"])
async def test_an_id_that_is_no_number_or_nobodys_is_a_400_and_changes_nothing(
    harness: ServiceHarness, kind: str
) -> None:
    owner = await harness.sign_up()
    member = await a_member(harness, owner.session)
    before = harness.all_rows()
    for word in NO_IDS:
        assert "whole number" in refused(await delete(harness, owner.session, f"/v1/{kind}/{word}"), 400), word
    for number in NOBODYS_IDS:
        assert "with this id" in refused(await delete(harness, owner.session, f"/v1/{kind}/{number}"), 400), number
    for each in (*NO_IDS, *NOBODYS_IDS):
        refused(await delete(harness, member, f"/v1/{kind}/{each}"), 403)
        refused(await delete(harness, "", f"/v1/{kind}/{each}"), 401)
    for path in (f"/v1/{kind}/", f"/v1/{kind}/1/", f"/v1/{kind}/1/2", f"/v1/{kind}/%2F"):
        refused(await delete(harness, owner.session, path), 404)
    refused(await delete(harness, owner.session, f"/v1/{kind}"), 405)
    assert harness.all_rows() == before


# The audit trail


async def test_the_trail_names_who_did_what_newest_first(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.post("/v1/users", owner.api_key, email=MEMBER, password=MEMBERS)
    await harness.post("/v1/login", email=MEMBER, password=MEMBERS)
    await harness.post("/v1/login", email=MEMBER, password="wrong password")
    await harness.finish_background_work()
    made = granted(await harness.post("/v1/keys", owner.session, label="ERP"))["api_key"]
    masked = f"{made[:5]}…{made[-4:]} (ERP)"

    answer = granted(await harness.client.get("/v1/audit", headers=auth_headers(owner.session)))

    assert set(answer) == {"entries"}
    first = f"{owner.api_key[:5]}…{owner.api_key[-4:]}"
    assert [(entry["actor"], entry["action"], entry["subject"]) for entry in answer["entries"]] == [
        (EMAIL, "key created", masked),
        ("unknown", "sign-in failed", f"{MEMBER} from 127.0.0.1"),
        (MEMBER, "signed in", "127.0.0.1"),
        (first, "user added", MEMBER),
        (EMAIL, "account opened", ""),
    ]
    assert [entry["id"] for entry in answer["entries"]] == sorted((e["id"] for e in answer["entries"]), reverse=True)
    for entry in answer["entries"]:
        assert types_of(entry) == AUDIT_FIELDS
        assert INSTANT.fullmatch(entry["created_at"])


async def test_the_trail_lists_the_newest_hundred(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    for _ in range(101):
        await harness.sign_in(EMAIL)
    entries = granted(await harness.client.get("/v1/audit", headers=auth_headers(owner.session)))["entries"]
    assert [entry["action"] for entry in entries] == ["signed in"] * 100


# Bodies and limits

BODIES: dict[str, dict[str, object]] = {
    "/v1/password": {"password": "another password"},
    "/v1/account/delete": {"password": "wrong password"},
    "/v1/users": {"email": MEMBER, "password": MEMBERS},
    "/v1/keys": {"label": "ERP"},
}
NO_OBJECTS = (b"no JSON", b'{"password": "another pass', b"[]", b'"text"', b"7", b"null", b'{"label": "\xff"}', b" ")


@pytest.mark.parametrize("path", BODIES)
async def test_a_body_that_is_no_object_is_refused_and_does_nothing(harness: ServiceHarness, path: str) -> None:
    owner = await harness.sign_up()
    before = harness.all_rows()
    sent = auth_headers(owner.session)
    for body in NO_OBJECTS:
        refused(
            await harness.client.post(path, content=body, headers={**sent, "Content-Type": "application/json"}), 400
        )
    for headers in (sent, {**sent, "Content-Type": "text/plain"}):
        message = refused(await harness.client.post(path, content=b'{"label": "x"}', headers=headers), 400)
        assert "Content-Type: application/json" in message
    refused(await harness.client.post(path, data={"label": "x", "password": "x"}, headers=sent), 400)
    assert "{}" in refused(await harness.client.post(path, headers=sent), 403)
    for body in (b"[]", b"7", b"null"):
        headers = {"Content-Type": "application/json"}
        refused(await harness.client.post(path, content=body, headers=headers), 401)
    assert harness.all_rows() == before


@pytest.mark.parametrize("path", BODIES)
async def test_fields_that_are_missing_or_of_another_type_are_named_and_their_values_are_not(
    harness: ServiceHarness, path: str
) -> None:
    owner = await harness.sign_up()
    before = harness.all_rows()
    for field, value in BODIES[path].items():
        if field != "label":
            body = {name: kept for name, kept in BODIES[path].items() if name != field}
            assert f"`{field}`" in refused(await harness.post(path, owner.session, **body), 400)
        for wrong in (7, 7.5, True, [value], {"value": value}):
            message = refused(await harness.post(path, owner.session, **{**BODIES[path], field: wrong}), 400)
            assert f"`{field}`" in message
            assert str(value) not in message
    assert harness.all_rows() == before


async def test_fields_that_a_client_may_not_set_are_refused(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    before = harness.all_rows()
    for name, value in {"api_key": "rw_mine", "account_id": 7, "revoked": True}.items():
        assert f"`{name}`" in refused(await harness.post("/v1/keys", owner.session, **{name: value}), 400)
    refused(await harness.post("/v1/password", owner.session, password=PASSWORD, plan="operator"), 400)
    assert harness.all_rows() == before


async def test_answers_and_errors_tell_what_is_left_of_the_limit(start_service: ServiceStarter) -> None:
    async with start_service(rate_limits=True) as harness:
        owner = await harness.sign_up()
        member = await a_member(harness, owner.session)
        answers = [
            await me(harness, owner.session),
            await me(harness, "us_nobody"),
            await harness.post("/v1/users", owner.session, email="bad", password=MEMBERS),
            await delete(harness, owner.session, "/v1/keys/word"),
            await harness.post("/v1/keys", member),
        ]
        assert [response.status_code for response in answers] == [200, 401, 400, 400, 403]
        for response in answers:
            assert (response.headers["ratelimit-limit"], response.headers["ratelimit-policy"]) == ("240", "240;w=60")
            assert 0 < int(response.headers["ratelimit-remaining"]) < 240
            assert 0 < int(response.headers["ratelimit-reset"]) <= 60
        while (response := await me(harness, "us_guessed")).status_code == 401:
            assert "retry-after" not in response.headers
        assert 0 < int(response.headers["retry-after"]) <= 60
        assert "240 in 60 s" in refused(response, 429)
        refused(await me(harness, owner.session), 429)
        harness.clock.move(60)
        granted(await me(harness, owner.session))


async def test_passwords_are_not_guessed_by_deleting(start_service: ServiceStarter) -> None:
    async with start_service(rate_limits=True) as harness:
        owner = await harness.sign_up()
        for number in range(10):
            response = await harness.post("/v1/account/delete", owner.session, password=f"guess {number}")
            refused(response, 401)
            assert response.headers["ratelimit-remaining"] == str(9 - number)
        response = await harness.post("/v1/account/delete", owner.session, password=PASSWORD)
        refused(response, 429)
        assert 0 < int(response.headers["retry-after"]) <= 3600
        assert harness.all_rows()["accounts"]
