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
    milliseconds: int | None = None
    """What it took; None where nothing was sent."""


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
    milliseconds: int | None = None
    """What the last attempt took; None where there was none, or a node of a release before made it."""


class Outcome(StrEnum):
    """How a delivery ended, or that it has not."""

    ACCEPTED = "accepted"
    FAILED = "failed"
    UNDER_WAY = "under-way"


@dataclass(frozen=True, slots=True)
class LogCounts:
    """How many deliveries to a target there are of each outcome."""

    accepted: int
    failed: int
    under_way: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.accepted + self.failed + self.under_way

    def of(self, outcome: Outcome | None) -> int:
        """Those of one outcome, or all."""
        numbers = {Outcome.ACCEPTED: self.accepted, Outcome.FAILED: self.failed, Outcome.UNDER_WAY: self.under_way}
        return self.total if outcome is None else numbers[outcome]


@dataclass(frozen=True, slots=True)
class LoggedDelivery:
    """A delivery in the log. `body` is the beginning of what is sent, whose `length` is in characters."""

    id: str
    type: EventType
    created_at: int
    finished_at: int | None
    outcome: Outcome
    attempts: int
    status: int | None
    error: str
    milliseconds: int | None
    body: str | None
    length: int

    @property
    def is_cut(self) -> bool:
        """Whether the body goes on."""
        return self.body is not None and self.length > len(self.body)
