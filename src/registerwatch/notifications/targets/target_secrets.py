"""Secrets of targets as they are stored: encrypted where there is a key for it."""

from dataclasses import replace

import structlog
from sqlalchemy import or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.errors import ConfigurationError
from registerwatch.notifications.models import Target
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.tables import webhooks
from registerwatch.platform.secret_cipher import PREFIX, SecretCipher, key_id_of, overwrite_freed

ROWS_AT_ONCE = 200

OTHER_KEY = (
    "The database holds webhook secrets that are encrypted under the key {keys}, which REGISTERWATCH_SECRETS_KEY does"
    " not have. Set it to that key, or to a new one with that key behind a comma."
)
IN_CLEAR = "webhook secrets are stored in clear; REGISTERWATCH_SECRETS_KEY has them encrypted"

log = structlog.get_logger(__name__)

_SECRETS = select(webhooks.c.id, webhooks.c.account_id, webhooks.c.secret, webhooks.c.old_secret).order_by(
    webhooks.c.id
)
_COLUMNS = (webhooks.c.secret, webhooks.c.old_secret)


class TargetSecrets:
    """Encrypts and decrypts secrets of targets. Rows are read and written as they are stored by all others."""

    def __init__(self, database: Database, cipher: SecretCipher) -> None:
        self._database = database
        self._cipher = cipher

    def sealed(self, account_id: int, secret: str) -> str:
        """The secret of an account's target as it is stored."""
        return self._cipher.sealed(secret, _owner(account_id))

    def opened(self, target: Target) -> Target:
        """A target with its secrets as receivers know them. Raises `SecretUnreadable`."""
        owner = _owner(target.account_id)
        old = None if target.old_secret is None else self._cipher.opened(target.old_secret, owner)
        return replace(target, secret=self._cipher.opened(target.secret, owner), old_secret=old)

    async def prepare(self) -> None:
        """Encrypt what is not encrypted under the present key.

        Any number of processes may do this at once, and each may be killed at any time: a row changes only where it
        still is as it was read. Raises `ConfigurationError` where a secret is encrypted under a key that is not set.
        """
        await self._require_keys()
        last, sealed, in_clear = 0, 0, False
        while rows := await self._rows_after(last):
            last = rows[-1][0]
            changed = {row: new for row in rows if (new := self._resealed(row)) is not None}
            in_clear = in_clear or any(row[2] and key_id_of(row[2]) is None for row in rows)
            if changed:
                async with self._database.transaction() as connection:
                    await overwrite_freed(connection)
                    for row, values in changed.items():
                        await _replace(connection, row, values)
                sealed += len(changed)
        if sealed:
            log.info("webhook secrets were encrypted", webhooks=sealed, key=self._cipher.current)
        elif in_clear and self._cipher.current is None:
            log.warning(IN_CLEAR)

    async def _require_keys(self) -> None:
        encrypted = select(*_COLUMNS).where(or_(*(column.startswith(PREFIX) for column in _COLUMNS)))
        async with self._database.reading() as connection:
            stored = [each for row in await connection.execute(encrypted) for each in row if each is not None]
        unknown = sorted({key_id_of(each) or "" for each in stored if not self._cipher.knows_key_of(each)})
        if unknown:
            raise ConfigurationError(OTHER_KEY.format(keys=", ".join(unknown)))

    async def _rows_after(self, last: int) -> "list[_Row]":
        async with self._database.reading() as connection:
            rows = await connection.execute(_SECRETS.where(webhooks.c.id > last).limit(ROWS_AT_ONCE))
            return [(row.id, row.account_id, row.secret, row.old_secret) for row in rows]

    def _resealed(self, row: "_Row") -> tuple[str, str | None] | None:
        """A row's secrets under the present key, None where they are."""
        _, account_id, *stored = row
        if not any(each and self._cipher.is_outdated(each) for each in stored):
            return None
        owner = _owner(account_id)
        secret, old = (None if each is None else self._anew(each, owner) for each in stored)
        return secret or "", old

    def _anew(self, stored: str, owner: str) -> str:
        return self._cipher.sealed(self._cipher.opened(stored, owner), owner)


_Row = tuple[int, int, str, str | None]
"""Ids of a target and its account, its secret and its old secret as they are stored."""


def _owner(account_id: int) -> str:
    """What a secret belongs to."""
    return f"webhook of account {account_id}"


async def _replace(connection: AsyncConnection, row: _Row, values: tuple[str, str | None]) -> None:
    target_id, _, secret, old_secret = row
    as_read = (
        webhooks.c.id == target_id,
        webhooks.c.secret == secret,
        webhooks.c.old_secret.is_not_distinct_from(old_secret),
    )
    await connection.execute(update(webhooks).where(*as_read).values(secret=values[0], old_secret=values[1]))
