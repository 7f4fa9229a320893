"""The open sessions: a user sees and ends their own, an API key, which acts as the account, those of all users."""

import hashlib
from collections.abc import Mapping, Sequence

import msgspec
from sqlalchemy import ColumnElement, Select, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.models import Caller
from registerwatch.accounts.tables import audit, sessions, users
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database

ID_PREFIX = "ses_"
MOST = 1_000
"""Sessions that are listed, the newest; one address opens 20 an hour."""
MAX_PLACES = 100
"""Sessions whose sign-in is looked up, the newest."""


class OpenSession(msgspec.Struct, frozen=True):
    """A session as it is listed. `id` reveals nothing of the session or of its digest."""

    id: str
    email: str
    created_at: int
    last_used_at: int | None
    """Approximate; None before the first stored use."""
    expires_at: int
    is_current: bool


class OpenSessionService:
    """Lists and ends sessions."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def all(self, caller: Caller) -> Sequence[OpenSession]:
        """The open sessions that the caller may end, the newest first."""
        async with self._database.reading() as connection:
            return [found for found, _ in await self._open(connection, caller)]

    async def places(self, caller: Caller, sessions_of_caller: Sequence[OpenSession]) -> Mapping[str, str]:
        """Addresses where a user's sessions were opened, by their ids, from the audit trail; some may be missing."""
        if not sessions_of_caller:
            return {}
        instants = sorted({each.created_at for each in sessions_of_caller})
        found = select(audit.c.created_at, audit.c.subject).where(
            audit.c.account_id == caller.account.id,
            audit.c.action == Action.SIGNED_IN,
            audit.c.actor == caller.name,
            audit.c.created_at.in_(instants[-MAX_PLACES:]),
        )
        async with self._database.reading() as connection:
            by_instant = {row.created_at: row.subject for row in await connection.execute(found)}
        return {each.id: by_instant[each.created_at] for each in sessions_of_caller if each.created_at in by_instant}

    async def end(self, caller: Caller, session_id: str) -> None:
        """End one of the caller's sessions, if it is one; it may be the present one."""
        async with self._database.transaction() as connection:
            await repository.locked(connection, caller)
            digests = [digest for found, digest in await self._open(connection, caller) if found.id == session_id]
            await self._end(connection, caller, sessions.c.digest.in_(digests))

    async def end_others(self, caller: Caller) -> None:
        """End all of the caller's sessions but the present one."""
        async with self._database.transaction() as connection:
            await repository.locked(connection, caller)
            await self._end(connection, caller, sessions.c.digest != (caller.session or ""))

    async def _end(self, connection: AsyncConnection, caller: Caller, which: ColumnElement[bool]) -> None:
        ended = await connection.execute(delete(sessions).where(sessions.c.user_id.in_(_users(caller)), which))
        if ended.rowcount:
            now, subject = int(self._clock.now()), f"{ended.rowcount}"
            await repository.note_by(connection, caller, now, Action.SESSIONS_ENDED, subject)

    async def _open(self, connection: AsyncConnection, caller: Caller) -> Sequence[tuple[OpenSession, str]]:
        """The sessions with their digests."""
        found = (
            select(
                sessions.c.digest, users.c.email, sessions.c.created_at, sessions.c.last_used_at, sessions.c.expires_at
            )
            .join(users, users.c.id == sessions.c.user_id)
            .where(sessions.c.user_id.in_(_users(caller)), sessions.c.expires_at > int(self._clock.now()))
            .order_by(sessions.c.created_at.desc(), sessions.c.digest)
            .limit(MOST)
        )
        return [
            (OpenSession(public_id(row.digest), *row[1:], is_current=row.digest == caller.session), row.digest)
            for row in await connection.execute(found)
        ]


def public_id(digest: str) -> str:
    """The public id of a session. It is made of the digest, so it needs no column, and does not reveal it."""
    return ID_PREFIX + hashlib.sha256(f"id of a session {digest}".encode()).hexdigest()[:24]


def _users(caller: Caller) -> Select[int]:
    own = users.c.account_id == caller.account.id
    return select(users.c.id).where(own if caller.user_id is None else own & (users.c.id == caller.user_id))
