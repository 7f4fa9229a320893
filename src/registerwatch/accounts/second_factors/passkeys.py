"""Passkeys: adding, naming and removing them, and signing in by one alone."""

import asyncio
import ipaddress
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository, validation
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.models import Caller, NewSession
from registerwatch.accounts.notices import AccountNotices, NoticeKind
from registerwatch.accounts.plans import Plans
from registerwatch.accounts.repository import StoredUser
from registerwatch.accounts.second_factors import passkey_repository
from registerwatch.accounts.second_factors.passkey_repository import Passkey, StoredPasskey
from registerwatch.accounts.second_factors.second_factors import (
    first_recovery_codes,
    forget_codes_without_factor,
    note_change,
    user_of,
)
from registerwatch.accounts.sessions import new_places, sign_in_steps
from registerwatch.accounts.sessions.clients import UNKNOWN_CLIENT, Client
from registerwatch.accounts.sessions.failed_sign_ins import FailedSignIns
from registerwatch.accounts.sessions.sign_in import sign_in
from registerwatch.errors import InvalidInput, WrongCode
from registerwatch.mail.mailer import Mail
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database

if TYPE_CHECKING:
    from registerwatch.accounts.second_factors.passkey_ceremony import Assertion, PasskeyCeremony

MAX_PASSKEYS = 20
"""Limit per user."""
DEFAULT_LABEL = "Passkey"
_CEREMONY = "registerwatch.accounts.second_factors.passkey_ceremony"
"""A module whose library takes 0.1 s to load and is rarely needed: loaded in a thread, so that others do not wait."""

IMPOSSIBLE = "Browsers have no passkeys for this address: they need https and a name."
TOO_MANY = f"You have {MAX_PASSKEYS} passkeys. Remove one that you do not use."
KNOWN_ALREADY = "This passkey is here already."
TOO_LATE = "This took longer than five minutes. Try again."
UNKNOWN = "This passkey is not known here, or was removed. Sign in another way."
COPIED = (
    "This passkey has signed more often than it says, so it may have been copied, and does not sign in."
    " Sign in another way, and remove it in the settings."
)


class PasskeyCopied(WrongCode):
    """The passkey is right, and there may be a copy of it."""


class PasskeyService:
    """Operations of users on passkeys."""

    def __init__(
        self,
        database: Database,
        plans: Plans,
        clock: Clock,
        failures: FailedSignIns,
        notices: AccountNotices,
        *,
        public_url: str,
    ) -> None:
        self._database = database
        self._plans = plans
        self._clock = clock
        self._failures = failures
        self._notices = notices
        self._public_url = public_url
        self.is_possible = has_passkeys(public_url)
        """Whether browsers have passkeys for this address."""

    async def all(self, caller: Caller) -> Sequence[Passkey]:
        """The caller's passkeys, the oldest first."""
        async with self._database.reading() as connection:
            return await passkey_repository.of_user(connection, user_of(caller))

    async def registration_options(self, caller: Caller) -> str:
        """JSON for a browser to make a passkey, valid for five minutes. Raises `InvalidInput`."""
        if not self.is_possible:
            raise InvalidInput(IMPOSSIBLE)
        user_id, ceremony = user_of(caller), await self._ceremony()
        async with self._database.transaction() as connection:
            await repository.locked(connection, caller)
            known = await passkey_repository.credential_ids_of(connection, user_id)
            if len(known) >= MAX_PASSKEYS:
                raise InvalidInput(TOO_MANY)
            options, challenge = ceremony.registration_options(user_id, caller.name, known)
            await passkey_repository.add_challenge(connection, challenge, user_id, self._now())
        return options

    async def add(self, caller: Caller, label: str, answer: str) -> Sequence[str]:
        """Store the passkey that the browser made; returns recovery codes that were made with it, where there were
        none.

        Raises `WrongCode` for an answer that is not right, `InvalidInput` for one that is late or known.
        """
        new, challenge = (await self._ceremony()).registered(answer)
        user_id, now, name = user_of(caller), self._now(), validation.label(label) or DEFAULT_LABEL
        try:
            async with self._database.transaction() as connection:
                await repository.locked(connection, caller)
                if not await passkey_repository.take_challenge(connection, challenge, user_id, now):
                    raise InvalidInput(TOO_LATE)
                if len(await passkey_repository.credential_ids_of(connection, user_id)) >= MAX_PASSKEYS:
                    raise InvalidInput(TOO_MANY)
                await passkey_repository.add(connection, user_id, new, name, now)
                codes = await first_recovery_codes(connection, caller, now)
                mails = await self._note(connection, caller, Action.SECOND_FACTOR_ADDED, name)
        except IntegrityError:
            raise InvalidInput(KNOWN_ALREADY) from None
        self._notices.send(mails)
        return codes

    async def rename(self, caller: Caller, passkey_id: int, label: str) -> None:
        """Give one of the caller's passkeys another name."""
        async with self._database.transaction() as connection:
            name = validation.label(label) or DEFAULT_LABEL
            await passkey_repository.rename(connection, user_of(caller), passkey_id, name)

    async def remove(self, caller: Caller, passkey_id: int) -> None:
        """Remove one of the caller's passkeys, if it is there. The recovery codes go with the last factor."""
        async with self._database.transaction() as connection:
            await repository.locked(connection, caller)
            label = await passkey_repository.remove(connection, user_of(caller), passkey_id)
            if label is None:
                return
            await forget_codes_without_factor(connection, caller, self._now())
            mails = await self._note(connection, caller, Action.SECOND_FACTOR_REMOVED, label)
        self._notices.send(mails)

    async def sign_in_options(self, step_token: str = "") -> str:
        """JSON for a browser to sign in, valid for five minutes.

        Within a step after the password, the user's own passkeys are named. Raises `InvalidInput`.
        """
        if not self.is_possible:
            raise InvalidInput(IMPOSSIBLE)
        ceremony = await self._ceremony()
        async with self._database.transaction() as connection:
            now = self._now()
            step = await sign_in_steps.find(connection, step_token, now) if step_token else None
            known = await passkey_repository.credential_ids_of(connection, step.user_id) if step is not None else ()
            options, challenge = ceremony.sign_in_options(known)
            await passkey_repository.add_challenge(connection, challenge, None, now)
        return options

    async def sign_in(self, answer: str, client: Client = UNKNOWN_CLIENT) -> NewSession:
        """Open a session by a passkey, which verified its user: neither password nor code is needed.

        Raises `WrongCode`. One whose count of signatures went back may be a copy: it is refused, and its user is
        mailed.
        """
        ceremony = await self._ceremony()
        try:
            return await self._sign_in(ceremony, ceremony.assertion(answer), client)
        except PasskeyCopied:
            raise  # it is noted with its user
        except WrongCode:
            self._failures.note(None, client)  # its user is not proven
            raise

    async def _sign_in(self, ceremony: "PasskeyCeremony", assertion: "Assertion", client: Client) -> NewSession:
        opened: NewSession | None = None
        mails: Sequence[Mail] = ()
        user: StoredUser | None = None
        async with self._database.transaction() as connection:
            now = self._now()
            passkey = await passkey_repository.by_credential_id(connection, assertion.credential_id)
            account = None if passkey is None else await repository.lock_account(connection, passkey.account_id)
            passkey = await passkey_repository.by_credential_id(connection, assertion.credential_id)
            if passkey is not None:  # read again: it may have been removed, or used, meanwhile
                user = await repository.user(connection, passkey.account_id, passkey.user_id)
            if passkey is None or account is None or user is None:
                raise WrongCode(UNKNOWN)
            count = ceremony.new_sign_count(assertion, passkey.public_key, user.id)
            if not await passkey_repository.take_challenge(connection, assertion.challenge, None, now):
                raise WrongCode(TOO_LATE)
            if _went_back(passkey, count):
                mails = await self._mails_about_copy(connection, user, passkey, now)
            else:
                await passkey_repository.note_use(connection, passkey, count, now)
                mails = await new_places.prepare_notice(connection, self._notices, user, client, now, how="by passkey")
                opened = await sign_in(connection, account, user, client, now, how="by passkey", plans=self._plans)
        self._notices.send(mails)
        if opened is None:
            self._failures.note(user, client, "passkey perhaps copied")
            raise PasskeyCopied(COPIED)
        return opened

    async def _ceremony(self) -> "PasskeyCeremony":
        await asyncio.to_thread(import_module, _CEREMONY)
        from registerwatch.accounts.second_factors.passkey_ceremony import PasskeyCeremony

        return PasskeyCeremony(self._public_url)

    async def _note(self, connection: AsyncConnection, caller: Caller, action: Action, label: str) -> Sequence[Mail]:
        return await note_change(connection, self._notices, caller, action, f"passkey “{label}”", self._now())

    async def _mails_about_copy(
        self, connection: AsyncConnection, user: StoredUser, passkey: StoredPasskey, now: int
    ) -> Sequence[Mail]:
        subject = f"passkey “{passkey.label}”"
        await repository.note(connection, user.account_id, now, user.email, Action.PASSKEY_COPIED, subject)
        sentence = f"the {subject} of {user.email} may have been copied, and was refused"
        return await self._notices.prepare_for(
            connection, user.account_id, NoticeKind.SECOND_FACTORS, sentence, about=user.email
        )

    def _now(self) -> int:
        return int(self._clock.now())


def _went_back(passkey: StoredPasskey, count: int) -> bool:
    """Whether a count of signatures did not grow. Authenticators that do not count always send 0."""
    return (count > 0 or passkey.sign_count > 0) and count <= passkey.sign_count


def has_passkeys(public_url: str) -> bool:
    """Whether browsers have passkeys for an address: over https and by a name, or on the own machine."""
    parts = urlsplit(public_url)
    host = parts.hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return parts.scheme == "https" or host == "localhost"
    return False
