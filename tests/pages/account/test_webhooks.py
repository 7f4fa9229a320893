"""Webhooks in the browser: adding, testing, the secret, the log by outcome, sending again, removing."""

from registerwatch.accounts.models import Caller
from registerwatch.accounts.passwords.proof import PROOF_SECONDS
from tests.notifications.steps import queue_change, queue_deliveries
from tests.pages.account.pages_client import STRONG_PASSWORD, PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.support.harness import WEBHOOK_URL, ServiceHarness, auth_headers

HOST = "hooks.acme.example"
SURE = {"sure": "yes"}


async def owner_of(harness: ServiceHarness, pages: PagesClient) -> Caller:

    return await pages.caller()


async def test_a_webhook_is_added_tested_and_removed(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    empty = await owner_pages.page("/app/webhooks")
    assert "No webhook yet" in empty.main
    assert accessibility_problems(empty) == []
    refused = await owner_pages.post("/app/webhooks", form="a token", url="http://hooks.acme.example/")
    assert refused.status_code == 400
    assert Markup.of(refused).one("input", id="url")["value"] == "http://hooks.acme.example/"
    assert "https" in Markup.of(refused).one("p", id="url-problem").text

    added = await owner_pages.post("/app/webhooks", form="a token", url=WEBHOOK_URL)
    page = await owner_pages.follow(added)
    twice = await owner_pages.post("/app/webhooks", form="a token", url=WEBHOOK_URL)
    assert len((await owner_pages.follow(twice)).rows) == 1
    assert accessibility_problems(page) == []
    assert "Changes are posted to this address" in page.main
    assert "Nothing was sent to this address" in page.main

    harness.receivers.answers[HOST] = [500, 500, 500]
    failed = await owner_pages.follow(await owner_pages.post("/app/webhooks/1/test", **SURE))
    assert "The receiver did not accept the test." in failed.main
    assert "Status 500, 0 ms, 3 attempts" in failed.main
    assert "Failing" in (await owner_pages.page("/app/webhooks")).rows[0][1]
    accepted = await owner_pages.follow(await owner_pages.post("/app/webhooks/1/test", **SURE))
    assert "The receiver accepted the test." in accepted.main
    assert accessibility_problems(accepted) == []

    question = await owner_pages.page("/app/webhooks/1/delete")
    assert WEBHOOK_URL in question.main
    page = await owner_pages.follow(await owner_pages.post("/app/webhooks/1/delete", **SURE))
    assert "The webhook is removed" in page.main
    assert (await owner_pages.get("/app/webhooks/1")).status_code == 404
    assert (await owner_pages.get(f"/app/webhooks/{2**70}")).status_code == 404


async def test_the_secret_is_shown_on_demand_and_a_new_one_overlaps_for_a_day(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    await owner_pages.post("/app/webhooks", form="a token", url=WEBHOOK_URL)
    [webhook] = await harness.webhooks.all((await owner_of(harness, owner_pages)).account.id)
    assert webhook.secret not in (await owner_pages.get("/app/webhooks/1")).text

    shown = await owner_pages.post("/app/webhooks/1/secret", **SURE)
    assert Markup.of(shown).one("code", id="secret").text == webhook.secret
    harness.clock.move(PROOF_SECONDS + 1)
    asked = await owner_pages.post("/app/webhooks/1/secret", **SURE)
    assert webhook.secret not in asked.text

    assert "24 hours" in (await owner_pages.page("/app/webhooks/1/rotate")).main
    rotated = await owner_pages.post("/app/webhooks/1/rotate", **SURE, **{"proof-password": STRONG_PASSWORD})
    page = await owner_pages.follow(rotated)
    assert "The secret before signs beside this one until 16 Jan 2027, 08:10." in page.main
    harness.clock.move(86_400)
    assert "signs beside this one" not in (await owner_pages.page("/app/webhooks/1")).main


async def test_the_log_is_filtered_by_outcome_and_a_delivery_goes_out_again(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    owner = await owner_of(harness, owner_pages)
    webhook = await harness.webhooks.add(owner, WEBHOOK_URL)
    harness.receivers.answers[HOST] = [200, 410, 410, 410]
    for batch in ("accepted", "failed"):
        harness.clock.move(60)
        await queue_change(harness, owner, batch=batch, subject="<b>&hostile", number=30)
        await harness.deliver_due()

    page = await owner_pages.page("/app/webhooks/1")
    assert accessibility_problems(page) == []
    assert [row[2] for row in page.rows] == ["Failed", "Accepted"]
    assert [each.text for each in page.all("a", **{"aria-current": "true"})] == ["All 2"]
    failed = await owner_pages.page(page.link("Failed 1"))
    [row] = failed.rows
    assert row[3].startswith("Status 410, 0 ms 3 attempts: ")
    assert "<b>" not in {each.tag for each in failed.elements}
    download = failed.all("a", href=failed.link("Download it whole"))[0]["href"]
    response = await owner_pages.get(download)
    assert response.headers["content-disposition"] == 'attachment; filename="delivery.json"'
    assert response.content == harness.receivers.requests[-1].content

    again = failed.all("form")[-1]["action"]
    sent = await owner_pages.follow(await owner_pages.post(again, **SURE))
    assert [row[2] for row in sent.rows] == ["Under way"]
    assert sent.one("section", id="log")["data-poll"] == "3"
    secret = Markup.of(await owner_pages.post("/app/webhooks/1/secret", **SURE))
    assert "data-poll" not in secret.one("section", id="log").attributes, "this address answers forms alone"
    region = await owner_pages.client.get("/app/webhooks/1", headers={"X-Fragment": "log"})
    assert region.text.strip().startswith('<section id="log"')
    await harness.deliver_due()
    assert "All 2" in (await owner_pages.page("/app/webhooks/1")).main
    assert harness.receivers.requests[-1].content == response.content
    assert (await owner_pages.post(again.replace("whd_", "whd_x"), **SURE)).status_code == 400

    await queue_deliveries(harness, webhook, 30)
    second = await owner_pages.page("/app/webhooks/1", page=2)
    assert "26 to 32 of 32" in second.main
    assert second.link("← Newer") == "/app/webhooks/1"
    assert "There are only 2 pages" in (await owner_pages.page("/app/webhooks/1", page=3)).main
    for bad in ("outcome=maybe", "page=0", "page=-1", "page=x", "page=99999999999"):
        assert (await owner_pages.get(f"/app/webhooks/1?{bad}")).status_code == 400


async def test_a_webhook_that_is_added_here_tries_again_in_rounds_until_it_is_told_not_to(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    owner = await owner_of(harness, owner_pages)
    await harness.post("/v1/webhooks", await owner_pages.rest_session(), url=WEBHOOK_URL)
    assert "it has failed" in (await owner_pages.page("/app/webhooks/1")).main, "the contract says three attempts"
    await owner_pages.post("/app/webhooks/1/delete", **SURE)
    added = await owner_pages.follow(await owner_pages.post("/app/webhooks", form="a token", url=WEBHOOK_URL))
    assert "tried again after 5 and 30 minutes" in added.main

    harness.receivers.answers[HOST] = [503] * 6
    await queue_change(harness, owner)
    await harness.deliver_due()
    waits = await owner_pages.page("/app/webhooks/2")
    assert accessibility_problems(waits) == []
    assert waits.rows[0][2] == "Failed so far tried again at 15 Jan 2027, 08:05"
    assert "data-poll" not in waits.one("section", id="log").attributes, "nothing happens for minutes"
    answer = await harness.client.get(
        "/v1/webhooks/2/deliveries", headers=auth_headers(await owner_pages.rest_session())
    )
    [listed] = answer.json()["deliveries"]
    assert (listed["ok"], listed["attempts"], listed["again_at"]) == (None, 3, "2027-01-15T08:05:01Z")
    off = await owner_pages.follow(await owner_pages.post("/app/webhooks/2/rounds", rounds="off"))
    assert "What waits for its round is tried once more" in off.main
    assert "it has failed" in off.main

    [row] = off.rows
    sent = await owner_pages.follow(await owner_pages.post(off.all("form")[-1]["action"], **SURE))
    assert "Send now" in row[4]
    assert [each[2] for each in sent.rows] == ["Under way"]
    await harness.deliver_due()
    assert [each[2] for each in (await owner_pages.page("/app/webhooks/2")).rows] == ["Failed"]
    assert len({each.content for each in harness.receivers.requests}) == 1
    [noted] = [each for each in await harness.service.accounts.members.trail(owner) if "rounds" in each.subject]
    assert noted.subject == f"{WEBHOOK_URL}: rounds off"
    assert (await owner_pages.post("/app/webhooks/9/rounds", rounds="on")).status_code == 404


async def test_members_see_which_hosts_get_changes_and_strangers_nothing(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    await harness.webhooks.add(await owner_of(harness, owner_pages), f"{WEBHOOK_URL}?token=secret")
    await harness.post(
        "/v1/users", await owner_pages.rest_session(), email="member@acme.example", password="another long phrase"
    )
    await owner_pages.sign_in("member@acme.example", "another long phrase")

    page = await owner_pages.page("/app/webhooks")
    assert page.rows[0][0] == HOST
    assert "token=secret" not in (await owner_pages.get("/app/webhooks")).text
    for path in ("/app/webhooks/1", "/app/webhooks/1/rotate", "/app/webhooks/1/delete"):
        assert (await owner_pages.get(path)).status_code == 403
    for path in ("", "/1/secret", "/1/test", "/1/rotate", "/1/rounds", "/1/delete", "/1/deliveries/whd_x/resend"):
        assert (await owner_pages.post(f"/app/webhooks{path}", url=WEBHOOK_URL)).status_code == 403

    await owner_pages.sign_up("stranger@other.example")
    for path in ("/app/webhooks/1", "/app/webhooks/1/delete", "/app/webhooks/1/deliveries/whd_x/payload.json"):
        assert (await owner_pages.get(path)).status_code == 404
    for path in ("secret", "test", "rotate", "rounds"):
        assert (await owner_pages.post(f"/app/webhooks/1/{path}", **SURE)).status_code == 404
