"""Channels that fail: told to owners once a day, paused after five days, on again when a test arrives."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from registerwatch.accounts.models import Caller
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.errors import MailNotSent
from registerwatch.mail.mailer import Mail, NoMailer
from registerwatch.mail.memory_mailer import MemoryMailer
from registerwatch.notifications.choices import Choice, Frequency
from registerwatch.notifications.targets.channel_models import ChannelChange, ListedChannel, NewChannel
from registerwatch.notifications.targets.channel_state import ChannelState
from registerwatch.notifications.targets.channel_upkeep import ChannelUpkeep
from tests.notifications.steps import queue_change
from tests.support.harness import WEBHOOK_URL, ServiceHarness

HOUR, DAY = 3_600, 86_400
HOST = "hooks.acme.example"


class KilledMailer(MemoryMailer):
    """One whose process ends before or after the mail is sent."""

    def __init__(self, *, sends: bool) -> None:
        super().__init__()
        self.sends = sends

    async def send(self, mail: Mail) -> None:
        if self.sends:
            await super().send(mail)
        raise KeyboardInterrupt


class RefusedMailer(MemoryMailer):
    async def send(self, mail: Mail) -> None:
        raise MailNotSent("refused")


@dataclass
class FailingWebhook:
    """A webhook of an account whose owner has proven their address; it fails from now on."""

    harness: ServiceHarness
    caller: Caller
    id: int
    mailer: MemoryMailer
    days: int = 0

    async def run(self, mailer: object | None = None) -> Sequence[str]:
        """What the upkeep of one node mails now."""
        before = len(self.mailer.mails)
        used = mailer or self.mailer
        upkeep = ChannelUpkeep(
            self.harness.database,
            self.harness.clock,
            used,  # type: ignore[arg-type]
            public_url="https://registerwatch.example",
        )
        await upkeep.run()
        return [each.text for each in self.mailer.mails[before:]]

    async def fail_again(self) -> None:
        self.days += 1
        await queue_change(self.harness, self.caller, batch=f"day {self.days}")
        await self.harness.deliver_due()

    async def listed(self) -> ListedChannel:
        return await self.harness.service.notifications.channels.get(self.caller, self.id)


@pytest.fixture
async def failing(harness: ServiceHarness) -> FailingWebhook:
    harness.clock.move(-(harness.now % DAY) + DAY + 9 * HOUR)
    owner = await harness.sign_up()
    await harness.prove_address(owner)
    caller = await harness.service.accounts.sessions.caller(credential_of(None, owner.session))
    channels = harness.service.notifications.channels
    added = await channels.add(caller, NewChannel("webhook", f"{WEBHOOK_URL}?token=hidden", "ERP", repeats=False))
    harness.receivers.answers[HOST] = [500] * 999
    webhook = FailingWebhook(harness, caller, added.target.id, MemoryMailer())
    await webhook.fail_again()
    return webhook


async def test_an_owner_is_told_once_a_day_while_a_channel_fails_and_something_is_tried(
    harness: ServiceHarness, failing: FailingWebhook
) -> None:
    assert await failing.run() == []  # it may work again soon
    harness.clock.move(HOUR)
    [text] = await failing.run()
    assert "webhook hooks.acme.example “ERP”" in text
    assert "500" in text
    assert "hidden" not in text
    assert "are paused now" not in text
    assert max(len(line) for line in text.splitlines()) < 78
    assert await failing.run() == await failing.run() == []

    harness.clock.move(14 * HOUR)  # after midnight
    assert await failing.run() == []
    harness.clock.move(6 * HOUR)
    assert len(await failing.run()) == 1
    harness.clock.move(2 * DAY)
    assert await failing.run() == []  # nothing was tried meanwhile
    assert (await failing.listed()).state is ChannelState.FAILING


async def test_a_channel_that_failed_for_five_days_is_paused_with_a_mail_and_goes_on_after_a_test(
    harness: ServiceHarness, failing: FailingWebhook
) -> None:
    for _ in range(4):
        harness.clock.move(DAY)
        await failing.fail_again()
        [text] = await failing.run()
        assert "are paused now" not in text
    harness.clock.move(DAY)
    [text] = await failing.run()
    assert "are paused now" in text
    assert "https://registerwatch.example/app/notifications" in text
    listed = await failing.listed()
    assert (listed.state, listed.target.paused_reason) == (ChannelState.PAUSED, "It failed for five days.")

    sent = len(harness.receivers.requests)
    await failing.fail_again()
    harness.clock.move(DAY)
    assert (await failing.run(), len(harness.receivers.requests)) == ([], sent)
    channels = harness.service.notifications.channels
    assert not (await channels.test(failing.caller, failing.id)).is_accepted
    assert (await failing.listed()).state is ChannelState.PAUSED
    harness.receivers.answers[HOST] = [200]
    assert (await channels.test(failing.caller, failing.id)).is_accepted
    assert (await failing.listed()).state is ChannelState.WORKING


async def test_a_person_who_paused_a_channel_ends_that_themselves(
    harness: ServiceHarness, failing: FailingWebhook
) -> None:
    channels = harness.service.notifications.channels
    await channels.change(failing.caller, failing.id, ChannelChange(is_paused=True))
    harness.clock.move(5 * DAY)
    assert await failing.run() == []
    harness.receivers.answers[HOST] = [200]
    assert (await channels.test(failing.caller, failing.id)).is_accepted
    assert (await failing.listed()).state is ChannelState.PAUSED


@pytest.mark.parametrize("sends", [False, True])
async def test_a_process_that_is_killed_pauses_nothing_of_which_nobody_was_told_and_mails_nobody_twice_a_day(
    harness: ServiceHarness, failing: FailingWebhook, *, sends: bool
) -> None:
    harness.clock.move(5 * DAY)
    await failing.fail_again()
    with pytest.raises(KeyboardInterrupt):
        await failing.run(KilledMailer(sends=sends))
    assert await failing.run() == []
    assert (await failing.listed()).state is ChannelState.FAILING
    harness.clock.move(DAY)
    [text] = await failing.run()
    assert "are paused now" in text
    assert (await failing.listed()).state is ChannelState.PAUSED


async def test_without_anybody_to_mail_a_channel_is_paused_all_the_same_and_not_while_mail_is_refused(
    harness: ServiceHarness, failing: FailingWebhook
) -> None:
    harness.clock.move(5 * DAY)
    await failing.fail_again()
    await failing.run(RefusedMailer())
    assert (await failing.listed()).state is ChannelState.FAILING
    await failing.run(NoMailer())
    assert (await failing.listed()).state is ChannelState.PAUSED


async def test_one_failure_pauses_nothing_and_a_channel_that_is_off_is_not_told(
    harness: ServiceHarness, failing: FailingWebhook
) -> None:
    harness.clock.move(5 * DAY)
    assert await failing.run() == []
    assert (await failing.listed()).state is ChannelState.FAILING
    off = ChannelChange(choice=Choice(frequency=Frequency.OFF))
    await failing.fail_again()
    await harness.service.notifications.channels.change(failing.caller, failing.id, off)
    assert await failing.run() == []
