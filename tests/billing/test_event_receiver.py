"""Events in any order, late, repeated, at once: what is stored in the end is what the provider has."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registerwatch.accounts.models import Caller
from registerwatch.accounts.plans import PlanName
from registerwatch.billing import provider
from registerwatch.billing.models import PaidSubscription, Period, account_period
from registerwatch.billing.provider import Subscription
from registerwatch.errors import InvalidInput
from tests.billing.plain_provider import SETTINGS, PlainProvider, event, signed
from tests.billing.steps import (
    account_of,
    applied_events,
    delete_account,
    paid_subscriptions,
    queued_cancellations,
    receive_event,
    subscribe,
)
from tests.support.harness import ServiceHarness, build_harness, built_harness

PLANS = {"price_s": PlanName.STANDARD, "price_o": PlanName.OPERATOR}
STEPS = ["renewed", "refused", "paid late", "cancelled", "resumed", "unpaid", "greater plan", "ended", "begun anew"]


@dataclass
class Story:
    """What happens at the provider's to one account, and what it would tell of it."""

    harness: ServiceHarness
    owner: Caller
    events: list[tuple[str, str]] = field(default_factory=list)
    """Type and subject, in the order in which they happened."""
    current: str = ""
    """The subscription that was begun last."""

    async def begin(self) -> None:
        """Somebody pays on a page."""
        session_id = (await self.harness.service.billing.checkouts.checkout(self.owner, PlanName.STANDARD)).id
        self.current = self.harness.provider.pay(session_id).id
        self.events += [("customer.subscription.created", self.current), ("checkout.session.completed", session_id)]

    async def happen(self, step: str) -> None:
        """One thing; nothing where it cannot be."""
        provider_side = self.harness.provider
        now = provider_side.subscriptions[self.current]
        if now.ended_at is not None:
            known = {
                each.subscription.id for each in await paid_subscriptions(self.harness, self.owner) if not each.holds
            }
            if step == "begun anew" and self.current in known:
                await self.begin()
            return
        if step in ("renewed", "refused"):
            self.harness.clock.move(max(0, now.period_end - self.harness.now))
            provider_side.next_period(now.id, provider.ACTIVE if step == "renewed" else provider.PAST_DUE)
        elif step == "ended":
            provider_side.end(now.id)
        elif step != "begun anew":
            provider_side.change(now.id, **_CHANGES[step])
        self.events.append(("customer.subscription.updated", now.id))

    async def tell(self, number: int) -> None:
        """The event with this number arrives."""
        event_type, subject_id = self.events[number]
        await receive_event(self.harness, event_type, subject_id, f"evt_{self.owner.account.id}_{number}")

    def expected(self) -> tuple[list[PaidSubscription], Period]:
        """What must be stored in the end."""
        prefix = f"_{self.owner.account.id}"
        own = [each for each in self.harness.provider.subscriptions.values() if each.id.endswith(prefix)]
        paid = [PaidSubscription(each, PLANS[each.price_id]) for each in sorted(own, key=lambda each: each.id)]
        granted = Period(self.owner.account.plan.name, self.owner.account.expires_at)
        return paid, account_period(granted, paid, self.harness.now)

    async def stored(self) -> tuple[list[PaidSubscription], Period]:
        """What is stored."""
        account = await account_of(self.harness, self.owner)
        paid = sorted(await paid_subscriptions(self.harness, self.owner), key=lambda each: each.subscription.id)
        return paid, Period(account.plan.name, account.expires_at)


_CHANGES: dict[str, dict[str, Any]] = {
    "paid late": {"status": provider.ACTIVE},
    "cancelled": {"cancel_at_period_end": True},
    "resumed": {"cancel_at_period_end": False},
    "unpaid": {"status": provider.UNPAID},
    "greater plan": {"price_id": "price_o"},
}


def test_every_order_and_every_repeat_of_events_end_alike(database_url: str, tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        harness = runner.run(_built(database_url, tmp_path))
        numbers = iter(range(1_000_000))

        @settings(max_examples=min(25, settings().max_examples), deadline=None, suppress_health_check=list(HealthCheck))
        @given(steps=st.lists(st.sampled_from(STEPS), max_size=7), data=st.data())
        def ends_alike(steps: list[str], data: st.DataObject) -> None:
            runner.run(_play(harness, f"owner{next(numbers)}@acme.example", steps, data))

        try:
            ends_alike()
        finally:
            runner.run(harness.close())


async def _built(database_url: str, tmp_path: Path) -> ServiceHarness:
    return build_harness(database_url, tmp_path, **SETTINGS)


async def _play(harness: ServiceHarness, email: str, steps: list[str], data: st.DataObject) -> None:
    story = Story(harness, await harness.owner(email))
    await story.begin()
    for step in steps:
        await story.happen(step)
        for number in data.draw(st.lists(st.integers(0, len(story.events) - 1), max_size=2), label="told early"):
            await story.tell(number)
    everything = data.draw(st.permutations(range(len(story.events))), label="told in the end")
    again = data.draw(st.lists(st.sampled_from(everything), max_size=3), label="told again")
    for number in (*everything, *again):
        await story.tell(number)
    assert await story.stored() == story.expected()


@dataclass
class HesitantProvider(PlainProvider):
    """Has its first answer about a subscription ready, and gives it only when it is let."""

    hesitates: bool = False
    is_asked: asyncio.Event = field(default_factory=asyncio.Event)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    async def subscription(self, subscription_id: str) -> Subscription | None:
        answer = await super().subscription(subscription_id)
        if self.hesitates:
            self.hesitates = False
            self.is_asked.set()
            await asyncio.wait_for(self.may_answer.wait(), 10)
        return answer


async def test_an_answer_that_was_overtaken_does_not_overwrite_a_newer_one(database_url: str, tmp_path: Path) -> None:
    hesitant = HesitantProvider()
    async with built_harness(database_url, tmp_path, provider=hesitant, **SETTINGS) as harness:
        owner = await harness.owner()
        paid = await subscribe(harness, owner)
        hesitant.hesitates = True
        first = asyncio.create_task(receive_event(harness, "customer.subscription.updated", paid.id, "evt_1"))
        await asyncio.wait_for(hesitant.is_asked.wait(), 10)
        hesitant.change(paid.id, price_id="price_o")
        await receive_event(harness, "customer.subscription.updated", paid.id, "evt_2")

        hesitant.may_answer.set()
        await first

        assert (await account_of(harness, owner)).plan.name == PlanName.OPERATOR
        assert [each.subscription.price_id for each in await paid_subscriptions(harness, owner)] == ["price_o"]
        assert await applied_events(harness) == ["evt_1", "evt_2"]


async def test_an_account_that_goes_while_the_provider_answers_leaves_nothing_that_is_paid_for(
    database_url: str, tmp_path: Path
) -> None:
    hesitant = HesitantProvider()
    async with built_harness(database_url, tmp_path, provider=hesitant, **SETTINGS) as harness:
        owner = await harness.owner()
        session_id = (await harness.service.billing.checkouts.checkout(owner, PlanName.STANDARD)).id
        paid = hesitant.pay(session_id)
        hesitant.hesitates = True
        confirming = asyncio.create_task(harness.service.billing.checkouts.confirm(owner, session_id))
        await asyncio.wait_for(hesitant.is_asked.wait(), 10)
        await delete_account(harness, owner)

        hesitant.may_answer.set()
        await confirming

        assert await queued_cancellations(harness) == [paid.id]


async def test_the_same_event_many_times_at_once_is_stored_once(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)
    harness.provider.change(paid.id, cancel_at_period_end=True)

    await asyncio.gather(*(receive_event(harness, "customer.subscription.updated", paid.id, "evt_1") for _ in range(4)))

    assert await applied_events(harness) == ["evt_1"]
    assert [each.subscription.cancel_at_period_end for each in await paid_subscriptions(harness, owner)] == [True]


async def test_a_repeated_event_does_not_ask_the_provider_again(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)
    await receive_event(harness, "customer.subscription.updated", paid.id, "evt_1")
    asked = list(harness.provider.asked)

    await receive_event(harness, "customer.subscription.updated", paid.id, "evt_1")

    assert harness.provider.asked == asked


async def test_what_an_event_says_is_not_believed(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)
    before = await account_of(harness, owner), await paid_subscriptions(harness, owner)
    body = event("customer.subscription.deleted", {"id": paid.id, "status": "canceled", "ended_at": harness.now})

    await harness.service.billing.event_receiver.receive(body, signed(body, harness.now))

    assert (await account_of(harness, owner), await paid_subscriptions(harness, owner)) == before


@pytest.mark.parametrize(
    ("event_type", "subject_id"),
    [
        ("customer.subscription.updated", "sub_of_another_product"),
        ("checkout.session.completed", "cs_of_another_product"),
        ("customer.created", "cus_1"),
        ("a.type.of.the.future", "x_1"),
    ],
)
async def test_what_was_not_started_here_is_acknowledged_and_left(
    harness: ServiceHarness, event_type: str, subject_id: str
) -> None:
    await receive_event(harness, event_type, subject_id, "evt_1")

    assert harness.provider.asked == []
    assert await applied_events(harness) == []


async def test_what_is_not_genuine_is_refused_before_anything_is_asked_or_stored(harness: ServiceHarness) -> None:
    owner = await harness.owner()
    paid = await subscribe(harness, owner)
    harness.provider.end(paid.id)
    body = event("customer.subscription.deleted", {"id": paid.id})
    before, asked = await account_of(harness, owner), list(harness.provider.asked)

    for sent, header in (
        (body, None),
        (body, signed(body, harness.now, "whsec_guessed")),
        (body, signed(body, harness.now - 301)),
        (body[:-1], signed(body, harness.now)),
        (body + b" ", signed(body, harness.now)),
    ):
        with pytest.raises(InvalidInput):
            await harness.service.billing.event_receiver.receive(sent, header)

    assert (await account_of(harness, owner), harness.provider.asked, await applied_events(harness)) == (
        before,
        asked,
        [],
    )
