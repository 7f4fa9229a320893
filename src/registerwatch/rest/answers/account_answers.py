"""Answers of the routes of accounts, their users and keys."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, UnsetType

from registerwatch.accounts.audit.audit import AuditEntry
from registerwatch.accounts.models import Caller, Key, NewKey, NewSession, Profile, User
from registerwatch.billing.provider import Subscription
from registerwatch.bootstrap import Service
from registerwatch.notifications.models import Target
from registerwatch.platform.clock import iso_utc
from registerwatch.platform.db.row_pages import RowPage
from registerwatch.rest.answers.webhook_answers import EXAMPLE_FAILURE, EXAMPLE_URL, WebhookObject
from registerwatch.web.answers.answers import Answer, doc, instant, iso_or_none

EXAMPLE_EMAIL = "someone@example.org"
EXAMPLE_LABEL = "ERP"


class AccountUser(Answer):
    """A user of the account."""

    id: Annotated[int, doc("Number for `DELETE /v1/users/{id}`.", 7)]
    email: Annotated[str, doc("E-mail address.", EXAMPLE_EMAIL)]
    role: Annotated[Literal["owner", "member"], doc("A member may not manage users, keys and webhooks.")]
    created_at: Annotated[str, instant("UTC.")]
    confirmed: Annotated[bool, doc("Whether a mailed link proved that the address is theirs.")]

    @classmethod
    def of(cls, user: User) -> "AccountUser":
        """A user."""
        return cls(
            id=user.id,
            email=user.email,
            role=user.role.value,
            created_at=iso_utc(user.created_at),
            confirmed=user.is_confirmed,
        )


class AccountKey(Answer):
    """An API key of the account."""

    id: Annotated[int, doc("Number for `DELETE /v1/keys/{id}`.", 3)]
    label: Annotated[str, doc("What it is for.", EXAMPLE_LABEL)]
    prefix: Annotated[str, doc("The key, masked.", "rw_ab…wxyz")]
    created_at: Annotated[str, instant("UTC.")]
    revoked: Annotated[bool, doc("Whether somebody has revoked it.")]
    scope: Annotated[Literal["read", "watch", "manage"], doc("What it may do.", "watch")]
    expires_at: Annotated[str | None, instant("From when on it does not work, UTC; null where it has no end.")]
    last_used_at: Annotated[str | None, instant("Last use, to about ten minutes, UTC; null before the first.")]

    @classmethod
    def of(cls, key: Key) -> "AccountKey":
        """A key as it is listed."""
        return cls(
            id=key.id,
            label=key.label,
            prefix=key.prefix,
            created_at=iso_utc(key.created_at),
            revoked=key.revoked,
            scope=key.scope.value,
            expires_at=iso_or_none(key.expires_at),
            last_used_at=iso_or_none(key.last_used_at),
        )


class SubscriptionObject(Answer):
    """What the account pays for, as the payment provider last told it."""

    status: Annotated[
        str, doc("The provider's word: `trialing`, `active`, `past_due`, `canceled`, `unpaid` and others.", "active")
    ]
    cancel_at_period_end: Annotated[bool, doc("Whether it ends with the period instead of being renewed.")]
    current_period_end: Annotated[str, instant("End of the period that is paid or due, UTC.")]

    @classmethod
    def of(cls, subscription: Subscription) -> "SubscriptionObject":
        """A subscription."""
        return cls(
            status=subscription.status,
            cancel_at_period_end=subscription.cancel_at_period_end,
            current_period_end=iso_utc(subscription.period_end),
        )


class AccountObject(Answer, kw_only=True):
    """An account, as the caller sees it."""

    email: Annotated[str, doc("E-mail address of the account.", EXAMPLE_EMAIL)]
    name: Annotated[str, doc("Company name.", "Example GmbH")]
    role: Annotated[Literal["owner", "member"], doc("Role of the caller; a key acts as an owner.")]
    plan: Annotated[Literal["trial", "standard", "operator"], doc("What the caps follow.")]
    expires_at: Annotated[str, instant("End of the current period, UTC.")]
    watch_cap: Annotated[int, doc("Most watches.", 25)]
    watch_count: Annotated[int, doc("Watches there are.", 3)]
    expired: Annotated[bool, doc("Whether the period is over. Reading goes on; adding and syncing do not.")]
    subscription: Annotated[
        SubscriptionObject | None, doc("The subscription, also one that is over; null when there never was one.")
    ]
    webhook_url: Annotated[str, doc("First webhook address, empty when there is none.", EXAMPLE_URL)]
    webhook_secret: Annotated[
        str,
        doc(
            "What its deliveries are signed with, empty when there is none, for members, and for keys without the"
            " scope `manage`.",
            "whsec_…",
        ),
    ]
    webhooks: Annotated[list[WebhookObject], doc("All addresses, the first one first.")]
    webhook_last_at: Annotated[str | UnsetType, instant("Last delivery to any address, UTC.")] = UNSET
    webhook_last_ok: Annotated[bool | UnsetType | None, doc("Whether it was accepted.")] = UNSET
    webhook_last_error: Annotated[
        str | UnsetType | None, doc("Why it was not; empty when it was.", EXAMPLE_FAILURE)
    ] = UNSET
    users: Annotated[list[AccountUser], doc("People of the account, oldest first.")]
    keys: Annotated[
        list[AccountKey], doc("API keys, oldest first; those that work no more stay for 90 days, the last 100.")
    ]


class SignedInAccount(AccountObject, kw_only=True):
    """An account with a session that was just opened."""

    session: Annotated[str, doc("Send it as `Authorization: Bearer us_…`. It lasts 14 days.", "us_…")]


class TrialAccount(SignedInAccount, kw_only=True):
    """An account that was just opened, or that was there before."""

    existing: Annotated[bool, doc("Whether the account was there before.")]
    api_key: Annotated[str | UnsetType, doc("The first API key of a new account, told this once.", "rw_…")] = UNSET


class AccountWithUser(AccountObject, kw_only=True):
    """An account with a user that was just added."""

    user_id: Annotated[int, doc("The new user’s number, for `DELETE /v1/users/{id}`.", 8)]


class CreatedKey(Answer):
    """A key that was just made."""

    api_key: Annotated[str, doc("The key, told this once. Send it as `X-API-Key: rw_…`.", "rw_…")]
    label: Annotated[str, doc("What it is for.", EXAMPLE_LABEL)]
    id: Annotated[int, doc("Number for `DELETE /v1/keys/{id}`.", 3)]
    scope: Annotated[Literal["read", "watch", "manage"], doc("What it may do.", "watch")]
    expires_at: Annotated[str | None, instant("From when on it does not work, UTC; null where it has no end.")]

    @classmethod
    def of(cls, key: NewKey) -> "CreatedKey":
        """A key as stored: its label is trimmed, and its end may be that of the key that made it."""
        return cls(key.secret, key.label, key.id, key.scope.value, iso_or_none(key.expires_at))


class AuditLine(Answer):
    """One action in the account."""

    id: Annotated[int, doc("Increasing number.", 41)]
    created_at: Annotated[str, instant("UTC.")]
    actor: Annotated[
        str,
        doc(
            "E-mail address of a user, a masked API key, `operator`, `payment provider`, `mail server` or `unknown`.",
            EXAMPLE_EMAIL,
        ),
    ]
    action: Annotated[str, doc("What was done.", "key created")]
    subject: Annotated[str, doc("To whom or what; can be empty.", "rw_ab…wxyz (ERP)")]
    repeated: Annotated[
        int | UnsetType,
        doc("How often it was done: there in a line that stands for all that follow a hundred of a day.", 37),
    ] = UNSET
    last_at: Annotated[str | UnsetType, instant("When it was done last, UTC, in such a line.")] = UNSET

    @classmethod
    def of(cls, entry: AuditEntry) -> "AuditLine":
        """A line of the audit trail."""
        return cls(
            id=entry.id,
            created_at=iso_utc(entry.created_at),
            actor=entry.actor,
            action=entry.action,
            subject=entry.subject,
            repeated=UNSET if entry.repeated is None else entry.repeated,
            last_at=UNSET if entry.last_at is None else iso_utc(entry.last_at),
        )


class AuditTrail(Answer):
    """Who did what in the account. `next` and `more` are there where the request has a parameter."""

    entries: Annotated[list[AuditLine], doc("The newest first; with `after`, the oldest first.")]
    next: Annotated[int | UnsetType, doc("Send it as `after` to go on: later entries follow.", 41)] = UNSET
    before: Annotated[
        int | UnsetType,
        doc("Send it as `before` to go back: earlier entries follow. There without `after`, where there are any.", 14),
    ] = UNSET
    more: Annotated[bool | UnsetType, doc("Whether there are others: later ones with `after`, else earlier ones.")] = (
        UNSET
    )

    @classmethod
    def of_page(cls, page: RowPage[AuditEntry], *, after: int | None, before: int | None) -> "AuditTrail":
        """A page of the trail that goes on from a line, goes back from one, or begins with the newest."""
        ids = [entry.id for entry in page.rows]
        return cls(
            [AuditLine.of(entry) for entry in page.rows],
            next=max(ids, default=after or 0) if before is None else UNSET,
            before=min(ids) if after is None and page.more else UNSET,
            more=page.more,
        )


async def account_object(service: Service, profile: Profile) -> AccountObject:
    """An account for one of its users or keys."""
    return AccountObject(**await _fields(service, profile))


async def account_with_user(service: Service, profile: Profile, address: str) -> AccountWithUser:
    """An account with the user who was just added with an address."""
    user_id = next(user.id for user in profile.users if user.email == address)
    return AccountWithUser(**await _fields(service, profile), user_id=user_id)


async def account_of(service: Service, caller: Caller) -> AccountObject:
    """The caller's account as it is now."""
    return await account_object(service, await service.accounts.members.profile(caller))


async def signed_in_account(service: Service, opened: NewSession) -> SignedInAccount:
    """An account with the session that was just opened."""
    return SignedInAccount(**await _fields(service, opened.profile), session=opened.session)


async def trial_account(service: Service, opened: NewSession) -> TrialAccount:
    """An account after a sign-up, with the first key if it is new."""
    fields = await _fields(service, opened.profile)
    key = UNSET if opened.api_key is None else opened.api_key
    return TrialAccount(**fields, session=opened.session, existing=opened.existing, api_key=key)


async def _fields(service: Service, profile: Profile) -> dict[str, Any]:
    """The fields of an account object. Those of the last delivery are missing before the first one."""
    account = profile.account
    webhooks = await service.notifications.webhooks.all(account.id)
    paid = await service.billing.shown(account.id)
    first = next((webhook for webhook in webhooks if webhook.is_first), None)
    return {
        "email": account.email,
        "name": account.name,
        "role": profile.role.value,
        "plan": account.plan.name.value,
        "expires_at": iso_utc(account.expires_at),
        "watch_cap": account.plan.watches,
        "watch_count": await service.watches.service.count(account.id),
        "expired": account.has_expired(service.clock.now()),
        "subscription": None if paid is None else SubscriptionObject.of(paid.subscription),
        "webhook_url": first.url if first else "",
        "webhook_secret": first.secret if first and profile.shows_secrets else "",
        "webhooks": [WebhookObject.of(each, shows_secret=profile.shows_secrets) for each in webhooks],
        **_last_delivery(webhooks),
        "users": [AccountUser.of(user) for user in profile.users],
        "keys": [AccountKey.of(key) for key in profile.keys],
    }


def _last_delivery(webhooks: Sequence[Target]) -> dict[str, Any]:
    delivered = [(webhook.last_at, webhook) for webhook in webhooks if webhook.last_at is not None]
    if not delivered:
        return {}
    last_at, last = max(delivered, key=lambda pair: pair[0])
    return {
        "webhook_last_at": iso_utc(last_at),
        "webhook_last_ok": last.last_ok,
        "webhook_last_error": last.last_error,
    }
