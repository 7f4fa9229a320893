"""Mails to an address are turned off after it failed for good, and by nothing that a stranger can send."""

from dataclasses import dataclass

import pytest
from sqlalchemy import insert, select, update

from registerwatch.accounts.models import Caller
from registerwatch.accounts.passwords.confirmation_repository import UNDELIVERABLE
from registerwatch.accounts.tables import audit, users
from registerwatch.notifications.bounces.bounce_address import bounce_token, envelope_sender
from registerwatch.notifications.bounces.bounce_report import BounceKind, BounceReport, report_of
from registerwatch.notifications.bounces.undeliverable import (
    MISMATCHED,
    UNKNOWN,
    UndeliverableAddresses,
    undeliverable_of,
)
from registerwatch.notifications.bounces.undeliverable_repository import by_id
from registerwatch.notifications.delivery.delivery import DeliveryService
from registerwatch.notifications.models import EMAIL, AttemptResult, Target
from registerwatch.notifications.tables import webhooks
from tests.notifications.bounce_messages import block, report
from tests.notifications.plain_channel import PlainChannel
from tests.notifications.steps import queue_change
from tests.support.harness import EMAIL as ADDRESS
from tests.support.harness import PASSWORD, ServiceHarness

BOUNCES = "bounces@example.org"
GONE = block("failed", "5.1.1", ADDRESS)


@dataclass
class Mails:
    """The mails of one user, and the worker of one node that sends them."""

    harness: ServiceHarness
    caller: Caller
    channel: PlainChannel
    worker: DeliveryService
    id: int

    @property
    def reports(self) -> UndeliverableAddresses:
        return self.worker.undeliverable

    async def target(self) -> Target:
        async with self.harness.database.reading() as connection:
            found = await by_id(connection, self.id)
        assert found is not None
        return self.harness.service.notifications.secrets.opened(found)

    async def reason(self) -> str:
        return (await self.target()).paused_reason

    async def deliver(self) -> int:
        """How many mails are handed over now."""
        before = len(self.channel.sent)
        for claimed in await self.worker.claim():
            await self.worker.store([await self.worker.deliver(claimed)])
        return len(self.channel.sent) - before

    async def change(self, batch: str) -> None:
        await queue_change(self.harness, self.caller, batch=batch, channels={EMAIL: self.channel})

    async def trail(self) -> list[tuple[str, str, str]]:
        lines = select(audit.c.actor, audit.c.action, audit.c.subject).order_by(audit.c.id)
        async with self.harness.database.reading() as connection:
            rows = (await connection.execute(lines)).all()
        return [(row[0], row[1], row[2]) for row in rows if "mails turned" in row[1]]


@pytest.fixture
async def mails(harness: ServiceHarness) -> Mails:
    caller = await harness.owner()
    async with harness.database.transaction() as connection:
        secrets = harness.service.notifications.secrets
        values = {
            "account_id": caller.account.id,
            "channel": EMAIL,
            "url": "",
            "secret": secrets.sealed(caller.account.id, "a secret"),
            "is_first": False,
            "created_at": harness.now,
            "user_id": caller.user_id,
        }
        added = insert(webhooks).values(values).returning(webhooks.c.id)
        target_id: int = (await connection.execute(added)).scalar_one()
    channel = PlainChannel(pauses=(), sends_once=True)
    channel.name = EMAIL
    worker = DeliveryService(harness.database, harness.clock, {EMAIL: channel}, secrets)
    return Mails(harness, caller, channel, worker, target_id)


async def test_after_a_permanent_failure_nothing_is_mailed_until_the_user_says_so(mails: Mails) -> None:
    to = envelope_sender(BOUNCES, await mails.target())
    assert to is not None
    await mails.change("1")
    assert await mails.deliver() == 1
    await mails.change("2")
    for _ in range(2):
        await mails.reports.apply(report_of(report(to, GONE)))
    assert await mails.reason() == f"{UNDELIVERABLE} (5.1.1)."
    assert await mails.trail() == [("mail server", "mails turned off", f"{ADDRESS} 5.1.1")]
    assert undeliverable_of([await mails.target()], mails.caller.user_id) is not None
    assert undeliverable_of([await mails.target()], -1) is None
    assert await mails.reports.paused() == 1

    assert await mails.deliver() == 0  # what had waited
    await mails.change("3")
    assert await mails.deliver() == 0

    await mails.reports.turn_on(mails.caller)
    assert await mails.reason() == ""
    assert (await mails.trail())[1:] == [(ADDRESS, "mails turned on", ADDRESS)]
    assert undeliverable_of([await mails.target()], mails.caller.user_id) is None
    await mails.change("4")
    assert await mails.deliver() == 1


async def test_what_may_pass_and_what_a_stranger_sends_turns_nothing_off(mails: Mails) -> None:
    target = await mails.target()
    to, token = envelope_sender(BOUNCES, target), bounce_token(target)
    assert to is not None
    other = token[:-1] + ("a" if token[-1] != "a" else "b")
    for raw in (
        report(to, block("delayed", "4.4.1", ADDRESS)),
        report(to, block("failed", "4.2.2", ADDRESS)),
        report(to, block("failed", "5.7.26", ADDRESS)),
        report(to.replace(token, other), GONE),
        report(to.replace(token, "a" * 32), GONE),
        report(BOUNCES, GONE),
        report(to, block("failed", "5.1.1", "other@acme.example")),
        report(to, block("failed", "5.1.1", "")),
        b"hello",
    ):
        await mails.reports.apply(report_of(raw))

    assert await mails.reason() == ""
    assert await mails.trail() == []
    counts = {BounceKind.PERMANENT: 0, BounceKind.REFUSED: 1, BounceKind.TEMPORARY: 2, MISMATCHED: 2, UNKNOWN: 4}
    assert mails.reports.counts == counts


@pytest.mark.parametrize(
    "about",
    [
        block("failed", "5.1.1", ADDRESS.upper()),
        block("failed", "5.1.1", f"<{ADDRESS}>"),
        block("failed", "5.1.1", "forwarded@example.net", original=ADDRESS),
        block("failed", "5.1.1", ADDRESS, original="other@example.net"),
        "Action: failed\nStatus: 5.1.1",
    ],
)
async def test_a_report_about_the_address_of_the_user_or_about_no_address_counts(mails: Mails, about: str) -> None:
    to = envelope_sender(BOUNCES, await mails.target())
    assert to is not None

    await mails.reports.apply(report_of(report(to, about)))

    assert await mails.reason() == f"{UNDELIVERABLE} (5.1.1)."


async def test_a_mail_that_is_dropped_as_its_address_is_off_counts_as_no_new_bounce(mails: Mails) -> None:
    await mails.change("1")
    await mails.change("2")
    await mails.reports.apply_to_address(ADDRESS, BounceKind.PERMANENT, "5.1.1")
    counts, trail = dict(mails.reports.counts), await mails.trail()
    assert (counts[BounceKind.PERMANENT], len(trail)) == (1, 1)

    assert await mails.deliver() == 0
    assert mails.worker.results["failed"] == 2
    assert (mails.reports.counts, await mails.trail()) == (counts, trail)


async def test_what_comes_back_from_an_earlier_address_does_not_count(mails: Mails) -> None:
    token = bounce_token(await mails.target())
    async with mails.harness.database.transaction() as connection:
        await connection.execute(update(users).values(email="new@acme.example"))

    await mails.reports.apply(BounceReport(token, BounceKind.PERMANENT, "5.1.1"))

    assert await mails.reason() == ""


@pytest.mark.parametrize(
    ("error", "is_final", "is_counted", "is_off"),
    [
        ("mx.example.net:25 refused the recipient: 550 5.1.1.", True, True, True),
        ("mx.example.net:25 refused the recipient: 450 4.1.1.", False, False, False),
        ("mx.example.net:25 refused the message: 554 5.7.1.", True, False, False),
        ("mx.example.net:25 refused the recipient: 550.", True, False, False),
        ("mx.example.net:25 refused the recipient: 550 5.1.8.", True, True, False),
        ("mx.example.net:25 refused the recipient: 552 5.3.4.", True, True, False),
        ("10.5.1.1:25 refused the recipient: 550 5.7.1.", True, True, False),
    ],
)
async def test_a_server_that_refuses_the_address_at_once_turns_it_off(
    mails: Mails, error: str, is_final: bool, is_counted: bool, is_off: bool
) -> None:
    mails.channel.results.append(AttemptResult(is_accepted=False, status=550, error=error, is_final=is_final))
    await mails.change("1")
    await mails.deliver()

    assert (await mails.reason() == f"{UNDELIVERABLE} (5.1.1).") is is_off
    assert len(await mails.trail()) == is_off
    assert mails.reports.counts[BounceKind.PERMANENT] == is_off
    assert mails.reports.counts[BounceKind.REFUSED] == is_counted - is_off


async def test_a_webhook_is_not_turned_off_by_what_its_receiver_says(mails: Mails) -> None:
    async with mails.harness.database.transaction() as connection:
        await connection.execute(update(webhooks).values(channel="plain", user_id=None))
    mails.channel.name = "plain"
    worker = DeliveryService(mails.harness.database, mails.harness.clock, {"plain": mails.channel})
    mails.channel.results.append(AttemptResult(is_accepted=False, status=410, error="gone 5.1.1", is_final=True))
    await queue_change(mails.harness, mails.caller, channels={"plain": mails.channel})
    for claimed in await worker.claim():
        await worker.store([await worker.deliver(claimed)])

    async with mails.harness.database.reading() as connection:
        assert (await connection.execute(select(webhooks.c.paused_at))).scalar_one() is None
    assert await mails.trail() == []


async def test_a_provider_reports_by_the_address_of_the_user(mails: Mails) -> None:
    await mails.reports.apply_to_address("nobody@acme.example", BounceKind.PERMANENT)
    await mails.reports.apply_to_address(ADDRESS, BounceKind.TEMPORARY)
    assert await mails.reason() == ""

    await mails.reports.apply_to_address(ADDRESS, BounceKind.PERMANENT)
    assert await mails.reason() == f"{UNDELIVERABLE}."


async def test_an_address_that_is_proven_again_gets_mails_again_and_one_paused_by_hand_stays_so(
    mails: Mails, harness: ServiceHarness
) -> None:
    await mails.reports.apply_to_address(ADDRESS, BounceKind.PERMANENT)
    accounts = harness.service.accounts
    link = await accounts.password_reset.link(ADDRESS)
    await accounts.confirmations.keep(link.partition("=")[2], PASSWORD)
    assert await mails.reason() == ""

    async with harness.database.transaction() as connection:
        await connection.execute(update(webhooks).values(paused_at=harness.now, paused_reason="on holiday"))
    await mails.reports.apply_to_address(ADDRESS, BounceKind.PERMANENT)
    await mails.reports.turn_on(mails.caller)
    assert await mails.reason() == "on holiday"
    assert undeliverable_of([await mails.target()], mails.caller.user_id) is None
