"""Reminders of an end of a certificate that wait together: messages have what counts when they are put together."""

import json
import re

import pytest

from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.register.models import Certificate
from registerwatch.watches import repository
from registerwatch.watches.repository import NewWatch
from tests.notifications.feeds.feed_reader import ReadFeed, feed_of
from tests.notifications.mail_steps import mail_user
from tests.notifications.test_chats import ADDRESS
from tests.register.builders import UDI
from tests.support.harness import NewAccount, ServiceHarness
from tests.watches.test_expiry import DAY, day, run, store

READER = "ana@acme.example"
PAUSED_DAYS = 31


@pytest.fixture
async def owner(harness: ServiceHarness) -> NewAccount:
    """The owner of an account that watches a device, with a reader of mails and a chat, whose messages wait."""
    owner = await harness.sign_up()
    await harness.service.accounts.admin.set_period(owner.email, None, harness.now + 400 * DAY)
    caller = await harness.service.accounts.sessions.caller(credential_of(None, owner.session))
    async with harness.database.transaction() as connection:
        await repository.add(connection, caller.account.id, [NewWatch(UDI)], harness.now)
    await mail_user(harness, caller, READER)
    await harness.post("/v1/channels", owner.session, channel="slack", url=ADDRESS)
    await harness.service.notifications.channels.pause(caller, harness.now + PAUSED_DAYS * DAY)
    return owner


async def messages(harness: ServiceHarness) -> tuple[str, str]:
    """The mail with its subject, and the message of the chat, once they wait no more."""
    while await harness.deliver_due():
        pass
    [mail] = [each for each in harness.mail.mails if each.to == READER]
    [chat] = harness.receivers.requests
    return f"{mail.subject}\n{mail.text}", chat.content.decode()


async def feed(harness: ServiceHarness, owner: NewAccount) -> ReadFeed:
    address = (await harness.post("/v1/feeds", owner.api_key)).json()["feed"]["events"]
    return feed_of((await harness.client.get(address)).content)


async def test_reminders_of_one_end_that_waited_are_one_line_of_a_message_and_differ_in_feeds(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    ends = day(harness, 31)
    await store(harness, Certificate("Z-1", "01", expiry=ends), Certificate("Z-2", expiry=day(harness, 400)))
    await run(harness)
    for days in (1, 23, 7):
        assert await run(harness, days) == 1
    assert sum((1, 23, 7)) == PAUSED_DAYS

    mail, chat = await messages(harness)

    assert mail.startswith(f"High: certificate Z-1 ends today ({UDI})\n")
    assert mail.count("End of the certificate (Z-1, revision 01)") == 1
    assert len(re.findall("End of the certificate", json.dumps(json.loads(chat)["blocks"]))) == 1
    titles = [each.title for each in (await feed(harness, owner)).entries if "expiry" in str(each.terms)]
    assert [title.rpartition(", ")[2] for title in titles] == ["today", "in 7 days", "in 30 days"]
    events = await harness.get_list(owner.api_key, "events")
    assert [event["changes"][0]["new"] for event in events] == ["today", "in 7 days", "in 30 days"]


async def test_a_message_with_an_extension_does_not_say_that_the_certificate_ends_before(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    ends, later = day(harness, 31), day(harness, 400)
    await store(harness, Certificate("Z-1", expiry=ends))
    await run(harness)
    await run(harness, 24)
    await store(harness, Certificate("Z-1", expiry=later))
    await run(harness, PAUSED_DAYS - 24)

    mail, chat = await messages(harness)

    assert mail.startswith("Medium: certificate expiry (Z-1) ")
    for text in (mail, chat):
        assert "End of the certificate" not in text
        assert "Certificate expiry" in text
    fields = [event["changes"][0]["field"] for event in await harness.get_list(owner.api_key, "events")]
    assert fields == ["cert_expiry", "cert_ends"], "each event is there for programs and on pages"
