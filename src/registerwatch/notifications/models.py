"""Targets of notifications, and deliveries to them. Instants are unix seconds."""

import secrets
from dataclasses import dataclass, field
from enum import StrEnum

MAX_TARGETS = 10
"""Of one account in one channel."""
OVERLAP_SECONDS = 24 * 3600
"""How long the secret before signs beside a new one."""
LOG_LENGTH = 50
DELIVERY_PREFIX = "whd_"


def new_delivery_id() -> str:
    """A new delivery's id."""
    return DELIVERY_PREFIX + secrets.token_urlsafe(18)


class EventType(StrEnum):
    """What a delivery is about."""

    CHANGED = "watch.changed"
    TEST = "watch.test"


@dataclass(frozen=True, slots=True)
class Target:
    """An address of an account in a channel. The first one of webhooks is the account object's `webhook_url`."""

    id: int
    account_id: int
    channel: str
    url: str
    secret: str = field(repr=False)
    old_secret: str | None = field(repr=False)
    old_secret_until: int | None
    is_first: bool
    created_at: int
    last_at: int | None
    last_ok: bool | None
    last_error: str | None

    def valid_secrets(self, now: float) -> list[str]:
        """What a delivery is signed with now."""
        overlaps = self.old_secret is not None and self.old_secret_until is not None and now < self.old_secret_until
        return [self.secret, self.old_secret] if overlaps and self.old_secret else [self.secret]


@dataclass(frozen=True, slots=True)
class Notification:
    """What a delivery says beside its events. `email` is the account's."""

    id: str
    type: EventType
    created_at: int
    email: str


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """How one attempt ended: an HTTP status where there is one, a reason where the target did not accept it."""

    is_accepted: bool
    status: int | None
    error: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """One notification to one target. `body` is None before the first claim, `is_accepted` while it is under way."""

    id: str
    account_id: int
    target_id: int
    type: EventType
    batch: str
    created_at: int
    body: str | None
    attempts: int
    finished_at: int | None
    is_accepted: bool | None
    status: int | None
    error: str
