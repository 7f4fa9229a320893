"""The first page of the account, from an empty account to one with news and failures."""

import pytest
from sqlalchemy import insert

from registerwatch.mail.mailer import NoMailer
from registerwatch.notifications.bounces.bounce_report import BounceKind
from registerwatch.notifications.tables import webhooks
from registerwatch.pages.account.today import LOOKED_AT, SHOWN_ROWS
from registerwatch.pages.account.today_view import NEW_ACCOUNT_SECONDS
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events.event_repository import NewEvent, add_events
from tests.pages.account.pages_client import STRONG_PASSWORD, PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.support.harness import EMAIL, UDI, WEBHOOK_URL, NewAccount, ServiceHarness
from tests.support.statements import counted_statements


async def test_a_new_account_is_told_its_first_steps_until_they_are_done(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    fresh = await owner_pages.page("/app")
    assert accessibility_problems(fresh) == []
    assert "First steps" in fresh.main
    assert "Done" not in fresh.main
    assert f"We have sent a link to {EMAIL}." in fresh.main
    assert "They also come to people and programs" in fresh.main
    assert "You watch nothing yet" in fresh.main
    assert "0 of 25 watches" in fresh.main
    assert fresh.link("Import it") == "/app/import"
    assert fresh.link("How watching works") == "/docs/watching"
    assert (await owner_pages.page("/app/watches")).link("How watching works") == "/docs/watching"

    [device] = harness.unique_devices(1)
    await owner_pages.post("/app/watches/add", subject=device.primary_di)
    await harness.post("/v1/feeds", await owner_pages.rest_session())
    page = await owner_pages.page("/app")
    assert page.main.count("✓ Done") == 2
    assert "✓ Done Let changes reach you: by feed" in page.main
    assert "Nothing that you have not seen. All events" in page.main
    member = PagesClient(harness)
    await harness.post(
        "/v1/users", await owner_pages.rest_session(), email="member@acme.example", password=STRONG_PASSWORD
    )
    assert "✓ Done Confirm your address" not in (await owner_pages.page("/app")).main
    await harness.prove_address(NewAccount(EMAIL, STRONG_PASSWORD, "", "", {}))
    assert "First steps" not in (await owner_pages.page("/app")).main
    await member.sign_in("member@acme.example", STRONG_PASSWORD)
    for_member = await member.page("/app")
    assert accessibility_problems(for_member) == []
    assert "We have sent a link to member@acme.example." in for_member.main
    assert "Let changes reach you" not in for_member.main
    await member.client.aclose()

    other = PagesClient(harness)
    await other.sign_up("other@acme.example")
    harness.clock.move(NEW_ACCOUNT_SECONDS + 1)
    await other.sign_in("other@acme.example", STRONG_PASSWORD)
    later = await other.page("/app")
    assert "First steps" not in later.main
    assert "We have sent a link to other@acme.example." in later.main
    assert "The period of the account ended on" in later.main
    await other.client.aclose()


async def test_news_and_failures_are_listed_with_how_fresh_all_of_it_is(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    devices = harness.separate_devices(3)
    await harness.post("/v1/webhook", await owner_pages.rest_session(), url=WEBHOOK_URL)
    harness.receivers.answers["hooks.acme.example"] = [500] * 99
    for each in devices:
        await owner_pages.post("/app/watches/add", subject=each.primary_di)
    await owner_pages.post("/app/watches/add", subject="04099999999992")
    first, second, third = devices
    for number in range(SHOWN_ROWS + 1):
        harness.clock.move(60)
        harness.world.change(first.uuid, reference=f"R-{number}")
        if number == 0:
            harness.world.change(second.uuid, reference="R-0", trade_names={"en": "Left"})
            harness.world.change(second.uuid, status="no-longer-on-the-market", status_date="2027-01-14")
            harness.faults.fail("basic", "http-400", contains=third.uuid)
        if number == SHOWN_ROWS:
            harness.world.change(first.uuid, reference='<img src=x>"=1+1')
        await harness.post_sync(await owner_pages.rest_session())
    while await harness.deliver_due():
        pass

    with counted_statements() as statements:
        page = await owner_pages.page("/app")

    assert len(statements) <= 12
    assert accessibility_problems(page) == []
    unseen = SHOWN_ROWS + 2
    assert page.title == f"({unseen}) Today · Registerwatch"
    assert f"Unseen changes {unseen} 1 high, {unseen - 1} low" in page.main
    assert "Watches 4 3 read, 1 not in the register" in page.main
    assert "Channels that fail 1 Of 1" in page.main
    assert f"{SHOWN_ROWS} of {unseen} that you have not seen: high first" in page.main
    rows = page.main.partition("that you have not seen")[2]
    assert rows.index("Market status: ") < rows.index("and 2 more") < rows.index("Version of the record: ")
    assert '<img src=x>"=1+1' in page.main
    assert page.link("hooks.acme.example").startswith("/app/notifications/")
    assert "1 watch whose last read failed or was not whole." in page.main
    assert page.facts["Your watches"].endswith("Not in the register: 1")
    assert page.facts["Last recheck"].startswith("None yet")
    assert page.facts["Plan"].startswith("Trial, until 22 Jan 2027, 08:00 4 of 25 watches.")
    assert page.facts["The copy"].startswith("Last read from the register on 15 Jan 2027, 08:09")

    await owner_pages.post("/app/watches/1/seen", through="999")
    assert f"Unseen changes {unseen - SHOWN_ROWS - 1}" in (await owner_pages.page("/app")).main


async def test_of_a_device_that_the_register_does_not_have_nothing_is_said_for_sure(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    await owner_pages.post("/app/watches/add", subject=UDI)
    alone = await owner_pages.page("/app")
    await owner_pages.post("/app/watches/add", subject=harness.unique_devices(1)[0].primary_di)

    beside = await owner_pages.page("/app")

    assert "None of your watches was read yet." in alone.main
    assert "Missing or in doubt: 1 device" in alone.main
    assert "Nothing that you have not seen, as far as your watches could be read." in beside.main
    [link] = [each for each in beside.all("a") if each.text.startswith("Missing or in doubt: ")]
    gaps = await owner_pages.page(str(link["href"]))
    number = len(gaps.rows)
    assert link.text == f"Missing or in doubt: {number} device{'s' if number > 1 else ''}"
    assert f"Missing or in doubt {number}" in gaps.main


async def test_a_group_of_more_events_than_are_looked_at_has_its_whole_number(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    account_id = (await owner_pages.caller()).account.id
    change, cause = FieldChange("manufacturer_status", "Active", "Inactive"), "run/DE-MF-000006413"
    new = [
        NewEvent(account_id, number, f"A{number}", f"Device {number}", "", [change], False, cause)
        for number in range(1, LOOKED_AT + 31)
    ]
    async with harness.database.transaction() as connection:
        await add_events(connection, new, harness.now)

    page = await owner_pages.page("/app")

    assert f"and {LOOKED_AT + 27} more watches of DE-MF-000006413" in page.main
    assert "All that you have not seen: high first" in page.main


async def test_a_link_to_confirm_the_address_is_mailed_again_until_it_is_confirmed(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    await harness.finish_background_work()
    assert [mail.to for mail in harness.mail.mails] == [EMAIL]
    sent = await owner_pages.follow(await owner_pages.post("/app/confirm-address"))
    assert "A new link is on its way to your address." in sent.main
    settings = await owner_pages.follow(await owner_pages.post("/app/confirm-address", back="settings"))
    assert accessibility_problems(settings) == []
    assert settings.facts["E-mail address"].startswith(f"{EMAIL} ! Not confirmed")
    assert f"We have sent a link to {EMAIL}." in settings.main
    for _ in range(2):
        assert (await owner_pages.post("/app/confirm-address")).status_code == 303
    refused = await owner_pages.post("/app/confirm-address", back="settings")
    assert refused.status_code == 400
    assert "No more links are sent to this address today." in Markup.of(refused).main
    assert Markup.of(refused).link("Back") == "/app/settings"
    await harness.finish_background_work()
    assert [mail.to for mail in harness.mail.mails] == [EMAIL] * 5

    await harness.prove_address(NewAccount(EMAIL, STRONG_PASSWORD, "", "", {}))
    assert (await owner_pages.page("/app/settings")).facts["E-mail address"] == f"{EMAIL} ✓ Confirmed"
    assert "✓ Done Confirm your address" in (await owner_pages.page("/app")).main
    assert (await owner_pages.post("/app/confirm-address")).status_code == 400


async def test_where_no_mail_is_set_up_no_address_is_to_be_confirmed(
    harness: ServiceHarness, owner_pages: PagesClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness.service.accounts.confirmations, "_mailer", NoMailer())

    assert "Confirm your address" not in (await owner_pages.page("/app")).main
    assert (await owner_pages.page("/app/settings")).facts["E-mail address"] == EMAIL


async def test_a_user_whose_mails_came_back_is_told_and_turns_them_on(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    caller = await owner_pages.caller()
    secret = harness.service.notifications.secrets.sealed(caller.account.id, "a secret")
    own = {"account_id": caller.account.id, "user_id": caller.user_id, "channel": "email", "url": "", "secret": secret}
    async with harness.database.transaction() as connection:
        await connection.execute(insert(webhooks).values(own | {"is_first": False, "created_at": harness.now}))
    assert "You get no mails about changes" not in (await owner_pages.page("/app")).main
    await harness.service.notifications.undeliverable.apply_to_address(EMAIL, BounceKind.PERMANENT, "5.1.1")

    told = await owner_pages.page("/app")
    assert accessibility_problems(told) == []
    assert "You get no mails about changes" in told.main
    assert "Mails to this address came back as undeliverable (5.1.1). Since" in told.main
    assert f"none is sent to {EMAIL}." in told.main
    assert "You get no mails about changes" not in (await _other_owner(harness)).main

    later = await owner_pages.follow(await owner_pages.post("/app/mails-on"))
    assert "Mails about changes are sent to you again." in later.main
    assert "You get no mails about changes" not in later.main
    trail = (await owner_pages.page("/app/audit")).main
    assert "mails turned off" in trail.lower()
    assert "mails turned on" in trail.lower()


async def _other_owner(harness: ServiceHarness) -> Markup:
    other = PagesClient(harness)
    await other.sign_up("other@acme.example")
    page = await other.page("/app")
    await other.client.aclose()
    return page
