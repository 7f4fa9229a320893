"""Passkeys on pages; in the place of the browser's script, which other tests drive, stands a software authenticator."""

import pytest

from registerwatch.accounts.proof import PROOF_SECONDS
from tests.accounts.authenticator import Authenticator
from tests.accounts.second_factors import RECOVERY_CODE
from tests.pages.account.pages_client import STRONG_PASSWORD, PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.support.harness import EMAIL, ServiceHarness, ServiceStarter

pytestmark = pytest.mark.anyio

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
