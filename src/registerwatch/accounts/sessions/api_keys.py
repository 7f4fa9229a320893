"""API keys of an account: creating and revoking them."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.models import Caller, NewKey, Profile, Scope
from registerwatch.accounts.notices import AccountNotices, NoticeKind, no_notices
from registerwatch.accounts.plans import Plans, keep_cap
from registerwatch.accounts.queries import locked_account, profile_of
from registerwatch.accounts.sessions import credentials
from registerwatch.accounts.validation import label
from registerwatch.errors import InvalidInput
from registerwatch.mail.mailer import Mail
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database

MAX_ENDED_KEYS = 100
"""Ended keys that stay listed. Every answer about the account lists its keys, so their number is bounded."""
NO_KEY = "The account has no key with this id."
LATEST_END = 253_402_300_799
"""The last second of the year 9999: a later instant cannot be written in ISO 8601."""
OVER_ALREADY = "`expires_at` is in the past."
TOO_LATE = "`expires_at` is after the year 9999."
OUTLIVES_ITS_MAKER = "This API key has an end, and makes no key that lasts longer. Use another key, or sign in."


class ApiKeyService:
    """Creates and revokes keys. The surface checks whether the caller may."""

    def __init__(self, database: Database, plans: Plans, clock: Clock, notices: AccountNotices | None = None) -> None:
        self._notices = notices or no_notices(clock)
        self._database = database
        self._plans = plans
        self._clock = clock

    async def create(
        self, caller: Caller, wanted_label: str, *, scope: Scope = Scope.MANAGE, expires_at: int | None = None
    ) -> NewKey:
        """Create an API key. A key that an ending key makes ends with it or earlier.

        Raises `CapReached`, and `InvalidInput` for an end that is over or later than the caller's own.
        """
        now = int(self._clock.now())
        if expires_at is not None and expires_at <= now:
            raise InvalidInput(OVER_ALREADY)
        if expires_at is not None and expires_at > LATEST_END:
            raise InvalidInput(TOO_LATE)
        ends = _end(caller, expires_at)
        kept_label, secret = label(wanted_label), credentials.new_key()
        async with self._database.transaction() as connection:
            account = await locked_account(connection, caller, self._plans)
            keys = await repository.keys_of(connection, account.id)
            keep_cap(sum(key.works(now) for key in keys), account.plan.keys, "API keys that are not revoked")
            key_id = await repository.add_key(
                connection, account.id, kept_label, secret, now, scope=scope, expires_at=ends
            )
            ended = [key.id for key in keys if not key.works(now)]
            await repository.remove_keys(connection, account.id, ended[:-MAX_ENDED_KEYS])
            masked = credentials.masked(secret)
            await self._note(connection, caller, Action.KEY_CREATED, masked, kept_label)
            notices = await self._notices.prepare(connection, caller, NoticeKind.KEYS, f"made the API key {masked}")
        self._notices.send(notices)
        return NewKey(key_id, kept_label, scope, ends, secret)

    async def revoke(self, caller: Caller, key_id: int) -> Profile:
        """Revoke a key of the account, at once and for good. Raises `InvalidInput` for an unknown id."""
        async with self._database.transaction() as connection:
            account = await locked_account(connection, caller, self._plans)
            keys = await repository.keys_of(connection, account.id)
            key = next((each for each in keys if each.id == key_id), None)
            if key is None:
                raise InvalidInput(NO_KEY)
            notices: Sequence[Mail] = ()
            if not key.revoked:
                await repository.revoke_key(connection, account.id, key_id, int(self._clock.now()))
                await self._note(connection, caller, Action.KEY_REVOKED, key.prefix, key.label)
                notices = await self._notices.prepare(
                    connection, caller, NoticeKind.KEYS, f"revoked the API key {key.prefix}"
                )
            profile = await profile_of(connection, account, caller.role)
        self._notices.send(notices)
        return profile

    async def _note(
        self, connection: AsyncConnection, caller: Caller, action: Action, prefix: str, key_label: str
    ) -> None:
        subject = f"{prefix} ({key_label})" if key_label else prefix
        await repository.note_by(connection, caller, int(self._clock.now()), action, subject)


def _end(caller: Caller, wanted: int | None) -> int | None:
    """The end of a key that the caller makes: a stolen key is of no use to a thief after its own end."""
    own = caller.key_expires_at
    if own is None or (wanted is not None and wanted <= own):
        return wanted
    if wanted is not None:
        raise InvalidInput(OUTLIVES_ITS_MAKER)
    return own
