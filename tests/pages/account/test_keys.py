"""API keys in the browser: one form makes one key, which is shown once; revoking asks once."""

from datetime import UTC, datetime

from sqlalchemy import text

from registerwatch.accounts.passwords.proof import PROOF_SECONDS
from tests.pages.account.pages_client import STRONG_PASSWORD, PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.support.harness import ServiceHarness

HOSTILE = '<script>alert(1)</script>"'


def token_of(page: Markup) -> str:
    return page.one("input", name="form")["value"]


async def works(harness: ServiceHarness, key: str) -> bool:
    return (await harness.client.get("/v1/me", headers={"X-API-Key": key})).status_code == 200


async def test_a_form_makes_one_key_that_is_shown_once(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    empty = await owner_pages.page("/app/keys")
    assert "No key works" in empty.main
    assert accessibility_problems(empty) == []
    fields = {"form": token_of(empty), "label": HOSTILE, "scope": "watch", "ends": "2027-03-31"}

    answer = await owner_pages.post("/app/keys", **fields)

    made = Markup.of(answer)
    key = made.one("code", id="new-key").text
    assert answer.headers["cache-control"] == "no-store"
    assert accessibility_problems(made) == []
    assert await works(harness, key)
    [stored] = (await harness.client.get("/v1/me", headers={"X-API-Key": key})).json()["keys"]
    assert (stored["label"], stored["scope"], stored["expires_at"]) == (HOSTILE, "watch", "2027-04-01T00:00:00Z")

    again = await owner_pages.post("/app/keys", **fields)
    assert again.status_code == 409
    assert "was sent before" in Markup.of(again).main
    page = await owner_pages.page("/app/keys")
    assert len(page.rows) == 1
    assert page.rows[0][:3] == [HOSTILE, stored["prefix"], "Read and watch"]
    assert key not in again.text + str(page.rows)


async def test_errors_keep_what_was_typed_and_the_form_can_be_sent_again(owner_pages: PagesClient) -> None:
    token = token_of(await owner_pages.page("/app/keys"))
    for ends, words in (("31.3.2027", "YYYY-MM-DD"), ("2020-01-01", "is over"), ("9999-12-31", "YYYY-MM-DD")):
        answer = await owner_pages.post("/app/keys", form=token, label="ERP", scope="read", ends=ends)
        page = Markup.of(answer)
        assert answer.status_code == 400
        assert words in page.main
        assert page.one("input", id="ends")["aria-invalid"] == "true"
        assert page.one("input", id="label")["value"] == "ERP"
    assert (await owner_pages.post("/app/keys", form=token, label="ERP")).status_code == 400
    assert (await owner_pages.post("/app/keys", label="ERP", scope="read")).status_code == 400

    assert (await owner_pages.post("/app/keys", form=token, label="ERP", scope="read")).status_code == 200


async def test_the_last_day_is_one_of_the_users_zone(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    async with harness.database.transaction() as connection:
        await connection.execute(text("UPDATE users SET time_zone = 'America/New_York'"))
    today = datetime.fromtimestamp(harness.now, UTC).date().isoformat()
    page = await owner_pages.page("/app/keys")

    await owner_pages.post("/app/keys", form=token_of(page), label="ERP", scope="read", ends=today)

    assert [row[3] for row in (await owner_pages.page("/app/keys")).rows] == ["16 Jan 2027, 00:00"]


async def test_revoking_asks_once_and_needs_the_password(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    page = await owner_pages.page("/app/keys")
    made = await owner_pages.post("/app/keys", form=token_of(page), label="ERP", scope="manage")
    key = Markup.of(made).one("code", id="new-key").text
    address = (await owner_pages.page("/app/keys")).all("a", href="/app/keys/1/revoke")[0]["href"]
    question = await owner_pages.page(address)
    assert "ERP" in question.main
    assert await works(harness, key)

    harness.clock.move(PROOF_SECONDS + 1)
    asked = Markup.of(await owner_pages.post(address, sure="yes"))
    assert "password" in asked.main
    assert await works(harness, key)
    page = await owner_pages.follow(await owner_pages.post(address, sure="yes", **{"proof-password": STRONG_PASSWORD}))

    assert "The key is revoked" in page.main
    assert not await works(harness, key)
    assert "Keys that do not work any more (1)" in page.main
    assert (await owner_pages.get("/app/keys/99/revoke")).status_code == 404


async def test_members_see_the_keys_and_change_none(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    owner = await harness.service.accounts.sessions.login("owner@acme.example", STRONG_PASSWORD)
    await harness.post("/v1/users", owner.session, email="member@acme.example", password="another long phrase")
    await harness.post("/v1/keys", owner.session, label="ERP")
    await owner_pages.sign_in("member@acme.example", "another long phrase")

    page = await owner_pages.page("/app/keys")

    assert [row[0] for row in page.rows] == ["ERP"]
    assert page.all("form", action="/app/keys") == []
    assert (await owner_pages.post("/app/keys", form="x", label="x", scope="read")).status_code == 403
    assert (await owner_pages.get("/app/keys/1/revoke")).status_code == 403
