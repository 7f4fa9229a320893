"""Plan and billing in the browser: every state of a subscription in plain words, paying, cancelling, resuming."""

import re

from registerwatch.billing import provider
from registerwatch.billing.models import DAY
from tests.billing.plain_provider import SETTINGS
from tests.billing.steps import receive_event
from tests.pages.account.pages_client import STRONG_PASSWORD, PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.support.harness import EMAIL, NewAccount, ServiceStarter

SURE = {"sure": "yes"}


async def plan_end(pages: PagesClient) -> str:
    """When the plan ends or is renewed, as the page, the first page and the mail about it have it."""
    on_card = (await pages.page("/app/billing")).all("dd", **{"class": "quiet"})[0].text
    assert (await pages.page("/app")).facts["Plan"].partition(", ")[2].startswith(on_card)
    notices = pages.harness.service.billing.period_notices
    pages.harness.mail.mails.clear()
    await notices.run()
    for mail in pages.harness.mail.mails:
        assert on_card.removeprefix("until ") in mail.text
    return f"{on_card}{', mailed' if pages.harness.mail.mails else ''}"


async def test_a_trial_is_paid_cancelled_and_resumed(start_service: ServiceStarter) -> None:
    async with start_service(**SETTINGS) as harness:
        pages = PagesClient(harness)
        await pages.sign_up()
        trial = await pages.page("/app/billing")
        assert accessibility_problems(trial) == []
        assert "This is the trial of 7 days: no card is needed" in trial.main
        assert "0 of 25" in trial.main
        assert await plan_end(pages) == "until 22 Jan 2027, 08:00"
        assert "A plan then begins with 7 more free days, for which you enter a card" in trial.main
        assert "Operator is the large one" in trial.main
        assert "The price is on the next page" in trial.main
        assert (await pages.post("/app/billing/checkout", plan="free")).status_code == 400

        leading = await pages.post("/app/billing/checkout", plan="standard")
        page = Markup.of(leading)
        [session] = harness.provider.checkouts
        assert leading.status_code == 200, "a form may not be redirected to another site"
        assert page.link("Go to the payment page") == f"https://pay.example/{session}"
        assert page.one("meta", **{"http-equiv": "refresh"})["content"] == f"0; url=https://pay.example/{session}"
        assert accessibility_problems(page) == []

        early = await pages.get("/billing/done", session_id=session)
        assert early.headers["location"] == f"/app/billing/done?session_id={session}"
        unpaid = await pages.follow(await pages.get(early.headers["location"]))
        assert "reports your payment within seconds" in unpaid.main
        foreign = await pages.follow(await pages.get("/app/billing/done", session_id="cs_of_somebody"))
        assert "not started by this account" in foreign.main
        subscription = harness.provider.pay(session)
        done = await pages.follow(await pages.get(early.headers["location"]))
        assert "The subscription has begun" in done.main
        assert accessibility_problems(done) == []
        assert done.facts["First charge"].startswith("22 Jan 2027, 08:00")
        assert "0 of 250" in done.main
        assert await plan_end(pages) == "renews 22 Jan 2027, 08:00"
        assert done.all("form", action="/app/billing/checkout") == []

        question = await pages.page("/app/billing/cancel")
        assert "until 22 Jan 2027, 08:00" in question.main
        cancelled = await pages.follow(await pages.post("/app/billing/cancel", **SURE))
        assert cancelled.facts["Ends"].startswith("22 Jan 2027, 08:00")
        harness.clock.move(6.5 * DAY)
        await harness.prove_address(NewAccount(EMAIL, STRONG_PASSWORD, pages.session, "", {}))
        assert await plan_end(pages) == "until 22 Jan 2027, 08:00, mailed"
        assert (await pages.get("/app/billing/cancel")).status_code == 303
        resumed = await pages.follow(await pages.post("/app/billing/resume", **SURE))
        assert "First charge" in resumed.facts
        portal = Markup.of(await pages.post("/app/billing/portal", to="portal"))
        assert portal.link("Go to card and invoices") == f"https://pay.example/portal/{subscription.customer_id}"
        back = await pages.follow(await pages.get("/billing/back"))
        assert "You are back from the payment provider" in back.main


async def test_every_state_of_a_subscription_is_said_in_plain_words(start_service: ServiceStarter) -> None:
    async with start_service(**SETTINGS) as harness:
        pages = PagesClient(harness)
        await pages.sign_up()
        await pages.post("/app/billing/checkout", plan="operator")
        [session] = harness.provider.checkouts
        subscription = harness.provider.pay(session)
        await pages.get("/app/billing/done", session_id=session)

        said, ends = {}, {}
        for number, status in enumerate(
            (provider.ACTIVE, provider.PAST_DUE, provider.PAUSED, "<new>", provider.UNPAID)
        ):
            harness.provider.change(subscription.id, status=status)
            await receive_event(harness, "customer.subscription.updated", subscription.id, f"evt_{number}")
            page = await pages.page("/app/billing")
            assert accessibility_problems(page) == []
            said[status] = page.facts["State"]
            assert ("Subscribe again" in page.main) == (status not in (provider.ACTIVE, provider.PAST_DUE))
            ends[status] = await plan_end(pages)
            if status == provider.PAST_DUE:
                assert "Enter another card" in page.facts["What to do"]

        assert said == {
            provider.ACTIVE: "Paid",
            provider.PAST_DUE: "The card was refused",
            provider.PAUSED: "Paused",
            "<new>": "“<new>”, as the payment provider calls it",
            provider.UNPAID: "Ended, because it was not paid",
        }
        assert (ends[provider.ACTIVE], ends[provider.PAST_DUE]) == (
            "renews 22 Jan 2027, 08:00",
            "until 22 Jan 2027, 08:00",
        )
        harness.clock.move(400 * DAY)
        await pages.sign_in(password="a long phrase that nobody uses")
        over = await pages.page("/app/billing")
        assert re.search(r"ended \d+ \w+ 2027", over.main)
        assert "The period of the account ended on" in over.main


async def test_a_provider_that_does_not_answer_is_said_to_be_away(start_service: ServiceStarter) -> None:
    async with start_service(**SETTINGS) as harness:
        pages = PagesClient(harness)
        await pages.sign_up()
        harness.provider.is_away = True

        answer = await pages.post("/app/billing/checkout", plan="standard")

        assert answer.status_code == 503
        assert "The provider is away." in Markup.of(answer).main


async def test_without_payments_it_says_who_sets_the_plan(start_service: ServiceStarter) -> None:
    async with start_service(contact="it@hospital.example") as harness:
        pages = PagesClient(harness)
        await pages.sign_up()

        page = await pages.page("/app/billing")

        assert "This service takes no payments" in page.main
        assert "it@hospital.example" in page.main
        assert (await pages.post("/app/billing/checkout", plan="standard")).status_code == 503
        assert (await pages.get("/app/billing/cancel")).status_code == 303
        assert accessibility_problems(page) == []
        signed_out = PagesClient(harness)
        assert (await signed_out.get("/billing/done", session_id="cs_1")).status_code == 200
        assert (await signed_out.get("/billing/back")).status_code == 200


async def test_members_see_the_plan_and_whom_to_ask_and_change_nothing(start_service: ServiceStarter) -> None:
    async with start_service(**SETTINGS) as harness:
        pages, member = PagesClient(harness), PagesClient(harness)
        await pages.sign_up()
        await harness.post(
            "/v1/users", await pages.rest_session(), email="member@acme.example", password=STRONG_PASSWORD
        )
        await member.sign_in("member@acme.example", STRONG_PASSWORD)

        page = await member.page("/app/billing")

        assert accessibility_problems(page) == []
        assert "0 of 25" in page.main
        assert f"Only owners choose and change the plan. The owner is {EMAIL}." in page.main
        for action in ("checkout", "portal", "cancel", "resume"):
            assert page.all("form", action=f"/app/billing/{action}") == []
            refused = await member.post(f"/app/billing/{action}", plan="standard", **SURE)
            assert (refused.status_code, action) == (403, action)
        assert (await member.get("/app/billing/cancel")).status_code == 403
        assert list(harness.provider.checkouts) == []
