"""The contract's account object."""

from typing import Any

from registerwatch.accounts.model import Key, Profile, SignedIn, User
from registerwatch.clock import iso_utc


def account_object(profile: Profile, now: float) -> dict[str, Any]:
    """An account as one of its users or keys sees it."""
    account = profile.account
    return {
        "email": account.email,
        "name": account.name,
        "role": profile.role,
        "plan": account.plan.name,
        "expires_at": iso_utc(account.expires_at),
        "watch_cap": account.plan.watches,
        "watch_count": 0,
        "expired": account.has_expired(now),
        "subscription": None,
        "webhook_url": "",
        "webhook_secret": "",
        "users": [_user(user) for user in profile.users],
        "keys": [_key(key) for key in profile.keys],
    }


def signed_in_object(signed_in: SignedIn, now: float) -> dict[str, Any]:
    """The same with the session that was just opened."""
    return {**account_object(signed_in.profile, now), "session": signed_in.session}


def trial_object(signed_in: SignedIn, now: float) -> dict[str, Any]:
    """The same after a sign-up, with the first key of a new account."""
    key = {} if signed_in.api_key is None else {"api_key": signed_in.api_key}
    return {**signed_in_object(signed_in, now), "existing": signed_in.existing, **key}


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
