"""The mail server of the tests itself: waiting for mails that are sent behind somebody's back."""

import asyncio

import pytest

from registerwatch.mail.mailer import Mail, mailer_of
from registerwatch.settings import Settings
from tests.support.mailbox import mailbox


async def test_whoever_waits_for_a_mail_gets_it_once_it_has_arrived() -> None:
    with mailbox() as box:
        mailer = mailer_of(Settings(smtp_url=box.address, mail_from="service@example.org"))
        waiting = asyncio.create_task(asyncio.to_thread(box.wait_for, 1))
        await mailer.send(Mail("bob@example.org", "Hello", "Hello\n"))

        assert [mail.to for mail in await waiting] == ["bob@example.org"]


async def test_waiting_for_a_mail_that_nobody_sends_ends() -> None:
    with mailbox() as box, pytest.raises(TimeoutError, match="0 of 1 mails"):
        await asyncio.to_thread(box.wait_for, 1, 0.01)
