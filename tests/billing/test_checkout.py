"""Starting, confirming, cancelling and resuming a subscription."""

import asyncio

import pytest

from registerwatch.accounts.plans import PlanName
from registerwatch.billing import provider, repository
from registerwatch.billing.checkout import ATTEMPT_SECONDS, UNNAMED_SECONDS
from registerwatch.billing.models import DAY, GRACE_SECONDS, RENEWAL_SECONDS
from registerwatch.billing.provider import Checkout, CheckoutOrder
from registerwatch.errors import InvalidInput, PaymentRefused, PaymentsUnavailable
from tests.billing.plain_provider import MONTH
from tests.billing.room import Room

pytestmark = pytest.mark.anyio

STANDARD, OPERATOR = PlanName.STANDARD, PlanName.OPERATOR


async def test_a_first_subscription_begins_with_seven_days_that_need_a_card(room: Room) -> None:
    owner = await room.owner()
    paid = await room.subscribe(owner)

    [order] = room.provider.orders.values()
    assert (order.account_id, order.email, order.customer_id) == (owner.account.id, owner.account.email, None)
    assert (order.price_id, order.trial_days) == ("price_s", 7)
    account = await room.account(owner)
    assert (account.plan.name, account.expires_at) == (STANDARD, paid.period_end + RENEWAL_SECONDS)


async def test_a_second_trial_is_not_given(room: Room) -> None:
    owner = await room.owner()
    first = await room.subscribe(owner)
    room.provider.end(first.id)
    await room.tell("customer.subscription.deleted", first.id, "evt_1")

    second = await room.subscribe(owner, OPERATOR)

    order = room.provider.orders[max(room.provider.orders)]
    assert (order.trial_days, order.customer_id) == (0, first.customer_id), "the customer stays the same"
    assert second.status == provider.ACTIVE
    account = await room.account(owner)
    assert (account.plan.name, account.expires_at) == (OPERATOR, second.period_end + RENEWAL_SECONDS)


async def test_a_checkout_that_was_not_paid_uses_no_trial_up(room: Room) -> None:
    owner = await room.owner()
    await room.billing.checkouts.checkout(owner, STANDARD)
    room.clock.move(2 * DAY)

    await room.billing.checkouts.checkout(owner, STANDARD)

    assert [order.trial_days for order in room.provider.orders.values()] == [7, 7]


async def test_a_double_click_makes_one_page(room: Room) -> None:
    owner = await room.owner()

    both = await asyncio.gather(*(room.billing.checkouts.checkout(owner, STANDARD) for _ in range(2)))
    room.clock.move(ATTEMPT_SECONDS - 1)
    later = await room.billing.checkouts.checkout(owner, STANDARD)

    assert len({each.id for each in (*both, later)}) == 1
    assert len(room.provider.checkouts) == 1


async def test_another_plan_or_another_day_makes_another_page(room: Room) -> None:
    owner = await room.owner()
    await room.billing.checkouts.checkout(owner, STANDARD)
    await room.billing.checkouts.checkout(owner, OPERATOR)
    room.clock.move(ATTEMPT_SECONDS)
    await room.billing.checkouts.checkout(owner, OPERATOR)

    assert len(room.provider.checkouts) == 3


async def test_who_has_a_subscription_starts_no_other(room: Room) -> None:
    owner = await room.owner()
    await room.subscribe(owner)
    asked = list(room.provider.asked)

    with pytest.raises(InvalidInput, match="has a subscription already"):
        await room.billing.checkouts.checkout(owner, OPERATOR)

    assert room.provider.asked == asked


async def test_a_checkout_counts_once_it_is_finished_and_for_its_account_alone(room: Room) -> None:
    owner, stranger = await room.owner(), await room.owner("owner@other.example")
    session_id = (await room.billing.checkouts.checkout(owner, STANDARD)).id

    with pytest.raises(InvalidInput, match="not finished"):
        await room.billing.checkouts.confirm(owner, session_id)
    room.provider.pay(session_id)
    asked = list(room.provider.asked)
    for who, which in ((stranger, session_id), (owner, "cs_of_nobody"), (owner, "../v1/customers"), (owner, "")):
        with pytest.raises(InvalidInput, match="started no checkout"):
            await room.billing.checkouts.confirm(who, which)

    assert room.provider.asked == asked, "the provider is not asked about what others started"
    assert await room.account(owner) == owner.account
    assert await room.account(stranger) == stranger.account


async def test_confirming_twice_and_the_event_after_it_change_nothing_more(room: Room) -> None:
    owner = await room.owner()
    await room.subscribe(owner)
    [session_id] = room.provider.checkouts
    before = await room.account(owner), await room.paid(owner)

    await room.billing.checkouts.confirm(owner, session_id)
    await room.tell("checkout.session.completed", session_id, "evt_1")

    assert (await room.account(owner), await room.paid(owner)) == before


async def test_a_cancelled_subscription_goes_on_until_its_end_and_can_be_resumed_until_then(room: Room) -> None:
    owner = await room.owner()
    paid = await room.subscribe(owner)

    await room.billing.checkouts.cancel(owner)
    assert [each.subscription.cancel_at_period_end for each in await room.paid(owner)] == [True]
    assert (await room.account(owner)).expires_at == paid.period_end
    await room.billing.checkouts.cancel(owner)
    await room.billing.checkouts.resume(owner)
    assert [each.subscription.cancel_at_period_end for each in await room.paid(owner)] == [False]

    await room.billing.checkouts.cancel(owner)
    room.clock.move(paid.period_end - room.now)
    with pytest.raises(InvalidInput, match="has ended"):
        await room.billing.checkouts.resume(owner)
    assert room.provider.subscriptions[paid.id].cancel_at_period_end
    assert (await room.account(owner)).has_expired(room.now)


async def test_who_never_paid_can_cancel_resume_and_look_at_nothing(room: Room) -> None:
    owner = await room.owner()

    for refused in (room.billing.checkouts.cancel, room.billing.checkouts.resume, room.billing.checkouts.portal):
        with pytest.raises(InvalidInput):
            await refused(owner)

    assert room.provider.asked == []
    assert await room.account(owner) == owner.account


async def test_what_ended_at_the_provider_meanwhile_is_neither_cancelled_nor_resumed(room: Room) -> None:
    owner = await room.owner()
    paid = await room.subscribe(owner)
    room.provider.end(paid.id)

    with pytest.raises(InvalidInput, match="has ended"):
        await room.billing.checkouts.resume(owner)
    with pytest.raises(InvalidInput, match="no subscription that could be cancelled"):
        await room.billing.checkouts.cancel(owner)

    assert [each.subscription.status for each in await room.paid(owner)] == [provider.CANCELED], "and it is known now"


async def test_an_open_trial_is_not_shortened_by_a_subscription_that_ends_at_once(room: Room) -> None:
    owner = await room.owner()
    paid = await room.subscribe(owner)
    room.provider.end(paid.id)
    await room.tell("customer.subscription.deleted", paid.id, "evt_1")

    account = await room.account(owner)
    assert (account.plan, account.expires_at) == (owner.account.plan, owner.account.expires_at)


async def test_what_the_operator_sets_in_between_stays_under_what_is_paid_for(room: Room) -> None:
    owner = await room.owner()
    paid = await room.subscribe(owner)
    granted = room.now + 365 * DAY
    await room.accounts.admin.set_period(owner.account.email, OPERATOR, granted)

    await room.tell("customer.subscription.updated", paid.id, "evt_1")
    assert (await room.account(owner)).plan.name == OPERATOR
    room.provider.end(paid.id)
    await room.tell("customer.subscription.deleted", paid.id, "evt_2")

    account = await room.account(owner)
    assert (account.plan.name, account.expires_at) == (OPERATOR, granted)


async def test_a_card_that_is_refused_leaves_three_days_and_one_that_works_the_whole_period(room: Room) -> None:
    owner = await room.owner()
    paid = await room.subscribe(owner)
    room.clock.move(paid.period_end - room.now)
    renewed = room.provider.next_period(paid.id, provider.PAST_DUE)

    await room.tell("invoice.payment_failed", "in_1", "evt_0")  # names no subscription
    await room.tell("customer.subscription.updated", paid.id, "evt_1")
    account = await room.account(owner)
    assert (account.plan.name, account.expires_at) == (STANDARD, renewed.period_start + GRACE_SECONDS)

    room.provider.change(paid.id, status=provider.ACTIVE)
    await room.tell("customer.subscription.updated", paid.id, "evt_2")
    assert (await room.account(owner)).expires_at == renewed.period_end + RENEWAL_SECONDS

    room.provider.change(paid.id, status=provider.UNPAID)
    await room.tell("customer.subscription.updated", paid.id, "evt_3")
    account = await room.account(owner)
    assert (account.plan.name, account.has_expired(room.now)) == (PlanName.TRIAL, True)


async def test_a_changed_price_changes_the_plan(room: Room) -> None:
    owner = await room.owner()
    paid = await room.subscribe(owner)
    room.provider.change(paid.id, price_id="price_o")
    await room.tell("customer.subscription.updated", paid.id, "evt_1")
    assert (await room.account(owner)).plan.name == OPERATOR

    room.provider.change(paid.id, price_id="price_of_the_dashboard")
    await room.tell("customer.subscription.updated", paid.id, "evt_2")
    assert (await room.account(owner)).plan.name == STANDARD, "it is paid for, whatever it is"


async def test_whoever_paid_on_two_pages_has_the_greater_plan_and_cancels_both(room: Room) -> None:
    owner = await room.owner()
    sessions = [(await room.billing.checkouts.checkout(owner, plan)).id for plan in (STANDARD, OPERATOR)]
    for number, session_id in enumerate(sessions):
        room.provider.pay(session_id)
        await room.tell("checkout.session.completed", session_id, f"evt_{number}")

    assert (await room.account(owner)).plan.name == OPERATOR
    await room.billing.checkouts.cancel(owner)
    assert [each.cancel_at_period_end for each in room.provider.subscriptions.values()] == [True, True]


async def test_while_the_provider_is_away_nothing_changes_and_it_is_said(room: Room) -> None:
    owner = await room.owner()
    paid = await room.subscribe(owner)
    [session_id] = room.provider.checkouts
    newcomer = await room.owner("owner@other.example")
    before = await room.account(owner), await room.paid(owner)
    room.provider.is_away = True

    for asked in (
        room.billing.checkouts.checkout(newcomer, STANDARD),
        room.billing.checkouts.confirm(owner, session_id),
        room.billing.checkouts.cancel(owner),
        room.billing.checkouts.resume(owner),
        room.billing.checkouts.portal(owner),
        room.tell("customer.subscription.updated", paid.id, "evt_1"),
    ):
        with pytest.raises(PaymentsUnavailable):
            await asked

    assert (await room.account(owner), await room.paid(owner)) == before
    assert await room.events() == [], "the provider sends it again"


async def test_the_audit_trail_says_who_paid_and_what_the_provider_did(room: Room) -> None:
    owner = await room.owner()
    paid = await room.subscribe(owner)
    await room.billing.checkouts.cancel(owner)
    await room.billing.checkouts.resume(owner)
    room.clock.move(paid.period_end - room.now)
    room.provider.next_period(paid.id)
    await room.tell("invoice.paid", "in_1", "evt_0")
    await room.tell("customer.subscription.updated", paid.id, "evt_1")

    trail = [(entry.actor, str(entry.action)) for entry in await room.accounts.members.trail(owner)]
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
    assert (await room.account(owner)).expires_at == paid.period_end + MONTH + RENEWAL_SECONDS


async def test_an_attempt_that_the_provider_failed_is_not_asked_for_again_after_a_minute(room: Room) -> None:
    owner = await room.owner()
    room.provider.is_away = True
    for _ in range(2):
        with pytest.raises(PaymentsUnavailable):
            await room.billing.checkouts.checkout(owner, STANDARD)
    room.provider.is_away = False
    async with room.database.reading() as connection:
        first = await repository.latest_checkout(connection, owner.account.id)
    room.clock.move(UNNAMED_SECONDS)
    started = await room.billing.checkouts.checkout(owner, STANDARD)

    async with room.database.reading() as connection:
        second = await repository.latest_checkout(connection, owner.account.id)
    assert first is not None
    assert second is not None
    assert (second.session_id, second.attempt == first.attempt) == (started.id, False)


async def test_a_customer_who_is_gone_at_the_provider_pays_as_a_new_one(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = await room.owner()
    paid = await room.subscribe(owner)
    room.provider.end(paid.id)
    await room.tell("customer.subscription.deleted", paid.id, "evt_1")
    orders, start = [], room.provider.start_checkout

    async def knows_no_customer(order: CheckoutOrder, attempt: str) -> Checkout:
        orders.append(order.customer_id)
        if order.customer_id is not None:
            raise PaymentRefused("No such customer")
        return await start(order, attempt)

    monkeypatch.setattr(room.provider, "start_checkout", knows_no_customer)
    await room.billing.checkouts.checkout(owner, STANDARD)

    assert orders == [paid.customer_id, None]
