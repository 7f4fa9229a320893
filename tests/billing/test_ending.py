"""Ending what an account paid for when it goes, and what the background looks after."""

import pytest

from registerwatch.accounts.plans import PlanName
from registerwatch.billing import provider
from registerwatch.billing.ending import KEPT_SECONDS, OVERDUE_SECONDS, READ_AGAIN_SECONDS, TRIED_AGAIN_SECONDS
from registerwatch.errors import PaymentsUnavailable, Unauthenticated
from tests.billing.plain_provider import MONTH
from tests.billing.room import Room

pytestmark = pytest.mark.anyio


async def test_whoever_deletes_their_account_pays_no_more(room: Room) -> None:
    owner = await room.owner()
    paid = await room.subscribe(owner)

    await room.delete(owner)

    assert room.provider.subscriptions[paid.id].status == provider.CANCELED
    assert await room.wishes() == []
    with pytest.raises(Unauthenticated):
        await room.account(owner)


async def test_an_account_goes_though_the_provider_is_away_and_its_subscription_ends_later(room: Room) -> None:
    owner = await room.owner()
    paid = await room.subscribe(owner)
    room.provider.is_away = True

    await room.delete(owner)
    with pytest.raises(Unauthenticated):
        await room.account(owner)
    assert await room.wishes() == [paid.id]

    room.provider.is_away = False
    room.clock.move(TRIED_AGAIN_SECONDS)
    asked = len(room.provider.asked)
    await room.tend()
    assert len(room.provider.asked) == asked, "not before 5 minutes have passed"
    room.clock.move(1)
    await room.tend()
    assert room.provider.subscriptions[paid.id].status == provider.CANCELED
    assert await room.wishes() == []


async def test_what_ended_before_is_not_ended_again(room: Room) -> None:
    owner = await room.owner()
    paid = await room.subscribe(owner)
    room.provider.end(paid.id)
    await room.tell("customer.subscription.deleted", paid.id, "evt_1")
    asked = list(room.provider.asked)

    await room.delete(owner)

    assert room.provider.asked == asked


async def test_who_never_paid_goes_without_the_provider_being_asked(room: Room) -> None:
    await room.delete(await room.owner())

    assert room.provider.asked == []


async def test_what_is_paid_for_after_the_account_is_gone_is_ended(room: Room) -> None:
    owner = await room.owner()
    session_id = (await room.billing.subscribing.checkout(owner, PlanName.STANDARD)).id
    await room.delete(owner)
    paid = room.provider.pay(session_id)

    await room.tell("checkout.session.completed", session_id, "evt_1")
    assert await room.wishes() == [paid.id]
    await room.tend()

    assert room.provider.subscriptions[paid.id].status == provider.CANCELED
    assert await room.wishes() == []


async def test_a_period_that_ends_without_a_word_is_asked_about(room: Room) -> None:
    owner = await room.owner()
    paid = await room.subscribe(owner)
    room.clock.move(paid.period_end - room.now)
    room.provider.next_period(paid.id)
    asked = len(room.provider.asked)

    await room.tend()
    room.clock.move(OVERDUE_SECONDS)
    await room.tend()
    assert len(room.provider.asked) == asked, "events have a minute"
    room.clock.move(1)
    await room.tend()

    assert (await room.account(owner)).expires_at == paid.period_end + MONTH


async def test_a_provider_that_is_away_is_asked_again_every_ten_minutes(room: Room) -> None:
    owner = await room.owner()
    paid = await room.subscribe(owner)
    room.clock.move(paid.period_end - room.now + OVERDUE_SECONDS + 1)
    room.provider.next_period(paid.id)
    room.provider.is_away = True
    with pytest.raises(PaymentsUnavailable):
        await room.tend()
    asked = len(room.provider.asked)
    room.provider.is_away = False

    room.clock.move(READ_AGAIN_SECONDS)
    await room.tend()
    assert len(room.provider.asked) == asked
    room.clock.move(1)
    await room.tend()

    assert (await room.account(owner)).expires_at == paid.period_end + MONTH


async def test_events_are_remembered_for_two_months(room: Room) -> None:
    owner = await room.owner()
    paid = await room.subscribe(owner)
    await room.tell("customer.subscription.updated", paid.id, "evt_1")
    room.clock.move(KEPT_SECONDS)
    await room.tend()
    assert await room.events() == ["evt_1"]

    room.clock.move(1)
    await room.tend()

    assert await room.events() == []
