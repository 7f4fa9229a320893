"""Who may open accounts and add members, by `REGISTERWATCH_SIGNUP`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest

from registerwatch.accounts.plans import PlanName
from tests.rest.answers import granted, me, refused
from tests.support.harness import EMAIL, PASSWORD, NewAccount, ServiceHarness, ServiceStarter

NEW, MEMBER, INVITED = "new@acme.example", "member@acme.example", "invited@other.example"


@asynccontextmanager
async def closed_after_one_sign_up(
    start_service: ServiceStarter, signup: str
) -> AsyncIterator[tuple[ServiceHarness, NewAccount]]:
    """A service in which one account was opened before sign-up was restricted."""
    async with start_service() as before:
        owner = await before.sign_up()
    async with start_service(signup=signup) as harness:
        yield harness, owner


@pytest.mark.parametrize("signup", ["invite", "off"])
async def test_nobody_new_gets_in_by_themselves_where_sign_up_is_closed(
    start_service: ServiceStarter, signup: str
) -> None:
    async with closed_after_one_sign_up(start_service, signup) as (harness, _owner):
        before = harness.all_rows()

        answer = await harness.post("/v1/trial", name="Acme", email=NEW, password=PASSWORD)

        refused(answer, 403)
        assert answer.json()["code"] == "signup-closed"
        assert harness.all_rows() == before


@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize("signup", ["invite", "off"])
async def test_a_stranger_cannot_tell_who_has_an_account_where_sign_up_is_closed(
    start_service: ServiceStarter, signup: str
) -> None:
    async with closed_after_one_sign_up(start_service, signup) as (harness, _owner):
        granted(await _made_by_the_operator(harness))
        for password in ("a wrong password", "short", "", "x" * 2_000):
            answers = [
                await harness.post("/v1/trial", email=email, password=password) for email in (EMAIL, NEW, INVITED)
            ]
            told = {(each.status_code, each.json()["error"], each.json()["code"]) for each in answers}
            assert len(told) == 1, password
            assert {code for _status, _error, code in told} <= {"signup-closed", "invalid-input"}


@pytest.mark.parametrize("signup", ["invite", "off"])
async def test_who_has_an_account_still_gets_a_session_by_a_trial_with_the_right_password(
    start_service: ServiceStarter, signup: str
) -> None:
    async with closed_after_one_sign_up(start_service, signup) as (harness, owner):
        again = granted(await harness.post("/v1/trial", email=EMAIL.upper(), password=PASSWORD))

        assert again["existing"] is True
        assert "api_key" not in again
        assert len(again["keys"]) == len(owner.answer["keys"])
        granted(await me(harness, again["session"]))


async def test_owners_add_members_where_accounts_are_by_invitation(start_service: ServiceStarter) -> None:
    async with closed_after_one_sign_up(start_service, "invite") as (harness, owner):
        for credential, email in ((owner.session, MEMBER), (owner.api_key, NEW)):
            granted(await harness.post("/v1/users", credential, email=email, password=PASSWORD))
            granted(await harness.post("/v1/login", email=email, password=PASSWORD))


async def test_nobody_adds_members_where_sign_up_is_off_and_all_else_goes_on(start_service: ServiceStarter) -> None:
    async with closed_after_one_sign_up(start_service, "off") as (harness, owner):
        for credential in (owner.session, owner.api_key):
            for email in (MEMBER, EMAIL):
                answer = await harness.post("/v1/users", credential, email=email, password=PASSWORD)
                refused(answer, 403)
                assert answer.json()["code"] == "signup-closed"
        assert [user["email"] for user in granted(await me(harness, owner.session))["users"]] == [EMAIL]
        refused(await harness.post("/v1/users", "", email=MEMBER, password=PASSWORD), 401)
        granted(await harness.post("/v1/keys", owner.session, label="ERP"))
        granted(await harness.post("/v1/login", email=EMAIL, password=PASSWORD))


@pytest.mark.parametrize("signup", ["invite", "off"])
async def test_the_operator_makes_accounts_where_sign_up_is_closed(start_service: ServiceStarter, signup: str) -> None:
    async with start_service(signup=signup) as harness:
        granted(await _made_by_the_operator(harness))

        account = granted(await harness.post("/v1/login", email=INVITED, password=PASSWORD))

        assert [(user["email"], user["role"]) for user in account["users"]] == [(INVITED, "owner")]


async def _made_by_the_operator(harness: ServiceHarness) -> httpx2.Response:
    """An account of `INVITED` that the operator made, with its password set by the link."""
    made = await harness.service.accounts.admin.create(INVITED, "", PlanName.TRIAL, None)
    token = made.link.partition("token=")[2]
    return await harness.post("/v1/password/reset", token=token, password=PASSWORD)
