"""What should be so of accounts, users, keys, sessions and links: lists in memory, and rules that can be read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from registerwatch.accounts.models import Role
from registerwatch.accounts.plans import PlanName
from registerwatch.accounts.prune import AUDIT_KEPT, REVOKED_KEYS_KEPT
from registerwatch.accounts.sessions.credentials import digest_of, masked

Known = tuple[int, str, Role, int | None]
"""As whom somebody is known: the account's id, a name, a role, the user's id."""
Rows = dict[str, list[tuple[Any, ...]]]
"""Rows of tables, by the table's name."""
NO_PASSWORD = ""
"""Of somebody who has none: nobody gets in with it, nor with any other."""


@dataclass(eq=False)
class Firm:
    """An account. A line of its trail says when, who, what."""

    id: int
    email: str
    plan: PlanName
    ends: int
    people: list["Person"] = field(default_factory=list)
    keys: list["Key"] = field(default_factory=list)
    trail: list[tuple[int, str, str]] = field(default_factory=list)

    @property
    def owners(self) -> "list[Person]":
        """Who owns it, the first one first."""
        return [person for person in self.people if person.role is Role.OWNER]

    @property
    def active_keys(self) -> "list[Key]":
        """The keys that are not revoked."""
        return [key for key in self.keys if key.revoked_at is None]


@dataclass(eq=False)
class Person:
    """A user; `NO_PASSWORD` until they have set one."""

    id: int
    email: str
    password: str
    role: Role
    firm: Firm
    unproven_at: int | None = None
    """When a key or a session set the password; None after a link did."""
    is_confirmed: bool = False
    """Whether a link proved their address."""


@dataclass(eq=False)
class Key:
    """An API key."""

    id: int
    secret: str
    firm: Firm
    revoked_at: int | None = None


@dataclass(eq=False)
class Pass:
    """A session, or the token of a link."""

    secret: str
    person: Person
    ends: int


@dataclass(frozen=True)
class Opener:
    """A secret that opens an account; `person` is None for a key."""

    secret: str
    firm: Firm
    person: Person | None

    @property
    def manages(self) -> bool:
        """Whether it may manage users and keys."""
        return self.person is None or self.person.role is Role.OWNER

    @property
    def known_as(self) -> Known:
        """As whom the service must know who has it."""
        if self.person is None:
            return self.firm.id, masked(self.secret), Role.OWNER, None
        return self.firm.id, self.person.email, self.person.role, self.person.id


@dataclass
class Model:
    """All accounts. `told_…` are the secrets that somebody has, whether or not they still open anything."""

    firms: list[Firm] = field(default_factory=list)
    sessions: list[Pass] = field(default_factory=list)
    links: list[Pass] = field(default_factory=list)
    told_keys: list[str] = field(default_factory=list)
    told_sessions: list[str] = field(default_factory=list)
    told_links: list[str] = field(default_factory=list)

    @property
    def people(self) -> list[Person]:
        """Every user."""
        return [person for firm in self.firms for person in firm.people]

    @property
    def keys(self) -> list[Key]:
        """Every key."""
        return [key for firm in self.firms for key in firm.keys]

    def person(self, email: str) -> Person | None:
        """Who has this address."""
        return next((person for person in self.people if person.email == email), None)

    def openers(self, now: int) -> Sequence[Opener]:
        """The secrets that open something."""
        sessions = [Opener(each.secret, each.person.firm, each.person) for each in self.sessions if each.ends > now]
        return sessions + [Opener(key.secret, key.firm, None) for key in self.keys if key.revoked_at is None]

    def links_of(self, person: Person | None, now: int) -> Sequence[Pass]:
        """A person's links that still work."""
        return [each for each in self.links if each.person is person and each.ends > now]

    def add_key(self, firm: Firm, key_id: int, secret: str) -> None:
        """A key was made, and told."""
        firm.keys.append(Key(key_id, secret, firm))
        self.told_keys.append(secret)

    def add_session(self, person: Person, secret: str, ends: int) -> None:
        """A session was opened."""
        self.sessions.append(Pass(secret, person, ends))
        self.told_sessions.append(secret)

    def add_link(self, person: Person, secret: str, ends: int) -> None:
        """A link was made."""
        self.links.append(Pass(secret, person, ends))
        self.told_links.append(secret)

    def set_password(
        self, person: Person, password: str, kept: str | None = None, *, keeps_links: bool = False
    ) -> None:
        """All that the old one had opened ends, but for one session and, where nobody gave the old one, links."""
        person.password = password
        self.sessions = [each for each in self.sessions if each.person is not person or each.secret == kept]
        self.links = [each for each in self.links if keeps_links or each.person is not person]

    def take_over(self, person: Person, now: int) -> bool:
        """Everybody but an owner loses whatever they had, and keys and the owner's sessions end; whether anything did.

        Sessions that are over count until they are tidied away.
        """
        firm = person.firm
        sessions = [each for each in self.sessions if each.person.firm is firm]
        ends_something = bool(firm.active_keys or sessions or len(firm.people) > 1)
        for key in person.firm.active_keys:
            key.revoked_at = now
        for other in [each for each in person.firm.people if each is not person]:
            self.remove(other)
        return ends_something

    def remove(self, person: Person) -> None:
        """A user goes with all that was theirs."""
        self.set_password(person, "")
        person.firm.people.remove(person)

    def delete(self, firm: Firm) -> None:
        """An account goes with all that is in it."""
        for person in list(firm.people):
            self.remove(person)
        self.firms.remove(firm)

    def tidy(self, now: int) -> int:
        """What is over goes; the number of rows that went."""
        before = sum(map(len, self.rows().values()))
        self.sessions = [each for each in self.sessions if each.ends > now]
        self.links = [each for each in self.links if each.ends > now]
        for firm in self.firms:
            firm.keys = [key for key in firm.keys if now - (key.revoked_at or now) <= REVOKED_KEYS_KEPT]
            firm.trail = [line for line in firm.trail if now - line[0] <= AUDIT_KEPT]
        return before - sum(map(len, self.rows().values()))

    def rows(self) -> Rows:
        """The rows that the database must hold. Ids grow, so what came later comes later here."""
        return {
            "accounts": [(firm.id, firm.email, firm.plan, firm.ends) for firm in self.firms],
            "users": sorted((each.id, each.firm.id, each.email, each.role) for each in self.people),
            "api_keys": sorted(
                (key.id, key.firm.id, digest_of(key.secret), masked(key.secret), key.revoked_at) for key in self.keys
            ),
            "sessions": sorted((digest_of(each.secret), each.person.id, each.ends) for each in self.sessions),
            "reset_tokens": sorted((digest_of(each.secret), each.person.id, each.ends) for each in self.links),
            "audit": [(firm.id, *line) for firm in self.firms for line in firm.trail],
        }


COLUMNS = {
    "accounts": "SELECT id, email, plan, expires_at FROM accounts ORDER BY id",
    "users": "SELECT id, account_id, email, role FROM users ORDER BY id",
    "api_keys": "SELECT id, account_id, digest, prefix, revoked_at FROM api_keys ORDER BY id",
    "sessions": "SELECT digest, user_id, expires_at FROM sessions ORDER BY digest",
    "reset_tokens": "SELECT digest, user_id, expires_at FROM reset_tokens ORDER BY digest",
    "audit": "SELECT account_id, created_at, actor, action FROM audit ORDER BY account_id, id",
}
"""What is compared with the model, and in which order."""
