"""The error tree: what can go wrong, with stable codes and no HTTP in it.

Each surface has one table that maps these codes to its own answers.
"""


class RegisterwatchError(Exception):
    """Anything the service refuses or cannot do. `str(error)` is a sentence for the person who asked."""

    code = "error"


class InvalidInput(RegisterwatchError):
    """The input is not valid; the message says what would be."""

    code = "invalid-input"


class LinkNotValid(InvalidInput):
    """A mailed link was used already, is too old, or was cut off."""


class Unauthenticated(RegisterwatchError):
    """A key or session is needed, and there is none, or it is unknown, revoked or expired."""

    code = "unauthenticated"


class WrongPassword(RegisterwatchError):
    """The password is wrong or the user unknown: the message never says which."""

    code = "wrong-password"


class CrossSiteRequest(RegisterwatchError):
    """A form was sent from a page of another site, or by a client that does not say from where."""

    code = "cross-site"


class SecondFactorNeeded(RegisterwatchError):
    """The password is right, but the code of the user's second factor is missing."""

    code = "second-factor-needed"


class WrongCode(RegisterwatchError):
    """The password is right, but the code of the second factor is wrong."""

    code = "wrong-code"


class SignInStepOver(InvalidInput):
    """A sign-in that was begun with a password took too long, or too many codes were wrong."""


class ProviderSignInFailed(RegisterwatchError):
    """The OpenID provider could not sign a user in; the message says what to do."""

    code = "provider-sign-in-failed"


class OwnerOnly(RegisterwatchError):
    """A member asked for what only an owner or an API key may do."""

    code = "owner-only"


class ScopeTooNarrow(RegisterwatchError):
    """An API key was used for what its scope does not allow."""

    code = "scope-too-narrow"


class KeyHasEnd(RegisterwatchError):
    """An API key with an end was used to get access beyond that end."""

    code = "key-has-end"


class PasswordTooNew(RegisterwatchError):
    """The password was lately set without the one before it, so it does not prove the user's identity yet."""

    code = "password-too-new"


class SignupClosed(RegisterwatchError):
    """Only the operator of the service may open accounts or add users to them."""

    code = "signup-closed"


class PeriodEnded(RegisterwatchError):
    """The account's period is over; stored data can still be read."""

    code = "period-ended"


class CapReached(RegisterwatchError):
    """The account has as many of something as its plan allows."""

    code = "cap-reached"


class IdempotencyConflict(RegisterwatchError):
    """A request with this key is running, was a different one, or its answer cannot be repeated."""

    code = "idempotency-conflict"


class Overloaded(RegisterwatchError):
    """More work of one kind is waiting than can be done soon."""

    code = "overloaded"


class MailNotSent(RegisterwatchError):
    """A mail did not go out. The message is for the operator, without the mail's text and recipient."""

    code = "mail-not-sent"


class MailboxUnreadable(RegisterwatchError):
    """The mailbox of undeliverable mails cannot be read. The message is for the operator, without the password."""

    code = "mailbox-unreadable"


class NoSuchAccount(RegisterwatchError):
    """The operator named an account that does not exist."""

    code = "no-such-account"


class PaymentsUnavailable(RegisterwatchError):
    """Payments are not set up here, or their provider does not answer."""

    code = "payments-unavailable"


class PaymentRefused(RegisterwatchError):
    """The payment provider refused a request; repeating it would not help."""

    code = "payment-refused"


class RateLimited(RegisterwatchError):
    """Too many requests from one client address, or too much work for one account.

    `retry_after` is in whole seconds, at least 1. `limit` requests, or seconds of the processor, are allowed in
    `window` seconds.
    """

    code = "rate-limited"

    def __init__(self, message: str, *, retry_after: int, limit: int, window: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.limit = limit
        self.window = window


class ConfigurationError(RegisterwatchError):
    """Settings that contradict each other or cannot work; the message says what to set."""

    code = "configuration"


class RegisterUnavailable(RegisterwatchError):
    """Something that only the register has could not be read from it; the message says why."""

    code = "register-unavailable"


class DatabaseUnavailable(RegisterwatchError):
    """The database does not answer, or its version does not fit the program.

    `summary` is a message without names of hosts and files, for `/health`, which is public.
    """

    code = "database-unavailable"

    def __init__(self, message: str, *, summary: str = "The database does not answer.") -> None:
        super().__init__(message)
        self.summary = summary


class BulkLoadRefused(RegisterwatchError):
    """A fill of the copy cannot start or go on; what was stored so far stays stored."""

    code = "bulk-load-refused"


class BackupRefused(RegisterwatchError):
    """A backup cannot be written, or a file is not a backup."""

    code = "backup-refused"


class SecretUnreadable(RegisterwatchError):
    """A stored secret cannot be decrypted. The message is for the operator."""

    code = "secret-unreadable"


class IndexUnavailable(RegisterwatchError):
    """The search index cannot be opened or written."""

    code = "index-unavailable"
