"""Sets passwords: for a caller who is signed in, or by a mailed link."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec
import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.limits.mail_limits import MailLimit, take_slot
from registerwatch.accounts.limits.mail_tasks import MailTasks
from registerwatch.accounts.models import Caller, Profile, Role
from registerwatch.accounts.notices import AccountNotices, NoticeKind, no_notices
from registerwatch.accounts.passwords import confirmation_repository
from registerwatch.accounts.passwords.confirmation import (
    end_keys_and_sessions,
    end_own_ways_in,
    forget_factors_of_others,
    take_account_over,
)
from registerwatch.accounts.passwords.confirmation_repository import EarlierAccess, LinkHolder
from registerwatch.accounts.passwords.passwords import Passwords
from registerwatch.accounts.plans import Plans
from registerwatch.accounts.queries import account_of, profile_of
from registerwatch.accounts.repository import StoredUser
from registerwatch.accounts.second_factors import guessed_codes, second_factor_repository
from registerwatch.accounts.sessions import credentials, known_clients
from registerwatch.accounts.sessions.clients import UNKNOWN_CLIENT, Client
from registerwatch.accounts.sessions.earlier_access import ways_in_words
from registerwatch.accounts.validation import email_address
from registerwatch.errors import InvalidInput, LinkNotValid, NoSuchAccount, Unauthenticated
from registerwatch.mail.mailer import Mail, Mailer
from registerwatch.mail.texts import password_reset
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database

TOKEN_SECONDS = 3600
NEW_FACTOR_SECONDS = 24 * 3600
LINKS_PER_HOUR = 3
"""Mails to one person, from any number of client addresses."""
MAX_TOKEN_LENGTH = 200

BAD_TOKEN = "This link is not valid: it was used already, is older than an hour, or was cut off. Ask for a new one."  # noqa: S105

WITHOUT_THE_OLD_ONE = " without the one before it; for 24 hours it is not taken where a password is asked for again"

log = structlog.get_logger(__name__)


class EndedAccess(StrEnum):
    """The earlier access that ends when a password is set by a mailed link."""

    OWN_SESSIONS = "own sessions"
    """The user's sessions, which end with every new password."""
    KEYS_AND_SESSIONS = "keys and sessions"
    """All keys and sessions of an owner's account, the user's passkeys, and the links to them at a provider."""
    ALL = "all"
    """Webhooks, feeds, invitations and other users of an owner's account too; and, where the link is used from a known
    client of the user, their second factors of the last 24 hours: the thief of the password may have made them.
    """


class ResetReport(msgspec.Struct, frozen=True):
    """Access that a new password by a mailed link ended beside the user's sessions, in words, and what is left."""

    ended: str
    left: EarlierAccess


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
        notices: AccountNotices | None = None,
    ) -> None:
        self._database = database
        self._passwords = passwords
        self._plans = plans
        self._clock = clock
        self._mailer = mailer
        self._public_url = public_url
        self._notices = notices or no_notices(clock)
        self.mails = MailTasks("reset link")

    @property
    def can_mail_links(self) -> bool:
        """Whether a mail server is set."""
        return self._mailer.is_set_up

    async def change(self, caller: Caller, password: str, *, is_proved: bool = False) -> Profile:
        """Set the caller's password; that of the first owner when the caller is an API key.

        Their other sessions end. Without `is_proved`, that is without the previous password, the new one is no proof
        for a day (`unproven_passwords.py`), and mailed links stay valid: a thief of a key or a session can set one,
        again and again, and must not end the link by which the owner comes back. Raises `InvalidInput` for a short one,
        and `KeyHasEnd`.
        """
        caller.require_no_end()
        chosen = await self._passwords.allowed(
            password, caller.account.email if caller.user_id is None else caller.name
        )
        password_hash = await self._passwords.hashed(chosen, account_id=caller.account.id)
        async with self._database.transaction() as connection:
            stored = await repository.locked(connection, caller)
            user_id = caller.user_id or await _first_owner(connection, caller.account.id)
            user = await repository.user(connection, caller.account.id, user_id)
            if user is None:
                raise Unauthenticated(credentials.UNKNOWN_CREDENTIAL)  # removed meanwhile
            unproven_at = None if is_proved else self._now()
            await repository.note_password_setter(connection, stored.id, user.id, unproven_at=unproven_at)
            await repository.set_password(connection, stored.id, user.id, password_hash)
            await repository.end_other_sessions(connection, user.id, caller.session, keeps_links=not is_proved)
            await repository.note_by(connection, caller, self._now(), Action.PASSWORD_CHANGED, user.email)
            profile = await profile_of(connection, account_of(stored, self._plans), caller.role)
            sentence = f"{caller.name} set the password of {user.email}"
            if not is_proved:
                sentence += WITHOUT_THE_OLD_ONE
            notices = await self._notices.prepare_for(
                connection, stored.id, NoticeKind.PASSWORD, sentence, about=user.email
            )
        self._notices.send(notices)
        return profile

    def send_link(self, email: str) -> None:
        """Mail a link to the user with this address. Raises `InvalidInput` for what is not an address.

        The mail is sent after the request was answered, so that neither the answer nor its time reveals whether there
        is such a user. Errors are logged.
        """
        address = email_address(email)
        self.mails.start(lambda: self._send_link(address))

    async def link(self, email: str, *, is_mailed: bool = False) -> str:
        """A link that lets a user set a new password, once, within an hour.

        Raises `NoSuchAccount`, or `InvalidInput` when three were made in the last hour. For public requests
        (`is_mailed`) an address that is not proven gets five in a day.
        """
        now = self._now()
        async with self._database.transaction() as connection:
            user = await _locked_user(connection, email_address(email))
            if user is None:
                raise NoSuchAccount(f"Nobody has the e-mail address {email}.")
            if await repository.tokens_since(connection, user.id, now - TOKEN_SECONDS) >= LINKS_PER_HOUR:
                raise InvalidInput(f"{LINKS_PER_HOUR} links were made for this user within an hour; use one of them.")
            if is_mailed and not (user.is_confirmed or await _may_mail(connection, user.email, now)):
                raise InvalidInput(
                    "So many links went to this address, which nobody has confirmed, that none goes today."
                )
            return await new_link(connection, user.id, self._public_url, now)

    async def reset(
        self, token: str, password: str, client: Client = UNKNOWN_CLIENT, *, ends: EndedAccess | None = None
    ) -> ResetReport:
        """Set a password by a link's token, which proves the address. The user's sessions and links end, and they may
        sign in from this client however often their password is guessed elsewhere.

        All other access ends too where the address was not proven: a stranger may have opened the account. `ends`
        overrides that. Second factors of a proven address stay in force, but for those that `EndedAccess.ALL` names,
        and wrong codes count anew. Raises `InvalidInput`.
        """
        digest = credentials.digest_of(token[:MAX_TOKEN_LENGTH])
        async with self._database.reading() as connection:
            found = await self._holder(connection, digest)  # before hashing: a guessed token must cost little
        password_hash = await self._passwords.hashed(await self._passwords.allowed(password, found.email))
        async with self._database.transaction() as connection:
            holder = await self._holder(connection, digest)
            await repository.lock_account(connection, holder.account_id)
            await self._holder(connection, digest)  # another request may have used the token meanwhile
            now, account_id = self._now(), holder.account_id
            if ends is None:
                ends = EndedAccess.OWN_SESSIONS if holder.is_confirmed else EndedAccess.ALL
            is_new_gone = ends is EndedAccess.ALL and await _remove_new_factors(connection, holder, client, now)
            removed = await self._mails_to_removed(connection, holder, ends)
            await _end_access(connection, holder, ends, password_hash, now)
            await repository.set_password(connection, account_id, holder.user_id, password_hash)
            await repository.note_password_setter(connection, account_id, holder.user_id, unproven_at=None)
            await repository.end_other_sessions(connection, holder.user_id, None)
            await confirmation_repository.confirm(connection, account_id, holder.user_id, now)
            await repository.note(connection, account_id, now, holder.email, Action.PASSWORD_RESET)
            await known_clients.remember(connection, holder.user_id, client, now, has_signed_in=False)
            await guessed_codes.clear(connection, holder.user_id, now)
            left = await confirmation_repository.earlier_access(connection, holder, now)
            report = ResetReport(_in_words(ends, holder, left, is_new_gone=is_new_gone), left)
            ended = f", and ended {report.ended}" if report.ended else ""
            sentence = f"{holder.email} set a new password by a mailed link{ended}{ways_in_words(left)}"
            notices = await self._notices.prepare_for(
                connection, account_id, NoticeKind.PASSWORD, sentence, about=holder.email
            )
        self._notices.send([*removed, *notices])
        return report

    async def _mails_to_removed(
        self, connection: AsyncConnection, holder: LinkHolder, ends: EndedAccess
    ) -> Sequence[Mail]:
        """The mails to other owners, whom ending everything removes, before that is done."""
        if ends is not EndedAccess.ALL or holder.role is not Role.OWNER:
            return ()
        sentence = f"{holder.email} set a new password by a mailed link, and removed all other users"
        mails = await self._notices.prepare_for(connection, holder.account_id, NoticeKind.USERS, sentence)
        return [mail for mail in mails if mail.to != holder.email]

    async def _send_link(self, email: str) -> None:
        try:
            link = await self.link(email, is_mailed=True)
        except NoSuchAccount:
            return
        except InvalidInput as refused:  # anybody can cause this, so it is not logged as an error
            log.info("no reset link was made", reason=str(refused))
            return
        await self._mailer.send(password_reset(email, link, self._public_url, TOKEN_SECONDS // 60))

    async def _holder(self, connection: AsyncConnection, digest: str) -> LinkHolder:
        holder = await confirmation_repository.reset_holder(connection, digest, self._now())
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


async def _end_access(
    connection: AsyncConnection, holder: LinkHolder, ends: EndedAccess, password_hash: str, now: int
) -> None:
    if holder.role is Role.MEMBER:
        await forget_factors_of_others(connection, holder)
        if ends is not EndedAccess.OWN_SESSIONS:
            await end_own_ways_in(connection, holder, now)
    elif ends is EndedAccess.ALL:
        await take_account_over(connection, holder, password_hash, now)
    elif ends is EndedAccess.KEYS_AND_SESSIONS:
        await end_keys_and_sessions(connection, holder, now)


def _in_words(ends: EndedAccess, holder: LinkHolder, left: EarlierAccess, *, is_new_gone: bool) -> str:
    """The access that ended beside the user's sessions; empty for none."""
    if ends is EndedAccess.OWN_SESSIONS:
        return ""
    words = "links to a provider" if left.passkeys else "passkeys and links to a provider"
    if holder.role is Role.OWNER and ends is EndedAccess.ALL:
        words = f"all other access to the account{' but passkeys' if left.passkeys else ''}"
    elif holder.role is Role.OWNER:
        words = f"all API keys and sessions of the account, {words}"
    return f"{words}, and the second factors of the last 24 hours" if is_new_gone else words


async def _remove_new_factors(connection: AsyncConnection, holder: LinkHolder, client: Client, now: int) -> bool:
    """Remove the holder's second factors of the last day, if they finished a sign-in from this client before; returns
    whether any were.
    """
    if not await known_clients.has_signed_in(connection, holder.user_id, client, now):
        return False
    if not await second_factor_repository.remove_newer(connection, holder.user_id, now - NEW_FACTOR_SECONDS):
        return False
    action, subject = Action.SECOND_FACTOR_REMOVED, "those of the last 24 hours"
    await repository.note(connection, holder.account_id, now, holder.email, action, subject)
    return True


async def _may_mail(connection: AsyncConnection, email: str, now: int) -> bool:
    return await take_slot(connection, now, MailLimit.RESET_OF_UNCONFIRMED, email)


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
