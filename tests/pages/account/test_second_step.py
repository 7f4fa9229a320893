"""Signing in on pages with a second factor."""

from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.accounts.sessions.sign_in_steps import MAX_TRIES, STEP_SECONDS
from tests.accounts.second_factors import App, app_of
from tests.pages.account.pages_client import STRONG_PASSWORD, PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.support.harness import EMAIL, ServiceHarness, ServiceStarter

STEP = "/login/second-step"


async def app_of_new_user(harness: ServiceHarness, browser_client: PagesClient) -> App:
    """A user with an authenticator app, who is signed out."""
    await browser_client.sign_up()
    accounts = harness.service.accounts
    caller = await browser_client.caller()
    app = await app_of(accounts, caller, harness.clock)
    await browser_client.post("/logout")
    return app


async def password_given(browser_client: PagesClient, **fields: str) -> str:
    """Where the right password leads to."""
    answer = await browser_client.post("/login", email=EMAIL, password=STRONG_PASSWORD, **fields)
    assert answer.status_code == 303
    return str(answer.headers["location"])


async def test_after_the_password_comes_the_code_then_the_page_that_was_asked_for(
    harness: ServiceHarness, browser_client: PagesClient
) -> None:
    app = await app_of_new_user(harness, browser_client)

    address = await password_given(browser_client, next="/app/settings")
    assert (address, browser_client.session) == (f"{STEP}?next=%2Fapp%2Fsettings", "")
    form = await browser_client.page(address)
    assert "authenticator app" in form.main
    assert accessibility_problems(form) == []
    for typed in ("000000", "жжжжжж"):
        wrong = await browser_client.post(STEP, code=typed, next="/app/settings")
        assert (wrong.status_code, "is wrong" in Markup.of(wrong).main) == (400, True)
    right = await browser_client.post(STEP, code=app.next_code(), next="/app/settings")

    assert right.headers["location"] == "/app/settings"
    assert browser_client.session.startswith("ub_")
    assert not browser_client.client.cookies.get("step")
    assert (await browser_client.get("/app")).status_code == 200
    assert (await browser_client.get(STEP)).headers["location"] == "/login"


async def test_a_form_that_waits_outlasts_the_second_step(harness: ServiceHarness, browser_client: PagesClient) -> None:
    app = await app_of_new_user(harness, browser_client)
    kept = {"kept-for": "/app/watches/add", "kept:subject": "<b>"}

    step = Markup.of(await browser_client.post("/login", email=EMAIL, password=STRONG_PASSWORD, **kept))
    hidden = {each["name"]: each["value"] for each in step.all("input", type="hidden")}
    waiting = Markup.of(await browser_client.post(STEP, code=app.recovery_codes[0], **hidden))

    assert hidden == kept
    assert waiting.all("form")[-1]["action"] == "/app/watches/add"


async def test_a_step_that_is_over_leads_back_to_the_password(
    harness: ServiceHarness, browser_client: PagesClient
) -> None:
    app = await app_of_new_user(harness, browser_client)
    await password_given(browser_client)
    for _ in range(MAX_TRIES):
        await browser_client.post(STEP, code="000000")

    over = await browser_client.post(STEP, code=app.next_code(), next="/app")

    assert (over.status_code, "Begin again" in Markup.of(over).main) == (400, True)
    assert Markup.of(over).one("input", id="password")
    await password_given(browser_client)
    harness.clock.move(STEP_SECONDS)
    assert (await browser_client.get(STEP)).headers["location"] == "/login"


async def test_who_signs_up_again_is_asked_for_the_code_too(
    harness: ServiceHarness, browser_client: PagesClient
) -> None:
    await app_of_new_user(harness, browser_client)
    answer = await browser_client.post("/signup", email=EMAIL, password=STRONG_PASSWORD, company="")
    assert (answer.headers["location"], browser_client.session) == (STEP, "")


async def test_the_step_is_a_cookie_of_this_host_alone(start_service: ServiceStarter) -> None:
    async with start_service(public_url="https://watch.example") as harness:
        owner = await harness.sign_up()
        accounts = harness.service.accounts
        await app_of(accounts, await accounts.sessions.caller(credential_of(None, owner.session)), harness.clock)
        response = await PagesClient(harness).post("/login", email=owner.email, password=owner.password)
        cookie = response.headers["set-cookie"]
        assert cookie.startswith("__Host-step=")
        assert "HttpOnly" in cookie
        assert "Secure" in cookie
        assert f"Max-Age={STEP_SECONDS}" in cookie
