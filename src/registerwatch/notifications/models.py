"""Targets of notifications, and deliveries to them. Instants are unix seconds."""

import secrets
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from registerwatch.notifications.choices import EVERYTHING, Choice, Frequency

MAX_TARGETS = 10
"""Limit per account and channel."""
OVERLAP_SECONDS = 24 * 3600
"""How long the previous secret signs beside a new one."""
REPEAT_PAUSES = (300, 1_800, 7_200, 43_200, 86_400)
"""Seconds after which a failed delivery is tried again, where its target repeats."""
PAUSED_AS_FAILING = "It failed for five days."
"""The reason of a pause that ends by itself when something is accepted."""
MAX_WAIT_SECONDS = 3_600
"""The longest pause that a target can ask for."""
LOG_LENGTH = 50
DELIVERY_PREFIX = "whd_"
EMAIL = "email"
"""The channel whose targets belong to users, one to each."""


def new_delivery_id() -> str:
    """A new delivery's id."""
    return DELIVERY_PREFIX + secrets.token_urlsafe(18)


class EventType(StrEnum):
    """Subjects of deliveries."""

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
    name: str = ""
    choice: Choice = EVERYTHING
    time_zone: str = "UTC"
    repeats: bool = False
    """Whether a failed delivery is tried again later."""
    failing_since: int | None = None
    paused_at: int | None = None
    paused_reason: str = ""
    user_id: int | None = None
    """The user who owns it; None for one of the account."""
    user_email: str | None = None
    is_proven: bool = False
    """Whether the user's address is proven."""

    @property
    def is_on(self) -> bool:
        """Whether it gets anything: it is neither turned off nor paused."""
        return self.choice.frequency is not Frequency.OFF and self.paused_at is None

    def valid_secrets(self, now: float) -> list[str]:
        """The present signing secrets."""
        overlaps = self.old_secret is not None and self.old_secret_until is not None and now < self.old_secret_until
        return [self.secret, self.old_secret] if overlaps and self.old_secret else [self.secret]


class Notification(msgspec.Struct, frozen=True):
    """The data of a delivery beside its events. `email` is the account's."""

    id: str
    type: EventType
    created_at: int
    email: str


class AttemptResult(msgspec.Struct, frozen=True):
    """The result of one attempt: an HTTP status where there is one, a reason where the target did not accept it."""

    is_accepted: bool
    status: int | None
    error: str
    milliseconds: int | None = None
    """Duration; None where nothing was sent."""
    is_final: bool = False
    """Whether another try cannot help, as where the target does not exist."""
    is_uncertain: bool = False
    """Whether it may have arrived without an answer. What must arrive once is not sent again then."""

    wait_seconds: int | None = None
    """Seconds for which the target asked for a pause."""

    def may_be_repeated(self) -> bool:
        """Whether another try later can help."""
        return not (self.is_accepted or self.is_final or self.is_uncertain)


class Delivery(msgspec.Struct, frozen=True):
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
    """Duration of the last attempt; None where there was none."""
    due_at: int | None = None
    """When it may be sent (again); None when it has ended."""
    round: int = 0
    """How often it was put off after a failure."""
    handed_over_at: int | None = None
    """When a target that must get it once began to get it; None where it surely has not arrived."""

    @property
    def again_at(self) -> int | None:
        """When it is tried again after a failure; None where it is not."""
        return self.due_at if self.round else None


class Outcome(StrEnum):
    """The result of a delivery, or that it is open."""

    ACCEPTED = "accepted"
    FAILED = "failed"
    UNDER_WAY = "under-way"


class LogCounts(msgspec.Struct, frozen=True):
    """The number of deliveries to a target by outcome."""

    accepted: int
    failed: int
    under_way: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.accepted + self.failed + self.under_way

    def of(self, outcome: Outcome | None) -> int:
        """The count of an outcome or all."""
        numbers = {Outcome.ACCEPTED: self.accepted, Outcome.FAILED: self.failed, Outcome.UNDER_WAY: self.under_way}
        return self.total if outcome is None else numbers[outcome]


class LoggedDelivery(msgspec.Struct, frozen=True):
    """A delivery in the log. `body` is the beginning of the content, whose `length` is in characters."""

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
    due_at: int | None = None
    """When it may be sent (again); None when it has ended."""
    round: int = 0
    """How often it was put off after a failure."""

    @property
    def again_at(self) -> int | None:
        """When it is tried again after a failure; None where it is not."""
        return self.due_at if self.round else None

    @property
    def is_cut(self) -> bool:
        """Whether the body is longer."""
        return self.body is not None and self.length > len(self.body)
