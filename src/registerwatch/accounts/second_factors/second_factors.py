"""Turns second factors on and off: authenticator apps, recovery codes, and the operator's reset."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.audit.audit import OPERATOR, Action
from registerwatch.accounts.models import Caller
from registerwatch.accounts.notices import AccountNotices, NoticeKind
from registerwatch.accounts.second_factors import recovery_codes, second_factor_repository, totp
from registerwatch.accounts.second_factors.second_factor_repository import SecondFactors
from registerwatch.accounts.tables import owner_of_app_secret
from registerwatch.accounts.validation import email_address
from registerwatch.errors import InvalidInput, NoSuchAccount
from registerwatch.mail.mailer import Mail
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.secret_cipher import SecretCipher

APP = "authenticator app"

NOT_A_PERSON = "Only a user who is signed in has second factors, an API key has none."
APP_IS_ON = "An authenticator app is set up already. Remove it first."
NO_APP = "No authenticator app is being set up: begin again."
NO_APP_CODE = (
    "This is not the code that the app shows now. Check that the phone sets its clock by itself, and type the next one."
)
NOTHING_ON = "Set up an authenticator app or a passkey first: recovery codes stand in for them."
NO_FACTORS = "{email} has no second factor."


@dataclass(frozen=True, slots=True)
class TotpEnrolment:
    """The input of an authenticator app: the address of the QR code, and the secret to type."""

    uri: str = field(repr=False)
    secret: str = field(repr=False)


class SecondFactorService:
    """Operations of users on their own second factors, but for passkeys."""

    def __init__(self, database: Database, clock: Clock, cipher: SecretCipher, notices: AccountNotices) -> None:
        self._database = database
        self._clock = clock
        self._cipher = cipher
        self._notices = notices

    async def of(self, caller: Caller) -> SecondFactors:
        """The caller's factors."""
        async with self._database.reading() as connection:
            return await second_factor_repository.factors_of(connection, caller.account.id, user_of(caller))

    async def begin_totp(self, caller: Caller) -> TotpEnrolment:
        """Store a secret, valid from its first code on. Raises `InvalidInput` where an app is set up."""
        user_id, secret = user_of(caller), totp.new_secret()
        async with self._database.transaction() as connection:
            await repository.locked(connection, caller)
            stored = await second_factor_repository.totp(connection, user_id)
            if stored is not None and stored.confirmed_at is not None:
                raise InvalidInput(APP_IS_ON)
            sealed = self._cipher.sealed(secret, owner_of_app_secret(user_id))
            await second_factor_repository.begin_totp(connection, user_id, sealed, self._now())
        return TotpEnrolment(totp.enrolment_uri(secret, caller.name), secret)

    async def enrolment(self, caller: Caller) -> TotpEnrolment | None:
        """The secret that is to be confirmed; None where there is none."""
        async with self._database.reading() as connection:
            stored = await second_factor_repository.totp(connection, user_of(caller))
        if stored is None or stored.confirmed_at is not None:
            return None
        secret = self._cipher.opened(stored.secret, owner_of_app_secret(user_of(caller)))
        return TotpEnrolment(totp.enrolment_uri(secret, caller.name), secret)

    async def confirm_totp(self, caller: Caller, code: str) -> Sequence[str]:
        """Turn the app on by its first code; returns recovery codes that were made with it, where there were none.

        Raises `InvalidInput` for a wrong code, and where none is being set up.
        """
        user_id, now = user_of(caller), self._now()
        async with self._database.transaction() as connection:
            await repository.locked(connection, caller)
            stored = await second_factor_repository.totp(connection, user_id)
            if stored is None or stored.confirmed_at is not None:
                raise InvalidInput(NO_APP)
            secret = self._cipher.opened(stored.secret, owner_of_app_secret(user_id))
            step = totp.step_of(secret, recovery_codes.typed_code(code), now, after=0)
            if step is None:
                raise InvalidInput(NO_APP_CODE)
            await second_factor_repository.confirm_totp(connection, user_id, step=step, now=now)
            codes = await first_recovery_codes(connection, caller, now)
            mails = await note_change(connection, self._notices, caller, Action.SECOND_FACTOR_ADDED, APP, now)
        self._notices.send(mails)
        return codes

    async def remove_totp(self, caller: Caller) -> None:
        """Turn the app off. The recovery codes go with the last factor."""
        async with self._database.transaction() as connection:
            await repository.locked(connection, caller)
            if not await second_factor_repository.remove_totp(connection, user_of(caller)):
                return
            await forget_codes_without_factor(connection, caller, self._now())
            mails = await note_change(connection, self._notices, caller, Action.SECOND_FACTOR_REMOVED, APP, self._now())
        self._notices.send(mails)

    async def make_recovery_codes(self, caller: Caller) -> Sequence[str]:
        """New recovery codes, which replace the earlier ones. Raises `InvalidInput` without a second factor."""
        now = self._now()
        async with self._database.transaction() as connection:
            await repository.locked(connection, caller)
            factors = await second_factor_repository.factors_of(connection, caller.account.id, user_of(caller))
            if not factors.is_on:
                raise InvalidInput(NOTHING_ON)
            codes = await _new_recovery_codes(connection, user_of(caller), now)
            mails = await note_change(connection, self._notices, caller, Action.RECOVERY_CODES_MADE, "", now)
        self._notices.send(mails)
        return codes

    async def reset(self, email: str) -> None:
        """Remove all second factors of a user; for the operator, who has made sure who asks.

        Raises `NoSuchAccount`, `InvalidInput` where they have none.
        """
        address = email_address(email)
        async with self._database.transaction() as connection:
            user = await repository.user_by_email(connection, address)
            if user is None or await repository.lock_account(connection, user.account_id) is None:
                raise NoSuchAccount(f"Nobody has the e-mail address {email}.")
            if not await second_factor_repository.remove_all(connection, user.id):
                raise InvalidInput(NO_FACTORS.format(email=address))
            await repository.note(
                connection, user.account_id, self._now(), OPERATOR, Action.SECOND_FACTOR_REMOVED, f"all of {address}"
            )
            sentence = f"the operator of this service removed all second factors of {address}"
            mails = await self._notices.prepare_for(
                connection, user.account_id, NoticeKind.SECOND_FACTORS, sentence, about=address
            )
        self._notices.send(mails)

    def _now(self) -> int:
        return int(self._clock.now())


def user_of(caller: Caller) -> int:
    """The calling user. Raises `InvalidInput` for an API key."""
    if caller.user_id is None:
        raise InvalidInput(NOT_A_PERSON)
    return caller.user_id


async def first_recovery_codes(connection: AsyncConnection, caller: Caller, now: int) -> Sequence[str]:
    """Recovery codes for a user who has just turned on a factor; none where they have some."""
    factors = await second_factor_repository.factors_of(connection, caller.account.id, user_of(caller))
    return [] if factors.recovery_codes else await _new_recovery_codes(connection, user_of(caller), now)


async def forget_codes_without_factor(connection: AsyncConnection, caller: Caller, now: int) -> None:
    """Delete the recovery codes of a user who has just turned off their last factor."""
    factors = await second_factor_repository.factors_of(connection, caller.account.id, user_of(caller))
    if factors.totp_since is None and not factors.passkeys:
        await second_factor_repository.replace_recovery_codes(connection, user_of(caller), [], now)


async def note_change(
    connection: AsyncConnection, notices: AccountNotices, caller: Caller, action: Action, subject: str, now: int
) -> Sequence[Mail]:
    """Write a change of the caller's own factors into the audit trail; returns the mails about it."""
    await repository.note_by(connection, caller, now, action, subject)
    what = f": {subject}" if subject else ""
    return await notices.prepare(
        connection,
        caller,
        NoticeKind.SECOND_FACTORS,
        f"changed their second factors ({action}{what})",
        about=caller.name,
    )


async def _new_recovery_codes(connection: AsyncConnection, user_id: int, now: int) -> Sequence[str]:
    codes = recovery_codes.new_codes()
    digests = [recovery_codes.digest_of_code(user_id, code) for code in codes]
    await second_factor_repository.replace_recovery_codes(connection, user_id, digests, now)
    return codes
