"""Bringing the secrets of authenticator apps under the present key when the service starts."""

import structlog
from sqlalchemy import select, update

from registerwatch.accounts.second_factors.code_check import owner_of_secret
from registerwatch.errors import ConfigurationError
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.tables import totp_factors
from registerwatch.platform.secret_cipher import PREFIX, SecretCipher, key_id_of, overwrite_freed

ROWS_AT_ONCE = 200
OTHER_KEY = (
    "The database holds secrets of authenticator apps that are encrypted under the key {keys}, which"
    " REGISTERWATCH_SECRETS_KEY does not have. Set it to that key, or to a new one with that key behind a comma."
)

log = structlog.get_logger(__name__)


class TotpSecrets:
    """Encrypts what is not encrypted under the present key, as `target_secrets.py` does for webhooks."""

    def __init__(self, database: Database, cipher: SecretCipher) -> None:
        self._database = database
        self._cipher = cipher

    async def prepare(self) -> None:
        """Any number of processes may do this at once, and each may be killed at any time.

        Raises `ConfigurationError` where a secret is encrypted under a key that is not set.
        """
        await self._require_keys()
        last, sealed = 0, 0
        while rows := await self._rows_after(last):
            last = rows[-1][0]
            outdated = [(user, stored) for user, stored in rows if self._cipher.is_outdated(stored)]
            if not outdated:
                continue
            async with self._database.transaction() as connection:
                await overwrite_freed(connection)
                for user_id, stored in outdated:
                    owner = owner_of_secret(user_id)
                    anew = self._cipher.sealed(self._cipher.opened(stored, owner), owner)
                    as_read = totp_factors.c.user_id == user_id, totp_factors.c.secret == stored
                    await connection.execute(update(totp_factors).where(*as_read).values(secret=anew))
            sealed += len(outdated)
        if sealed:
            log.info("secrets of authenticator apps were encrypted", secrets=sealed, key=self._cipher.current)

    async def _require_keys(self) -> None:
        encrypted = select(totp_factors.c.secret).where(totp_factors.c.secret.startswith(PREFIX))
        async with self._database.reading() as connection:
            stored = (await connection.execute(encrypted)).scalars().all()
        unknown = sorted({key_id_of(each) or "" for each in stored if not self._cipher.knows_key_of(each)})
        if unknown:
            raise ConfigurationError(OTHER_KEY.format(keys=", ".join(unknown)))

    async def _rows_after(self, last: int) -> list[tuple[int, str]]:
        found = select(totp_factors.c.user_id, totp_factors.c.secret).where(totp_factors.c.user_id > last)
        async with self._database.reading() as connection:
            rows = await connection.execute(found.order_by(totp_factors.c.user_id).limit(ROWS_AT_ONCE))
            return [(row.user_id, row.secret) for row in rows]
