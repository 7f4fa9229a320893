"""Whether a code lets a user in who has a second factor."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import recovery_codes, repository, second_factor_repository, totp
from registerwatch.accounts.audit import Action
from registerwatch.accounts.notices import AccountNotices, NoticeKind
from registerwatch.accounts.repository import StoredUser
from registerwatch.db.secret_cipher import SecretCipher
from registerwatch.errors import RateLimited
from registerwatch.mail.mailer import Mail

MAX_WRONG_CODES = 20
"""Of one user within a day, by whatever sign-ins: three of a million codes are right at any time."""
TOLD_AT = 5
"""Wrong codes of a day after which the user is told that somebody has their password."""
TOO_MANY_CODES = "Too many wrong codes were given for this user. Use a passkey, or try again in {minutes} minutes."


class Verdict(StrEnum):
    """What a code does."""

    NOT_NEEDED = "not needed"
    """The user has no second factor."""
    NEEDED = "needed"
    """There is no code."""
    RIGHT = "right"
    WRONG = "wrong"


class Judgement(msgspec.Struct, frozen=True):
    """A verdict with the mails that tell of it, for `AccountNotices.send` after the transaction."""

    verdict: Verdict
    mails: Sequence[Mail] = ()


class CodeCheck:
    """Compares codes within the transaction of a sign-in, which has locked the account. So no code is used twice."""

    def __init__(self, cipher: SecretCipher, notices: AccountNotices) -> None:
        self._cipher = cipher
        self._notices = notices

    async def judge(self, connection: AsyncConnection, user: StoredUser, code: str, now: int) -> Judgement:
        """Use a code of a user whose password was right. Raises `RateLimited` after too many wrong ones."""
        factors = await second_factor_repository.factors_of(connection, user.account_id, user.id)
        typed = recovery_codes.typed_code(code)
        if not factors.is_on or not typed:
            return Judgement(Verdict.NEEDED if factors.is_on else Verdict.NOT_NEEDED)
        wrong, until = await second_factor_repository.wrong_codes_of(connection, user.id, now)
        if wrong >= MAX_WRONG_CODES:
            raise _too_many(until - now)
        if await self._is_of_app(connection, user.id, typed, now):
            return Judgement(Verdict.RIGHT)
        digest = recovery_codes.digest_of_code(user.id, typed)
        if await second_factor_repository.use_recovery_code(connection, user.id, digest):
            return Judgement(Verdict.RIGHT, await self._tell_of_recovery(connection, user, now))
        await second_factor_repository.count_wrong_code(connection, user.id, now)
        mails = await self._tell_of_guesses(connection, user) if wrong + 1 == TOLD_AT else ()
        return Judgement(Verdict.WRONG, mails)

    async def _is_of_app(self, connection: AsyncConnection, user_id: int, code: str, now: int) -> bool:
        stored = await second_factor_repository.totp(connection, user_id)
        if stored is None or stored.confirmed_at is None:
            return False
        secret = self._cipher.opened(stored.secret, owner_of_secret(user_id))
        step = totp.step_of(secret, code, now, after=stored.last_step)
        if step is not None:
            await second_factor_repository.use_step(connection, user_id, step)
        return step is not None

    async def _tell_of_recovery(self, connection: AsyncConnection, user: StoredUser, now: int) -> Sequence[Mail]:
        left = (await second_factor_repository.factors_of(connection, user.account_id, user.id)).recovery_codes
        await repository.note(
            connection,
            user.account_id,
            now=now,
            actor=user.email,
            action=Action.RECOVERY_CODE_USED,
            subject=f"{left} left",
        )
        sentence = f"{user.email} signed in with a recovery code; {left} are left"
        return await self._notify(connection, user, sentence)

    async def _tell_of_guesses(self, connection: AsyncConnection, user: StoredUser) -> Sequence[Mail]:
        sentence = (
            f"somebody who has the password of {user.email} gave {TOLD_AT} wrong codes."
            " If it was somebody else, change the password"
        )
        return await self._notify(connection, user, sentence)

    async def _notify(self, connection: AsyncConnection, user: StoredUser, sentence: str) -> Sequence[Mail]:
        return await self._notices.prepare_for(
            connection, user.account_id, NoticeKind.SECOND_FACTORS, sentence, about=user.email
        )


def owner_of_secret(user_id: int) -> str:
    """What the secret of an authenticator app belongs to, for the cipher."""
    return f"authenticator app of user {user_id}"


def _too_many(seconds: int) -> RateLimited:
    minutes = -(-seconds // 60)
    return RateLimited(
        TOO_MANY_CODES.format(minutes=minutes),
        retry_after=max(1, seconds),
        limit=MAX_WRONG_CODES,
        window=second_factor_repository.WRONG_CODES_SECONDS,
    )
