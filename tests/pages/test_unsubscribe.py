"""Ending mails by a link in one of them: by the page, and by a mail program's own button."""

from urllib.parse import urlsplit

import httpx2
import pytest

from registerwatch.accounts.models import Caller
from registerwatch.notifications.bounces.unsubscribe import BY_LINK
from registerwatch.notifications.choices import Choice, Frequency
from registerwatch.notifications.targets.target_repository import by_id
from tests.notifications.channels.sample_events import RENAMED
from tests.notifications.mail_steps import mail_user, mail_worker, send_due, tell
from tests.support.harness import ServiceHarness

BOB, EVE = "bob@acme.example", "eve@acme.example"
ONE_CLICK = {"Content-Type": "application/x-www-form-urlencoded"}


async def mailed_link(harness: ServiceHarness, caller: Caller) -> str:
    """The path of the link in a mail to Bob."""
    await tell(harness, caller, RENAMED, batch="first")
    harness.clock.move(300)
    await send_due(mail_worker(harness, harness.mail))
    mail = next(mail for mail in harness.mail.mails if mail.to == BOB)
    address = mail.headers["List-Unsubscribe"].strip("<>")
    assert f"any more:\n{address}\n" in mail.text
    assert f'href="{address}"' in mail.html
    return urlsplit(address).path


async def choice_of(harness: ServiceHarness, caller: Caller, target_id: int) -> Choice:
    async with harness.database.reading() as connection:
        target = await by_id(connection, caller.account.id, target_id)
    assert target is not None
    return target.choice


async def one_click(harness: ServiceHarness, path: str) -> httpx2.Response:
    """What a mail provider posts: no cookie, no `Origin`, no `Sec-Fetch-Site`."""
    return await harness.client.post(path, content="List-Unsubscribe=One-Click", headers=ONE_CLICK)


async def test_one_click_ends_the_mails_of_one_user_and_what_waits_for_them(harness: ServiceHarness) -> None:
    caller = await harness.owner()
    bob = await mail_user(harness, caller, BOB, Choice(high_at_once=True))
    eve = await mail_user(harness, caller, EVE)
    path = await mailed_link(harness, caller)
    harness.mail.mails.clear()
    await tell(harness, caller, RENAMED, batch="waits")

    for _ in range(2):  # some providers post twice
        response = await one_click(harness, path)
        assert response.status_code == 200
        assert BOB in response.text
    harness.clock.move(300)
    await send_due(mail_worker(harness, harness.mail))
    await tell(harness, caller, RENAMED, batch="later")
    harness.clock.move(300)
    await send_due(mail_worker(harness, harness.mail))

    assert [mail.to for mail in harness.mail.mails] == [EVE, EVE]
    assert await choice_of(harness, caller, bob) == Choice(frequency=Frequency.OFF, high_at_once=True)
    assert await choice_of(harness, caller, eve) == Choice()
    trail = harness.all_rows()["audit"]
    noted = [(row["action"], row["subject"]) for row in trail if row["actor"] == BY_LINK]
    assert noted == [("channel changed", f"email {BOB}: off instead of at-once")]


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_opening_the_link_changes_nothing_and_shows_a_button_to_whoever_is_not_signed_in(
    harness: ServiceHarness,
) -> None:
    caller = await harness.owner()
    bob = await mail_user(harness, caller, BOB)
    path = await mailed_link(harness, caller)
    response = await harness.get(path)

    assert response.status_code == 200
    assert "Send no more of these mails" in response.text
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert "no-store" in response.headers["Cache-Control"]
    assert (await choice_of(harness, caller, bob)).frequency is Frequency.AT_ONCE


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_link_that_is_not_of_a_mail_ends_nothing_and_says_what_to_do(harness: ServiceHarness) -> None:
    caller = await harness.owner()
    bob = await mail_user(harness, caller, BOB)
    eve = await mail_user(harness, caller, EVE)
    path = await mailed_link(harness, caller)
    of_eve = path.replace(f"-{bob}-", f"-{eve}-")
    for wrong in (
        path[:-1],
        f"{path}x",
        f"{path[:-1]}{'A' if path[-1] != 'A' else 'B'}",
        of_eve,
        "/mail/unsubscribe/ä",
    ):
        for response in (await harness.get(wrong), await one_click(harness, wrong)):
            assert response.status_code == 404
            assert "Open the link in the newest mail" in response.text

    assert (await choice_of(harness, caller, bob)).frequency is Frequency.AT_ONCE
    assert (await choice_of(harness, caller, eve)).frequency is Frequency.AT_ONCE
