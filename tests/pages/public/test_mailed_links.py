"""The pages that prove an address and accept an invitation: what they show, what they refuse, what nobody is told."""

import re
from collections.abc import Mapping

import httpx2
import pytest
from structlog.testing import capture_logs

from registerwatch.accounts.plans import PlanName
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.accounts.tables import users as users_table
from tests.pages.account.pages_client import PagesClient
from tests.pages.markup import Markup
from tests.pages.public.test_password import shown
from tests.support.harness import EMAIL, PASSWORD, NewAccount, ServiceHarness, ServiceStarter, auth_headers

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)

CONFIRM, INVITATION, RESET = "/account/confirm", "/account/invitation", "/password/reset"
MEMBER, GUEST = "member@acme.example", "guest@acme.example"
NEW = "words of my own"
LINK = re.compile(r"http://localhost:8000(/[a-z/]+)\?token=([\w.-]{43,})$", re.MULTILINE)
COMMON = ("12345678", "PASSWORD", "Iloveyou", "qwertyuiop", "１２３４５６７８")
HOSTILE = '"><script>hacked = true</script>'


async def mailed(harness: ServiceHarness, to: str = EMAIL) -> tuple[str, str]:
    """Path and token of the newest link that went to somebody."""
    await harness.finish_background_work()
    found = LINK.search(next(mail for mail in reversed(harness.mail.mails) if mail.to == to).text)
    assert found
    return found[1], found[2]


async def reset_link(harness: ServiceHarness, email: str = EMAIL) -> str:
    await harness.post("/v1/password/forgot", email=email)
    return (await mailed(harness, email))[1]


async def invited(harness: ServiceHarness, owner: NewAccount) -> str:
    """The token of an invitation to the guest."""
    caller = await harness.service.accounts.sessions.caller(credential_of(None, owner.session))
    await harness.service.accounts.invitations.invite(caller, GUEST)
    return (await mailed(harness, GUEST))[1]


async def choose(harness: ServiceHarness, token: str, choice: str, **fields: str) -> httpx2.Response:
    return await harness.client.post(CONFIRM, data={"token": token, "choice": choice, **fields})


async def login(harness: ServiceHarness, email: str, password: str) -> int:
    return (await harness.post("/v1/login", email=email, password=password)).status_code


def choices(page: Markup) -> list[str]:
    return [each["value"] for each in page.all("input", name="choice")]


async def test_an_owner_is_shown_what_there_is_and_asked(harness: ServiceHarness) -> None:
    answer = await harness.post("/v1/trial", name=HOSTILE, email=EMAIL, password=PASSWORD)
    session = answer.json()["session"]
    await harness.post("/v1/keys", session, label=HOSTILE, scope="watch")
    await harness.post("/v1/webhook", session, url="https://hooks.acme.example/secret-path")
    feed = (await harness.post("/v1/feeds", session)).json()["feed"]
    _, token = await mailed(harness)
    await harness.post("/v1/users", session, email=MEMBER, password=PASSWORD)

    response = await harness.get(CONFIRM, token=token)

    page = shown(response, 200, "Is this your account?")
    assert choices(page) == ["keep", "take-over", "delete"]
    for what in (EMAIL, "hooks.acme.example", feed["prefix"], MEMBER, "may watch", HOSTILE):
        assert what in page.main
    assert "secret-path" not in response.text
    assert "<script>hacked" not in response.text
    for each in answer.json()["keys"]:
        assert each["prefix"] in page.main


async def test_a_member_is_asked_whether_they_belong_there(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.post("/v1/users", owner.session, email=MEMBER, password=PASSWORD)
    _, token = await mailed(harness, MEMBER)

    page = shown(await harness.get(CONFIRM, token=token), 200, "Do you belong to this account?")

    assert choices(page) == ["join", "open", "leave"]
    assert EMAIL in page.main
    assert "API key" not in page.main


@pytest.mark.parametrize("signup", ["invite", "off"])
async def test_where_sign_up_is_closed_nobody_opens_an_account_by_leaving_one(
    start_service: ServiceStarter, signup: str
) -> None:
    async with start_service(signup=signup) as harness:
        made = await harness.service.accounts.admin.create(EMAIL, "Acme", PlanName.TRIAL, None)
        await harness.service.accounts.password_reset.reset(made.link.partition("=")[2], PASSWORD)
        session = await harness.sign_in(EMAIL)
        await harness.service.accounts.admin.create(MEMBER, "Other", PlanName.TRIAL, None)
        async with harness.database.transaction() as connection:
            await connection.exec_driver_sql("UPDATE users SET role = 'member' WHERE email = 'member@acme.example'")
        token = (await harness.service.accounts.password_reset.link(MEMBER)).partition("=")[2]

        page = shown(await harness.get(CONFIRM, token=token), 200, "Do you belong to this account?")
        refused = await choose(harness, token, "open", password=NEW)

        assert "open" not in choices(page)
        assert "ask who runs this service" in shown(refused, 400, "Do you belong to this account?").main
        assert (await harness.client.get("/v1/me", headers=auth_headers(session))).status_code == 200


@pytest.mark.parametrize("choice", ["", "take-over ", "everything", "join", "open", "leave"])
async def test_an_answer_that_an_owner_does_not_have_changes_nothing(harness: ServiceHarness, choice: str) -> None:
    await harness.sign_up()
    _, token = await mailed(harness)
    before = harness.all_rows()

    page = shown(await choose(harness, token, choice, password=NEW), 400, "Is this your account?")

    assert page.one("p", id="problem").text
    assert harness.all_rows() == before


@pytest.mark.parametrize("choice", ["keep", "take-over", "delete"])
async def test_an_answer_that_a_member_does_not_have_changes_nothing(harness: ServiceHarness, choice: str) -> None:
    owner = await harness.sign_up()
    await harness.post("/v1/users", owner.session, email=MEMBER, password=PASSWORD)
    _, token = await mailed(harness, MEMBER)
    before = harness.all_rows()

    shown(await choose(harness, token, choice, password=PASSWORD, sure="yes"), 400, "Do you belong to this account?")

    assert harness.all_rows() == before


@pytest.mark.parametrize("token", ["", "nobody's", "\x00", "🩺", "t" * 10_000, "' OR 1=1 --"])
async def test_a_token_that_nobody_was_given_leads_nowhere(harness: ServiceHarness, token: str) -> None:
    await harness.sign_up()
    await harness.finish_background_work()
    before = harness.all_rows()

    for path, fields in ((CONFIRM, {"choice": "delete", "sure": "yes"}), (INVITATION, {"password": NEW})):
        data: Mapping[str, str] = {"token": token, **fields}
        shown(await harness.client.get(path, params={"token": token}), 400, "This link does not work")
        shown(await harness.client.post(path, data=data), 400, "This link does not work")
    assert harness.all_rows() == before


async def test_a_failure_inside_tells_no_token_to_the_page_or_the_log(
    harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await harness.sign_up()
    _, token = await mailed(harness)

    async def broken(*_args: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(type(harness.service.accounts.confirmations), "look", broken)
    with capture_logs() as logged:
        response = await harness.get(CONFIRM, token=token)

    shown(response, 500, "Something went wrong")
    assert token not in response.text + str(logged)


async def test_these_pages_and_resets_are_limited_together(start_service: ServiceStarter) -> None:
    async with start_service(rate_limits=True) as harness:
        answers = [await choose(harness, "nobody's", "keep", password=PASSWORD) for _ in range(10)]
        answers += [await harness.client.post(INVITATION, data={"token": "x"}) for _ in range(10)]
        refused = await harness.client.post(RESET, data={"token": "x"})

        assert {each.status_code for each in answers} == {400}
        assert refused.status_code == 429


# Passwords


@pytest.mark.parametrize("password", COMMON)
async def test_the_pages_refuse_a_password_that_many_people_have(harness: ServiceHarness, password: str) -> None:
    owner = await harness.sign_up()
    await harness.prove_address(owner)
    guest = await invited(harness, owner)
    reset = await reset_link(harness)
    await harness.sign_up(MEMBER)
    unproven = (await mailed(harness, MEMBER))[1]
    before = harness.all_rows()

    answers = {
        "Join an account": await harness.client.post(INVITATION, data={"token": guest, "password": password}),
        "Set a new password": await harness.client.post(RESET, data={"token": reset, "password": password}),
        "Is this your account?": await choose(harness, unproven, "take-over", password=password),
    }

    for heading, answer in answers.items():
        assert "most common passwords" in shown(answer, 400, heading).main
    assert harness.all_rows() == before


@pytest.mark.parametrize("password", ["owner@acme.example", "Owner@Acme.Example", "acme.example"])
async def test_the_pages_refuse_what_the_address_gives_away(harness: ServiceHarness, password: str) -> None:
    await harness.sign_up()
    reset = await reset_link(harness)

    answer = await harness.client.post(RESET, data={"token": reset, "password": password})

    assert "gives this password away" in shown(answer, 400, "Set a new password").main


async def test_the_routes_for_programs_take_any_of_eight_characters(harness: ServiceHarness) -> None:
    owner = await harness.sign_up(password="password")
    assert (await harness.post("/v1/password", owner.session, password="12345678")).status_code == 200
    added = await harness.post("/v1/users", owner.session, email=MEMBER, password="qwertyuiop")
    reset = await reset_link(harness)
    assert (await harness.post("/v1/password/reset", token=reset, password="iloveyou")).status_code == 200

    assert added.status_code == 200
    assert await login(harness, EMAIL, "iloveyou") == 200


# Resets


async def test_the_reset_page_shows_what_ends_and_keeps_it_where_the_reader_says_so(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    reset = await reset_link(harness)
    page = shown(await harness.get(RESET, token=reset), 200, "Set a new password")
    assert owner.answer["keys"][0]["prefix"] in page.main
    assert "checked" not in page.one("input", name="keep").attributes

    done = await harness.client.post(RESET, data={"token": reset, "password": NEW, "keep": "yes"})

    assert owner.answer["keys"][0]["prefix"] in shown(done, 200, "Your new password is set").main
    assert (await harness.client.get("/v1/me", headers=auth_headers(owner.api_key))).status_code == 200
    assert (await harness.client.get("/v1/me", headers=auth_headers(owner.session))).status_code == 401
    users = (await harness.client.get("/v1/me", headers=auth_headers(owner.api_key))).json()["users"]
    assert [user["confirmed"] for user in users] == [True]


@pytest.mark.parametrize(("end", "left"), [("own sessions", 2), ("keys and sessions", 1), ("all", 0), ("another", 0)])
async def test_a_reset_of_a_proven_address_ends_what_the_reader_says(
    end: str, left: int, harness: ServiceHarness
) -> None:
    owner = await harness.sign_up()
    await harness.prove_address(owner)
    await harness.post("/v1/users", owner.api_key, email=GUEST, password=PASSWORD)
    member = await harness.sign_in(GUEST, PASSWORD)
    page = shown(await harness.get(RESET, token=(reset := await reset_link(harness))), 200, "Set a new password")
    [preset] = [each["value"] for each in page.all("input", name="end") if "checked" in each.attributes]
    assert preset == "own sessions"

    done = await harness.client.post(RESET, data={"token": reset, "password": NEW, "end": end})

    main = shown(done, 200, "Your new password is set").main
    assert ("Ended, too:" in main) == (left < 2)
    assert (owner.answer["keys"][0]["prefix"] in main, GUEST in main) == (left == 2, left > 0), "what is left is listed"
    for credential in (owner.api_key, member):
        works = (await harness.client.get("/v1/me", headers=auth_headers(credential))).status_code == 200
        assert works == (left == 2), credential[:3]
    assert await login(harness, GUEST, PASSWORD) == (200 if left else 401), "other users stay, unless all ends"
    await harness.finish_background_work()
    told = {
        "own sessions": "by a mailed link; what is left: 1 API key, 1 other user.",
        "keys and sessions": "all API keys and sessions of the account, passkeys and links to a provider; what is left",
    }
    assert told.get(end, "all other access to the account.") in harness.mail.mails[-1].text


# Invitations


async def test_who_is_invited_chooses_their_password_and_their_address_is_proven(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.prove_address(owner)
    token = await invited(harness, owner)
    before = harness.all_rows()

    page = shown(await harness.get(INVITATION, token=token), 200, "Join an account")
    assert harness.all_rows() == before
    assert EMAIL in page.main
    answer = await harness.client.post(INVITATION, data={"token": token, "password": NEW, "zone": "Asia/Tokyo"})
    done = shown(answer, 200, "You have joined the account")
    assert "/v1/login" not in answer.text
    sign_in = Markup.of(await harness.client.get(done.link("Sign in to your account")))
    assert sign_in.one("input", id="email")["value"] == GUEST

    users = (await harness.client.get("/v1/me", headers=auth_headers(owner.session))).json()["users"]
    assert [(user["email"], user["role"], user["confirmed"]) for user in users] == [
        (EMAIL, "owner", True),
        (GUEST, "member", True),
    ]
    assert await login(harness, GUEST, NEW) == 200
    assert {each["email"]: each["time_zone"] for each in await harness.rows(users_table)} == {
        EMAIL: "UTC",
        GUEST: "Asia/Tokyo",
    }
    again = await harness.client.post(INVITATION, data={"token": token, "password": NEW})
    shown(again, 400, "This link does not work")


async def test_a_second_invitation_takes_the_place_of_the_first(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.prove_address(owner)
    first, second = await invited(harness, owner), await invited(harness, owner)

    shown(await harness.get(INVITATION, token=first), 400, "This link does not work")
    shown(await harness.get(INVITATION, token=second), 200, "Join an account")
    harness.clock.move(7 * 24 * 3600)
    shown(await harness.get(INVITATION, token=second), 400, "This link does not work")


async def test_an_address_that_somebody_captured_accepts_after_it_was_taken_back(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.prove_address(owner)
    attacker = await harness.sign_up("attacker@evil.example")
    assert (await harness.post("/v1/users", attacker.session, email=GUEST, password=PASSWORD)).status_code == 200
    token = await invited(harness, owner)

    refused = await harness.client.post(INVITATION, data={"token": token, "password": NEW})
    assert "take the address back" in shown(refused, 400, "Join an account").main
    shown(await choose(harness, await reset_link(harness, GUEST), "leave"), 200, "Your address is free again")
    joined = await harness.client.post(INVITATION, data={"token": token, "password": NEW})

    shown(joined, 200, "You have joined the account")
    account = (await harness.client.get("/v1/me", headers=auth_headers(await harness.sign_in(GUEST, NEW)))).json()
    assert account["email"] == EMAIL


async def test_who_confirms_an_address_goes_on_by_a_button(harness: ServiceHarness) -> None:
    pages, stranger = PagesClient(harness), PagesClient(harness)
    await pages.sign_up(password=PASSWORD)
    token = (await mailed(harness))[1]
    kept = await pages.post(CONFIRM, token=token, choice="keep", password=PASSWORD)
    assert shown(kept, 200, "Your address is confirmed").link("Go to your account") == "/app"

    await PagesClient(harness).sign_up(GUEST, PASSWORD)
    await stranger.sign_up("other@acme.example")
    taken = await stranger.post(CONFIRM, token=(await mailed(harness, GUEST))[1], choice="take-over", password=NEW)
    page = shown(taken, 200, "The account is yours")
    assert "other@acme.example is signed in" in page.main
    assert page.link("Sign out") == "/logout"
    token = (await mailed(harness, "other@acme.example"))[1]
    deleted = await pages.post(CONFIRM, token=token, choice="delete", sure="yes")
    assert shown(deleted, 200, "The account is deleted").link("Search the register") == "/"


async def test_a_member_with_a_proven_address_sets_no_password_where_nobody_is_told(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.post("/v1/users", owner.session, email=MEMBER, password=PASSWORD)
    await choose(harness, (await mailed(harness, MEMBER))[1], "join", password=NEW)
    token = await reset_link(harness, MEMBER)
    assert choices(Markup.of(await harness.get(CONFIRM, token=token))) == ["open", "leave"]

    refused = await choose(harness, token, "join", password="somebody else's words")

    assert "proven already" in shown(refused, 400, "Do you belong to this account?").main
    assert await login(harness, MEMBER, NEW) == 200


async def test_a_link_that_sets_a_password_deletes_no_account_of_a_proven_address(harness: ServiceHarness) -> None:
    """A reader of the mailbox may lack the second factor, which every other way to delete an account asks for."""
    await harness.prove_address(await harness.sign_up())
    token = await reset_link(harness)
    before = harness.all_rows()

    page = shown(await harness.get(CONFIRM, token=token), 400, "This link does not work")
    assert "The address is proven already" in page.main
    for choice, fields in (("delete", {"sure": "yes"}), ("take-over", {}), ("keep", {})):
        shown(await choose(harness, token, choice, password=PASSWORD, **fields), 400, "This link does not work")
        assert harness.all_rows() == before
    shown(await harness.client.post(RESET, data={"token": token, "password": NEW}), 200, "Your new password is set")


async def test_the_form_for_signing_in_is_filled_with_addresses_alone(harness: ServiceHarness) -> None:
    for typed, filled in ((GUEST, GUEST), ("no address", ""), (HOSTILE, ""), ("a" * 300 + "@acme.example", "")):
        page = Markup.of(await harness.client.get("/login", params={"email": typed}))
        assert page.one("input", id="email")["value"] == filled
