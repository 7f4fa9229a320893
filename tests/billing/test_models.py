"""What an account has for what it pays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.accounts.plans import PlanName
from registerwatch.billing.models import (
    DAY,
    GRACE_SECONDS,
    RENEWAL_SECONDS,
    PaidSubscription,
    Period,
    account_period,
    paid_until,
    shown,
)
from registerwatch.billing.provider import Subscription
from registerwatch.platform.structs import replace

START, END = 1_000_000_000, 1_000_000_000 + 30 * DAY
ACTIVE = Subscription("sub_1", "cus_1", "active", "price_s", False, START, END, None, False)
TRIAL = Period(PlanName.TRIAL, START + 7 * DAY)

instants = st.integers(START, END + 30 * DAY)
subscriptions = st.builds(
    Subscription,
    id=st.integers(1, 9).map("sub_{}".format),
    customer_id=st.just("cus_1"),
    status=st.sampled_from(
        ["incomplete", "incomplete_expired", "trialing", "active", "past_due", "canceled", "unpaid", "paused", "new"]
    ),
    price_id=st.just("price"),
    cancel_at_period_end=st.booleans(),
    period_start=instants,
    period_end=instants,
    ended_at=st.none() | instants,
    had_trial=st.booleans(),
)
paid_lists = st.lists(
    st.builds(PaidSubscription, subscriptions, st.sampled_from([PlanName.STANDARD, PlanName.OPERATOR])),
    max_size=4,
    unique_by=lambda paid: paid.subscription.id,
)
periods = st.builds(Period, st.sampled_from(list(PlanName)), instants)


@pytest.mark.parametrize(
    ("status", "ended_at", "until"),
    [
        ("trialing", None, END + RENEWAL_SECONDS),
        ("active", None, END + RENEWAL_SECONDS),
        ("past_due", None, START + GRACE_SECONDS),
        ("unpaid", None, START),
        ("paused", None, START),
        ("canceled", START + 5, START + 5),
        ("canceled", END + 5, END),
        ("incomplete", None, None),
        ("incomplete_expired", START + 5, None),
        ("a status of the future", None, START),
    ],
)
def test_what_is_paid_for_ends_as_the_status_says(status: str, ended_at: int | None, until: int | None) -> None:
    assert paid_until(replace(ACTIVE, status=status, ended_at=ended_at)) == until


def test_a_renewed_period_that_could_not_be_charged_gives_three_days_and_not_a_month() -> None:
    renewed = replace(ACTIVE, period_start=END, period_end=END + 30 * DAY)

    assert paid_until(replace(renewed, status="past_due")) == END + 3 * DAY


def test_a_plan_that_is_paid_for_replaces_the_trial_and_its_end_gives_the_trial_back() -> None:
    paid = PaidSubscription(ACTIVE, PlanName.STANDARD)
    over = PaidSubscription(replace(ACTIVE, status="canceled", ended_at=START + DAY), PlanName.STANDARD)

    assert account_period(TRIAL, [paid], START) == Period(PlanName.STANDARD, END + RENEWAL_SECONDS)
    assert account_period(TRIAL, [over], START + DAY) == TRIAL
    assert account_period(TRIAL, [], START) == TRIAL


def test_what_the_operator_granted_is_not_taken_away_by_a_smaller_subscription() -> None:
    granted = Period(PlanName.OPERATOR, END + 365 * DAY)
    paid = [PaidSubscription(ACTIVE, PlanName.STANDARD)]

    assert account_period(granted, paid, START) == granted
    assert account_period(granted, paid, granted.until) == Period(PlanName.STANDARD, granted.until)


@given(granted=periods, paid=paid_lists, now=instants)
def test_paying_never_shortens_what_was_granted(granted: Period, paid: list[PaidSubscription], now: int) -> None:
    assert account_period(granted, paid, now).until >= granted.until


@given(granted=periods, paid=paid_lists, now=instants)
def test_nothing_is_given_beyond_what_is_granted_paid_or_graced(
    granted: Period, paid: list[PaidSubscription], now: int
) -> None:
    ends = [
        max(each.subscription.period_end + RENEWAL_SECONDS, each.subscription.period_start + GRACE_SECONDS)
        for each in paid
    ]

    assert account_period(granted, paid, now).until <= max([granted.until, *ends])


@given(granted=periods, paid=paid_lists, now=instants, data=st.data())
def test_the_order_of_subscriptions_does_not_matter(
    granted: Period, paid: list[PaidSubscription], now: int, data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(paid))

    assert account_period(granted, shuffled, now) == account_period(granted, paid, now)
    assert shown(shuffled) == shown(paid)


def test_a_subscription_that_runs_is_shown_before_one_that_is_over() -> None:
    runs = PaidSubscription(ACTIVE, PlanName.STANDARD)
    over = PaidSubscription(replace(ACTIVE, id="sub_2", status="canceled", period_end=END + 1), PlanName.OPERATOR)

    assert shown([over, runs]) == runs
    assert shown([over]) == over
    assert shown([]) is None
