"""The audit trail: who did what in an account, for its owner."""

from dataclasses import dataclass
from enum import StrEnum

NEWEST = 100
OPERATOR = "operator"
"""The actor where the operator of the service did something."""

UNKNOWN_PERSON = "unknown"
"""The actor where nobody knows who did something."""

PAYMENT_PROVIDER = "payment provider"
"""The actor where the payment provider did something."""


class Action(StrEnum):
    """What is recorded."""

    ACCOUNT_OPENED = "account opened"
    PLAN_CHANGED = "plan changed"
    SIGNED_IN = "signed in"
    SESSIONS_ENDED = "sessions ended"
    SIGN_IN_FAILED = "sign-in failed"
    PASSWORD_CHANGED = "password changed"  # noqa: S105  # the name of what happened
    PASSWORD_RESET = "password reset"  # noqa: S105
    KEY_CREATED = "key created"
    KEY_REVOKED = "key revoked"
    USER_ADDED = "user added"
    USER_REMOVED = "user removed"
    USER_LEFT = "user left"
    USER_INVITED = "user invited"
    INVITATION_ACCEPTED = "invitation accepted"
    ADDRESS_CONFIRMED = "address confirmed"
    EARLIER_ACCESS_ENDED = "earlier access ended"
    WEBHOOK_CHANGED = "webhook changed"
    FEED_MADE = "feed made"
    FEED_ENDED = "feed ended"
    CHECKOUT_STARTED = "checkout started"
    SUBSCRIPTION_CANCELLED = "subscription cancelled"
    SUBSCRIPTION_RESUMED = "subscription resumed"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One line of the trail: at `created_at` (unix seconds) `actor` did `action` to `subject` (or to nothing)."""

    id: int
    created_at: int
    actor: str
    action: str
    subject: str
