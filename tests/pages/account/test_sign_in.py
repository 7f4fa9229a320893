"""Signing up, in and out in a browser: cookies, where forms come from, forms that wait for a session."""

import pytest
from sqlalchemy import update

from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.passwords.proof import PROOF_SECONDS
from registerwatch.accounts.sessions.clients import UNKNOWN_CLIENT
from registerwatch.accounts.sessions.credentials import browser_session_of
from registerwatch.accounts.sessions.sign_in import SESSION_SECONDS
from registerwatch.accounts.tables import users
from registerwatch.errors import Unauthenticated, WrongPassword
from tests.pages.account.pages_client import STRONG_PASSWORD, PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.support.harness import EMAIL, ServiceHarness, ServiceStarter


async def test_who_signs_up_is_signed_in_and_gets_no_key_that_nobody_knows(
    harness: ServiceHarness, browser_client: PagesClient
) -> None:
    form = await browser_client.page("/signup")
    assert "7 days with up to 25 watches" in form.main
    assert accessibility_problems(form) == []

    response = await browser_client.post("/signup", email=EMAIL, password=STRONG_PASSWORD, company="Acme")

    cookie = response.headers["set-cookie"]
    assert response.headers["location"] == "/app"
    assert response.headers["cache-control"] == "no-store", "nobody in between keeps the cookie"
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert f"Max-Age={SESSION_SECONDS}" in cookie
    assert (await browser_client.page("/app")).title == "Today · Registerwatch"
    profile = await harness.service.accounts.members.profile(await browser_client.caller())
    assert (profile.account.name, profile.keys) == ("Acme", [])


async def test_a_cookie_needs_https_everywhere_but_on_ones_own_machine(start_service: ServiceStarter) -> None:
    async with start_service(public_url="https://watch.example") as harness:
        response = await PagesClient(harness).post("/signup", email=EMAIL, password=STRONG_PASSWORD)
        assert response.headers["set-cookie"].startswith("__Host-session=ub_")
        assert "Secure" in response.headers["set-cookie"]
    async with start_service(public_url="http://watch.example") as harness:
        response = await PagesClient(harness).post("/signup", email="b@acme.example", password=STRONG_PASSWORD)
        assert response.status_code == 400
        assert "needs https" in Markup.of(response).main


async def test_what_was_wrong_is_said_and_what_was_typed_stays(browser_client: PagesClient) -> None:
    common = await browser_client.post("/signup", email=EMAIL, password="password1", company="<b>Acme</b>")
    assert (common.status_code, Markup.of(common).one("input", id="company")["value"]) == (400, "<b>Acme</b>")
    await browser_client.sign_up()
    await browser_client.post("/logout")

    wrong = await browser_client.post("/login", email=EMAIL, password="not it")
    taken = await browser_client.post("/signup", email=EMAIL, password="another long phrase")

    assert wrong.status_code == taken.status_code == 400
    assert "Email or password is wrong." in Markup.of(wrong).main
    assert Markup.of(wrong).one("input", id="email")["value"] == EMAIL
    assert "exists already" in Markup.of(taken).main
    assert browser_client.session == ""


async def test_signing_in_leads_back_to_the_page_that_was_asked_for(browser_client: PagesClient) -> None:
    await browser_client.sign_up()
    await browser_client.post("/logout")

    asked = await browser_client.get("/app?x=1")
    assert asked.headers["location"] == "/login?next=%2Fapp%3Fx%3D1"
    form = await browser_client.page(asked.headers["location"])
    response = await browser_client.post(
        "/login", email=EMAIL, password=STRONG_PASSWORD, next=form.one("input", name="next")["value"]
    )
    assert response.headers["location"] == "/app?x=1"
    for elsewhere in ("//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/\tevil"):
        response = await browser_client.post("/login", email=EMAIL, password=STRONG_PASSWORD, next=elsewhere)
        assert response.headers["location"] == "/app"


async def test_who_signs_up_to_watch_a_device_watches_it(harness: ServiceHarness, browser_client: PagesClient) -> None:
    device = next(each for each in harness.unique_devices(20) if each.trade_name)

    form = await browser_client.page("/signup", watch=device.primary_di)
    assert f"Then you watch {device.primary_di}." in form.main
    await harness.fill_copy()
    form = await browser_client.page("/signup", watch=device.primary_di)
    assert f"Then you watch {device.trade_name} ({device.primary_di})." in form.main
    response = await browser_client.post(
        "/signup", email=EMAIL, password=STRONG_PASSWORD, watch=form.one("input", name="watch")["value"]
    )

    [watch] = await harness.get_list(await browser_client.rest_session(), "watches")
    assert watch["subject"] == device.primary_di
    assert response.headers["location"] == f"/app/watches/{watch['id']}?done=added&welcome=1"
    assert f"We have sent a link to {EMAIL}." in (await browser_client.follow(response)).main


async def test_a_form_that_was_sent_after_the_session_ended_is_kept(
    harness: ServiceHarness, browser_client: PagesClient
) -> None:
    await browser_client.sign_up()
    harness.clock.move(SESSION_SECONDS + 1)

    asked = await browser_client.post("/app/watches/add?from=list", subject='A "quoted" <b>', tag=["one", "two"])
    assert asked.status_code == 401
    form = Markup.of(asked)
    assert "nothing that you typed is lost" in form.main
    hidden = {each["name"]: each["value"] for each in form.all("input", type="hidden")}
    answer = await browser_client.post("/login", email=EMAIL, password=STRONG_PASSWORD, **hidden)

    waiting = Markup.of(answer)
    assert f"signed in as {EMAIL}" in waiting.main, "it may be somebody else who sent it"
    assert waiting.all("form")[-1]["action"] == "/app/watches/add?from=list"
    kept = [(each["name"], each["value"]) for each in waiting.all("input", type="hidden")]
    assert ("subject", 'A "quoted" <b>') in kept
    assert browser_client.session.startswith("ub_")


async def test_no_page_shows_a_password_that_was_sent_after_the_session_ended(browser_client: PagesClient) -> None:
    typed = {"password": "secret one", "old-password": "secret two", "proof-password": "secret three", "email": EMAIL}
    asked = await browser_client.post("/app/team/users", **typed, **{"proof-code": "secret code"})
    hidden = {each["name"]: each["value"] for each in Markup.of(asked).all("input", type="hidden")}
    assert hidden == {"kept-for": "/app/team/users", "kept:email": EMAIL}
    assert "but for passwords" in Markup.of(asked).main
    assert "secret" not in asked.text


async def test_no_page_shows_the_address_of_a_channel_that_was_sent_after_the_session_ended(
    browser_client: PagesClient,
) -> None:
    address = "https://chat.acme.example/hooks/secret-of-the-room"
    await browser_client.sign_up()
    browser_client.harness.clock.move(SESSION_SECONDS + 1)
    asked = await browser_client.post("/app/notifications", channel="slack", name="Room", url=address)
    hidden = {each["name"]: each["value"] for each in Markup.of(asked).all("input", type="hidden")}
    assert hidden == {"kept-for": "/app/notifications", "kept:channel": "slack", "kept:name": "Room"}
    assert "what you typed is kept, but for passwords and addresses of channels" in Markup.of(asked).main
    assert "secret-of-the-room" not in asked.text
    waiting = Markup.of(await browser_client.post("/login", email=EMAIL, password=STRONG_PASSWORD, **hidden))
    carried = {each["name"]: each["value"] for each in waiting.all("input", type="hidden")}
    again = await browser_client.post("/app/notifications", **carried)
    assert again.status_code == 400
    assert Markup.of(again).one("input", name="name")["value"] == "Room", "what is missing is the address alone"


async def test_a_page_that_came_over_http_sends_no_form_where_people_use_https(start_service: ServiceStarter) -> None:
    async with start_service(public_url="https://registerwatch.example") as harness:
        pages = PagesClient(harness)
        for origin, status in (
            ("http://registerwatch.example", 403),
            ("http://localhost:8000", 403),
            ("https://localhost:8000", 303),
            ("https://registerwatch.example", 303),
        ):
            assert (await pages.post_from({"Origin": origin}, "/logout")).status_code == status, origin


async def test_a_form_is_taken_from_our_own_pages_alone(browser_client: PagesClient) -> None:
    await browser_client.sign_up()
    refused = [
        {},
        {"Origin": "null"},
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost:8000"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ]
    for headers in refused:
        response = await browser_client.post_from(headers, "/logout")
        assert response.status_code == 403, headers
        assert "was not sent from a page of this site" in Markup.of(response).main
    assert browser_client.session
    assert (await browser_client.post_from({"Origin": "http://localhost:8000"}, "/logout")).status_code == 303
    assert browser_client.session == ""


async def test_a_session_that_was_there_before_signing_in_ends(
    harness: ServiceHarness, browser_client: PagesClient
) -> None:
    await browser_client.sign_up()
    before = browser_client.session

    await browser_client.sign_in(password=STRONG_PASSWORD)

    with pytest.raises(Unauthenticated):
        await harness.service.accounts.sessions.caller(browser_session_of(before))
    assert browser_client.session != before


async def test_a_key_in_the_cookie_opens_no_page(harness: ServiceHarness, browser_client: PagesClient) -> None:
    owner = await harness.sign_up()
    browser_client.client.cookies.set("session", owner.api_key)
    assert (await browser_client.get("/app")).status_code == 303


async def test_pages_of_the_account_are_never_kept_by_a_browser(owner_pages: PagesClient) -> None:
    response = await owner_pages.get("/app")
    assert response.headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in response.headers["content-security-policy"]
    public = await owner_pages.get("/")
    assert public.headers["cache-control"] == "private, no-cache"
    assert "Cookie" in public.headers["vary"]
    assert Markup.of(public).link("Your watches") == "/app"


async def test_the_password_is_asked_for_again_after_ten_minutes_and_the_form_goes_on(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    caller = await owner_pages.caller()
    proofs = harness.service.accounts.proofs
    assert proofs.is_proved(caller)

    harness.clock.move(PROOF_SECONDS + 1)
    assert not proofs.is_proved(caller)
    with pytest.raises(WrongPassword):
        await proofs.prove(caller, "not it")
    await harness.service.accounts.sessions.failures.settled()
    trail = await harness.service.accounts.members.trail(caller)
    told = f"{EMAIL} from {UNKNOWN_CLIENT.address}, asked again within a session"
    assert (trail[0].action, trail[0].subject) == (Action.SIGN_IN_FAILED, told), "who has stolen a session guesses here"
    await proofs.prove(caller, STRONG_PASSWORD)

    assert proofs.is_proved(await owner_pages.caller())


async def test_a_time_zone_that_is_known_no_more_is_shown_as_utc(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    async with harness.database.transaction() as connection:
        await connection.execute(update(users).values(time_zone="Europe/Atlantis"))

    assert "Today" in (await owner_pages.page("/app")).main
