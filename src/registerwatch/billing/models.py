"""Subscriptions, and the plan and period that they give an account. Instants are unix seconds."""

from collections.abc import Sequence
from enum import Enum
from typing import Literal

import msgspec

from registerwatch.accounts.plans import PlanName
from registerwatch.billing import provider
from registerwatch.billing.provider import Subscription

DAY = 24 * 3600
GRACE_SECONDS = 3 * DAY
"""How long a period that could not be charged lasts, while the provider tries the card again."""
RENEWAL_SECONDS = 3600
"""How long a period that will be renewed lasts beyond its end: the provider reports the next one a little later."""
TRIAL_DAYS = 7
"""Days without a charge at the beginning of an account's first subscription."""

_HOLDING = {provider.TRIALING, provider.ACTIVE, provider.PAST_DUE}
_NEVER_BEGAN = {provider.INCOMPLETE, provider.INCOMPLETE_EXPIRED}
_BY_SIZE = [PlanName.TRIAL, PlanName.STANDARD, PlanName.OPERATOR]


class PaidSubscription(msgspec.Struct, frozen=True):
    """A subscription of an account, with the plan that it pays for."""

    subscription: Subscription
    plan: PlanName

    @property
    def holds(self) -> bool:
        """Whether it gives the account a plan, and can be cancelled."""
        return self.subscription.status in _HOLDING

    @property
    def is_renewed(self) -> bool:
        """Whether its period goes on by itself when it ends."""
        is_well = self.subscription.status in (provider.TRIALING, provider.ACTIVE)
        return is_well and not self.subscription.cancel_at_period_end


class Period(msgspec.Struct, frozen=True):
    """A plan until a time."""

    plan: PlanName
    until: int


class PlanEnd(msgspec.Struct, frozen=True):
    """When the plan of an account ends or has ended, or its period is renewed, as pages and mails show it."""

    words: Literal["until", "renews", "ended"]
    at: int

    @classmethod
    def of(cls, expires_at: int, paid: PaidSubscription | None, now: float) -> "PlanEnd":
        """The end of a plan that lasts until `expires_at`, with the subscription that the account shows. The time after
        a period in which a renewal is awaited is left out.
        """
        if expires_at <= now:
            return cls("ended", expires_at)
        if paid is not None and paid.is_renewed:
            return cls("renews", paid.subscription.period_end)
        return cls("until", expires_at)


def paid_until(subscription: Subscription) -> int | None:
    """The end of what is paid for; None when nothing ever was.

    The provider begins a new period before it charges for it. So the present period of a subscription that could not
    be charged is unpaid, and grace counts from its beginning.
    """
    if subscription.status in _NEVER_BEGAN:
        return None
    if subscription.status in (provider.TRIALING, provider.ACTIVE):
        return subscription.period_end + (0 if subscription.cancel_at_period_end else RENEWAL_SECONDS)
    if subscription.status == provider.PAST_DUE:
        return subscription.period_start + GRACE_SECONDS
    ended_at = subscription.period_start if subscription.ended_at is None else subscription.ended_at
    return min(ended_at, subscription.period_end)


def account_period(granted: Period, paid: Sequence[PaidSubscription], now: float) -> Period:
    """The account's plan now. `granted` is its plan without payment: its trial, or what the operator set."""
    ends = [end for each in paid if (end := paid_until(each.subscription)) is not None]
    plans = [each.plan for each in paid if each.holds]
    if now < granted.until:
        plans.append(granted.plan)
    return Period(max(plans, key=_BY_SIZE.index, default=granted.plan), max([granted.until, *ends]))


def shown(paid: Sequence[PaidSubscription]) -> PaidSubscription | None:
    """The subscription that the account shows: an active one before an ended one, then the one that lasts longest.

    There are several where somebody subscribed again, or paid on two pages.
    """
    return max(paid, key=_importance, default=None)


def _importance(paid: PaidSubscription) -> tuple[bool, int, str]:
    return paid.holds, paid.subscription.period_end, paid.subscription.id


class EventSubject(Enum):
    """Subjects of the payment provider's events."""

    CHECKOUT = "checkout"
    SUBSCRIPTION = "subscription"


class ProviderEvent(msgspec.Struct, frozen=True):
    """A genuine event. `about` and `subject_id` are None where its subject is not processed here."""

    id: str
    type: str
    about: EventSubject | None
    subject_id: str | None
