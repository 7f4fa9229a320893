"""Signing in by an OpenID provider on pages."""

import asyncio
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import text

from registerwatch.accounts import repository
from registerwatch.platform.clock import day_in_words, day_of
from registerwatch.platform.db.engine import Database
from tests.accounts.openid_provider import CLIENT_ID, CLIENT_SECRET, OpenIdProvider, openid_provider
from tests.accounts.second_factors import app_of
from tests.pages.account.pages_client import STRONG_PASSWORD, PagesClient
from tests.pages.account.test_passkeys import reset, with_proven_address
from tests.pages.markup import Markup, accessibility_problems
from tests.support.harness import EMAIL, ServiceHarness, ServiceStarter

SETTINGS = "/app/settings"
NAME = "Acme <login>"
THIEF = "thief@login.example"


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenIdProvider]:
    with openid_provider(tmp_path_factory.mktemp("provider")) as running:
        yield running


def settings_of(provider: OpenIdProvider) -> dict[str, str]:
    return {
        "oidc_issuer": provider.issuer,
        "oidc_client_id": CLIENT_ID,
        "oidc_client_secret": CLIENT_SECRET,
        "oidc_name": NAME,
    }


def set_to_real_time(harness: ServiceHarness) -> None:
    """The provider has a clock of its own."""
    harness.clock.put(time.time() - harness.clock.now())


async def test_people_link_the_provider_and_sign_in_by_it(
    start_service: ServiceStarter, provider: OpenIdProvider
) -> None:
    async with start_service(**settings_of(provider)) as harness:
        set_to_real_time(harness)
        browser_client = PagesClient(harness)
        await browser_client.sign_up()
        page = await browser_client.page(SETTINGS)
        assert page.one("button", id="link-provider")

        linking = Markup.of(await browser_client.post(f"{SETTINGS}/oidc"))
        assert accessibility_problems(linking) == []
        back = await provider.sign_in(linking.one("a", id="go-to-provider")["href"], "somebody@login.example")
        linked = await browser_client.follow(await browser_client.get("/login/oidc/back", **back))
        assert "You can sign in that way" in linked.main
        assert "somebody@login.example" in linked.main
        assert accessibility_problems(linked) == []
        await browser_client.post("/logout")

        form = await browser_client.page("/login", next="/app/events")
        sent = await browser_client.get(form.one("a", id="use-provider")["href"])
        back = await provider.sign_in(sent.headers["location"], "somebody@login.example")
        stranger = await PagesClient(harness).get("/login/oidc/back", **back)
        assert (stranger.status_code, "not signed in there" in Markup.of(stranger).main) == (400, True)
        signed_in = await browser_client.get("/login/oidc/back", **back)
        assert signed_in.headers["location"] == "/app/events"
        assert browser_client.session
        again = await browser_client.get("/login/oidc/back", **back)
        assert again.status_code == 200
        assert "Nothing was linked" in Markup.of(again).main

        asked = Markup.of(await browser_client.post(f"{SETTINGS}/oidc/remove"))
        assert asked.one("input", id="proof-password"), "whoever sits at an open browser comes back from the provider"
        proof = {"proof-password": STRONG_PASSWORD}
        removed = await browser_client.follow(await browser_client.post(f"{SETTINGS}/oidc/remove", **proof))
        assert removed.one("button", id="link-provider")


async def test_the_providers_password_leads_to_the_second_step_of_who_has_one(
    start_service: ServiceStarter, provider: OpenIdProvider
) -> None:
    async with start_service(**settings_of(provider)) as harness:
        set_to_real_time(harness)
        browser_client, accounts = PagesClient(harness), harness.service.accounts
        owner = await harness.sign_up(EMAIL, STRONG_PASSWORD)
        await harness.prove_address(owner)
        await browser_client.sign_in(password=STRONG_PASSWORD)
        app = await app_of(accounts, await browser_client.caller(), harness.clock)
        await browser_client.post("/logout")

        sent = await browser_client.get("/login/oidc", next="/app/events")
        back = await provider.sign_in(sent.headers["location"], EMAIL)
        step = await browser_client.get("/login/oidc/back", **back)
        assert step.headers["location"] == "/login/second-step?next=%2Fapp%2Fevents"
        await browser_client.post("/login/second-step", code=app.recovery_codes[0])
        assert browser_client.session
        asked = Markup.of(await browser_client.post("/app/keys", form="x", label="ERP", scope="read"))
        assert asked.one("input", id="proof-password"), "a provider and a code are no proof of the password"


async def linked_thief(harness: ServiceHarness, provider: OpenIdProvider, email: str) -> PagesClient:
    """A browser of somebody who had the password of a user, and linked themselves."""
    thief = PagesClient(harness)
    await thief.sign_in(email, STRONG_PASSWORD)
    linking = Markup.of(await thief.post(f"{SETTINGS}/oidc"))
    linked = await provider.sign_in(linking.one("a", id="go-to-provider")["href"], THIEF)
    assert (await thief.get("/login/oidc/back", **linked)).status_code == 303
    await thief.post("/logout")
    return thief


async def signs_in(thief: PagesClient, provider: OpenIdProvider) -> bool:
    """Whether the provider's person gets in."""
    back = await provider.sign_in((await thief.get("/login/oidc")).headers["location"], THIEF)
    await thief.get("/login/oidc/back", **back)
    return bool(thief.session)


@pytest.mark.parametrize(
    ("role", "end"), [("owner", "keys and sessions"), ("member", "keys and sessions"), ("member", "all")]
)
async def test_who_sets_a_password_by_a_mailed_link_is_told_who_signs_in_by_the_provider_and_ends_that(
    start_service: ServiceStarter, provider: OpenIdProvider, role: str, end: str
) -> None:
    async with start_service(**settings_of(provider)) as harness:
        set_to_real_time(harness)
        email = await with_proven_address(harness, role)
        thief = await linked_thief(harness, provider, email)
        linked_on = day_in_words(day_of(harness.now))
        harness.clock.move(60)

        form, done, mail = await reset(harness, email, "own sessions")
        told = f"Sign-in by a provider as {THIEF}, added {linked_on}"
        assert (told in form.main, told in done.main) == (True, True)
        assert (
            f"what is left: {'1 API key, ' if role == 'owner' else ''}sign-in by a provider as {THIEF} of {linked_on}"
            in mail
        )
        assert await signs_in(thief, provider), "which is what it means to be left"
        await thief.post("/logout")

        form, done, mail = await reset(harness, email, end)
        assert (told in form.main, THIEF in done.main, THIEF in mail) == (True, False, False)
        assert "links to a provider" in mail
        assert not await signs_in(thief, provider)


@pytest.mark.parametrize("database_kind", ["sqlite", "postgresql"], indirect=True)
async def test_a_sign_in_that_waits_while_a_mailed_link_ends_everything_leaves_nobody_signed_in(
    start_service: ServiceStarter, provider: OpenIdProvider
) -> None:
    async with start_service(**settings_of(provider)) as harness:
        set_to_real_time(harness)
        owner = await harness.sign_up(EMAIL, STRONG_PASSWORD)
        await harness.prove_address(owner)
        account_id = (await harness.service.accounts.admin.profile(EMAIL)).account.id
        thief = await linked_thief(harness, provider, EMAIL)
        back = await provider.sign_in((await thief.get("/login/oidc")).headers["location"], THIEF)
        token = (await harness.service.accounts.password_reset.link(EMAIL)).rpartition("=")[2]

        async with harness.database.transaction() as connection:  # so that the two come close behind each other
            await repository.lock_account(connection, account_id)
            fields = {"token": token, "password": "the owner's new phrase", "end": "all"}
            reset = asyncio.create_task(PagesClient(harness).post("/password/reset", **fields))
            await _so_many_wait(harness.database, 1)
            sign_in = asyncio.create_task(thief.get("/login/oidc/back", **back))
            await _so_many_wait(harness.database, 2)

        assert (await reset).status_code == 200
        await sign_in
        assert (await thief.get("/app")).headers["location"].startswith("/login")


async def _so_many_wait(database: Database, number: int) -> None:
    """On PostgreSQL until so many requests wait for locks; on SQLite they wait for whoever writes, anyhow."""
    waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    async with asyncio.timeout(30), database.reading() as connection:
        while database.kind == "postgresql" and (await connection.execute(waiting)).scalar_one() < number:
            await asyncio.sleep(0)


async def test_what_comes_back_without_a_person_signs_nobody_in(
    start_service: ServiceStarter, provider: OpenIdProvider
) -> None:
    async with start_service(**settings_of(provider)) as harness:
        browser_client = PagesClient(harness)
        sent = await browser_client.get("/login/oidc")
        refused = await provider.sign_in(sent.headers["location"], "nobody")
        assert refused["error"] == "access_denied"
        state = refused["state"]
        for back in (
            refused,
            {},
            {"state": state},
            {"code": "x"},
            {"state": "\u00e9", "code": "x"},
            {"state": state, "code": "x", "iss": "https://evil.example"},
            {"state": state, "code": "x"},
        ):
            answer = await browser_client.get("/login/oidc/back", **back)
            assert (answer.status_code, browser_client.session) == (400, ""), back


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_who_is_sent_by_another_site_is_asked_before_the_provider_signs_them_in(
    start_service: ServiceStarter, provider: OpenIdProvider, site: str
) -> None:
    async with start_service(**settings_of(provider)) as harness:
        browser_client = PagesClient(harness)
        sent = await browser_client.client.get("/login/oidc?next=/app/events", headers={"Sec-Fetch-Site": site})
        assert "location" not in sent.headers
        assert Markup.of(sent).one("a", id="use-provider")["href"] == "/login/oidc?next=%2Fapp%2Fevents"
        for own in ("same-origin", "none"):
            begun = await browser_client.client.get("/login/oidc", headers={"Sec-Fetch-Site": own})
            assert begun.headers["location"].startswith(provider.issuer)


async def test_without_a_provider_none_is_offered(browser_client: PagesClient) -> None:
    assert not (await browser_client.page("/login")).all("a", id="use-provider")
    answer = await browser_client.get("/login/oidc")
    assert (answer.status_code, "Nobody signs in that way" in Markup.of(answer).main) == (503, True)
    assert (await browser_client.get("/login/oidc/back", state="x", code="y")).status_code == 400
    await browser_client.sign_up()
    assert not (await browser_client.page(SETTINGS)).all("button", id="link-provider")
    assert "Nobody signs in that way" in Markup.of(await browser_client.post(f"{SETTINGS}/oidc")).main
