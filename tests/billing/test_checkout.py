"""Starting, confirming, cancelling and resuming a subscription."""

import asyncio

import pytest

from registerwatch.accounts.plans import PlanName
from registerwatch.billing import provider, repository
from registerwatch.billing.checkout import ATTEMPT_SECONDS, UNANSWERED_SECONDS, Offer
from registerwatch.billing.models import DAY, GRACE_SECONDS, RENEWAL_SECONDS
from registerwatch.billing.provider import Checkout, CheckoutOrder
from registerwatch.errors import InvalidInput, PaymentRefused, PaymentsUnavailable
from tests.billing.plain_provider import MONTH
from tests.billing.steps import account_of, applied_events, paid_subscriptions, receive_event, subscribe
from tests.support.harness import ServiceHarness

STANDARD, OPERATOR = PlanName.STANDARD, PlanName.OPERATOR


async def test_a_first_subscription_begins_with_seven_days_that_need_a_card(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)

    [order] = harness.provider.orders.values()
    assert (order.account_id, order.email, order.customer_id) == (owner.account.id, owner.account.email, None)
    assert (order.price_id, order.trial_days) == ("price_s", 7)
    account = await account_of(harness, owner)
    assert (account.plan.name, account.expires_at) == (STANDARD, paid.period_end + RENEWAL_SECONDS)


async def test_a_second_trial_is_not_given(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    assert (await harness.service.billing.checkouts.offer(owner)).trial_days == 7
    first = await subscribe(harness, owner)
    assert await harness.service.billing.checkouts.offer(owner) == Offer([STANDARD, OPERATOR], 0)
    harness.provider.end(first.id)
    await receive_event(harness, "customer.subscription.deleted", first.id, "evt_1")

    second = await subscribe(harness, owner, OPERATOR)

    order = harness.provider.orders[max(harness.provider.orders)]
    assert (order.trial_days, order.customer_id) == (0, first.customer_id), "the customer stays the same"
    assert second.status == provider.ACTIVE
    account = await account_of(harness, owner)
    assert (account.plan.name, account.expires_at) == (OPERATOR, second.period_end + RENEWAL_SECONDS)


async def test_a_checkout_that_was_not_paid_uses_no_trial_up(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    await harness.service.billing.checkouts.checkout(owner, STANDARD)
    harness.clock.move(2 * DAY)

    await harness.service.billing.checkouts.checkout(owner, STANDARD)

    assert [order.trial_days for order in harness.provider.orders.values()] == [7, 7]


async def test_a_double_click_makes_one_page(harness: ServiceHarness) -> None:
    owner = await harness.owner()

    both = await asyncio.gather(*(harness.service.billing.checkouts.checkout(owner, STANDARD) for _ in range(2)))
    harness.clock.move(ATTEMPT_SECONDS - 1)
    later = await harness.service.billing.checkouts.checkout(owner, STANDARD)

    assert len({each.id for each in (*both, later)}) == 1
    assert len(harness.provider.checkouts) == 1


async def test_another_plan_or_another_day_makes_another_page(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    await harness.service.billing.checkouts.checkout(owner, STANDARD)
    await harness.service.billing.checkouts.checkout(owner, OPERATOR)
    harness.clock.move(ATTEMPT_SECONDS)
    await harness.service.billing.checkouts.checkout(owner, OPERATOR)

    assert len(harness.provider.checkouts) == 3


async def test_who_has_a_subscription_starts_no_other(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    await subscribe(harness, owner)
    asked = list(harness.provider.asked)

    with pytest.raises(InvalidInput, match="has a subscription already"):
        await harness.service.billing.checkouts.checkout(owner, OPERATOR)

    assert harness.provider.asked == asked


async def test_a_checkout_counts_once_it_is_finished_and_for_its_account_alone(harness: ServiceHarness) -> None:
    owner, stranger = await harness.owner(), await harness.owner("owner@other.example")
    session_id = (await harness.service.billing.checkouts.checkout(owner, STANDARD)).id

    with pytest.raises(InvalidInput, match="not finished"):
        await harness.service.billing.checkouts.confirm(owner, session_id)
    harness.provider.pay(session_id)
    asked = list(harness.provider.asked)
    for who, which in ((stranger, session_id), (owner, "cs_of_nobody"), (owner, "../v1/customers"), (owner, "")):
        with pytest.raises(InvalidInput, match="started no checkout"):
            await harness.service.billing.checkouts.confirm(who, which)

    assert harness.provider.asked == asked, "the provider is not asked about what others started"
    assert await account_of(harness, owner) == owner.account
    assert await account_of(harness, stranger) == stranger.account


async def test_confirming_twice_and_the_event_after_it_change_nothing_more(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    await subscribe(harness, owner)
    [session_id] = harness.provider.checkouts
    before = await account_of(harness, owner), await paid_subscriptions(harness, owner)

    await harness.service.billing.checkouts.confirm(owner, session_id)
    await receive_event(harness, "checkout.session.completed", session_id, "evt_1")

    assert (await account_of(harness, owner), await paid_subscriptions(harness, owner)) == before


async def test_a_cancelled_subscription_goes_on_until_its_end_and_can_be_resumed_until_then(
    harness: ServiceHarness,
) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)

    await harness.service.billing.checkouts.cancel(owner)
    assert [each.subscription.cancel_at_period_end for each in await paid_subscriptions(harness, owner)] == [True]
    assert (await account_of(harness, owner)).expires_at == paid.period_end
    await harness.service.billing.checkouts.cancel(owner)
    await harness.service.billing.checkouts.resume(owner)
    assert [each.subscription.cancel_at_period_end for each in await paid_subscriptions(harness, owner)] == [False]

    await harness.service.billing.checkouts.cancel(owner)
    harness.clock.move(paid.period_end - harness.now)
    with pytest.raises(InvalidInput, match="has ended"):
        await harness.service.billing.checkouts.resume(owner)
    assert harness.provider.subscriptions[paid.id].cancel_at_period_end
    assert (await account_of(harness, owner)).has_expired(harness.now)


async def test_who_never_paid_can_cancel_resume_and_look_at_nothing(harness: ServiceHarness) -> None:
    owner = await harness.owner()

    for refused in (
        harness.service.billing.checkouts.cancel,
        harness.service.billing.checkouts.resume,
        harness.service.billing.checkouts.portal,
    ):
        with pytest.raises(InvalidInput):
            await refused(owner)

    assert harness.provider.asked == []
    assert await account_of(harness, owner) == owner.account


async def test_what_ended_at_the_provider_meanwhile_is_neither_cancelled_nor_resumed(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)
    harness.provider.end(paid.id)

    with pytest.raises(InvalidInput, match="has ended"):
        await harness.service.billing.checkouts.resume(owner)
    with pytest.raises(InvalidInput, match="no subscription that could be cancelled"):
        await harness.service.billing.checkouts.cancel(owner)

    assert [each.subscription.status for each in await paid_subscriptions(harness, owner)] == [provider.CANCELED], (
        "and it is known now"
    )


async def test_an_open_trial_is_not_shortened_by_a_subscription_that_ends_at_once(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)
    harness.provider.end(paid.id)
    await receive_event(harness, "customer.subscription.deleted", paid.id, "evt_1")

    account = await account_of(harness, owner)
    assert (account.plan, account.expires_at) == (owner.account.plan, owner.account.expires_at)


async def test_what_the_operator_sets_in_between_stays_under_what_is_paid_for(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)
    granted = harness.now + 365 * DAY
    await harness.service.accounts.admin.set_period(owner.account.email, OPERATOR, granted)

    await receive_event(harness, "customer.subscription.updated", paid.id, "evt_1")
    assert (await account_of(harness, owner)).plan.name == OPERATOR
    harness.provider.end(paid.id)
    await receive_event(harness, "customer.subscription.deleted", paid.id, "evt_2")

    account = await account_of(harness, owner)
    assert (account.plan.name, account.expires_at) == (OPERATOR, granted)


async def test_a_card_that_is_refused_leaves_three_days_and_one_that_works_the_whole_period(
    harness: ServiceHarness,
) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)
    harness.clock.move(paid.period_end - harness.now)
    renewed = harness.provider.next_period(paid.id, provider.PAST_DUE)

    await receive_event(harness, "invoice.payment_failed", "in_1", "evt_0")  # names no subscription
    await receive_event(harness, "customer.subscription.updated", paid.id, "evt_1")
    account = await account_of(harness, owner)
    assert (account.plan.name, account.expires_at) == (STANDARD, renewed.period_start + GRACE_SECONDS)

    harness.provider.change(paid.id, status=provider.ACTIVE)
    await receive_event(harness, "customer.subscription.updated", paid.id, "evt_2")
    assert (await account_of(harness, owner)).expires_at == renewed.period_end + RENEWAL_SECONDS

    harness.provider.change(paid.id, status=provider.UNPAID)
    await receive_event(harness, "customer.subscription.updated", paid.id, "evt_3")
    account = await account_of(harness, owner)
    assert (account.plan.name, account.has_expired(harness.now)) == (PlanName.TRIAL, True)


async def test_a_changed_price_changes_the_plan(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)
    harness.provider.change(paid.id, price_id="price_o")
    await receive_event(harness, "customer.subscription.updated", paid.id, "evt_1")
    assert (await account_of(harness, owner)).plan.name == OPERATOR

    harness.provider.change(paid.id, price_id="price_of_the_dashboard")
    await receive_event(harness, "customer.subscription.updated", paid.id, "evt_2")
    assert (await account_of(harness, owner)).plan.name == STANDARD, "it is paid for, whatever it is"


async def test_whoever_paid_on_two_pages_has_the_greater_plan_and_cancels_both(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    sessions = [(await harness.service.billing.checkouts.checkout(owner, plan)).id for plan in (STANDARD, OPERATOR)]
    for number, session_id in enumerate(sessions):
        harness.provider.pay(session_id)
        await receive_event(harness, "checkout.session.completed", session_id, f"evt_{number}")

    assert (await account_of(harness, owner)).plan.name == OPERATOR
    await harness.service.billing.checkouts.cancel(owner)
    assert [each.cancel_at_period_end for each in harness.provider.subscriptions.values()] == [True, True]


async def test_while_the_provider_is_away_nothing_changes_and_it_is_said(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)
    [session_id] = harness.provider.checkouts
    newcomer = await harness.owner("owner@other.example")
    before = await account_of(harness, owner), await paid_subscriptions(harness, owner)
    harness.provider.is_away = True

    for asked in (
        harness.service.billing.checkouts.checkout(newcomer, STANDARD),
        harness.service.billing.checkouts.confirm(owner, session_id),
        harness.service.billing.checkouts.cancel(owner),
        harness.service.billing.checkouts.resume(owner),
        harness.service.billing.checkouts.portal(owner),
        receive_event(harness, "customer.subscription.updated", paid.id, "evt_1"),
    ):
        with pytest.raises(PaymentsUnavailable):
            await asked

    assert (await account_of(harness, owner), await paid_subscriptions(harness, owner)) == before
    assert await applied_events(harness) == [], "the provider sends it again"


async def test_the_audit_trail_says_who_paid_and_what_the_provider_did(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)
    await harness.service.billing.checkouts.cancel(owner)
    await harness.service.billing.checkouts.resume(owner)
    harness.clock.move(paid.period_end - harness.now)
    harness.provider.next_period(paid.id)
    await receive_event(harness, "invoice.paid", "in_1", "evt_0")
    await receive_event(harness, "customer.subscription.updated", paid.id, "evt_1")

    trail = [(entry.actor, str(entry.action)) for entry in await harness.service.accounts.members.trail(owner)]
    changed = ("payment provider", "plan changed")
    assert trail[:7] == [
        changed,
        (owner.name, "subscription resumed"),
        changed,
        (owner.name, "subscription cancelled"),
        changed,
        changed,
        (owner.name, "checkout started"),
    ]
    assert (await account_of(harness, owner)).expires_at == paid.period_end + MONTH + RENEWAL_SECONDS


async def test_an_attempt_that_the_provider_failed_is_not_asked_for_again_after_a_minute(
    harness: ServiceHarness,
) -> None:
    owner = await harness.owner()
    harness.provider.is_away = True
    for _ in range(2):
        with pytest.raises(PaymentsUnavailable):
            await harness.service.billing.checkouts.checkout(owner, STANDARD)
    harness.provider.is_away = False
    async with harness.database.reading() as connection:
        first = await repository.latest_checkout(connection, owner.account.id)
    harness.clock.move(UNANSWERED_SECONDS)
    started = await harness.service.billing.checkouts.checkout(owner, STANDARD)

    async with harness.database.reading() as connection:
        second = await repository.latest_checkout(connection, owner.account.id)
    assert first is not None
    assert second is not None
    assert (second.session_id, second.attempt == first.attempt) == (started.id, False)


async def test_a_customer_who_is_gone_at_the_provider_pays_as_a_new_one(
    harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)
    harness.provider.end(paid.id)
    await receive_event(harness, "customer.subscription.deleted", paid.id, "evt_1")
    orders, start = [], harness.provider.start_checkout

    async def knows_no_customer(order: CheckoutOrder, attempt: str) -> Checkout:
        orders.append(order.customer_id)
        if order.customer_id is not None:
            raise PaymentRefused("No such customer")
        return await start(order, attempt)

    monkeypatch.setattr(harness.provider, "start_checkout", knows_no_customer)
    await harness.service.billing.checkouts.checkout(owner, STANDARD)

    assert orders == [paid.customer_id, None]
