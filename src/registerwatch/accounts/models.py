"""Accounts and their callers. Instants are unix seconds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec
from msgspec import Struct

from registerwatch.accounts.ended_period import EndedPeriod
from registerwatch.accounts.plans import Plan
from registerwatch.errors import KeyHasEnd, PeriodEnded, ScopeTooNarrow

PERIOD_ENDED = "The account's period has ended. What is stored can still be read; a subscription starts it again."


class Role(StrEnum):
    """Rights of a user: an owner has all, a member may not manage users, keys and webhooks."""

    OWNER = "owner"
    MEMBER = "member"


class Scope(StrEnum):
    """Rights of an API key; each scope includes the ones before it. Sessions have all, within their user's role."""

    READ = "read"
    """Read the account's watches and changes."""
    WATCH = "watch"
    """Add, name and remove watches, sync and import too."""
    MANAGE = "manage"
    """Everything: users, keys, webhooks, feeds, billing, the password, the end of the account."""

    def includes(self, needed: "Scope") -> bool:
        """Whether this scope includes the other one."""
        return _RANK[self] >= _RANK[needed]


_RANK = {scope: rank for rank, scope in enumerate(Scope)}


class Account(msgspec.Struct, frozen=True):
    """A company's account."""

    id: int
    email: str
    name: str
    plan: Plan
    expires_at: int
    created_at: int

    def has_expired(self, now: float) -> bool:
        """Whether the current period is over."""
        return self.ended(now) is not None

    def ended(self, now: float) -> EndedPeriod | None:
        """The end of the current period; None while it runs."""
        return EndedPeriod.of(self.id, self.expires_at, now)

    def require_active(self, now: float) -> None:
        """Raise `PeriodEnded` when the current period is over: adding, changing and syncing watches needs one."""
        if self.has_expired(now):
            raise PeriodEnded(PERIOD_ENDED)


class User(Struct, frozen=True):
    """A person of an account."""

    id: int
    email: str
    role: Role
    created_at: int
    is_confirmed: bool = False
    """Whether a mailed link proved the address."""
    signed_in_at: int | None = None
    """Last sign-in; None before the first stored one."""


class Key(Struct, frozen=True):
    """An API key as it is listed. `prefix` is the masked key."""

    id: int
    label: str
    prefix: str
    created_at: int
    revoked: bool
    scope: Scope = Scope.MANAGE
    expires_at: int | None = None
    """None where it has no end."""
    last_used_at: int | None = None
    """Approximate; None before the first stored use."""

    def works(self, now: float) -> bool:
        """Whether it is neither revoked nor over."""
        return not self.revoked and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller: a user by a session, or a program by an API key, which acts as the account."""

    account: Account
    role: Role
    name: str
    """Name in the audit trail: the user's e-mail, the masked key, or `operator`."""
    user_id: int | None
    """None for an API key and for the operator."""
    session: str | None = field(default=None, repr=False)
    """Digest of the session, None without one."""
    key_id: int | None = None
    """The API key, None without one."""
    scope: Scope = Scope.MANAGE
    """The API key's."""
    key_expires_at: int | None = None
    """None without a key, and for one without an end."""
    time_zone: str = "UTC"
    """The user's, an IANA name."""
    proved_at: int = 0
    """When the session's user last gave the password as a proof; 0 where that is not known."""
    network: str | None = None
    """The network of the request (`clients.Client`); None where that is not known."""

    def require_scope(self, needed: Scope) -> None:
        """Raise `ScopeTooNarrow` where the API key may not do this."""
        if not self.scope.includes(needed):
            raise ScopeTooNarrow(
                f"This API key has the scope `{self.scope}`, and this needs `{needed}`. Use another key, or sign in."
            )

    def require_no_end(self) -> None:
        """Raise `KeyHasEnd` for an API key with an end: this action would give access after that."""
        if self.key_expires_at is not None:
            raise KeyHasEnd(
                "This API key has an end, and sets no password and adds no user. Use another key, or sign in."
            )


class Profile(msgspec.Struct, frozen=True):
    """An account with its people and programs, as the caller sees it. `role` and `scope` are the caller's."""

    account: Account
    role: Role
    users: Sequence[User]
    keys: Sequence[Key]
    scope: Scope = Scope.MANAGE

    @property
    def shows_secrets(self) -> bool:
        """Whether the caller may see what signs the account's webhooks."""
        return self.role is Role.OWNER and self.scope is Scope.MANAGE


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session that was just opened. `api_key` is there when the account was opened with it."""

    profile: Profile
    existing: bool
    session: str = field(repr=False)
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class NewAccount:
    """An account that the operator made, and the link with which its owner sets their first password."""

    profile: Profile
    link: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made: the only time that its secret is shown."""

    id: int
    label: str
    scope: Scope
    expires_at: int | None
    secret: str = field(repr=False)
