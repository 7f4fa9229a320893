"""Owners are mailed before and when a trial or a paid period ends: once each, in their time zone."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from registerwatch.accounts.plans import PlanName
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.billing.models import DAY
from registerwatch.mail.mailer import BeforeData, Mail
from registerwatch.mail.smtp import Failure
from tests.billing.steps import run_upkeep, subscribe
from tests.support.harness import EMAIL, NewAccount, ServiceHarness, built_harness

TRIAL = 7 * DAY
HOUR = 3600


async def a_proven_owner(harness: ServiceHarness, email: str = EMAIL) -> NewAccount:
    """The owner of a new trial, who has proven their address and reads times of Berlin."""
    owner = await harness.sign_up(email)
    await harness.prove_address(owner)
    async with harness.database.transaction() as connection:
        await connection.execute(text("UPDATE users SET time_zone = 'Europe/Berlin'"))
    return owner


async def run(harness: ServiceHarness) -> list[str]:
    """Two processes run at once; the subjects of what was mailed."""
    harness.mail.mails.clear()
    notices = harness.service.billing.period_notices
    await asyncio.gather(notices.run(), notices.run())
    return [mail.subject for mail in harness.mail.mails]


async def hours_of_mails(harness: ServiceHarness, days: int) -> list[int]:
    """After how many hours something is mailed in some days; processes look every hour."""
    hours = []
    for hour in range(days * 24):
        hours += [hour for _ in await run(harness)]
        harness.clock.move(HOUR)
    return hours


async def test_a_trial_is_said_to_end_seven_days_and_a_day_before_and_at_its_end_once_each(
    harness: ServiceHarness,
) -> None:
    await a_proven_owner(harness)
    await harness.service.accounts.admin.set_period(EMAIL, None, harness.now + 10 * DAY)

    assert await hours_of_mails(harness, 20) == [3 * 24, 9 * 24, 10 * 24]


async def test_who_has_just_signed_up_is_not_told_that_the_trial_ends(harness: ServiceHarness) -> None:
    await a_proven_owner(harness)

    assert await hours_of_mails(harness, 9) == [6 * 24, 7 * 24]


async def test_the_mails_say_when_in_the_time_zone_of_the_owner_and_what_stops_and_how_to_go_on(
    harness: ServiceHarness,
) -> None:
    await a_proven_owner(harness)
    harness.clock.move(6 * DAY)

    [subject] = await run(harness)
    [mail] = harness.mail.mails
    assert (mail.to, subject.startswith("Your trial at ")) == (EMAIL, True)
    assert subject.endswith("ends on 22 Jan 2027")
    for said in ("22 Jan 2027, 09:00 (Europe/Berlin)", "nothing is read for what you watch", "/app/billing"):
        assert said in mail.text
    assert "does not mean that nothing has changed" in " ".join(mail.text.split())
    assert max(map(len, mail.text.splitlines())) < 78

    harness.clock.move(TRIAL)
    [subject] = await run(harness)
    [mail] = harness.mail.mails
    assert subject.endswith("has ended")
    assert "Since then nothing is read" in mail.text


async def test_a_period_that_is_prolonged_has_notices_of_its_own(harness: ServiceHarness) -> None:
    await a_proven_owner(harness)
    harness.clock.move(TRIAL - HOUR)
    [subject] = await run(harness)
    assert "ends on" in subject, "of what came due while nothing ran only the last is sent"
    await harness.service.accounts.admin.set_period(EMAIL, PlanName.STANDARD, harness.now + 30 * DAY)

    assert await hours_of_mails(harness, 31) == [23 * 24, 29 * 24, 30 * 24]
    assert await run(harness) == []


async def test_a_subscription_that_is_renewed_is_told_nothing_and_one_that_is_cancelled_is(
    harness: ServiceHarness,
) -> None:
    owner = await a_proven_owner(harness)
    caller = await harness.service.accounts.sessions.caller(credential_of(None, owner.session))
    paid = await subscribe(harness, caller)
    harness.clock.move(paid.period_end - DAY - harness.now)
    assert await run(harness) == []
    harness.clock.move(DAY + HOUR)
    assert await run(harness) == []
    renewed = harness.provider.next_period(paid.id)
    await run_upkeep(harness)
    assert await run(harness) == []

    await harness.service.billing.checkouts.cancel(caller)
    harness.clock.move(renewed.period_end - DAY - harness.now)
    [subject] = await run(harness)
    assert subject.startswith("Your account's period at ")
    harness.clock.move(DAY)
    [subject] = await run(harness)
    assert subject.endswith("has ended")


async def test_owners_with_proven_addresses_are_mailed_and_nobody_else(harness: ServiceHarness) -> None:
    await a_proven_owner(harness)
    harness.clock.move(6 * DAY)
    await harness.sign_up("unproven@acme.example")
    async with harness.database.transaction() as connection:
        account = "(SELECT min(account_id) FROM users)"
        for email, role, confirmed in (("two@acme.example", "owner", 1), ("m@acme.example", "member", 1)):
            await connection.execute(
                text(
                    "INSERT INTO users (account_id, email, role, created_at, confirmed_at)"
                    f" VALUES ({account}, '{email}', '{role}', 1, {confirmed})"
                )
            )

    await run(harness)
    assert sorted(mail.to for mail in harness.mail.mails) == [EMAIL, "two@acme.example"]


def answering(
    harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch, answer: Failure | Exception, only: str = ""
) -> list[str]:
    """Let mails, or those to one address, fail; the addresses to which mails are tried from then on."""
    tried, send_once = [], harness.mail.send_once

    async def fail(mail: Mail, before_data: BeforeData) -> Failure | None:
        tried.append(mail.to)
        if only and mail.to != only:
            return await send_once(mail, before_data)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(harness.mail, "send_once", fail)
    return tried


LATER = Failure("The mail server said 451.", temporary=True, code=451, is_of_mail=True)
NEVER = Failure("The mail server said 550.", code=550, is_of_mail=True)
AWAY = Failure("The mail server cannot be reached.", temporary=True)
OTHER = "other@acme.example"


@pytest.mark.parametrize("answer", [LATER, AWAY, OSError("no route")], ids=["refused for now", "away", "unexpected"])
async def test_a_mail_that_did_not_go_out_is_tried_again_and_an_end_of_long_ago_is_not_told(
    harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch, answer: Failure | Exception
) -> None:
    await a_proven_owner(harness)
    harness.clock.move(6 * DAY)
    with monkeypatch.context() as patched:
        answering(harness, patched, answer)
        assert await run(harness) == []
    assert len(await run(harness)) == 1
    harness.clock.move(TRIAL + 8 * DAY)
    assert await run(harness) == []


@pytest.mark.parametrize("answer", [LATER, NEVER, OSError("no route")], ids=["for now", "for good", "unexpected"])
async def test_a_mail_that_fails_keeps_nobody_else_from_being_told(
    harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch, answer: Failure | Exception
) -> None:
    await a_proven_owner(harness)
    await a_proven_owner(harness, OTHER)
    harness.clock.move(6 * DAY)
    answering(harness, monkeypatch, answer, only=EMAIL)

    await run(harness)
    assert [mail.to for mail in harness.mail.mails] == [OTHER]


async def test_an_address_that_is_refused_for_good_is_not_tried_again(
    harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await a_proven_owner(harness)
    harness.clock.move(6 * DAY)
    tried = answering(harness, monkeypatch, NEVER)

    for _ in range(3):
        await run(harness)
    assert tried == [EMAIL]


async def test_a_run_ends_where_the_mail_server_cannot_be_reached(
    harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await a_proven_owner(harness)
    await a_proven_owner(harness, OTHER)
    harness.clock.move(6 * DAY)
    tried = answering(harness, monkeypatch, AWAY)

    await harness.service.billing.period_notices.run()
    assert tried == [EMAIL]


async def test_who_signs_up_for_a_trial_of_a_day_is_told_only_that_it_has_ended(harness: ServiceHarness) -> None:
    await a_proven_owner(harness)
    await harness.service.accounts.admin.set_period(EMAIL, None, harness.now + DAY)

    assert await hours_of_mails(harness, 3) == [24]


async def test_where_nothing_is_paid_for_the_operator_is_to_be_asked(database_url: str, tmp_path: Path) -> None:
    async with built_harness(database_url, tmp_path) as harness:
        await a_proven_owner(harness)
        harness.clock.move(6 * DAY)
        await run(harness)
        [mail] = harness.mail.mails
    assert "ask who runs the service" in mail.text
    assert "/app/billing" not in mail.text
