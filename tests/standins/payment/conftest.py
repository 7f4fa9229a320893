"""A stand-in at a fixed time, the real SDK that asks it, people who pay."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import stripe

from registerwatch_standins.payment.records import Card
from tests.support.fakes import SteppedClock
from tests.support.payments import Payments

if TYPE_CHECKING:
    from stripe.params.checkout import SessionCreateParams

START = int(datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp())


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock(START)


@pytest.fixture
async def payments(clock: SteppedClock, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Payments]:
    monkeypatch.setattr(stripe, "enable_telemetry", False)
    opened = Payments(clock)
    yield opened
    await opened.close()


def order(trial_days: int = 0, **fields: Any) -> "SessionCreateParams":
    """The parameters of a checkout."""
    params: dict[str, Any] = {
        "mode": "subscription",
        "line_items": [{"price": "price_standard", "quantity": 1}],
        "success_url": "http://service.test/thanks?session={CHECKOUT_SESSION_ID}",
        "cancel_url": "http://service.test/back",
        "client_reference_id": "7",
        **fields,
    }
    if trial_days:
        params["subscription_data"] = {"trial_period_days": trial_days}
    return params  # type: ignore[return-value]  # a test may ask for what cannot be


async def subscribed(
    payments: Payments, card: Card = Card.GOOD, trial_days: int = 0, **fields: Any
) -> stripe.Subscription:
    """A subscription that somebody has just bought."""
    session = await payments.sdk.v1.checkout.sessions.create_async(order(trial_days, **fields))
    answer = await payments.pay(session.url, card)
    assert answer.status_code == 303
    done = await payments.sdk.v1.checkout.sessions.retrieve_async(session.id)
    return await now(payments, str(done.subscription))


async def now(payments: Payments, subscription: str) -> stripe.Subscription:
    """A subscription as it is now."""
    return await payments.sdk.v1.subscriptions.retrieve_async(subscription)


def period(subscription: stripe.Subscription) -> tuple[int, int]:
    """Its beginning and its end."""
    (item,) = subscription["items"]["data"]
    return item.current_period_start, item.current_period_end
