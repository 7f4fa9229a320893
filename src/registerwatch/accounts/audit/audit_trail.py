"""The SQL of audit trails. Functions run in the transaction of the connection that they are given."""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import BigInteger, Select, bindparam, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.audit.audit import MAX_LINES_A_DAY, MAX_SUBJECT_LENGTH, REPEATABLE, Action, AuditEntry
from registerwatch.accounts.tables import audit

DAY = 24 * 3600

_OF_ACCOUNT = audit.c.account_id == bindparam("account_id", type_=BigInteger)
_ENTRY = select(
    audit.c.id,
    audit.c.created_at,
    audit.c.actor,
    audit.c.action,
    audit.c.subject,
    audit.c.repeated,
    audit.c.last_at,
).where(_OF_ACCOUNT)
_SAME = (
    _OF_ACCOUNT,
    audit.c.action == bindparam("action"),
    audit.c.actor == bindparam("actor"),
    audit.c.created_at >= bindparam("since", type_=BigInteger),
)
"""Lines of one action of one actor since an instant."""
_LAST_ALLOWED = select(audit.c.id).where(*_SAME).order_by(audit.c.id.desc()).offset(MAX_LINES_A_DAY - 1).limit(1)
_NEWEST = (
    select(audit.c.id, audit.c.repeated, _LAST_ALLOWED.scalar_subquery().label("last_allowed"))
    .where(*_SAME)
    .order_by(audit.c.id.desc())
    .limit(1)
)


class TrailFilter(msgspec.Struct, frozen=True):
    """A filter of lines: all, or those of some actions, of one actor, written from `since` on and before `until` (unix
    seconds).
    """

    actions: Sequence[Action] | None = None
    actor: str = ""
    since: int | None = None
    until: int | None = None


EVERY_LINE = TrailFilter()


async def add(
    connection: AsyncConnection, account_id: int, *, now: int, actor: str, action: Action, subject: str
) -> None:
    """Write a line into the trail of an account that the caller has locked or just made: so lines become visible in the
    order of their ids, and a reader who goes on after one misses none.

    A repeatable action has a maximum of lines a day; a last one counts all that follow.
    """
    subject = subject if len(subject) <= MAX_SUBJECT_LENGTH else f"{subject[: MAX_SUBJECT_LENGTH - 1]}…"
    is_last = False
    if action in REPEATABLE:
        same = {"account_id": account_id, "action": action, "actor": actor, "since": now - now % DAY}
        line = (await connection.execute(_NEWEST, same)).one_or_none()
        if line is not None and line.repeated is not None:
            counted = {"repeated": line.repeated + 1, "last_at": now, "subject": subject}
            await connection.execute(update(audit).where(audit.c.id == line.id).values(counted))
            return
        is_last = line is not None and line.last_allowed is not None
    values = {
        "account_id": account_id,
        "created_at": now,
        "actor": actor,
        "action": action,
        "subject": subject,
        "repeated": 1 if is_last else None,
        "last_at": now if is_last else None,
    }
    await connection.execute(insert(audit).values(values))


async def preceding(
    connection: AsyncConnection, account_id: int, chosen: TrailFilter, line: int | None, limit: int
) -> Sequence[AuditEntry]:
    """The chosen lines of the account's trail, those before a line where one is given, newest first."""
    found = _chosen(chosen) if line is None else _chosen(chosen).where(audit.c.id < line)
    rows = await connection.execute(found.order_by(audit.c.id.desc()).limit(limit), {"account_id": account_id})
    return [AuditEntry(*row) for row in rows]


async def following(
    connection: AsyncConnection, account_id: int, chosen: TrailFilter, line: int, limit: int
) -> Sequence[AuditEntry]:
    """The chosen lines of the account's trail right after a line, oldest first."""
    found = _chosen(chosen).where(audit.c.id > line).order_by(audit.c.id).limit(limit)
    return [AuditEntry(*row) for row in await connection.execute(found, {"account_id": account_id})]


def _chosen(chosen: TrailFilter) -> Select[*tuple[Any, ...]]:
    found = _ENTRY
    if chosen.actions is not None:
        found = found.where(audit.c.action.in_(chosen.actions))
    if chosen.actor:
        found = found.where(audit.c.actor == chosen.actor)
    if chosen.since is not None:
        found = found.where(audit.c.created_at >= chosen.since)
    if chosen.until is not None:
        found = found.where(audit.c.created_at < chosen.until)
    return found
