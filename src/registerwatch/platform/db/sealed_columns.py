"""Columns whose values are encrypted where there is a key, and their encryption under the present key."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import structlog
from sqlalchemy import Column, Row, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.errors import ConfigurationError
from registerwatch.platform.db.engine import Database
from registerwatch.platform.secret_cipher import PREFIX, SecretCipher, key_id_of

ROWS_AT_ONCE = 200
OTHER_KEY = (
    "The database holds {secrets} that are encrypted under the key {keys}, which REGISTERWATCH_SECRETS_KEY does not"
    " have. Set it to that key, or to a new one with that key behind a comma."
)
IN_CLEAR = "secrets are stored in clear; REGISTERWATCH_SECRETS_KEY has them encrypted"

log = structlog.get_logger(__name__)


class SealedColumn(msgspec.Struct, frozen=True):
    """A column of secrets: `secrets` names them in texts, `owner` is what a secret belongs to, by the value of
    `owner_id` in its row.
    """

    secrets: str
    secret: Column[Any]
    row_id: Column[Any]
    owner_id: Column[Any]
    owner: Callable[[int], str]


async def reseal(database: Database, cipher: SecretCipher, columns: Sequence[SealedColumn]) -> None:
    """Encrypt values of these columns that are not under the present key.

    Any number of processes may do this at once, and each may be killed at any time: a value changes only where it still
    is as it was read. Raises `ConfigurationError` where one is encrypted under a key that is not set.
    """
    for column in columns:
        await _require_keys(database, cipher, column)
    for column in columns:
        await _reseal(database, cipher, column)
    if cipher.current is None and await _has_secrets(database, columns):
        log.warning(IN_CLEAR)


async def _require_keys(database: Database, cipher: SecretCipher, column: SealedColumn) -> None:
    encrypted = select(column.secret).where(column.secret.startswith(PREFIX))
    async with database.reading() as connection:
        stored = (await connection.execute(encrypted)).scalars().all()
    unknown = sorted({key_id_of(each) or "" for each in stored if not cipher.knows_key_of(each)})
    if unknown:
        raise ConfigurationError(OTHER_KEY.format(secrets=column.secrets, keys=", ".join(unknown)))


async def _reseal(database: Database, cipher: SecretCipher, column: SealedColumn) -> None:
    last, sealed = 0, 0
    while rows := await _rows_after(database, column, last):
        last = rows[-1].id
        outdated = [row for row in rows if cipher.is_outdated(row.secret)]
        if outdated:
            async with database.transaction() as connection:
                await _overwrite_freed(connection)
                for row in outdated:
                    await _replace(connection, cipher, column, row)
        sealed += len(outdated)
    if sealed:
        log.info("secrets were encrypted", secrets=column.secrets, count=sealed, key=cipher.current)


async def _rows_after(database: Database, column: SealedColumn, last: int) -> Sequence[Row[int, int, str]]:
    asked = (
        select(column.row_id.label("id"), column.owner_id.label("owner_id"), column.secret.label("secret"))
        .where(column.row_id > last, column.secret != "")
        .order_by(column.row_id)
        .limit(ROWS_AT_ONCE)
    )
    async with database.reading() as connection:
        return (await connection.execute(asked)).all()


async def _replace(
    connection: AsyncConnection, cipher: SecretCipher, column: SealedColumn, row: Row[int, int, str]
) -> None:
    owner = column.owner(row.owner_id)
    sealed = cipher.sealed(cipher.opened(row.secret, owner), owner)
    as_read = column.row_id == row.id, column.secret == row.secret
    await connection.execute(update(column.secret.table).where(*as_read).values({column.secret: sealed}))


async def _overwrite_freed(connection: AsyncConnection) -> None:
    """Make SQLite overwrite replaced values: else they stay in the file, and in backups, until their page is used."""
    if connection.dialect.name == "sqlite":
        await connection.execute(text("PRAGMA secure_delete = ON"))


async def _has_secrets(database: Database, columns: Sequence[SealedColumn]) -> bool:
    async with database.reading() as connection:
        found = [await connection.scalar(select(1).where(each.secret != "").limit(1)) for each in columns]
    return any(found)
