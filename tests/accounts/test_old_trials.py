"""Trials that ended a year ago and never paid: announced, a month later deleted, and which ones stay."""

import pytest
from sqlalchemy import insert
from structlog.testing import capture_logs

from registerwatch.accounts.old_trials import KEPT_SECONDS, NOTICE_SECONDS
from registerwatch.accounts.plans import PlanName
from registerwatch.billing.tables import subscriptions
from registerwatch.errors import MailNotSent
from registerwatch.mail.mailer import Mail
from tests.support.harness import EMAIL, ServiceHarness

DAY = 24 * 3600
TRIAL = 7 * DAY
OTHER = "owner@other.example"


async def an_old_trial(harness: ServiceHarness, email: str = EMAIL, *, is_proven: bool = True) -> None:
    """An account whose trial ends a year before the clock's time."""
    owner = await harness.sign_up(email)
    if is_proven:
        await harness.prove_address(owner)
    await harness.finish_background_work()
    harness.mail.mails.clear()
    harness.clock.move(TRIAL + KEPT_SECONDS)


async def run(harness: ServiceHarness) -> list[str]:
    """One run; to whom it mailed."""
    harness.mail.mails.clear()
    await harness.service.accounts.old_trials.run()
    return [mail.to for mail in harness.mail.mails]


def left(harness: ServiceHarness) -> list[str]:
    return [row["email"] for row in harness.all_rows()["accounts"]]


async def test_a_trial_is_announced_a_year_after_its_end_and_deleted_a_month_later(harness: ServiceHarness) -> None:
    await an_old_trial(harness)
    harness.clock.move(-1)
    assert await run(harness) == []
    harness.clock.move(1)

    assert await run(harness) == [EMAIL]
    [mail] = harness.mail.mails
    assert "21 Feb 2028, 08:00 UTC" in mail.text
    assert await run(harness) == [], "it is announced once"
    harness.clock.move(NOTICE_SECONDS - 1)
    assert await run(harness) == []
    assert left(harness) == [EMAIL]
    harness.clock.move(1)
    assert await run(harness) == []

    assert left(harness) == []
    rows = harness.all_rows()
    for table in ("users", "api_keys", "audit", "deletion_notices", "confirmation_tokens"):
        assert rows[table] == [], table


async def test_a_trial_that_goes_on_after_the_mail_stays_and_is_announced_anew(harness: ServiceHarness) -> None:
    await an_old_trial(harness)
    assert await run(harness) == [EMAIL]
    await harness.service.accounts.admin.set_period(EMAIL, None, harness.now + DAY)

    harness.clock.move(DAY + KEPT_SECONDS)
    assert await run(harness) == [EMAIL]
    assert left(harness) == [EMAIL]
    harness.clock.move(NOTICE_SECONDS)
    await run(harness)
    assert left(harness) == []


async def test_whoever_paid_once_or_has_another_plan_stays(harness: ServiceHarness) -> None:
    await an_old_trial(harness)
    account_id = harness.all_rows()["accounts"][0]["id"]
    async with harness.database.transaction() as connection:
        await connection.execute(
            insert(subscriptions).values(
                id="sub_1",
                account_id=account_id,
                customer_id="cus_1",
                status="canceled",
                price_id="price_1",
                plan="standard",
                cancel_at_period_end=True,
                period_start=1,
                period_end=2,
                ended_at=2,
                had_trial=True,
                read_at=2,
            )
        )
    await harness.sign_up(OTHER)
    await harness.service.accounts.admin.set_period(OTHER, PlanName.STANDARD, 1_000)

    for _ in range(2):
        assert await run(harness) == []
        harness.clock.move(NOTICE_SECONDS)
    assert left(harness) == [EMAIL, OTHER]


async def test_an_address_that_nobody_has_proven_gets_no_mail_and_the_account_goes_all_the_same(
    harness: ServiceHarness,
) -> None:
    await an_old_trial(harness, is_proven=False)

    assert await run(harness) == []
    assert left(harness) == [EMAIL]
    harness.clock.move(NOTICE_SECONDS)
    assert await run(harness) == []
    assert left(harness) == []


async def test_what_could_not_be_announced_is_not_deleted(
    harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_mail: Mail) -> None:
        raise MailNotSent("The mail server said 451.")

    await an_old_trial(harness)
    with monkeypatch.context() as patched, capture_logs() as logged:
        patched.setattr(harness.mail, "send", refuse)
        await run(harness)
        harness.clock.move(NOTICE_SECONDS)
        await run(harness)
    assert [each["event"] for each in logged] == ["the deletion of a trial could not be announced"] * 2
    assert EMAIL not in str(logged)

    assert await run(harness) == [EMAIL]
    assert left(harness) == [EMAIL]
