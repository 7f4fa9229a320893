"""Setting passwords: by a caller who is signed in, or by a link that is mailed."""

import asyncio

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import credentials, repository
from registerwatch.accounts.audit import Action
from registerwatch.accounts.models import Caller, Profile
from registerwatch.accounts.passwords import Passwords, acceptable
from registerwatch.accounts.plans import Plans
from registerwatch.accounts.queries import account_of, profile_of
from registerwatch.accounts.repository import StoredUser, TokenHolder
from registerwatch.accounts.validation import email_address
from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.errors import InvalidInput, LinkNotValid, NoSuchAccount, RegisterwatchError, Unauthenticated
from registerwatch.mail.mailer import Mailer
from registerwatch.mail.texts import password_reset

TOKEN_SECONDS = 3600
LINKS_PER_HOUR = 3
"""Mails to one person, from however many client addresses they are requested."""
MAX_TOKEN_LENGTH = 200
MAX_SENDING = 100
CLOSING_SECONDS = 2.0

BAD_TOKEN = "This link is not valid: it was used already, is older than an hour, or was cut off. Ask for a new one."  # noqa: S105

log = structlog.get_logger(__name__)


class PasswordResetService:
    """Changes passwords. A new password ends the other sessions and the reset links of its user."""

    def __init__(
        self,
        database: Database,
        passwords: Passwords,
        plans: Plans,
        clock: Clock,
        mailer: Mailer,
        *,
        public_url: str,
    ) -> None:
        self._database = database
        self._passwords = passwords
        self._plans = plans
        self._clock = clock
        self._mailer = mailer
        self._public_url = public_url
        self._sending: set[asyncio.Task[None]] = set()

    @property
    def can_mail_links(self) -> bool:
        """Whether a mail server is set."""
        return self._mailer.is_set_up

    async def change(self, caller: Caller, password: str) -> Profile:
        """Set the caller's password; that of the first owner when the caller is an API key.

        Their other sessions end. A password that a key set deletes no account for a day, and neither does one that a
        session sets meanwhile: whoever has the key can open such a session. Raises `InvalidInput` for a short one.
        """
        password_hash = await self._passwords.hashed(acceptable(password))
        async with self._database.transaction() as connection:
            stored = await repository.locked(connection, caller)
            user_id = caller.user_id or await _first_owner(connection, caller.account.id)
            user = await repository.user(connection, caller.account.id, user_id)
            if user is None:
                raise Unauthenticated(credentials.UNKNOWN_CREDENTIAL)  # removed meanwhile
            if caller.key_id is not None:
                await repository.note_password_setter(connection, stored.id, user.id, key_set_at=self._now())
            await repository.set_password(connection, stored.id, user.id, password_hash)
            await repository.end_other_sessions(connection, user.id, caller.session)
            await repository.note(
                connection,
                stored.id,
                now=self._now(),
                actor=caller.name,
                action=Action.PASSWORD_CHANGED,
                subject=user.email,
            )
            return await profile_of(connection, account_of(stored, self._plans), caller.role)

    def send_link(self, email: str) -> None:
        """Mail a link to the user with this address. Raises `InvalidInput` for what is not an address.

        The mail is sent after the request was answered, so that neither the answer nor its time tells whether there is
        such a user. Errors are logged.
        """
        address = email_address(email)
        if len(self._sending) >= MAX_SENDING:
            log.error("no reset link was mailed: too many are being sent already")
            return
        task = asyncio.create_task(self._send_link(address), name="mail a reset link")
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def link(self, email: str) -> str:
        """A link that lets a user set a new password, once, within an hour.

        Raises `NoSuchAccount`, or `InvalidInput` when three were made in the last hour.
        """
        now = self._now()
        async with self._database.transaction() as connection:
            user = await _locked_user(connection, email_address(email))
            if user is None:
                raise NoSuchAccount(f"Nobody has the e-mail address {email}.")
            if await repository.tokens_since(connection, user.id, now - TOKEN_SECONDS) >= LINKS_PER_HOUR:
                raise InvalidInput(f"{LINKS_PER_HOUR} links were made for this user within an hour; use one of them.")
            return await new_link(connection, user.id, self._public_url, now)

    async def reset(self, token: str, password: str) -> None:
        """Set a password by a link's token. The user's sessions and links end. Raises `InvalidInput`."""
        digest = credentials.digest_of(token[:MAX_TOKEN_LENGTH])
        async with self._database.reading() as connection:
            await self._holder(connection, digest)  # before hashing: a guessed token must cost little
        password_hash = await self._passwords.hashed(acceptable(password))
        async with self._database.transaction() as connection:
            holder = await self._holder(connection, digest)
            await repository.lock_account(connection, holder.account_id)
            await self._holder(connection, digest)  # another request may have used the token meanwhile
            await repository.set_password(connection, holder.account_id, holder.user_id, password_hash)
            await repository.note_password_setter(connection, holder.account_id, holder.user_id, key_set_at=None)
            await repository.end_other_sessions(connection, holder.user_id, None)
            await repository.note(
                connection, holder.account_id, now=self._now(), actor=holder.email, action=Action.PASSWORD_RESET
            )

    async def settled(self) -> None:
        """Wait until every mail that was asked for has gone out or failed."""
        await asyncio.gather(*self._sending)

    async def close(self) -> None:
        """Let mails that are being sent finish within two seconds, and cancel the others."""
        tasks = set(self._sending)
        if tasks:
            _, tasks = await asyncio.wait(tasks, timeout=CLOSING_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _send_link(self, email: str) -> None:
        try:
            link = await self.link(email)
            await self._mailer.send(password_reset(email, link, self._public_url, TOKEN_SECONDS // 60))
        except NoSuchAccount:
            return
        except InvalidInput as refused:  # anybody can cause this, so it is not logged as an error
            log.info("no reset link was made", reason=str(refused))
        except RegisterwatchError as error:
            log.error("no reset link was mailed", reason=str(error))

    async def _holder(self, connection: AsyncConnection, digest: str) -> TokenHolder:
        holder = await repository.token_holder(connection, digest, self._now())
        if holder is None:
            raise LinkNotValid(BAD_TOKEN)
        return holder

    def _now(self) -> int:
        return int(self._clock.now())


async def new_link(connection: AsyncConnection, user_id: int, public_url: str, now: int) -> str:
    """A link that lets a user set a new password, once, within an hour. Its token is stored as a digest."""
    token = credentials.new_token()
    digest = credentials.digest_of(token)
    await repository.add_token(connection, user_id, digest, now=now, expires_at=now + TOKEN_SECONDS)
    return f"{public_url}/password/reset?token={token}"


async def _locked_user(connection: AsyncConnection, email: str) -> StoredUser | None:
    """The user with this address; their account is locked until the end of the transaction."""
    found = await repository.user_by_email(connection, email)
    if found is None:
        return None
    await repository.lock_account(connection, found.account_id)
    return await repository.user(connection, found.account_id, found.id)  # they may have been removed meanwhile


async def _first_owner(connection: AsyncConnection, account_id: int) -> int:
    owners = await repository.owners(connection, account_id)
    if not owners:
        raise Unauthenticated(credentials.UNKNOWN_CREDENTIAL)  # the account was deleted meanwhile
    return owners[0].id
