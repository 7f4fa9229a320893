"""Settings: name, time zone, password, sessions, the end of the account."""

from collections.abc import Awaitable, Callable, Mapping

import httpx2
import pytest

from registerwatch.accounts.passwords.proof import PROOF_SECONDS
from registerwatch.accounts.passwords.unproven_passwords import UNPROVEN_SECONDS
from tests.pages.account.pages_client import FROM_HERE, STRONG_PASSWORD, PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.support.harness import EMAIL, PASSWORD, ServiceHarness, ServiceStarter

SETTINGS = "/app/settings"
DOWNLOADS = ("/app/watches.csv", "/app/watches.xlsx", "/app/events.csv", "/app/certificates.csv", "/app/audit.csv")
HOSTILE = '<script>alert(1)</script>"\u202e'


async def test_the_page_shows_what_is_set_and_leads_to_what_can_be(
    harness: ServiceHarness, browser_client: PagesClient
) -> None:
    await browser_client.sign_up()

    page = await browser_client.page(SETTINGS)

    assert accessibility_problems(page) == []
    assert f"E-mail address{EMAIL}" in page.main
    assert "This session" in page.main
    assert "Signed up" in page.main
    await browser_client.post("/login", email=EMAIL, password=STRONG_PASSWORD)
    assert "127.0.0.1" in (await browser_client.page(SETTINGS)).main, "where the session was opened"
    for address in ("time-zone", "password", "delete"):
        form = await browser_client.page(f"{SETTINGS}/{address}")
        assert accessibility_problems(form) == [], address
    assert (await browser_client.get(f"{SETTINGS}/authenticator")).headers["location"] == SETTINGS


async def test_an_owner_renames_the_account_and_a_name_is_only_text(browser_client: PagesClient) -> None:
    await browser_client.sign_up()

    page = await browser_client.follow(await browser_client.post(f"{SETTINGS}/name", name=HOSTILE))
    empty = await browser_client.post(f"{SETTINGS}/name", name=" \n ")

    assert "new name" in page.main
    assert page.one("input", id="name")["value"] == '<script>alert(1)</script>"'
    assert empty.status_code == 400
    assert Markup.of(empty).one("input", id="name")["aria-invalid"] == "true"


async def test_a_time_zone_is_one_of_the_list_however_it_is_typed(browser_client: PagesClient) -> None:
    await browser_client.sign_up()

    page = await browser_client.follow(await browser_client.post(f"{SETTINGS}/time-zone", zone="america/new york"))
    assert "America/New York" in page.main
    page = await browser_client.follow(await browser_client.post(f"{SETTINGS}/time-zone", zone=" berlin "))
    assert "Europe/Berlin" in page.main
    for unknown in ("", "Europe/", "Mars/Olympus", "../../etc/passwd", "posix/Europe/Berlin", "x" * 10_000):
        answer = await browser_client.post(f"{SETTINGS}/time-zone", zone=unknown)
        assert (answer.status_code, "no such time zone" in Markup.of(answer).main) == (400, True), unknown
    assert "Europe/Berlin" in (await browser_client.page(SETTINGS)).main


async def test_a_new_password_needs_the_present_one_and_ends_other_sessions(
    harness: ServiceHarness, browser_client: PagesClient
) -> None:
    await browser_client.sign_up()
    other = PagesClient(harness)
    await other.sign_in(password=STRONG_PASSWORD)
    new = "another long phrase of nobody"

    wrong = await browser_client.post(f"{SETTINGS}/password", **{"old-password": "wrong", "password": new})
    common = await browser_client.post(
        f"{SETTINGS}/password", **{"old-password": STRONG_PASSWORD, "password": "password1"}
    )
    assert (wrong.status_code, common.status_code) == (400, 400)
    assert Markup.of(wrong).one("input", id="old-password")["aria-invalid"] == "true"
    assert Markup.of(common).one("input", id="password")["aria-invalid"] == "true"
    assert (await other.get(SETTINGS)).status_code == 200

    page = await browser_client.follow(
        await browser_client.post(f"{SETTINGS}/password", **{"old-password": STRONG_PASSWORD, "password": new})
    )

    assert "password is changed" in page.main
    assert (await other.get(SETTINGS)).status_code == 303
    await other.sign_in(password=new)


@pytest.mark.parametrize("by", ["key", "session"])
async def test_a_password_that_was_set_without_the_one_before_is_no_proof_for_a_day(
    by: str, harness: ServiceHarness, browser_client: PagesClient
) -> None:
    owner, new = await harness.sign_up(), "set by whoever stole it"
    await harness.post("/v1/password", owner.api_key if by == "key" else owner.session, password=new)
    await browser_client.sign_in(password=new)
    key = {"form": "x", "label": "of a thief", "scope": "manage"}
    asks: Mapping[str, dict[str, str]] = {
        "/app/keys": {**key, "proof-password": new},
        "/app/team/users": {"email": "thief@evil.example", "proof-password": new},
        f"{SETTINGS}/authenticator": {"proof-password": new},
        f"{SETTINGS}/password": {"old-password": new, "password": "yet another long phrase"},
        f"{SETTINGS}/delete": {"password": new},
    }
    before = harness.all_rows()["users"]

    for path, fields in asks.items():
        answer = await browser_client.post(path, **fields)
        assert (answer.status_code, "mailed link" in Markup.of(answer).main) == (400, True), path
    assert harness.all_rows()["users"] == before
    harness.clock.move(UNPROVEN_SECONDS)
    assert (await browser_client.post("/app/keys", **asks["/app/keys"])).status_code == 200

    await harness.post("/v1/password", owner.api_key, password="set by the thief once more")
    token = (await harness.service.accounts.password_reset.link(EMAIL)).partition("token=")[2]
    await harness.post("/v1/password/reset", token=token, password=new)
    await browser_client.sign_in(password=new)
    assert (await browser_client.post("/app/keys", **key)).status_code == 200, "a sign-in by it is a proof again"


async def test_people_end_one_session_or_all_others(harness: ServiceHarness, browser_client: PagesClient) -> None:
    await browser_client.sign_up()
    others = [PagesClient(harness) for _ in range(3)]
    for each in others:
        harness.clock.move(60)
        await each.sign_in(password=STRONG_PASSWORD)

    page = await browser_client.page(SETTINGS)
    newest = next(each["value"] for each in page.all("input", name="id"))
    page = await browser_client.follow(await browser_client.post(f"{SETTINGS}/sessions/end", id=newest))
    assert "The session has ended" in page.main
    assert [(await each.get(SETTINGS)).status_code for each in others] == [200, 200, 303]

    page = await browser_client.follow(await browser_client.post(f"{SETTINGS}/sessions/end"))

    assert "All other sessions have ended" in page.main
    assert [(await each.get(SETTINGS)).status_code for each in others] == [303] * 3
    assert page.all("button", id="end-others") == []


async def test_the_account_is_deleted_by_a_password_and_everything_goes(
    harness: ServiceHarness, browser_client: PagesClient
) -> None:
    await browser_client.sign_up()
    account_id = harness.all_rows()["accounts"][0]["id"]
    await browser_client.post(f"{SETTINGS}/authenticator")

    form = await browser_client.page(f"{SETTINGS}/delete")
    assert "0 watches" in form.main
    wrong = await browser_client.post(f"{SETTINGS}/delete", password="wrong")
    assert (wrong.status_code, "The password is wrong" in Markup.of(wrong).main) == (400, True)
    done = await browser_client.post(f"{SETTINGS}/delete", password=STRONG_PASSWORD)

    assert Markup.of(done).one("h1")
    assert "is deleted" in done.text
    assert not any(harness.rows_of_account(account_id).values())
    assert browser_client.session == ""
    assert (await browser_client.get(SETTINGS)).headers["location"].startswith("/login")


async def test_a_stolen_session_neither_guesses_the_password_from_many_addresses_nor_makes_files_without_end(
    start_service: ServiceStarter,
) -> None:
    async with start_service(rate_limits=True, trusted_proxies="127.0.0.0/8") as harness:
        pages = PagesClient(harness)
        await pages.sign_up()

        async def statuses(number: int, send: Callable[[str], Awaitable[httpx2.Response]]) -> list[int]:
            return [(await send(f"198.51.{each}.7")).status_code for each in range(number)]

        async def delete(address: str) -> httpx2.Response:
            headers = {**FROM_HERE, "X-Forwarded-For": address}
            return await pages.post_from(headers, f"{SETTINGS}/delete", password="wrong")

        async def download(address: str) -> httpx2.Response:
            path = DOWNLOADS[int(address.split(".")[2]) % len(DOWNLOADS)]
            return await pages.client.get(path, headers={"X-Forwarded-For": address})

        assert await statuses(11, delete) == [400] * 10 + [429]
        assert await statuses(21, download) == [200] * 20 + [429]


async def test_a_member_sets_their_own_things_alone(harness: ServiceHarness, browser_client: PagesClient) -> None:
    owner = await harness.sign_up()
    member = "member@acme.example"
    await harness.post("/v1/users", owner.session, email=member, password=PASSWORD)
    await browser_client.sign_in(member)

    page = await browser_client.page(SETTINGS)

    assert "Member of" in page.main
    assert page.all("input", id="name") == []
    assert owner.email not in page.main
    for address in ("name", "delete"):
        assert (await browser_client.post(f"{SETTINGS}/{address}", name="x", password=PASSWORD)).status_code == 403
    harness.clock.move(PROOF_SECONDS)
    asked = Markup.of(await browser_client.post(f"{SETTINGS}/authenticator"))
    assert asked.one("input", id="proof-password")
