"""The contract's account object: the account, its watches counted, its webhooks."""

from collections.abc import Sequence
from typing import Any

from registerwatch.accounts.models import Caller, Key, NewSession, Profile, Role, User
from registerwatch.billing.models import PaidSubscription
from registerwatch.billing.provider import Subscription
from registerwatch.bootstrap import Service
from registerwatch.clock import iso_utc
from registerwatch.notifications.models import Webhook
from registerwatch.rest.webhook_objects import webhook_object


class AccountObjects:
    """Puts account objects together."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def me(self, caller: Caller) -> dict[str, Any]:
        """The caller's account as it is now."""
        return await self.of(await self._service.accounts.members.profile(caller))

    async def of(self, profile: Profile) -> dict[str, Any]:
        """An account as one of its users or keys sees it."""
        account_id = profile.account.id
        watch_count = await self._service.watches.service.count(account_id)
        webhooks = await self._service.notifications.webhooks.all(account_id)
        paid = await self._service.billing.shown(account_id)
        return account_object(profile, watch_count, webhooks, paid, self._service.clock.now())

    async def signed_in(self, signed_in: NewSession) -> dict[str, Any]:
        """The same with the session that was just opened."""
        return {**await self.of(signed_in.profile), "session": signed_in.session}

    async def trial(self, signed_in: NewSession) -> dict[str, Any]:
        """The same after a sign-up, with the first key of a new account."""
        key = {} if signed_in.api_key is None else {"api_key": signed_in.api_key}
        return {**await self.signed_in(signed_in), "existing": signed_in.existing, **key}


def account_object(
    profile: Profile, watch_count: int, webhooks: Sequence[Webhook], paid: PaidSubscription | None, now: float
) -> dict[str, Any]:
    """The object itself. What was delivered last is there after a first delivery."""
    account = profile.account
    first = next((webhook for webhook in webhooks if webhook.is_first), None)
    return {
        "email": account.email,
        "name": account.name,
        "role": profile.role,
        "plan": account.plan.name,
        "expires_at": iso_utc(account.expires_at),
        "watch_cap": account.plan.watches,
        "watch_count": watch_count,
        "expired": account.has_expired(now),
        "subscription": None if paid is None else _subscription(paid.subscription),
        "webhook_url": first.url if first else "",
        "webhook_secret": first.secret if first else "",
        "webhooks": [webhook_object(webhook, shows_secret=profile.role is Role.OWNER) for webhook in webhooks],
        **_last_delivery(webhooks),
        "users": [_user(user) for user in profile.users],
        "keys": [_key(key) for key in profile.keys],
    }


def _subscription(subscription: Subscription) -> dict[str, Any]:
    return {
        "status": subscription.status,
        "cancel_at_period_end": subscription.cancel_at_period_end,
        "current_period_end": iso_utc(subscription.period_end),
    }


def _last_delivery(webhooks: Sequence[Webhook]) -> dict[str, Any]:
    delivered = [webhook for webhook in webhooks if webhook.last_at is not None]
    if not delivered:
        return {}
    last = max(delivered, key=lambda webhook: webhook.last_at or 0)
    return {
        "webhook_last_at": iso_utc(last.last_at or 0),
        "webhook_last_ok": last.last_ok,
        "webhook_last_error": last.last_error,
    }


def _user(user: User) -> dict[str, Any]:
    return {"id": user.id, "email": user.email, "role": user.role, "created_at": iso_utc(user.created_at)}


def _key(key: Key) -> dict[str, Any]:
    return {
        "id": key.id,
        "label": key.label,
        "prefix": key.prefix,
        "created_at": iso_utc(key.created_at),
        "revoked": key.revoked,
    }
