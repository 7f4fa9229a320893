"""Whatever people do with accounts, in whichever order, what is stored and who gets in is what a plain model says."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Sequence
from typing import ClassVar, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import URL, Connection, create_engine, text

from registerwatch.accounts.admin import AccountAdmin
from registerwatch.accounts.audit.audit import OPERATOR, UNKNOWN_PERSON, Action
from registerwatch.accounts.audit.audit_pages import AuditTrailReader
from registerwatch.accounts.deletion import DeletionService
from registerwatch.accounts.invitations import InvitationService
from registerwatch.accounts.limits.idempotency import IdempotencyStore
from registerwatch.accounts.limits.mail_limits import MailLimit
from registerwatch.accounts.members import EMAIL_TAKEN, MemberService
from registerwatch.accounts.models import Caller, NewSession, Profile, Role
from registerwatch.accounts.notices import AccountNotices
from registerwatch.accounts.old_trials import OldTrialService
from registerwatch.accounts.passwords.confirmation import ConfirmationService
from registerwatch.accounts.passwords.password_reset import LINKS_PER_HOUR, TOKEN_SECONDS, PasswordResetService
from registerwatch.accounts.passwords.proof import ProofService
from registerwatch.accounts.passwords.unproven_passwords import UNPROVEN_SECONDS
from registerwatch.accounts.plans import Plan, PlanName, Plans
from registerwatch.accounts.prune import AUDIT_KEPT, REVOKED_KEYS_KEPT, AccountPruner
from registerwatch.accounts.second_factors.code_check import CodeCheck
from registerwatch.accounts.sessions.api_keys import ApiKeyService
from registerwatch.accounts.sessions.credential_uses import CredentialUses
from registerwatch.accounts.sessions.credentials import credential_of, masked
from registerwatch.accounts.sessions.failed_sign_ins import FailedSignIns
from registerwatch.accounts.sessions.open_sessions import OpenSessionService
from registerwatch.accounts.sessions.sessions import SessionService
from registerwatch.accounts.sessions.sign_in import SESSION_SECONDS
from registerwatch.accounts.team import TeamReader
from registerwatch.accounts.use_cases import Accounts, build_accounts
from registerwatch.errors import (
    CapReached,
    InvalidInput,
    NoSuchAccount,
    PasswordTooNew,
    Unauthenticated,
    WrongPassword,
)
from registerwatch.mail.mailer import NoMailer
from registerwatch.mail.memory_mailer import MemoryMailer
from registerwatch.platform.db.engine import Database
from registerwatch.platform.secret_cipher import SecretCipher
from registerwatch.platform.structs import replace
from registerwatch.settings import Settings
from tests.accounts.plain_model import COLUMNS, NO_PASSWORD, Firm, Known, Model, Opener, Person, Rows
from tests.register.builders import PROPERTY
from tests.support.fakes import SteppedClock, quick_passwords

T = TypeVar("T")

DAY = 24 * 3600
TRIAL_SECONDS = 7 * DAY
UNKNOWN_ID = 987_654_321
PLANS: Plans = {
    PlanName.TRIAL: Plan(PlanName.TRIAL, watches=1, users=2, keys=2, lines=1, work_seconds=1, stored_bytes=1),
    PlanName.STANDARD: Plan(PlanName.STANDARD, watches=1, users=3, keys=2, lines=1, work_seconds=1, stored_bytes=1),
    PlanName.OPERATOR: Plan(PlanName.OPERATOR, watches=1, users=3, keys=4, lines=1, work_seconds=1, stored_bytes=1),
}
"""Caps so small that they are reached."""

ADDRESSES = [f"{name}@acme.example" for name in ("ann", "bob", "cid", "dee", "eve")]
SHORT = "short"
passwords = st.sampled_from(["password one", "password two", SHORT])
guesses = st.none() | passwords
"""None for the right one."""
spans = st.sampled_from([1, TOKEN_SECONDS - 1, TOKEN_SECONDS, DAY, SESSION_SECONDS, REVOKED_KEYS_KEPT + 1, AUDIT_KEPT])
which = st.integers(0, 59)
"""Picks one of however many there are."""


class People(RuleBasedStateMachine):
    """People who do what they like with the real use cases, and a model that is told of it."""

    database_url: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.database, self.clock, self.mail = Database(self.database_url), SteppedClock(1_800_000_000), MemoryMailer()
        self.accounts = _accounts(self.database, self.clock, self.mail)
        self.looking = create_engine(_plain(self.database.url), isolation_level="AUTOCOMMIT").connect()
        self.mailed: Counter[tuple[str, int]] = Counter()
        for table in [*reversed(COLUMNS), "mail_counts"]:
            self.looking.execute(text(f"DELETE FROM {table}"))
        self.model = Model()
        self.tried: dict[str, Known | None] = {}

    def teardown(self) -> None:
        """Give everything back."""
        self.run(self.accounts.close())
        self.run(self.database.close())
        self.runner.close()
        self.looking.close()
        self.looking.engine.dispose()

    @initialize()
    def two_firms_are_there_and_one_has_a_member(self) -> None:
        for email in ADDRESSES[:2]:
            opened = self.run(self.accounts.sessions.trial("Firm", email, "password one"))
            self._signed_in(opened, self._opened(opened, email, "password one"))
        self.a_user_is_added(0, ADDRESSES[2], None)

    # Getting in and out

    @rule(who=which, guess=guesses)
    def somebody_signs_up(self, who: int, guess: str | None) -> None:
        email, person, password = self.somebody(who, guess)
        refused = password == SHORT if person is None else person.password != password
        asked = self.accounts.sessions.trial("Firm", email.upper(), password)
        opened = self.outcome(asked, InvalidInput if refused else None)
        if refused and person is not None:
            self._sign_in_failed(person)
        if opened is not None:
            assert (opened.existing, opened.api_key is None) == (person is not None, person is not None)
            self._signed_in(opened, person or self._opened(opened, email, password))

    @rule(who=which, guess=guesses)
    def somebody_logs_in(self, who: int, guess: str | None) -> None:
        email, person, password = self.somebody(who, guess)
        refused = person is None or person.password != password
        opened = self.outcome(self.accounts.sessions.login(email, password), WrongPassword if refused else None)
        if refused and person is not None:
            self._sign_in_failed(person)
        if opened is not None and person is not None:
            self._signed_in(opened, person)

    @precondition(lambda self: self.model.told_sessions)
    @rule(which=which, by_key=st.booleans())
    def somebody_logs_out(self, which: int, by_key: bool) -> None:
        secret = _one(self.model.told_keys if by_key else self.model.told_sessions, which)
        self.run(self.accounts.sessions.logout(credential_of(None, secret)))
        self.model.sessions = [each for each in self.model.sessions if each.secret != secret]

    # Managing

    @precondition(lambda self: self.managers())
    @rule(which=which, email=st.sampled_from(ADDRESSES[::-1]), guess=guesses)
    def a_user_is_added(self, which: int, email: str, guess: str | None) -> None:
        (caller, firm), password = self.manager(which), guess or "password two"
        taken = InvalidInput if self.model.person(email) is not None else None
        full = CapReached if len(firm.people) >= PLANS[firm.plan].users else taken
        refused = InvalidInput if password == SHORT else full
        profile = self.outcome(self.accounts.members.add_user(caller, email, password), refused)
        if profile is not None:
            firm.people.append(Person(profile.users[-1].id, email, password, Role.MEMBER, firm))
            self._done(firm, caller, Action.USER_ADDED, profile)

    @precondition(lambda self: self.managers())
    @rule(which=which, whom=which)
    def a_user_is_removed(self, which: int, whom: int) -> None:
        caller, firm = self.manager(which)
        person = _one([*firm.people[::-1], None, *self.model.people], whom)
        unknown, last = person is None or person.firm is not firm, firm.owners == [person]
        asked = self.accounts.members.remove_user(caller, person.id if person else UNKNOWN_ID)
        words = "no user with this id" if unknown else "last owner"
        profile = self.outcome(asked, InvalidInput if unknown or last else None, words)
        if profile is not None and person is not None:
            self.model.remove(person)
            self._done(firm, caller, Action.USER_REMOVED, profile)

    @precondition(lambda self: self.model.people)
    @rule(which=which)
    def a_user_becomes_an_owner(self, which: int) -> None:
        person = _one(self.model.people, which)
        person.role = Role.OWNER
        self.looking.execute(text("UPDATE users SET role = 'owner' WHERE id = :id"), {"id": person.id})

    @precondition(lambda self: self.managers())
    @rule(which=which)
    def a_key_is_made(self, which: int) -> None:
        caller, firm = self.manager(which)
        refused = len(firm.active_keys) >= PLANS[firm.plan].keys
        made = self.outcome(self.accounts.api_keys.create(caller, "ERP"), CapReached if refused else None)
        if made is not None:
            profile = self.run(self.accounts.members.profile(caller))
            self.model.add_key(firm, profile.keys[-1].id, made.secret)
            self._done(firm, caller, Action.KEY_CREATED, profile)

    @precondition(lambda self: self.managers())
    @rule(which=which, what=which)
    def a_key_is_revoked(self, which: int, what: int) -> None:
        caller, firm = self.manager(which)
        key = _one([*firm.keys, None, *self.model.keys], what)
        refused = key is None or key.firm is not firm
        asked = self.accounts.api_keys.revoke(caller, key.id if key else UNKNOWN_ID)
        profile = self.outcome(asked, InvalidInput if refused else None)
        if profile is not None and key is not None and key.revoked_at is None:
            key.revoked_at = self.now
            self._done(firm, caller, Action.KEY_REVOKED, profile)

    @precondition(lambda self: self.managers())
    @rule(which=which, guess=guesses)
    def an_account_is_deleted(self, which: int, guess: str | None) -> None:
        caller, firm = self.manager(which)
        password = guess or firm.owners[-1].password or "password one"
        right = [owner for owner in firm.owners if owner.password == password]
        old_enough = [
            each for each in right if each.unproven_at is None or self.now >= each.unproven_at + UNPROVEN_SECONDS
        ]
        refused = WrongPassword if not right else None if old_enough else PasswordTooNew
        self.outcome(self.accounts.deletion.delete(caller, password), refused)
        if refused is None:
            self.model.delete(firm)

    # Passwords

    @precondition(lambda self: self.model.openers(self.now))
    @rule(which=which, password=passwords)
    def a_password_is_changed(self, which: int, password: str) -> None:
        opener = _one(self.model.openers(self.now), which)
        caller = self.run(self.accounts.sessions.caller(credential_of(None, opener.secret)))
        asked = self.accounts.password_reset.change(caller, password)
        profile = self.outcome(asked, InvalidInput if password == SHORT else None)
        if profile is not None:
            person = opener.person or opener.firm.owners[0]
            self.model.set_password(person, password, kept=opener.secret, keeps_links=True)
            person.unproven_at = self.now
            self._done(opener.firm, caller, Action.PASSWORD_CHANGED, profile)

    @rule(who=which)
    def the_operator_makes_a_link(self, who: int) -> None:
        email, person, _password = self.somebody(who)
        too_many = InvalidInput if len(self.model.links_of(person, self.now)) >= LINKS_PER_HOUR else None
        link = self.outcome(self.accounts.password_reset.link(email), NoSuchAccount if person is None else too_many)
        if link is not None and person is not None:
            self.model.add_link(person, _token(link), self.now + TOKEN_SECONDS)

    @rule(who=which)
    def a_password_is_forgotten(self, who: int) -> None:
        email, person, _password = self.somebody(who)
        is_sent = person is not None and len(self.model.links_of(person, self.now)) < LINKS_PER_HOUR
        if is_sent and person is not None and not person.is_confirmed:
            day = email, self.now // DAY
            is_sent = self.mailed[day] < MailLimit.RESET_OF_UNCONFIRMED.value.mails
            self.mailed[day] += is_sent
        self.mail.mails.clear()
        self.run(_forget(self.accounts, email))
        assert [mail.to for mail in self.mail.mails] == [email] * is_sent
        if is_sent and person is not None:
            self.model.add_link(person, _token(self.mail.mails[0].text), self.now + TOKEN_SECONDS)

    @precondition(lambda self: self.model.told_links)
    @rule(which=which, password=passwords)
    def a_link_is_used(self, which: int, password: str) -> None:
        secret = _one(self.model.told_links[::-1], which)
        opened = [each.person for each in self.model.links if each.secret == secret and each.ends > self.now]
        refused = not opened or password == SHORT
        self.outcome(self.accounts.password_reset.reset(secret, password), InvalidInput if refused else None)
        if not refused:
            person = opened[0]
            ends_all = person.role is Role.OWNER and not person.is_confirmed
            if ends_all and self.model.take_over(person, self.now):
                person.firm.trail.append((self.now, person.email, Action.EARLIER_ACCESS_ENDED))
            self.model.set_password(person, password)
            person.unproven_at, person.is_confirmed = None, True
            opened[0].firm.trail.append((self.now, opened[0].email, Action.PASSWORD_RESET))

    # The operator, and time

    @rule(who=which, plan=st.none() | st.sampled_from(PlanName), lasts=st.none() | st.integers(-DAY, DAY))
    def the_operator_sets_a_plan(self, who: int, plan: PlanName | None, lasts: int | None) -> None:
        email, person, _password = self.somebody(who)
        ends = None if lasts is None else self.now + lasts
        asked = self.accounts.admin.set_period(email, plan, ends)
        profile = self.outcome(asked, NoSuchAccount if person is None else None)
        if profile is not None and person is not None:
            firm = person.firm
            firm.plan, firm.ends = plan or firm.plan, firm.ends if ends is None else ends
            firm.trail.append((self.now, OPERATOR, Action.PLAN_CHANGED))
            self._seen(firm, profile)

    @rule(who=which, lasts=st.none() | st.integers(-DAY, DAY))
    def the_operator_makes_an_account(self, who: int, lasts: int | None) -> None:
        email, person, _password = self.somebody(who)
        ends = None if lasts is None else self.now + lasts
        asked = self.accounts.admin.create(email.upper(), "Firm", PlanName.STANDARD, ends)
        made = self.outcome(asked, InvalidInput if person is not None else None, EMAIL_TAKEN)
        if made is not None:
            account = made.profile.account
            firm = Firm(account.id, email, PlanName.STANDARD, self.now + TRIAL_SECONDS if ends is None else ends)
            firm.people.append(Person(made.profile.users[0].id, email, NO_PASSWORD, Role.OWNER, firm))
            firm.trail.append((self.now, OPERATOR, Action.ACCOUNT_OPENED))
            self.model.firms.append(firm)
            self.model.add_link(firm.people[0], _token(made.link), self.now + TOKEN_SECONDS)
            self._seen(firm, made.profile)

    @precondition(lambda self: self.model.people)
    @rule(which=which)
    def the_operator_makes_a_key(self, which: int) -> None:
        firm = _one(self.model.people, which).firm
        caller = self.run(self.accounts.admin.caller(_one(firm.people, which).email))
        refused = len(firm.active_keys) >= PLANS[firm.plan].keys
        made = self.outcome(self.accounts.api_keys.create(caller, "ERP"), CapReached if refused else None)
        if made is not None:
            profile = self.run(self.accounts.members.profile(caller))
            self.model.add_key(firm, profile.keys[-1].id, made.secret)
            self._done(firm, caller, Action.KEY_CREATED, profile)
            assert firm.trail[-1][1] == OPERATOR

    @precondition(lambda self: self.model.people)
    @rule(which=which)
    def the_operator_deletes_an_account(self, which: int) -> None:
        person = _one(self.model.people, which)
        asked = self.accounts.admin.owned(person.email)
        profile = self.outcome(asked, InvalidInput if person.role is Role.MEMBER else None, "is a member")
        if profile is not None:
            self._seen(person.firm, profile)
            self.run(self.accounts.deletion.delete_without_password(profile.account.id))
            self.model.delete(person.firm)

    @rule(seconds=spans)
    def time_passes(self, seconds: int) -> None:
        self.clock.move(seconds)

    @rule()
    def the_house_is_kept(self) -> None:
        assert self.run(self.accounts.pruner.prune()) == self.model.tidy(self.now)

    # What is always so

    @invariant()
    def what_is_stored_is_what_happened(self) -> None:
        """In every account, so nothing that one does changes another; and each has an owner, an address one user."""
        stored = _stored(self.looking)
        emails = [email for _id, _account, email, _role in stored["users"]]
        assert len(emails) == len(set(emails))
        assert {row[0] for row in stored["accounts"]} == {row[1] for row in stored["users"] if row[3] == Role.OWNER}
        assert stored == self.model.rows()

    @invariant()
    def the_secrets_that_open_something_are_those_that_should(self) -> None:
        """Each is tried when that changes, and all of them now and then."""
        opening = {opener.secret: opener.known_as for opener in self.model.openers(self.now)}
        expected = {secret: opening.get(secret) for secret in (*self.model.told_keys, *self.model.told_sessions)}
        changed = {secret: known for secret, known in expected.items() if self.tried.get(secret, ()) != known}
        assert {secret: self.run(_known(self.accounts, secret)) for secret in changed} == changed
        self.tried = expected

    @rule()
    def everybody_tries_to_get_in(self) -> None:
        self.tried = {}

    # Doing

    @property
    def now(self) -> int:
        """Unix seconds."""
        return int(self.clock.now())

    def run(self, asked: Awaitable[T]) -> T:
        """What comes of it."""

        async def answer() -> T:
            return await asked

        return self.runner.run(answer())

    def outcome(self, asked: Awaitable[T], refused: type[Exception] | None, words: str = "") -> T | None:
        """What comes of it, None when it was refused; it must be with this error, and must not without one."""
        if refused is None:
            return self.run(asked)
        with pytest.raises(refused, match=words or None):
            self.run(asked)
        return None

    def somebody(self, which: int, guess: str | None = None) -> tuple[str, Person | None, str]:
        """An address, who has it, and a password that is theirs or not."""
        email = _one([*(person.email for person in self.model.people), *ADDRESSES], which)
        person = self.model.person(email)
        return email, person, guess or (person.password if person else "") or "password one"

    def managers(self) -> Sequence[Opener]:
        """Those that may manage users and keys."""
        return [opener for opener in self.model.openers(self.now) if opener.manages]

    def manager(self, which: int) -> tuple[Caller, Firm]:
        """One of them."""
        opener = _one(self.managers(), which)
        return self.run(self.accounts.sessions.caller(credential_of(None, opener.secret))), opener.firm

    def _opened(self, opened: NewSession, email: str, password: str) -> Person:
        profile = opened.profile
        firm = Firm(profile.account.id, email, PlanName.TRIAL, self.now + TRIAL_SECONDS)
        firm.people.append(Person(profile.users[0].id, email, password, Role.OWNER, firm))
        self.model.firms.append(firm)
        self.model.add_key(firm, profile.keys[0].id, opened.api_key or "")
        return firm.people[0]

    def _signed_in(self, opened: NewSession, person: Person) -> None:
        action = Action.SIGNED_IN if opened.existing else Action.ACCOUNT_OPENED
        person.firm.trail.append((self.now, person.email, action))
        self.model.add_session(person, opened.session, self.now + SESSION_SECONDS)
        assert opened.profile.role is person.role
        self._seen(person.firm, opened.profile)

    def _sign_in_failed(self, person: Person) -> None:
        self.run(self.accounts.sessions.failures.settled())
        person.firm.trail.append((self.now, UNKNOWN_PERSON, Action.SIGN_IN_FAILED))

    def _done(self, firm: Firm, caller: Caller, action: Action, profile: Profile) -> None:
        firm.trail.append((self.now, caller.name, action))
        assert profile.role is caller.role
        self._seen(firm, profile)

    def _seen(self, firm: Firm, profile: Profile) -> None:
        """What people are shown of their account is theirs and all of it."""
        account = profile.account
        assert (account.id, account.plan, account.expires_at) == (firm.id, PLANS[firm.plan], firm.ends)
        assert [(each.id, each.email, each.role) for each in profile.users] == [
            (each.id, each.email, each.role) for each in firm.people
        ]
        assert [(key.id, key.prefix, key.revoked) for key in profile.keys] == [
            (key.id, masked(key.secret), key.revoked_at is not None) for key in firm.keys
        ]


def test_whatever_people_do_with_accounts_is_what_the_model_says(database_kind: str, database_url: str) -> None:
    machine = type("PeopleOfOneDatabase", (People,), {"database_url": database_url})
    examples = min(50, settings().max_examples) if database_kind == "sqlite" else min(12, settings().max_examples // 3)
    run_state_machine_as_test(machine, settings=settings(PROPERTY, max_examples=examples, stateful_step_count=40))


def _accounts(database: Database, clock: SteppedClock, mail: MemoryMailer) -> Accounts:
    """The use cases as the service builds them, but with small caps."""
    quick, public_url = quick_passwords(), "http://service.test"
    notices = AccountNotices(clock, NoMailer(), public_url=public_url)
    deletion = DeletionService(database, quick, clock)
    return replace(
        build_accounts(Settings(public_url=public_url), database, clock, mail, quick),
        sessions=SessionService(database, quick, PLANS, clock, trial_seconds=TRIAL_SECONDS),
        members=MemberService(database, quick, PLANS, clock),
        api_keys=ApiKeyService(database, PLANS, clock),
        deletion=deletion,
        password_reset=PasswordResetService(database, quick, PLANS, clock, mail, public_url=public_url),
        confirmations=ConfirmationService(
            database,
            quick,
            clock,
            NoMailer(),
            deletion,
            public_url=public_url,
            trial_seconds=TRIAL_SECONDS,
            anybody_may_sign_up=True,
        ),
        invitations=InvitationService(
            database, quick, PLANS, clock, NoMailer(), public_url=public_url, owners_may_add_users=True
        ),
        notices=notices,
        admin=AccountAdmin(database, PLANS, clock, trial_seconds=TRIAL_SECONDS, public_url=public_url),
        pruner=AccountPruner(database, clock),
        idempotency=IdempotencyStore(database, clock),
        passwords=quick,
        uses=CredentialUses(database, clock),
        open_sessions=OpenSessionService(database, clock),
        trail=AuditTrailReader(database),
        team=TeamReader(database, clock),
        old_trials=OldTrialService(database, clock, NoMailer(), deletion, public_url=public_url),
        proofs=ProofService(
            database, quick, CodeCheck(SecretCipher(), notices), clock, FailedSignIns(database, clock), notices
        ),
    )


def _one(things: Sequence[T], which: int) -> T:
    return things[which % len(things)]


def _token(words: str) -> str:
    return words.partition("token=")[2].split()[0]


async def _forget(accounts: Accounts, email: str) -> None:
    accounts.password_reset.send_link(email)
    await accounts.password_reset.mails.settled()


async def _known(accounts: Accounts, secret: str) -> Known | None:
    """As whom the service knows who has this secret, None when it does not."""
    try:
        caller = await accounts.sessions.caller(credential_of(None, secret))
    except Unauthenticated:
        return None
    return caller.account.id, caller.name, caller.role, caller.user_id


def _stored(connection: Connection) -> Rows:
    return {table: [tuple(row) for row in connection.execute(text(query))] for table, query in COLUMNS.items()}


def _plain(url: URL) -> URL:
    """The same database by a driver without an event loop."""
    return url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url
