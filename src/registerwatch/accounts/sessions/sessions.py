"""Opens trials, signs users in and out, and finds the caller of a request."""

import asyncio

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.models import Caller, NewSession, Profile, Role
from registerwatch.accounts.notices import AccountNotices, no_notices
from registerwatch.accounts.passwords import unproven_passwords
from registerwatch.accounts.passwords.confirmation import ConfirmationService
from registerwatch.accounts.passwords.passwords import MAX_WAITING, TOO_MANY_SIGN_INS, Passwords
from registerwatch.accounts.plans import Plans
from registerwatch.accounts.profile import zone_of_browser
from registerwatch.accounts.queries import AccountQueries, account_of, profile_of
from registerwatch.accounts.repository import StoredUser
from registerwatch.accounts.second_factors.code_check import CodeCheck, Judgement, Verdict
from registerwatch.accounts.second_factors.second_step import WRONG_CODE
from registerwatch.accounts.sessions import credentials, known_clients, new_places, sign_in_steps
from registerwatch.accounts.sessions.clients import UNKNOWN_CLIENT, Client
from registerwatch.accounts.sessions.credential_uses import CredentialUses
from registerwatch.accounts.sessions.credentials import Credential
from registerwatch.accounts.sessions.failed_sign_ins import FailedSignIns
from registerwatch.accounts.sessions.sign_in import open_session
from registerwatch.accounts.sessions.sign_in_steps import NewStep
from registerwatch.accounts.validation import company_name, email_address
from registerwatch.errors import (
    InvalidInput,
    SecondFactorNeeded,
    SignupClosed,
    Unauthenticated,
    WrongCode,
    WrongPassword,
)
from registerwatch.mail.mailer import Mail
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.fair_queue import FairQueue
from registerwatch.platform.secret_cipher import SecretCipher

FIRST_KEY = "first key"
MAX_CONCURRENT = 5
"""Sign-ins at a time: more than the threads that compare passwords, so that none is idle while one waits for a
transaction.
"""
NOTED_AGAIN_SECONDS = 24 * 3600
"""How long a client from which a user signed in is not noted again."""

WRONG_LOGIN = "Email or password is wrong."
SIGNUP_CLOSED = (
    "Nobody can open an account here by themselves: ask who runs this service. If you have one, the password is wrong."
)
CODE_NEEDED = "This user has a second factor. Send `code` too: what the authenticator app shows, or a recovery code."
ACCOUNT_EXISTS = "An account with this e-mail address exists already, and the password is not its own. Sign in instead."


class SessionService:
    """Opens accounts and sessions."""

    def __init__(
        self,
        database: Database,
        passwords: Passwords,
        plans: Plans,
        clock: Clock,
        *,
        trial_seconds: int,
        anybody_may_sign_up: bool = True,
        uses: CredentialUses | None = None,
        confirmations: ConfirmationService | None = None,
        codes: CodeCheck | None = None,
        notices: AccountNotices | None = None,
    ) -> None:
        self._database = database
        self._reads = AccountQueries(database)
        self._passwords = passwords
        self._plans = plans
        self._clock = clock
        self.failures = FailedSignIns(database, clock)
        self._trial_seconds = trial_seconds
        self._anybody_may_sign_up = anybody_may_sign_up
        self._uses = uses
        self._confirmations = confirmations
        self._notices = notices or no_notices(clock)
        self._codes = codes or CodeCheck(SecretCipher(), self._notices)
        self._queue = FairQueue(MAX_CONCURRENT, MAX_WAITING, TOO_MANY_SIGN_INS)
        """Networks of sign-ins are served in a fair order; sign-ins of one network proceed in order of arrival."""
        self._writing = asyncio.Semaphore(1 if database.kind == "sqlite" else MAX_CONCURRENT)
        """Of waiting transactions, SQLite lets one begin after a pause, not in order."""

    async def trial(
        self,
        name: str,
        email: str,
        password: str,
        client: Client = UNKNOWN_CLIENT,
        code: str = "",
    ) -> NewSession:
        """Open an account with its first key, or sign in where a user has this address and password.

        A link that proves the address is mailed, also where the address was used before and is not proven.

        Raises `InvalidInput` for a bad address, a short password, and a known address with another password. Where
        sign-up is closed, raises `SignupClosed` for an unknown address and for a wrong password alike, after the same
        time: a stranger does not learn who has an account. `code` is as in `login`.
        """
        address = email_address(email)
        async with self._queue.slot(client.network):
            opened = await self._open_or_sign_in(name, address, password, client, code)
        return _session_of(opened)

    async def sign_up(
        self, name: str, email: str, password: str, client: Client = UNKNOWN_CLIENT, *, zone: str = ""
    ) -> NewSession | NewStep:
        """`trial` for a page, which makes no key and asks for the second factor afterwards. `zone` is the time zone of
        the browser.
        """
        address = email_address(email)
        async with self._queue.slot(client.network):
            return await self._open_or_sign_in(name, address, password, client, None, zone=zone)

    async def _open_or_sign_in(
        self, name: str, address: str, password: str, client: Client, code: str | None, *, zone: str = ""
    ) -> NewSession | NewStep:
        user = await self._reads.user_by_email(address)
        if user is None and self._anybody_may_sign_up:
            password_hash = await self._passwords.hashed(await self._passwords.allowed(password, address))
            try:
                return await self._open(
                    company_name(name, address),
                    address,
                    password_hash,
                    client,
                    is_of_browser=code is None,
                    zone=zone,
                )
            except IntegrityError:  # another request opened an account with this address meanwhile
                user = await self._reads.user_by_email(address)
        if user is not None and self._confirmations is not None and self._anybody_may_sign_up:
            await self._confirmations.send_again(user)  # a stranger may have used the address before its owner came
        try:
            return await self._sign_in(user, password, client, code)
        except WrongPassword:
            raise (InvalidInput(ACCOUNT_EXISTS) if self._anybody_may_sign_up else SignupClosed(SIGNUP_CLOSED)) from None

    async def login(self, email: str, password: str, client: Client = UNKNOWN_CLIENT, code: str = "") -> NewSession:
        """Open a session. Raises `WrongPassword`, in the same words and time whatever was wrong, or `Overloaded`.

        A user with a second factor gives a `code` of it, or a recovery code. Raises `SecondFactorNeeded` without one,
        `WrongCode`, and `RateLimited` after too many wrong ones; all of these only where the password is right.
        """
        return _session_of(await self._login(email, password, client, code))

    async def begin(self, email: str, password: str, client: Client = UNKNOWN_CLIENT) -> NewSession | NewStep:
        """`login` for a page, which asks for the second factor afterwards: a step for a user who has one."""
        return await self._login(email, password, client, None)

    async def _login(self, email: str, password: str, client: Client, code: str | None) -> NewSession | NewStep:
        async with self._queue.slot(client.network):
            try:
                user = await self._reads.user_by_email(email_address(email))
            except InvalidInput:
                user = None
            return await self._sign_in(user, password, client, code)

    async def is_known_client(self, email: str, client: Client) -> bool:
        """Whether the user with this address signed in from this client within the last 90 days."""
        since = self._now() - known_clients.KNOWN_SECONDS
        return await self._reads.is_known_client(email, client.address, since)

    async def trust_client(self, email: str, client: Client) -> None:
        """Note that the user with this address set a password by a mailed link from this client."""
        user = await self._reads.user_by_email(email)
        if user is None:
            return
        async with self._database.transaction() as connection:
            if await repository.lock_account(connection, user.account_id) is not None:
                await known_clients.remember(connection, user.id, client, self._now(), has_signed_in=False)

    async def logout(self, credential: Credential | None) -> None:
        """End the session, if it is one."""
        if credential is not None and credential.kind == "session":
            async with self._database.transaction() as connection:
                await repository.end_session(connection, credential.digest)

    async def caller(self, credential: Credential | None) -> Caller:
        """The caller of a request. Raises `Unauthenticated`."""
        if credential is None:
            raise Unauthenticated(credentials.NO_CREDENTIAL)
        holder = await self._reads.holder(credential, self._now())
        if holder is None:
            raise Unauthenticated(credentials.UNKNOWN_CREDENTIAL)
        if self._uses is not None:
            self._uses.note(credential)
        session = credential.digest if credential.kind == "session" else None
        account = account_of(holder.account, self._plans)
        return Caller(
            account,
            holder.role,
            holder.name,
            holder.user_id,
            session,
            key_id=holder.key_id,
            scope=holder.scope,
            key_expires_at=holder.key_expires_at,
            time_zone=holder.time_zone,
            proved_at=holder.proved_at,
        )

    async def _open(
        self, name: str, email: str, password_hash: str, client: Client, *, is_of_browser: bool, zone: str
    ) -> NewSession:
        now, key = self._now(), None if is_of_browser else credentials.new_key()
        async with self._database.transaction() as connection:
            stored, user_id = await repository.open_trial(
                connection,
                email=email,
                name=name,
                password_hash=password_hash,
                time_zone=zone_of_browser(zone),
                expires_at=now + self._trial_seconds,
                now=now,
            )
            if key is not None:
                await repository.add_key(connection, stored.id, FIRST_KEY, key, now)
            await known_clients.remember(connection, user_id, client, now, has_signed_in=True)
            session = await open_session(connection, user_id, now, is_of_browser=is_of_browser)
            profile = await profile_of(connection, account_of(stored, self._plans), Role.OWNER)
            mail = None
            if self._confirmations is not None:
                mail = await self._confirmations.prepare(connection, stored.id, email)
        if self._confirmations is not None:
            self._confirmations.send(mail)
        return NewSession(profile, False, session, key)

    async def _sign_in(
        self, user: StoredUser | None, password: str, client: Client, code: str | None
    ) -> NewSession | NewStep:
        """Sign in. Without a code (None) the session is a browser's, and a user with a second factor gets a step."""
        right = await self._passwords.is_right(password, user.password_hash if user else None)
        if user is None or user.password_hash is None or not right:
            self.failures.note(user, client)
            raise WrongPassword(WRONG_LOGIN)
        rehashed = await self._passwords.hashed(password) if self._passwords.is_outdated(user.password_hash) else None
        now = self._now()
        is_noted = await self._reads.has_signed_in(user.email, client.address, now - NOTED_AGAIN_SECONDS)
        session, mails = "", tuple[Mail, ...]()
        async with self._writing, self._database.transaction() as connection:
            stored = await repository.lock_account(connection, user.account_id)
            present = await repository.user(connection, user.account_id, user.id)
            if stored is None or present is None or present.password_hash != user.password_hash:
                raise WrongPassword(WRONG_LOGIN)  # the password was changed or the user removed during the comparison
            if rehashed is not None:
                await repository.set_password(connection, user.account_id, user.id, rehashed)
            judgement = await self._codes.judge(connection, present, code or "", client, now)
            if code is None and judgement.verdict is Verdict.NEEDED:
                return await sign_in_steps.begin(connection, user.id, now)
            if judgement.verdict in (Verdict.NOT_NEEDED, Verdict.RIGHT):
                if not is_noted:
                    mails = (*await new_places.prepare_notice(connection, self._notices, present, client, now),)
                await self._note_sign_in(connection, user, client, now, is_noted=is_noted)
                is_proof = unproven_passwords.proves(present, now)
                session = await open_session(connection, user.id, now, is_of_browser=code is None, is_proof=is_proof)
        self._notices.send([*judgement.mails, *mails])
        self._require_code(judgement, user, client)
        account = account_of(stored, self._plans)
        users, keys = await self._reads.users(account.id), await self._reads.keys(account.id)
        return NewSession(Profile(account, present.role, users, keys), True, session)

    async def _note_sign_in(
        self, connection: AsyncConnection, user: StoredUser, client: Client, now: int, *, is_noted: bool
    ) -> None:
        await repository.note(connection, user.account_id, now, user.email, Action.SIGNED_IN, client.address)
        if not is_noted:
            await known_clients.remember(connection, user.id, client, now, has_signed_in=True)

    def _require_code(self, judgement: Judgement, user: StoredUser, client: Client) -> None:
        if judgement.verdict is Verdict.NEEDED:
            raise SecondFactorNeeded(CODE_NEEDED)
        if judgement.verdict is Verdict.WRONG:
            self.failures.note(user, client, "wrong code")
            raise WrongCode(WRONG_CODE)

    def _now(self) -> int:
        return int(self._clock.now())


def _session_of(opened: NewSession | NewStep) -> NewSession:
    """Only a sign-in without code gets a step."""
    assert isinstance(opened, NewSession)
    return opened
