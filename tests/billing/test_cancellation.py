"""Ending what an account paid for when it goes, and what the background looks after."""

import pytest

from registerwatch.accounts.plans import PlanName
from registerwatch.billing import provider
from registerwatch.billing.cancellation import (
    ASKED_AGAIN_SECONDS,
    FIRST_ASKED_SECONDS,
    KEPT_SECONDS,
    OVERDUE_SECONDS,
    READ_AGAIN_SECONDS,
    TRIED_AGAIN_SECONDS,
)
from registerwatch.billing.models import RENEWAL_SECONDS
from registerwatch.billing.subscription_sync import MISSED_SECONDS
from registerwatch.errors import PaymentRefused, Unauthenticated
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
    session_id = (await room.billing.checkouts.checkout(owner, PlanName.STANDARD)).id
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

    assert (await room.account(owner)).expires_at == paid.period_end + MONTH + RENEWAL_SECONDS


async def test_a_provider_that_is_away_is_asked_again_every_ten_minutes(room: Room) -> None:
    owner = await room.owner()
    paid = await room.subscribe(owner)
    room.clock.move(paid.period_end - room.now + OVERDUE_SECONDS + 1)
    room.provider.next_period(paid.id)
    room.provider.is_away = True
    await room.tend()
    asked = len(room.provider.asked)
    room.provider.is_away = False

    room.clock.move(READ_AGAIN_SECONDS)
    await room.tend()
    assert len(room.provider.asked) == asked
    room.clock.move(1)
    await room.tend()

    assert (await room.account(owner)).expires_at == paid.period_end + MONTH + RENEWAL_SECONDS


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


async def test_a_checkout_that_was_paid_without_anybody_telling_is_found(room: Room) -> None:
    owner = await room.owner()
    session_id = (await room.billing.checkouts.checkout(owner, PlanName.STANDARD)).id
    paid = room.provider.pay(session_id)

    await room.tend()
    assert await room.paid(owner) == [], "the event has a quarter of an hour"
    room.clock.move(FIRST_ASKED_SECONDS + 1)
    await room.tend()

    assert [each.subscription.id for each in await room.paid(owner)] == [paid.id]
    asked = len(room.provider.asked)
    room.clock.move(ASKED_AGAIN_SECONDS + 1)
    await room.tend()
    assert len(room.provider.asked) == asked, "it is settled"


async def test_a_page_that_is_paid_at_after_its_account_has_gone_is_found_and_ended(room: Room) -> None:
    owner = await room.owner()
    session_id = (await room.billing.checkouts.checkout(owner, PlanName.STANDARD)).id
    await room.delete(owner)
    paid = room.provider.pay(session_id)

    room.clock.move(FIRST_ASKED_SECONDS + 1)
    await room.tend()
    room.clock.move(TRIED_AGAIN_SECONDS + 1)
    await room.tend()

    assert room.provider.subscriptions[paid.id].status == provider.CANCELED


async def test_a_checkout_that_nobody_pays_is_asked_about_until_its_page_is_over(room: Room) -> None:
    owner = await room.owner()
    await room.billing.checkouts.checkout(owner, PlanName.STANDARD)
    times = []
    for hour in range(40):
        asked = len(room.provider.asked)
        room.clock.move(ASKED_AGAIN_SECONDS + 1)
        await room.tend()
        if len(room.provider.asked) > asked:
            times.append(hour + 1)

    assert times == list(range(1, 26)), "each hour of the page, and once when it is over"


async def test_one_that_cannot_be_ended_keeps_nobody_else_from_being_looked_after(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, stays = await room.owner("gone@acme.example"), await room.owner("stays@acme.example")
    await room.subscribe(gone)
    paid = await room.subscribe(stays)

    async def refused(_subscription_id: str) -> None:
        raise PaymentRefused("no")

    monkeypatch.setattr(room.provider, "end_now", refused)
    await room.delete(gone)
    room.clock.move(paid.period_end - room.now + READ_AGAIN_SECONDS + 1)
    room.provider.next_period(paid.id)
    await room.tend()

    assert (await room.account(stays)).expires_at == paid.period_end + MONTH + RENEWAL_SECONDS
    assert len(await room.wishes()) == 1


async def test_a_subscription_that_the_provider_knows_no_more_is_over_a_week_after_it_was_paid(room: Room) -> None:
    owner = await room.owner()
    paid = await room.subscribe(owner)
    del room.provider.subscriptions[paid.id]
    room.clock.move(paid.period_end - room.now + MISSED_SECONDS - 1)
    await room.tend()
    assert [each.subscription.status for each in await room.paid(owner)] == ["trialing"], "settings may be wrong"
    room.clock.move(READ_AGAIN_SECONDS + 1)
    await room.tend()

    assert [each.subscription.status for each in await room.paid(owner)] == [provider.CANCELED]
    await room.subscribe(owner)
