"""What time and people do to a subscription."""

from datetime import UTC, datetime

import pytest

from registerwatch_standins.payment.records import Card
from registerwatch_standins.payment.subscriptions import end_of_period
from tests.support.payments import DAY, Payments

from .conftest import START, now, period, subscribed

HOUR = 3600
FEBRUARY, MARCH, APRIL = (int(datetime(2026, *day, 12, tzinfo=UTC).timestamp()) for day in ((2, 28), (3, 31), (4, 30)))


@pytest.mark.parametrize(
    ("anchor", "start", "end"),
    [
        ("2024-01-31", "2024-01-31", "2024-02-29"),
        ("2024-01-31", "2024-02-29", "2024-03-31"),
        ("2024-11-30", "2024-12-30", "2025-01-30"),
        ("2024-02-29", "2025-01-29", "2025-02-28"),
    ],
)
async def test_a_cycle_keeps_its_day_where_the_month_has_it(anchor: str, start: str, end: str) -> None:
    moments = [int(datetime.fromisoformat(f"{day}T09:30+00:00").timestamp()) for day in (anchor, start, end)]
    assert end_of_period(moments[0], moments[1]) == moments[2]


async def test_a_trial_turns_into_a_paid_period_whose_card_is_charged_an_hour_later(payments: Payments) -> None:
    bought = await subscribed(payments, trial_days=7)
    trial_end = START + 7 * DAY
    await payments.let_pass(7 * DAY)
    subscription = await now(payments, bought.id)
    assert subscription.status == "active"
    assert period(subscription) == (trial_end, int(datetime(2026, 3, 7, 12, tzinfo=UTC).timestamp()))
    invoice = payments.ledger.invoices[str(subscription.latest_invoice)]
    assert (invoice.status, invoice.amount) == ("draft", 4_900)
    await payments.let_pass(HOUR)
    assert invoice.status == "paid"
    assert payments.types()[4:] == ["customer.subscription.updated", "invoice.paid"]


async def test_periods_follow_each_other_however_late_somebody_looks(payments: Payments) -> None:
    bought = await subscribed(payments)
    await payments.let_pass(APRIL - START + DAY)
    assert period(await now(payments, bought.id))[0] == APRIL
    paid = [event.created for event in payments.ledger.log.events if event.type == "invoice.paid"]
    assert paid == [START, FEBRUARY + HOUR, MARCH + HOUR, APRIL + HOUR]


async def test_a_card_that_fails_is_tried_again_and_then_the_subscription_ends(payments: Payments) -> None:
    bought = await subscribed(payments, Card.REFUSED_LATER)
    await payments.let_pass(FEBRUARY - START)
    assert (await now(payments, bought.id)).status == "active"
    await payments.let_pass(HOUR)
    late = await now(payments, bought.id)
    assert late.status == "past_due"
    assert period(late) == (FEBRUARY, MARCH)
    await payments.let_pass(15 * DAY)
    ended = await now(payments, bought.id)
    assert (ended.status, ended.ended_at) == ("canceled", FEBRUARY + HOUR + 15 * DAY)
    failures = [event.created - FEBRUARY for event in payments.ledger.log.events if "failed" in event.type]
    assert failures == [HOUR, HOUR + 3 * DAY, HOUR + 8 * DAY, HOUR + 15 * DAY]
    assert payments.types()[-1] == "customer.subscription.deleted"


async def test_the_portal_ends_it_by_a_date_as_the_real_one_can(payments: Payments) -> None:
    bought = await subscribed(payments)
    session = await payments.sdk.v1.billing_portal.sessions.create_async({"customer": str(bought.customer)})
    portal = session.url
    await payments.wish(portal, "end")
    waiting = await now(payments, bought.id)
    assert (waiting.cancel_at_period_end, waiting.cancel_at) == (False, FEBRUARY)
    await payments.wish(portal, "renew")
    assert (await now(payments, bought.id)).cancel_at is None
    await payments.wish(portal, "end")
    await payments.let_pass(FEBRUARY - START)
    assert (await now(payments, bought.id)).status == "canceled"
    assert (await payments.wish(portal, "renew")).status_code == 400
