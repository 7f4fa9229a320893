"""The audit trail of an account for its owner: who did what."""

from enum import StrEnum

import msgspec

NEWEST = 100
MAX_LINES_A_DAY = 100
"""Lines for one repeatable action of one actor in an account; a last line counts the others of that day (UTC)."""
MAX_SUBJECT_LENGTH = 500
OPERATOR = "operator"
"""The actor of an action by the operator of the service."""

UNKNOWN_PERSON = "unknown"
"""The actor of an action by an unknown person."""

PAYMENT_PROVIDER = "payment provider"
"""The actor of an action by the payment provider."""

MAIL_SERVER = "mail server"
"""The actor of a report by a mail server."""

SERVICE = "service"
"""The actor of an action by the service itself."""


class Action(StrEnum):
    """Recorded actions."""

    ACCOUNT_OPENED = "account opened"
    ACCOUNT_RENAMED = "account renamed"
    PLAN_CHANGED = "plan changed"
    SIGNED_IN = "signed in"
    SESSIONS_ENDED = "sessions ended"
    SIGN_IN_FAILED = "sign-in failed"
    PASSWORD_CHANGED = "password changed"  # noqa: S105  # the name of an action
    PASSWORD_RESET = "password reset"  # noqa: S105
    SECOND_FACTOR_ADDED = "second factor added"
    SECOND_FACTOR_REMOVED = "second factor removed"
    RECOVERY_CODES_MADE = "recovery codes made"
    RECOVERY_CODE_USED = "recovery code used"
    PASSKEY_COPIED = "passkey perhaps copied"
    """The count of signatures went back."""
    SIGN_IN_LINKED = "sign-in linked"
    """Linked to a person at the OpenID provider."""
    SIGN_IN_UNLINKED = "sign-in unlinked"
    KEY_CREATED = "key created"
    KEY_REVOKED = "key revoked"
    USER_ADDED = "user added"
    USER_REMOVED = "user removed"
    USER_LEFT = "user left"
    ROLE_CHANGED = "role changed"
    USER_INVITED = "user invited"
    INVITATION_WITHDRAWN = "invitation withdrawn"
    INVITATION_ACCEPTED = "invitation accepted"
    ADDRESS_CONFIRMED = "address confirmed"
    EARLIER_ACCESS_ENDED = "earlier access ended"
    WEBHOOK_CHANGED = "webhook changed"
    CHANNEL_CHANGED = "channel changed"
    MAILS_TURNED_OFF = "mails turned off"
    """Mails came back as undeliverable."""
    MAILS_TURNED_ON = "mails turned on"
    FEED_MADE = "feed made"
    FEED_ENDED = "feed ended"
    CHECKOUT_STARTED = "checkout started"
    SUBSCRIPTION_CANCELLED = "subscription cancelled"
    SUBSCRIPTION_RESUMED = "subscription resumed"


REPEATABLE = frozenset(
    {
        Action.SIGNED_IN,
        Action.SESSIONS_ENDED,
        Action.SIGN_IN_FAILED,
        Action.ACCOUNT_RENAMED,
        Action.SECOND_FACTOR_ADDED,
        Action.SECOND_FACTOR_REMOVED,
        Action.RECOVERY_CODES_MADE,
        Action.PASSKEY_COPIED,
        Action.SIGN_IN_LINKED,
        Action.SIGN_IN_UNLINKED,
        Action.WEBHOOK_CHANGED,
        Action.CHANNEL_CHANGED,
        Action.MAILS_TURNED_OFF,
        Action.MAILS_TURNED_ON,
        Action.FEED_MADE,
        Action.FEED_ENDED,
        Action.CHECKOUT_STARTED,
        Action.SUBSCRIPTION_CANCELLED,
        Action.SUBSCRIPTION_RESUMED,
    }
)
"""Actions that can be repeated at will. All others (passwords, keys, users, plans) have a line each time; a rate limit
bounds how often an account does that."""


class AuditEntry(msgspec.Struct, frozen=True):
    """One line of the trail: at `created_at` (unix seconds) `actor` did `action` to `subject` (or to nothing).

    A line with `repeated` counts that many actions, the last at `last_at` to `subject`.
    """

    id: int
    created_at: int
    actor: str
    action: str
    subject: str
    repeated: int | None = None
    last_at: int | None = None
