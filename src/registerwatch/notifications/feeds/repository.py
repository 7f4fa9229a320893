"""The SQL of feeds. Functions for an account's rows take the account's id."""

from collections.abc import Sequence

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.sessions.credentials import digest_of, is_same
from registerwatch.accounts.tables import accounts
from registerwatch.notifications.feeds.models import Feed, FeedHolder
from registerwatch.notifications.tables import feeds

_FEED = select(feeds.c.id, feeds.c.prefix, feeds.c.created_at)


async def of_account(connection: AsyncConnection, account_id: int) -> Sequence[Feed]:
    """The account's feeds, oldest first."""
    rows = await connection.execute(_FEED.where(feeds.c.account_id == account_id).order_by(feeds.c.id))
    return [Feed(*row) for row in rows]


async def add(connection: AsyncConnection, account_id: int, *, prefix: str, token: str, now: int) -> Feed:
    """Add a feed, of whose token only a digest is stored."""
    values = {"account_id": account_id, "prefix": prefix, "digest": digest_of(token), "created_at": now}
    added = await connection.execute(insert(feeds).values(values).returning(feeds.c.id))
    return Feed(added.scalar_one(), prefix, now)


async def remove(connection: AsyncConnection, account_id: int, feed_id: int) -> str | None:
    """End a feed of the account, if it is one; returns its masked token."""
    ended = delete(feeds).where(feeds.c.id == feed_id, feeds.c.account_id == account_id).returning(feeds.c.prefix)
    prefix: str | None = (await connection.execute(ended)).scalar_one_or_none()
    return prefix


async def of_token(connection: AsyncConnection, token: str) -> FeedHolder | None:
    """The feed and its account; None for an unknown token."""
    digest = digest_of(token)
    of_account = feeds.join(accounts, accounts.c.id == feeds.c.account_id)
    columns = _FEED.add_columns(feeds.c.account_id, accounts.c.expires_at, feeds.c.digest)
    row = (await connection.execute(columns.select_from(of_account).where(feeds.c.digest == digest))).one_or_none()
    return FeedHolder(Feed(*row[:3]), *row[3:5]) if row is not None and is_same(digest, row.digest) else None
