"""Making accounts and keys, and deleting accounts, as an operator types it and as people find it over HTTP."""

import re
import time
from dataclasses import replace

import pytest

from registerwatch.accounts.sessions.credentials import masked
from registerwatch.accounts.use_cases import Accounts
from registerwatch.billing import provider
from registerwatch.billing.cancellation import RETRY_SECONDS
from tests.accounts.second_factors import app_of
from tests.billing.plain_provider import SETTINGS, PlainProvider
from tests.billing.steps import run_upkeep, subscribe
from tests.commands.steps import EMAIL, MEMBER, PASSWORD, Operator
from tests.rest.answers import granted, me, refused
from tests.support.fakes import SteppedClock
from tests.support.harness import ServiceHarness

LINK = re.compile(r"http://localhost:8000(/password/reset\?token=([A-Za-z0-9_-]{43}))\n")
KEY = re.compile(r"(rw_[A-Za-z0-9_-]{43})\n")
STRANGER = "owner@other.example"
WATCHED = "04099999999992"


def test_second_factors_are_removed_once_the_operator_is_sure(operator: Operator) -> None:
    clock = SteppedClock()
    operator.types("create", EMAIL)

    async def turn_on(accounts: Accounts) -> None:
        user = (await accounts.admin.profile(EMAIL)).users[0]
        caller = replace(await accounts.admin.caller(EMAIL), user_id=user.id, name=EMAIL)
        await app_of(accounts, caller, clock)

    operator.meanwhile(turn_on)

    assert operator.types("reset-second-factor", EMAIL, answering="n\n").code != 0
    assert operator.types("reset-second-factor", EMAIL, "--yes").code == 0
    again = operator.types("reset-second-factor", EMAIL, "--yes")
    assert (again.code, f"{EMAIL} has no second factor" in again.err) == (1, True)


# create


def test_a_made_account_has_no_password_until_its_link_has_set_one(operator: Operator) -> None:
    made = operator.types("create", EMAIL, "--name", "Acme GmbH", "--plan", "standard", "--expires-at", "2040-01-31")

    link = LINK.fullmatch(made.out)
    assert link, made
    assert (made.code, "until 2040-01-31T00:00:00Z" in made.err) == (0, True)

    async def set_by_link(harness: ServiceHarness) -> None:
        refused(await harness.post("/v1/login", email=EMAIL, password=""), 401)
        refused(await harness.post("/v1/trial", email=EMAIL, password=PASSWORD), 400)
        await harness.service.accounts.sessions.failures.settled()
        assert (await harness.client.get(link[1])).status_code == 200
        granted(await harness.post("/v1/password/reset", token=link[2], password=PASSWORD))
        account = granted(await harness.post("/v1/login", email=EMAIL, password=PASSWORD))
        assert (account["name"], account["plan"], account["watch_cap"]) == ("Acme GmbH", "standard", 250)
        assert [(user["email"], user["role"]) for user in account["users"]] == [(EMAIL, "owner")]
        assert account["keys"] == []
        refused(await harness.post("/v1/password/reset", token=link[2], password=PASSWORD), 400)
        assert await _trail(harness, account["session"]) == [
            (EMAIL, "signed in", "127.0.0.1"),
            (EMAIL, "password reset", ""),
            ("unknown", "sign-in failed", f"{EMAIL} from 127.0.0.1"),
            ("unknown", "sign-in failed", f"{EMAIL} from 127.0.0.1"),
            ("operator", "account opened", EMAIL),
        ]

    operator.over_http(set_by_link)


def test_an_account_made_without_options_is_what_a_trial_would_be(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGISTERWATCH_TRIAL_DAYS", "30")
    monkeypatch.setenv("REGISTERWATCH_TRIAL_WATCH_CAP", "3")
    earliest = int(time.time()) + 30 * 24 * 3600

    assert operator.types("create", f" {EMAIL.upper()}").code == 0

    profile = operator.meanwhile(lambda accounts: accounts.admin.profile(EMAIL))
    account = profile.account
    assert (account.email, account.name, account.plan.name, account.plan.watches) == (EMAIL, "acme.example", "trial", 3)
    assert earliest <= account.expires_at <= earliest + 600


def test_a_link_that_was_not_used_in_time_is_replaced_by_another(operator: Operator) -> None:
    first = LINK.fullmatch(operator.types("create", EMAIL).out)
    second = LINK.fullmatch(operator.types("reset-link", EMAIL).out)
    assert first
    assert second

    async def an_hour_later(harness: ServiceHarness) -> None:
        granted(await harness.post("/v1/password/reset", token=second[2], password=PASSWORD))
        harness.clock.move(3600)
        refused(await harness.post("/v1/password/reset", token=first[2], password=PASSWORD), 400)

    operator.over_http(an_hour_later)


# key


def test_a_key_is_printed_alone_and_once_and_works_at_once(operator: Operator) -> None:
    operator.knows(EMAIL)

    said = operator.types("key", EMAIL, "--label", "ERP")

    key = KEY.fullmatch(said.out)
    assert key, said
    assert (said.code, said.err) == (0, "")

    async def use(harness: ServiceHarness) -> None:
        account = granted(await me(harness, key[1]))
        assert [(each["label"], each["prefix"]) for each in account["keys"]][1:] == [("ERP", masked(key[1]))]
        assert (await _trail(harness, key[1]))[0] == ("operator", "key created", f"{masked(key[1])} (ERP)")

    operator.over_http(use)
    for words in (("show", EMAIL), ("list",)):
        assert key[1] not in operator.types(*words).out


def test_a_key_more_than_the_plan_allows_is_refused_in_words(operator: Operator) -> None:
    async def make_all_but_the_last(harness: ServiceHarness) -> None:
        owner = await harness.sign_up(EMAIL)
        for _ in range(8):
            granted(await harness.post("/v1/keys", owner.session))

    operator.over_http(make_all_but_the_last)
    assert operator.types("key", EMAIL).code == 0

    said = operator.types("key", EMAIL)

    assert (said.code, said.out) == (1, "")
    assert "registerwatch: The plan allows 10 API keys" in said.err


# delete


@pytest.mark.parametrize("answer", ["n\n", "\n", ""], ids=["no", "enter", "nobody there"])
def test_an_account_stays_unless_the_question_is_answered_with_yes(operator: Operator, answer: str) -> None:
    operator.knows(EMAIL, "Acme GmbH")

    said = operator.types("delete", EMAIL, answering=answer)

    assert (said.code, said.out.strip()) == (1, "")
    assert f"Delete the account {EMAIL} (Acme GmbH) with its 1 user" in said.err
    assert "Traceback" not in said.err
    assert operator.types("show", EMAIL).code == 0


@pytest.mark.parametrize(("words", "answer"), [((), "y\n"), (("--yes",), "")], ids=["asked", "--yes"])
def test_a_deleted_account_leaves_nothing_and_others_alone(
    operator: Operator, words: tuple[str, ...], answer: str
) -> None:
    async def sign_up(harness: ServiceHarness) -> str:
        owner = await harness.sign_up(EMAIL)
        await harness.post("/v1/users", owner.session, email=MEMBER, password=PASSWORD)
        await harness.post_watches(owner.api_key, WATCHED)
        await harness.sign_up(STRANGER)
        return owner.api_key

    key = operator.over_http(sign_up)

    said = operator.types("delete", EMAIL, *words, answering=answer)

    assert (said.code, said.out.strip()) == (0, f"The account {EMAIL} is deleted.")
    assert ("2 users" in said.err) is (not words), "no question with --yes"

    async def look(harness: ServiceHarness) -> None:
        refused(await me(harness, key), 401)
        for email in (EMAIL, MEMBER):
            refused(await harness.post("/v1/login", email=email, password=PASSWORD), 401)
        rows = harness.all_rows()
        assert [row["email"] for row in rows["users"]] == [STRANGER]
        assert rows["watches"] == []

    operator.over_http(look)


def test_an_account_is_not_deleted_by_the_address_of_a_member(operator: Operator) -> None:
    async def sign_up(harness: ServiceHarness) -> None:
        owner = await harness.sign_up(EMAIL)
        granted(await harness.post("/v1/users", owner.session, email=MEMBER, password=PASSWORD))

    operator.over_http(sign_up)

    said = operator.types("delete", MEMBER, "--yes")

    assert (said.code, said.out) == (1, "")
    assert f"{MEMBER} is a member of the account {EMAIL}" in said.err
    assert operator.types("show", MEMBER).code == 0


def test_the_subscription_of_an_account_that_the_operator_deletes_is_cancelled(operator: Operator) -> None:
    payments = PlainProvider()

    async def pay(harness: ServiceHarness) -> str:
        return (await subscribe(harness, await harness.owner(EMAIL))).id

    paid = operator.over_http(pay, provider=payments, **SETTINGS)
    assert operator.types("delete", EMAIL, "--yes").code == 0
    assert payments.subscriptions[paid].status != provider.CANCELED, "this command has no payment settings"

    async def some_time_later(harness: ServiceHarness) -> None:
        harness.clock.move(RETRY_SECONDS + 1)
        await run_upkeep(harness)

    operator.over_http(some_time_later, provider=payments, **SETTINGS)
    assert payments.subscriptions[paid].status == provider.CANCELED


def test_no_command_prints_a_secret_that_is_stored(operator: Operator) -> None:
    async def sign_up(harness: ServiceHarness) -> list[str]:
        owner = await harness.sign_up(EMAIL)
        return [owner.session, owner.api_key]

    secrets = operator.over_http(sign_up)
    typed = [("create", STRANGER), ("key", EMAIL), ("show", EMAIL), ("list",), ("delete", EMAIL, "--yes")]

    printed = [operator.types(*words) for words in typed]

    assert {each.code for each in printed} == {0}
    assert [each for each in printed if any(secret in each.out + each.err for secret in secrets)] == []


async def _trail(harness: ServiceHarness, credential: str) -> list[tuple[str, str, str]]:
    """Who did what to what, newest first."""
    entries = (await harness.client.get("/v1/audit", headers={"Authorization": f"Bearer {credential}"})).json()
    return [(each["actor"], each["action"], each["subject"]) for each in entries["entries"]]
