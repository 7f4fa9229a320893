"""Carries out a request once, however often it is sent with the same Idempotency-Key.

Source: draft-ietf-httpapi-idempotency-key-header-07. A request that ends in an error is forgotten, so that it can be
sent again. Answers are kept for a day, except those with a secret that is shown once; they can contain webhook secrets,
so they are encrypted where there is a key.

Each kind of caller has a quota of its own: a program that may only watch uses up neither that of the account's managers
nor that of forms on pages.
"""

import hashlib
from enum import StrEnum

import msgspec
from sqlalchemy import ColumnElement, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.models import Caller, Role, Scope
from registerwatch.accounts.tables import idempotent_requests as table
from registerwatch.errors import IdempotencyConflict, RateLimited
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.secret_cipher import SecretCipher

KEPT_SECONDS = 24 * 3600
MAX_REQUESTS = 5_000
"""Limit per quota of an account and day."""
MAX_KEPT_LENGTH = 2 * 1024 * 1024
"""Characters of the kept answers for one kind; the newest stay. Long imports get 120,000 each."""
ABANDONED_SECONDS = 180
"""A request that has not ended by then was broken off: each ends sooner."""

UNDER_WAY = "A request with this Idempotency-Key is under way. Send it again when that has ended."
OTHER_REQUEST = "This Idempotency-Key came with another request before. Each request needs a key of its own."
NOT_KEPT = (
    "This request was carried out before, and its answer is not kept: it held a secret that is told once, or many"
    " answers were kept since. Where a secret was lost, revoke what was made, and make another one with another key."
)
TOO_MANY = (
    f"Owners and keys that manage send at most {MAX_REQUESTS:,} requests with an Idempotency-Key a day, and all others"
    " of the account as many. Send this one without it."
)
TOO_MANY_FORMS = (
    f"{MAX_REQUESTS:,} forms of this account were sent within a day, more than people send. Look for the program that"
    " sends them, and try again tomorrow."
)


class RequestQuota(StrEnum):
    """The quota in which a request counts."""

    MANAGERS = "managers"
    OTHERS = "others"
    FORMS_OF_OWNERS = "forms of owners"
    FORMS_OF_MEMBERS = "forms of members"

    @classmethod
    def of(cls, caller: Caller, *, form: bool = False) -> "RequestQuota":
        """The quota of a caller, or of their forms on pages."""
        manages = caller.role is Role.OWNER and caller.scope is Scope.MANAGE
        if form:
            return cls.FORMS_OF_OWNERS if manages else cls.FORMS_OF_MEMBERS
        return cls.MANAGERS if manages else cls.OTHERS

    @property
    def too_many(self) -> str:
        """The message when it is used up."""
        return TOO_MANY if self in (RequestQuota.MANAGERS, RequestQuota.OTHERS) else TOO_MANY_FORMS


class Answered(msgspec.Struct, frozen=True):
    """The earlier answer to a request: HTTP status and body."""

    status: int
    body: str


class IdempotentRequest(msgspec.Struct, frozen=True):
    """One request by its key and its content.

    `digest` is of the credential and the key. `fingerprint` is of the content, under a key that is not stored: from a
    plain digest of a body, a reader of the database could guess the password in it.
    """

    account_id: int
    digest: str
    fingerprint: str
    quota: RequestQuota


class IdempotencyStore:
    """Stores requests and their answers."""

    def __init__(self, database: Database, clock: Clock, cipher: SecretCipher | None = None) -> None:
        self._database = database
        self._cipher = cipher or SecretCipher()
        self._clock = clock

    async def begin(self, request: IdempotentRequest) -> Answered | None:
        """None where the request is to be carried out now; else its earlier answer.

        Raises `SecretUnreadable` where that cannot be decrypted, `RateLimited` where the quota is used up,
        `IdempotencyConflict` while the request is under way, where its answer was not kept, and where the key belongs
        to another request.
        """
        if await self._is_new(request):
            return None
        async with self._database.transaction() as connection:
            now = int(self._clock.now())
            where = table.c.digest == request.digest
            row = (await connection.execute(select(table).where(where).with_for_update())).one_or_none()
            if row is None:
                raise IdempotencyConflict(UNDER_WAY)  # it ended in an error at this moment
            if row.fingerprint != request.fingerprint:
                raise IdempotencyConflict(OTHER_REQUEST)
            if row.status is not None and row.body is None:
                raise IdempotencyConflict(NOT_KEPT)
            if row.status is not None:
                return Answered(row.status, self._cipher.opened(row.body, request.digest))
            if 0 <= now - row.started_at < ABANDONED_SECONDS:
                raise IdempotencyConflict(UNDER_WAY)
            await connection.execute(update(table).where(where).values(started_at=now))
            return None

    async def end(self, request: IdempotentRequest, answered: Answered | None, *, is_kept: bool = True) -> None:
        """Keep the answer; forget the request where there is none."""
        where = table.c.digest == request.digest
        async with self._database.transaction() as connection:
            if answered is None:
                await connection.execute(delete(table).where(where))
            else:
                body = self._cipher.sealed(answered.body, request.digest) if is_kept else None
                await connection.execute(update(table).where(where).values(status=answered.status, body=body))
                await _drop_old_answers(connection, request)

    async def _is_new(self, request: IdempotentRequest) -> bool:
        now = int(self._clock.now())
        try:
            async with self._database.transaction() as connection:
                old = table.c.started_at <= now - KEPT_SECONDS
                await connection.execute(delete(table).where(table.c.digest == request.digest, old))
                await _require_room(connection, request, now)
                await connection.execute(
                    insert(table).values(
                        digest=request.digest,
                        account_id=request.account_id,
                        fingerprint=request.fingerprint,
                        started_at=now,
                        places=request.quota,
                    )
                )
        except IntegrityError:
            return False
        return True


async def _require_room(connection: AsyncConnection, request: IdempotentRequest, now: int) -> None:
    """Raises `RateLimited` for a new request whose quota is used up."""
    of_today = *_in_quota(request), table.c.started_at > now - KEPT_SECONDS
    known = table.c.digest == request.digest
    sent = (await connection.execute(select(func.count()).where(*of_today))).scalar_one()
    if sent >= MAX_REQUESTS and (await connection.execute(select(table.c.digest).where(known))).one_or_none() is None:
        raise RateLimited(request.quota.too_many, retry_after=KEPT_SECONDS, limit=MAX_REQUESTS, window=KEPT_SECONDS)


async def _drop_old_answers(connection: AsyncConnection, request: IdempotentRequest) -> None:
    """Drop the oldest answers of a quota that has too many; the requests stay known."""
    kept = (
        select(table.c.digest, func.length(table.c.body))
        .where(*_in_quota(request), table.c.body.is_not(None))
        .order_by(table.c.started_at.desc(), table.c.digest)
    )
    total, dropped = 0, []
    for digest, length in await connection.execute(kept):
        total += length
        if total > MAX_KEPT_LENGTH:
            dropped.append(digest)
    for at in range(0, len(dropped), 500):
        await connection.execute(update(table).where(table.c.digest.in_(dropped[at : at + 500])).values(body=None))


def _in_quota(request: IdempotentRequest) -> tuple[ColumnElement[bool], ...]:
    return table.c.account_id == request.account_id, table.c.places == request.quota


def digest_of_parts(*parts: bytes) -> str:
    """SHA-256 of parts, in hex."""
    return hashlib.sha256(joined(*parts)).hexdigest()


def joined(*parts: bytes) -> bytes:
    """Parts, each with its length: different lists give different results."""
    return b"".join(b"%d:%b" % (len(part), part) for part in parts)
