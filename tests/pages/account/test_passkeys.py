"""Passkeys on pages; in the place of the browser's script, which other tests drive, stands a software authenticator."""

import re

import pytest

from registerwatch.accounts.passwords.proof import PROOF_SECONDS
from registerwatch.platform.clock import day_in_words, day_of
from tests.accounts.authenticator import Authenticator
from tests.accounts.second_factors import RECOVERY_CODE, app_of
from tests.pages.account.pages_client import STRONG_PASSWORD, PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.support.harness import EMAIL, ServiceHarness, ServiceStarter

PASSKEYS = "/app/settings/passkeys"
HOSTILE = "<img src=x onerror=alert(1)>"


async def passkey_added(browser_client: PagesClient, label: str = "Phone") -> tuple[Authenticator, Markup]:
    """An authenticator with a passkey of who is signed in, and the page that follows."""
    authenticator = Authenticator()
    button = Markup.of(await browser_client.post(f"{PASSKEYS}/new", label=label)).one("button", id="add-passkey")
    credential = authenticator.create(button["data-options"])
    answer = await browser_client.post(PASSKEYS, label=label, credential=credential)
    return authenticator, Markup.of(answer) if answer.status_code == 200 else await browser_client.follow(answer)


async def signed_in_by(authenticator: Authenticator, browser_client: PagesClient, **fields: str) -> str:
    """Where a passkey leads to, as the script asks for it."""
    options = await browser_client.post("/login/passkey/options")
    assert options.headers["content-type"] == "application/json"
    answer = await browser_client.post("/login/passkey", credential=authenticator.get(options.text), **fields)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


async def test_a_passkey_is_added_named_used_and_removed(harness: ServiceHarness, browser_client: PagesClient) -> None:
    await browser_client.sign_up()
    empty = await browser_client.page(PASSKEYS)
    authenticator, first = await passkey_added(browser_client, HOSTILE)
    assert len(RECOVERY_CODE.findall(first.main)) == 10
    _, second = await passkey_added(browser_client)
    assert "The passkey is added" in second.main
    assert not RECOVERY_CODE.search(second.main)
    assert HOSTILE in second.main, "as text"
    for page in (empty, second):
        assert accessibility_problems(page) == []

    await browser_client.post("/logout")
    form = await browser_client.page("/login", next="/app/events")
    assert form.one("button", id="use-passkey")
    assert await signed_in_by(authenticator, browser_client, next="/app/events") == "/app/events"

    passkey = second.all("input", name="id")[0]["value"]
    named = await browser_client.post(f"{PASSKEYS}/rename", id=passkey, label="Laptop")
    assert "Laptop" in (await browser_client.follow(named)).main
    sure = Markup.of(await browser_client.post(f"{PASSKEYS}/remove", id=passkey))
    assert "Your other second factors stay" in sure.main
    removed = await browser_client.follow(await browser_client.post(f"{PASSKEYS}/remove", id=passkey, sure="yes"))
    assert "Laptop" not in removed.main
    for unknown in ("", "x", "9" * 30, "0"):
        assert (await browser_client.post(f"{PASSKEYS}/remove", id=unknown)).headers["location"] == PASSKEYS
    [left] = {each["value"] for each in removed.all("input", name="id")}
    sure = Markup.of(await browser_client.post(f"{PASSKEYS}/remove", id=left))
    assert "password alone signs you in then" in sure.main


async def test_a_passkey_is_the_second_step_after_a_password_too(
    harness: ServiceHarness, browser_client: PagesClient
) -> None:
    await browser_client.sign_up()
    authenticator, _ = await passkey_added(browser_client)
    await browser_client.post("/logout")

    asked = await browser_client.post("/login", email=EMAIL, password=STRONG_PASSWORD)
    step = await browser_client.follow(asked)
    assert accessibility_problems(step) == []
    assert step.one("button", id="use-passkey")
    assert await signed_in_by(authenticator, browser_client) == "/app"
    assert not browser_client.client.cookies.get("step")


async def test_what_is_no_passkey_of_ours_says_so(harness: ServiceHarness, browser_client: PagesClient) -> None:
    await browser_client.sign_up()
    wrong = await browser_client.post(PASSKEYS, label="x", credential="{}")
    assert (wrong.status_code, "cannot be used" in Markup.of(wrong).main) == (400, True)
    await browser_client.post("/logout")

    stranger = Authenticator(relying_party="localhost")
    options = await browser_client.post("/login/passkey/options")
    for credential in ("", "{}", stranger.get(options.text)):
        answer = await browser_client.post("/login/passkey", credential=credential, next="/app/events")
        assert (answer.status_code, browser_client.session) == (400, "")
    refused = await browser_client.post_from({"Sec-Fetch-Site": "cross-site"}, "/login/passkey/options")
    assert refused.status_code == 403


async def test_an_old_session_alone_adds_and_removes_no_passkey(
    harness: ServiceHarness, browser_client: PagesClient
) -> None:
    await browser_client.sign_up()
    await passkey_added(browser_client)
    passkey = (await browser_client.page(PASSKEYS)).all("input", name="id")[0]["value"]
    harness.clock.move(PROOF_SECONDS)

    for address, fields in (
        (f"{PASSKEYS}/new", {"label": "x"}),
        (f"{PASSKEYS}/remove", {"id": passkey, "sure": "yes"}),
    ):
        asked = Markup.of(await browser_client.post(address, **fields))
        assert asked.one("input", id="proof-password"), address


async def test_where_browsers_have_no_passkeys_none_is_offered(start_service: ServiceStarter) -> None:
    async with start_service(public_url="http://127.0.0.1:8000") as harness:
        browser_client = PagesClient(harness)
        assert not (await browser_client.page("/login")).all("button", id="use-passkey")
        await browser_client.sign_up()
        assert "no passkeys for this address" in (await browser_client.page(PASSKEYS)).main
        assert (await browser_client.post(f"{PASSKEYS}/new", label="x")).status_code == 400


async def test_a_passkey_proves_again_who_sits_there_and_the_form_goes_on(
    harness: ServiceHarness, browser_client: PagesClient
) -> None:
    await browser_client.sign_up()
    authenticator, _ = await passkey_added(browser_client)
    harness.clock.move(PROOF_SECONDS)
    before = browser_client.session

    asked = Markup.of(await browser_client.post("/app/keys", form="x", label="ERP", scope="read"))
    assert accessibility_problems(asked) == []
    button = asked.one("button", id="use-passkey")
    kept = {
        each["name"]: each["value"] for each in asked.all("input", type="hidden") if each["name"].startswith("kept")
    }
    options = await browser_client.post(button["data-options-address"])
    answer = await browser_client.post(button["data-address"], credential=authenticator.get(options.text), **kept)
    going_on = Markup.of(answer)
    assert going_on.one("form", action="/app/keys")
    fields = {each["name"]: each["value"] for each in going_on.all("input", type="hidden")}
    made = await browser_client.post("/app/keys", **fields)

    assert (fields["label"], bool(re.search(r"\brw_[\w-]{43}\b", made.text))) == ("ERP", True)
    harness_client = PagesClient(harness)
    harness_client.client.cookies.set("session", before)
    assert (await harness_client.get("/app")).status_code == 303, "the session before ended"


LINK = re.compile(r"/(?:account/confirm|password/reset)\?token=([\w.-]{43,})")
GUEST = "member@acme.example"
NEW = "words of the mailbox's reader"


async def mailed_token(harness: ServiceHarness, email: str) -> str:
    """The token of the newest link that went to somebody."""
    await harness.finish_background_work()
    texts = [mail.text for mail in harness.mail.mails if mail.to == email and LINK.search(mail.text)]
    found = LINK.search(texts[-1])
    assert found
    return found[1]


async def reset(harness: ServiceHarness, email: str, end: str) -> tuple[Markup, Markup, str]:
    """Set a password by a mailed link: its page, the page that follows, and the mail that tells of it."""
    await harness.post("/v1/password/forgot", email=email)
    token = await mailed_token(harness, email)
    form = await PagesClient(harness).page("/password/reset", token=token)
    done = await PagesClient(harness).post("/password/reset", token=token, password=NEW, end=end)
    assert done.status_code == 200, done.text
    await harness.finish_background_work()
    return form, Markup.of(done), next(mail.text for mail in reversed(harness.mail.mails) if mail.to == email)


async def with_proven_address(harness: ServiceHarness, role: str) -> str:
    """The address of an owner or of a member, who has joined, of a new account."""
    owner = await harness.sign_up(EMAIL, STRONG_PASSWORD)
    await harness.prove_address(owner)
    if role == "owner":
        return EMAIL
    await harness.post("/v1/users", owner.session, email=GUEST, password="a first one of the owner's")
    token = await mailed_token(harness, GUEST)
    await PagesClient(harness).post("/account/confirm", token=token, choice="join", password=STRONG_PASSWORD)
    return GUEST


@pytest.mark.parametrize("role", ["owner", "member"])
@pytest.mark.parametrize("factor", ["an app", "recovery codes"])
async def test_who_reads_the_mailbox_is_told_of_passkeys_and_ends_them_and_a_second_factor_stays_asked_for(
    harness: ServiceHarness, browser_client: PagesClient, role: str, factor: str
) -> None:
    email = await with_proven_address(harness, role)
    await browser_client.sign_in(email, STRONG_PASSWORD)
    if factor == "an app":
        await app_of(harness.service.accounts, await browser_client.caller(), harness.clock)
    thiefs, first = await passkey_added(browser_client, "Thief’s")
    codes = RECOVERY_CODE.findall(first.main)
    added_on = day_in_words(day_of(harness.now))
    harness.clock.move(2 * 24 * 3600)

    form, done, mail = await reset(harness, email, "own sessions")
    assert f"Passkey Thief’s, added {added_on}" in form.main
    assert f"Passkey Thief’s, added {added_on}" in done.main
    assert f"passkey “Thief’s” of {added_on}" in mail
    assert await signed_in_by(thiefs, PagesClient(harness)) == "/app", "which is what it means to be left"

    harness.clock.move(3600)
    end = "keys and sessions" if role == "owner" else "all"
    form, done, mail = await reset(harness, email, end)
    assert "a recovery code after the password" in form.main
    assert "Thief’s" not in done.main + mail.partition("what is left")[2]
    assert "passkeys and links to a provider" in done.main
    assert "passkeys and links to a provider" in mail
    for page in (form, done):
        assert accessibility_problems(page) == []
    options = await PagesClient(harness).post("/login/passkey/options")
    refused = await PagesClient(harness).post("/login/passkey", credential=thiefs.get(options.text))
    assert refused.status_code == 400
    answer = await harness.post("/v1/login", email=email, password=NEW)
    assert (answer.status_code, answer.json()["code"]) == (401, "second-factor-needed"), (
        "the mailbox alone is not enough"
    )
    if codes:
        assert (await harness.post("/v1/login", email=email, password=NEW, code=codes[0])).status_code == 200
        await browser_client.sign_in(email, NEW)
        await browser_client.post("/login/second-step", code=codes[1])
        assert "8 left" in (await browser_client.page("/app/settings")).main
        await harness.service.accounts.second_factors.reset(email)
        assert (await harness.post("/v1/login", email=email, password=NEW)).status_code == 200, "the operator's way out"


@pytest.mark.parametrize("end", ["keys and sessions", "all"])
async def test_passkeys_stay_where_nothing_else_would_be_asked_for_and_the_mail_says_so(
    harness: ServiceHarness, browser_client: PagesClient, end: str
) -> None:
    email = await with_proven_address(harness, "owner")
    await browser_client.sign_in(email, STRONG_PASSWORD)
    passkey, first = await passkey_added(browser_client, "Laptop")
    for code in RECOVERY_CODE.findall(first.main):
        await harness.post("/v1/login", email=email, password=STRONG_PASSWORD, code=code)
    harness.clock.move(2 * 24 * 3600)

    form, done, mail = await reset(harness, email, end)
    assert "Passkeys stay, whatever you choose" in form.main
    assert "Passkey Laptop, added" in done.main
    assert "what is left: passkey “Laptop”" in mail.partition("mailed link")[2].replace("1 API key, ", "")
    assert (
        "access to the account but passkeys" in mail
        if end == "all"
        else "ended all API keys and sessions of the account, links" in mail
    )
    answer = await harness.post("/v1/login", email=email, password=NEW)
    assert answer.json()["code"] == "second-factor-needed"
    assert await signed_in_by(passkey, PagesClient(harness)) == "/app"
