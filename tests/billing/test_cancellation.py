"""Ending what an account paid for when it goes, and what the background looks after."""

import pytest

from registerwatch.accounts.plans import PlanName
from registerwatch.billing import provider
from registerwatch.billing.cancellation import (
    CHECKOUT_READ_AGAIN_SECONDS,
    FIRST_READ_SECONDS,
    KEPT_SECONDS,
    OVERDUE_SECONDS,
    READ_AGAIN_SECONDS,
    RETRY_SECONDS,
)
from registerwatch.billing.models import RENEWAL_SECONDS
from registerwatch.billing.subscription_sync import MISSING_SECONDS
from registerwatch.errors import PaymentRefused, Unauthenticated
from tests.billing.plain_provider import MONTH
from tests.billing.steps import (
    account_of,
    applied_events,
    delete_account,
    paid_subscriptions,
    queued_cancellations,
    receive_event,
    run_upkeep,
    subscribe,
)
from tests.support.harness import ServiceHarness


async def test_whoever_deletes_their_account_pays_no_more(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)

    await delete_account(harness, owner)

    assert harness.provider.subscriptions[paid.id].status == provider.CANCELED
    assert await queued_cancellations(harness) == []
    with pytest.raises(Unauthenticated):
        await account_of(harness, owner)


async def test_an_account_goes_though_the_provider_is_away_and_its_subscription_ends_later(
    harness: ServiceHarness,
) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)
    harness.provider.is_away = True

    await delete_account(harness, owner)
    with pytest.raises(Unauthenticated):
        await account_of(harness, owner)
    assert await queued_cancellations(harness) == [paid.id]

    harness.provider.is_away = False
    harness.clock.move(RETRY_SECONDS)
    asked = len(harness.provider.asked)
    await run_upkeep(harness)
    assert len(harness.provider.asked) == asked, "not before 5 minutes have passed"
    harness.clock.move(1)
    await run_upkeep(harness)
    assert harness.provider.subscriptions[paid.id].status == provider.CANCELED
    assert await queued_cancellations(harness) == []


async def test_what_ended_before_is_not_ended_again(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)
    harness.provider.end(paid.id)
    await receive_event(harness, "customer.subscription.deleted", paid.id, "evt_1")
    asked = list(harness.provider.asked)

    await delete_account(harness, owner)

    assert harness.provider.asked == asked


async def test_who_never_paid_goes_without_the_provider_being_asked(harness: ServiceHarness) -> None:
    await delete_account(harness, await harness.owner())

    assert harness.provider.asked == []


async def test_what_is_paid_for_after_the_account_is_gone_is_ended(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    session_id = (await harness.service.billing.checkouts.checkout(owner, PlanName.STANDARD)).id
    await delete_account(harness, owner)
    paid = harness.provider.pay(session_id)

    await receive_event(harness, "checkout.session.completed", session_id, "evt_1")
    assert await queued_cancellations(harness) == [paid.id]
    await run_upkeep(harness)

    assert harness.provider.subscriptions[paid.id].status == provider.CANCELED
    assert await queued_cancellations(harness) == []


async def test_a_period_that_ends_without_a_word_is_asked_about(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)
    harness.clock.move(paid.period_end - harness.now)
    harness.provider.next_period(paid.id)
    asked = len(harness.provider.asked)

    await run_upkeep(harness)
    harness.clock.move(OVERDUE_SECONDS)
    await run_upkeep(harness)
    assert len(harness.provider.asked) == asked, "events have a minute"
    harness.clock.move(1)
    await run_upkeep(harness)

    assert (await account_of(harness, owner)).expires_at == paid.period_end + MONTH + RENEWAL_SECONDS


async def test_a_provider_that_is_away_is_asked_again_every_ten_minutes(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)
    harness.clock.move(paid.period_end - harness.now + OVERDUE_SECONDS + 1)
    harness.provider.next_period(paid.id)
    harness.provider.is_away = True
    await run_upkeep(harness)
    asked = len(harness.provider.asked)
    harness.provider.is_away = False

    harness.clock.move(READ_AGAIN_SECONDS)
    await run_upkeep(harness)
    assert len(harness.provider.asked) == asked
    harness.clock.move(1)
    await run_upkeep(harness)

    assert (await account_of(harness, owner)).expires_at == paid.period_end + MONTH + RENEWAL_SECONDS


async def test_events_are_remembered_for_two_months(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)
    await receive_event(harness, "customer.subscription.updated", paid.id, "evt_1")
    harness.clock.move(KEPT_SECONDS)
    await run_upkeep(harness)
    assert await applied_events(harness) == ["evt_1"]

    harness.clock.move(1)
    await run_upkeep(harness)

    assert await applied_events(harness) == []


async def test_a_checkout_that_was_paid_without_anybody_telling_is_found(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    session_id = (await harness.service.billing.checkouts.checkout(owner, PlanName.STANDARD)).id
    paid = harness.provider.pay(session_id)

    await run_upkeep(harness)
    assert await paid_subscriptions(harness, owner) == [], "the event has a quarter of an hour"
    harness.clock.move(FIRST_READ_SECONDS + 1)
    await run_upkeep(harness)

    assert [each.subscription.id for each in await paid_subscriptions(harness, owner)] == [paid.id]
    asked = len(harness.provider.asked)
    harness.clock.move(CHECKOUT_READ_AGAIN_SECONDS + 1)
    await run_upkeep(harness)
    assert len(harness.provider.asked) == asked, "it is settled"


async def test_a_page_that_is_paid_at_after_its_account_has_gone_is_found_and_ended(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    session_id = (await harness.service.billing.checkouts.checkout(owner, PlanName.STANDARD)).id
    await delete_account(harness, owner)
    paid = harness.provider.pay(session_id)

    harness.clock.move(FIRST_READ_SECONDS + 1)
    await run_upkeep(harness)
    harness.clock.move(RETRY_SECONDS + 1)
    await run_upkeep(harness)

    assert harness.provider.subscriptions[paid.id].status == provider.CANCELED


async def test_a_checkout_that_nobody_pays_is_asked_about_until_its_page_is_over(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    await harness.service.billing.checkouts.checkout(owner, PlanName.STANDARD)
    times = []
    for hour in range(40):
        asked = len(harness.provider.asked)
        harness.clock.move(CHECKOUT_READ_AGAIN_SECONDS + 1)
        await run_upkeep(harness)
        if len(harness.provider.asked) > asked:
            times.append(hour + 1)

    assert times == list(range(1, 26)), "each hour of the page, and once when it is over"


async def test_one_that_cannot_be_ended_keeps_nobody_else_from_being_looked_after(
    harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, stays = await harness.owner("gone@acme.example"), await harness.owner("stays@acme.example")
    await subscribe(harness, gone)
    paid = await subscribe(harness, stays)

    async def refused(_subscription_id: str) -> None:
        raise PaymentRefused("no")

    monkeypatch.setattr(harness.provider, "end_now", refused)
    await delete_account(harness, gone)
    harness.clock.move(paid.period_end - harness.now + READ_AGAIN_SECONDS + 1)
    harness.provider.next_period(paid.id)
    await run_upkeep(harness)

    assert (await account_of(harness, stays)).expires_at == paid.period_end + MONTH + RENEWAL_SECONDS
    assert len(await queued_cancellations(harness)) == 1


async def test_a_subscription_that_the_provider_knows_no_more_is_over_a_week_after_it_was_paid(
    harness: ServiceHarness,
) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)
    del harness.provider.subscriptions[paid.id]
    harness.clock.move(paid.period_end - harness.now + MISSING_SECONDS - 1)
    await run_upkeep(harness)
    assert [each.subscription.status for each in await paid_subscriptions(harness, owner)] == ["trialing"], (
        "settings may be wrong"
    )
    harness.clock.move(READ_AGAIN_SECONDS + 1)
    await run_upkeep(harness)

    assert [each.subscription.status for each in await paid_subscriptions(harness, owner)] == [provider.CANCELED]
    await subscribe(harness, owner)
