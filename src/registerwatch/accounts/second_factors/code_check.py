"""Checks the codes of users who have a second factor."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.notices import AccountNotices, NoticeKind
from registerwatch.accounts.repository import StoredUser
from registerwatch.accounts.second_factors import guessed_codes, recovery_codes, second_factor_repository, totp
from registerwatch.accounts.second_factors.guessed_codes import ELSEWHERE, Counter
from registerwatch.accounts.sessions.clients import Client
from registerwatch.accounts.tables import owner_of_app_secret
from registerwatch.errors import RateLimited
from registerwatch.mail.mailer import Mail
from registerwatch.platform.clock import utc_in_words
from registerwatch.platform.secret_cipher import SecretCipher

MAILED_AT = 5
"""Wrong codes of a day after which the user is mailed that somebody has their password."""
TOO_MANY_CODES = (
    "Too many wrong codes were given for this user from here. A recovery code or a passkey signs in all the same, codes"
    " are taken again after a new password was set by a mailed link, or in {minutes} minutes."
)


class Verdict(StrEnum):
    """The result of a code."""

    NOT_NEEDED = "not needed"
    """The user has no second factor."""
    NEEDED = "needed"
    """A code is missing."""
    RIGHT = "right"
    WRONG = "wrong"


class Judgement(msgspec.Struct, frozen=True):
    """A verdict with the mails about it, for `AccountNotices.send` after the transaction."""

    verdict: Verdict
    mails: Sequence[Mail] = ()


class CodeCheck:
    """Compares codes within a transaction that has locked the account. So no code is used twice."""

    def __init__(self, cipher: SecretCipher, notices: AccountNotices) -> None:
        self._cipher = cipher
        self._notices = notices

    async def judge(
        self, connection: AsyncConnection, user: StoredUser, code: str, client: Client, now: int
    ) -> Judgement:
        """Use a code of a user whose password was right. Raises `RateLimited` after too many wrong ones from there.

        Recovery codes come first: they cannot be guessed, so guesses do not keep their owner from using one.
        """
        factors = await second_factor_repository.factors_of(connection, user.account_id, user.id)
        typed = recovery_codes.typed_code(code)
        if not factors.is_on or not typed:
            return Judgement(Verdict.NEEDED if factors.is_on else Verdict.NOT_NEEDED)
        digest = recovery_codes.digest_of_code(user.id, typed)
        if await second_factor_repository.use_recovery_code(connection, user.id, digest):
            return Judgement(Verdict.RIGHT, await self._mails_about_recovery(connection, user, now))
        counters = await guessed_codes.counters(connection, user.id, client, now)
        for counter in counters:
            if counter.is_full:
                raise _too_many(counter, now)
        if await self._is_of_app(connection, user.id, typed, now):
            return Judgement(Verdict.RIGHT)
        await guessed_codes.count(connection, user.id, [each.network for each in counters], now)
        return Judgement(Verdict.WRONG, await self._mails_about_guesses(connection, user, counters))

    async def _is_of_app(self, connection: AsyncConnection, user_id: int, code: str, now: int) -> bool:
        stored = await second_factor_repository.totp(connection, user_id)
        if stored is None or stored.confirmed_at is None:
            return False
        secret = self._cipher.opened(stored.secret, owner_of_app_secret(user_id))
        step = totp.step_of(secret, code, now, after=stored.last_step)
        if step is not None:
            await second_factor_repository.use_step(connection, user_id, step)
        return step is not None

    async def _mails_about_recovery(self, connection: AsyncConnection, user: StoredUser, now: int) -> Sequence[Mail]:
        left = (await second_factor_repository.factors_of(connection, user.account_id, user.id)).recovery_codes
        await repository.note(connection, user.account_id, now, user.email, Action.RECOVERY_CODE_USED, f"{left} left")
        sentence = f"{user.email} used a recovery code; {left} are left"
        return await self._notify(connection, user, sentence)

    async def _mails_about_guesses(
        self, connection: AsyncConnection, user: StoredUser, counters: Sequence[Counter]
    ) -> Sequence[Mail]:
        """The mails about a wrong code that is the fifth, or the last that a counter allows."""
        who = f"somebody who has the password of {user.email} gave"
        full = next((each for each in counters if each.codes + 1 == each.most), None)
        if full is not None:
            where = f"places where {user.email} never signed in" if full.network == ELSEWHERE else full.network
            sentence = (
                f"{who} {full.most} wrong codes from {where}, and codes are not taken from there until"
                f" {utc_in_words(full.until)}. Recovery codes and passkeys go on, and codes are taken again after a new"
                " password was set by a mailed link. If it was somebody else, do that"
            )
        elif counters[-1].codes + 1 == MAILED_AT:
            sentence = f"{who} {MAILED_AT} wrong codes. If it was somebody else, change the password"
        else:
            return ()
        return await self._notify(connection, user, sentence)

    async def _notify(self, connection: AsyncConnection, user: StoredUser, sentence: str) -> Sequence[Mail]:
        return await self._notices.prepare_for(
            connection, user.account_id, NoticeKind.SECOND_FACTORS, sentence, about=user.email
        )


def _too_many(counter: Counter, now: int) -> RateLimited:
    seconds = counter.until - now
    return RateLimited(
        TOO_MANY_CODES.format(minutes=-(-seconds // 60)),
        retry_after=max(1, seconds),
        limit=counter.most,
        window=guessed_codes.DAY_SECONDS,
    )
