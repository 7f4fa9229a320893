"""Notifications in the browser: what goes where, one's own e-mail, channels of the account, pauses."""

import pytest

from registerwatch.accounts.tables import users
from registerwatch.notifications.tables import webhooks
from tests.notifications.steps import queue_change
from tests.pages.account.pages_client import STRONG_PASSWORD, PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.support.harness import EMAIL, WEBHOOK_URL, ServiceHarness

HOST = "hooks.acme.example"
LIST, ONE = "/app/notifications", "/app/notifications/1"
DAY = 86_400


async def add_webhook(pages: PagesClient, name: str = "") -> Markup:
    added = await pages.post(LIST, form="a token", channel="webhook", url=WEBHOOK_URL, name=name)
    return await pages.follow(added)


async def add_email(harness: ServiceHarness, email: str) -> int:
    """An e-mail target of a user, whether or not this service sends e-mail."""
    user = next(each for each in await harness.rows(users) if each["email"] == email)
    async with harness.database.transaction() as connection:
        values = {
            "account_id": user["account_id"],
            "user_id": user["id"],
            "channel": "email",
            "url": email,
            "secret": "",
            "is_first": False,
            "created_at": harness.now,
        }
        added: int = (await connection.execute(webhooks.insert().values(values).returning(webhooks.c.id))).scalar_one()
    return added


async def test_a_channel_is_added_told_less_tested_paused_and_removed(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    empty = await owner_pages.page(LIST)
    assert accessibility_problems(empty) == []
    assert "No program and no chat is told." in empty.main
    refused = await owner_pages.post(LIST, form="a token", channel="webhook", url="http://x.example/")
    assert refused.status_code == 400
    assert Markup.of(refused).one("input", id="url")["value"] == "http://x.example/"

    page = await add_webhook(owner_pages, "Ward 3")
    assert "The channel is added" in page.main
    assert "Try a delivery that failed again" in page.main
    assert page.one("input", id="repeats").attributes.get("checked", 0) != 0
    assert accessibility_problems(page) == []
    assert len((await add_webhook(owner_pages)).rows) == 1, "the same form is taken once"

    device = harness.unique_devices(1)[0].primary_di
    await owner_pages.post("/app/watches/add", subject=device)
    choice = {"frequency": "weekly", "hour": "7", "weekday": "4", "severity": "high", "high-at-once": "yes"}
    fields = {"name": "Ward 3", "zone": "berlin", "has-repeats": "yes", "watches": f"{device},"}
    changed = await owner_pages.follow(await owner_pages.post(ONE, **choice, **fields))
    assert "Fridays at 07:00 (Europe/Berlin), high only, high at once; of 1 watch" in changed.main
    assert changed.one("textarea", id="watches").text.strip() == device
    assert accessibility_problems(changed) == []
    for wrong in ({"hour": "24"}, {"frequency": "yearly"}, {"watches": "04099999999992"}, {"zone": "Mars"}):
        answer = await owner_pages.post(ONE, **(choice | fields | wrong))
        assert answer.status_code == 400
        assert accessibility_problems(Markup.of(answer)) == []

    harness.receivers.answers[HOST] = [500, 500, 500]
    failed = await owner_pages.follow(await owner_pages.post(f"{ONE}/test"))
    assert "The test was not accepted. Status 500" in failed.main
    assert "Failing since" in (await owner_pages.page(LIST)).rows[0][2]
    accepted = await owner_pages.follow(await owner_pages.post(f"{ONE}/test"))
    assert "The test was accepted. Status 200" in accepted.main
    paused = await owner_pages.follow(await owner_pages.post(f"{ONE}/pause", action="begin"))
    assert "Paused since" in paused.main
    assert "Paused" not in (await owner_pages.follow(await owner_pages.post(f"{ONE}/pause", action="end"))).main

    assert (
        "goes out again" in (await owner_pages.follow(await owner_pages.post(accepted.all("form")[-1]["action"]))).main
    )
    assert "Remove this channel?" in (await owner_pages.page(f"{ONE}/remove")).main
    removed = await owner_pages.follow(await owner_pages.post(f"{ONE}/remove", sure="yes"))
    assert "The channel is removed" in removed.main
    assert (await owner_pages.get(ONE)).status_code == 404


async def test_everything_is_paused_until_a_day_and_goes_on(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    await add_webhook(owner_pages)
    day = "2027-02-01"
    page = await owner_pages.follow(await owner_pages.post(f"{LIST}/pause", action="begin", until=day))
    assert "Everything waits until 1 Feb 2027, 00:00" in page.main
    assert accessibility_problems(page) == []
    await queue_change(harness, await owner_pages.caller())
    assert await harness.deliver_due() == 0
    assert "Nobody is told of changes until 1 Feb 2027, 00:00" in (await owner_pages.page("/app")).main
    page = await owner_pages.follow(await owner_pages.post(f"{LIST}/pause", action="end"))
    assert "Everything waits" not in page.main
    assert await harness.deliver_due() == 1
    for wrong in ("", "2027-01-01", "2028-01-01", "soon"):
        assert (await owner_pages.post(f"{LIST}/pause", action="begin", until=wrong)).status_code == 400


async def test_a_user_chooses_e_mail_for_themselves(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    added = await owner_pages.follow(await owner_pages.post(f"{LIST}/email", frequency="weekly"))
    assert "Mondays at 08:00, high at once" in added.main
    assert "The user has not confirmed this address." in added.main
    assert accessibility_problems(added) == []
    assert (await owner_pages.post(f"{LIST}/email", frequency="daily")).status_code == 400
    page = await owner_pages.page(LIST)
    assert page.link("Confirm your address") == "/app/settings"
    assert page.facts["Told"].startswith("Mondays at 08:00")
    await owner_pages.post("/app/settings/time-zone", zone="Europe/Lisbon")
    off = {"frequency": "off", "hour": "8", "weekday": "0", "severity": "low"}
    assert "Off" in (await owner_pages.follow(await owner_pages.post(ONE, **off))).main


async def test_owners_turn_e_mail_of_others_off_and_members_see_their_own_alone(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    await harness.post("/v1/webhook", await owner_pages.rest_session(), url=f"{WEBHOOK_URL}?token=secret")
    await harness.post(
        "/v1/users", await owner_pages.rest_session(), email="member@acme.example", password="another long phrase"
    )
    theirs = await add_email(harness, "member@acme.example")

    page = await owner_pages.page(LIST)
    assert page.rows[1][0] == "member@acme.example"
    one = await owner_pages.page(f"{LIST}/{theirs}")
    assert "Its user chooses that" in one.main
    assert accessibility_problems(one) == accessibility_problems(page) == []
    off = await owner_pages.follow(await owner_pages.post(f"{LIST}/{theirs}/off"))
    assert off.rows[1][1] == "Off"

    await owner_pages.sign_in("member@acme.example", "another long phrase")
    member = await owner_pages.page(LIST)
    assert accessibility_problems(member) == []
    assert HOST in member.main
    assert "secret" not in member.main
    assert (await owner_pages.get(ONE)).status_code == 403
    own = await owner_pages.post(
        f"{LIST}/{theirs}", frequency="daily", hour="8", weekday="0", severity="low", name="", watches=""
    )
    assert "Daily at 08:00" in (await owner_pages.follow(own)).main


async def test_todays_page_tells_which_channels_fail_and_when_nobody_is_told(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    await owner_pages.post("/app/watches/add", subject=harness.unique_devices(1)[0].primary_di)
    harness.clock.move(15 * DAY)
    await owner_pages.sign_in(password=STRONG_PASSWORD)
    assert "Nobody is told of changes" in (await owner_pages.page("/app")).main
    await add_webhook(owner_pages, "ERP")
    harness.receivers.answers[HOST] = [500] * 3
    await owner_pages.post(f"{ONE}/test")
    page = await owner_pages.page("/app")
    assert "Nobody is told of changes" not in page.main
    assert "Channels that fail 1 Of 1" in page.main
    assert page.link("ERP") == ONE


@pytest.mark.parametrize("database_kind", ["sqlite", "postgresql"], indirect=True)
async def test_what_no_watch_can_be_called_is_refused_as_any_other_name(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    own = await add_email(harness, EMAIL)
    fields = {"frequency": "daily", "hour": "8", "weekday": "0", "severity": "low", "name": ""}
    for watches in ("0401\x00", "0401\x01", "04012345678901"):
        answer = await owner_pages.post(f"{LIST}/{own}", watches=watches, **fields)
        assert answer.status_code == 400
        assert "You do not watch" in answer.text
