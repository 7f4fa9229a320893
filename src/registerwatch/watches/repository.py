"""The SQL of watches. Functions about one account take its id.

Functions run in the transaction of the connection that they are given. `watched` and the functions after it serve
reads, which concern every account that watches a subject.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, get_args

import msgspec
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Integer,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.tables import accounts
from registerwatch.platform.clock import CLOCK_DIFFERENCE_SECONDS
from registerwatch.platform.db.listed_values import LISTED, listed
from registerwatch.register.identifiers import kind as kind_of_subject
from registerwatch.watches.models import (
    FAILING_AFTER,
    NOT_REGISTERED,
    OVERDUE_AFTER,
    READ_IN_PART,
    THEN_FAILED,
    HealthState,
    Watch,
)
from registerwatch.watches.options import options_of
from registerwatch.watches.reading.read_order import DueSubject, Family
from registerwatch.watches.snapshot import decoded
from registerwatch.watches.tables import watches

MADE_DUE = -1
"""`tried_at` of a watch that is read next although it was not read since it was made, when it has 0."""
_CHUNK = 1_000
"""Ids in one statement."""

_COLUMNS = Watch.__struct_fields__
_SNAPSHOT, _OPTIONS = _COLUMNS.index("snapshot"), _COLUMNS.index("options")
WATCH = select(*(watches.c[name] for name in _COLUMNS))
"""The columns that `watch_of` takes."""
IS_NOT_REGISTERED = watches.c.last_error.startswith(NOT_REGISTERED, autoescape=True)
"""Whether the register, when last asked, did not have the subject."""
_OF_ACCOUNT = watches.c.account_id == bindparam("account_id", type_=BigInteger)
WATCHES = WATCH.where(_OF_ACCOUNT).order_by(watches.c.id)
"""The watches of the account `account_id`, oldest first."""
WATCHES_AFTER = (
    WATCHES.where(watches.c.id > bindparam("after", type_=BigInteger))
    .limit(bindparam("most", type_=Integer))
    .offset(bindparam("skipped", type_=Integer))  # SQLite's dialect would add one that has no name
)
"""At most `most` watches of the account after the id `after`."""
COUNT = select(func.count()).where(_OF_ACCOUNT)
"""How many watches the account `account_id` has."""


class Watched(msgspec.Struct, frozen=True):
    """The columns of a watch that a read needs."""

    id: int
    account_id: int
    subject: str
    label: str
    is_renamed: bool
    snapshot: str | None
    failing_since: int | None
    options: str
    is_denied: bool = False
    """Whether the register, when last asked, did not have the subject."""
    manufacturer_srn: str = ""
    """The manufacturer of a device, or the actor itself; empty if not known yet."""
    basic_udi: str = ""


class NewWatch(msgspec.Struct, frozen=True):
    """A watch to store, with its baseline if the copy has a fresh read, or one of a device that is gone."""

    subject: str
    label: str = ""
    snapshot: str | None = None
    read_at: int | None = None
    manufacturer_srn: str = ""
    basic_udi: str = ""
    last_error: str = ""
    failing_since: int | None = None


async def count(connection: AsyncConnection, account_id: int) -> int:
    """How many watches the account has."""
    number: int = (await connection.execute(COUNT, {"account_id": account_id})).scalar_one()
    return number


async def of_account(connection: AsyncConnection, account_id: int) -> Sequence[Watch]:
    """The account's watches, oldest first."""
    return [watch_of(row) for row in await connection.execute(WATCHES, {"account_id": account_id})]


async def by_subject(connection: AsyncConnection, account_id: int, subject: str) -> Watch | None:
    """The account's watch on a subject."""
    found = WATCH.where(watches.c.account_id == account_id, watches.c.subject == subject)
    row = (await connection.execute(found)).one_or_none()
    return watch_of(row) if row is not None else None


async def by_id(connection: AsyncConnection, account_id: int, watch_id: int) -> Watch | None:
    """A watch of the account."""
    found = WATCH.where(watches.c.account_id == account_id, watches.c.id == watch_id)
    row = (await connection.execute(found)).one_or_none()
    return watch_of(row) if row is not None else None


async def subjects(connection: AsyncConnection, account_id: int) -> set[str]:
    """The account's subjects."""
    rows = await connection.execute(select(watches.c.subject).where(watches.c.account_id == account_id))
    return set(rows.scalars())


async def add(connection: AsyncConnection, account_id: int, new: Sequence[NewWatch], now: int) -> None:
    """Add watches that are due at once. The caller has locked the account, so ids grow as watches become visible."""
    rows = [
        {
            "account_id": account_id,
            "kind": kind_of_subject(watch.subject),
            "subject": watch.subject,
            "label": watch.label or watch.subject,
            "is_renamed": False,
            "snapshot": watch.snapshot,
            "last_sync": watch.read_at,
            "tried_at": 0,
            "last_error": watch.last_error,
            "failing_since": watch.failing_since,
            "created_at": now,
            "manufacturer_srn": watch.subject if kind_of_subject(watch.subject) == "srn" else watch.manufacturer_srn,
            "basic_udi": watch.basic_udi,
        }
        for watch in new
    ]
    if rows:
        await connection.execute(insert(watches), rows)


async def ids_of(connection: AsyncConnection, account_id: int, subjects_of_list: Sequence[str]) -> Mapping[str, int]:
    """The ids of the account's watches on some subjects, by subject."""
    columns = select(watches.c.subject, watches.c.id)
    found = columns.where(watches.c.account_id == account_id, watches.c.subject.in_(subjects_of_list))
    return {row.subject: row.id for row in await connection.execute(found)}


async def subjects_of(connection: AsyncConnection, account_id: int, watch_ids: Collection[int]) -> Mapping[int, str]:
    """The subjects of watches of the account, by id; ids of other accounts are left out."""
    found: dict[int, str] = {}
    for chunk in chunks(sorted(watch_ids)):
        rows = select(watches.c.id, watches.c.subject).where(
            watches.c.account_id == account_id, watches.c.id.in_(chunk)
        )
        found |= {row[0]: row[1] for row in await connection.execute(rows)}
    return found


async def set_columns(
    connection: AsyncConnection, account_id: int, watch_id: int, values: Mapping[str, object]
) -> None:
    """Store columns of a watch of the account that people set. Reads do not change these columns."""
    of_watch = watches.c.id == watch_id, watches.c.account_id == account_id
    await connection.execute(update(watches).where(*of_watch).values(values))


async def remove(connection: AsyncConnection, account_id: int, watch_id: int) -> None:
    """Remove a watch if it is the account's. Its events stay."""
    await connection.execute(delete(watches).where(watches.c.id == watch_id, watches.c.account_id == account_id))


async def remove_all(connection: AsyncConnection, account_id: int, watch_ids: Sequence[int]) -> None:
    """Remove watches of the account. Their events stay."""
    for chunk in chunks(sorted(watch_ids)):
        own_ids = await _locked(connection, watches.c.account_id == account_id, watches.c.id.in_(chunk))
        await connection.execute(delete(watches).where(watches.c.id.in_(own_ids)))


async def let_be_due(connection: AsyncConnection, account_id: int, watch_ids: Sequence[int]) -> Sequence[DueSubject]:
    """Let watches of the account be read next. Returns their subjects, the longest unread first."""
    by_try: list[tuple[int, int, str]] = []
    for chunk in chunks(sorted(watch_ids)):
        own_ids = await _locked(connection, watches.c.account_id == account_id, watches.c.id.in_(chunk))
        rows = select(watches.c.tried_at, watches.c.id, watches.c.subject).where(watches.c.id.in_(own_ids))
        by_try += [(row[0], row[1], row[2]) for row in await connection.execute(rows)]
        await make_due(connection, own_ids)
    return [DueSubject(name) for _, _, name in sorted(by_try)]


async def own(connection: AsyncConnection, account_id: int, watch_ids: Collection[int]) -> Sequence[int]:
    """The ids among these of watches of the account, in order."""
    found: list[int] = []
    for chunk in chunks(sorted(watch_ids)):
        rows = select(watches.c.id).where(watches.c.account_id == account_id, watches.c.id.in_(chunk))
        found += (await connection.execute(rows.order_by(watches.c.id))).scalars()
    return found


async def due_of_account(connection: AsyncConnection, account_id: int, now: int) -> Sequence[DueSubject]:
    """The account's subjects, the longest unread first."""
    tried_at = _last_tried(now).label("tried_at")
    found = select(watches.c.subject, tried_at).where(watches.c.account_id == account_id)
    return [DueSubject(*row) for row in await connection.execute(found.order_by(tried_at, watches.c.id))]


async def families(connection: AsyncConnection, of_subjects: Sequence[str]) -> Mapping[str, Family]:
    """Manufacturer and Basic UDI-DI of watched devices, by UDI-DI; others are left out."""
    found: dict[str, Family] = {}
    for start in range(0, len(of_subjects), _CHUNK):
        rows = select(watches.c.subject, watches.c.manufacturer_srn, watches.c.basic_udi).where(
            watches.c.subject.in_(of_subjects[start : start + _CHUNK]),
            watches.c.kind == "udi",
            watches.c.manufacturer_srn != "",
        )
        found |= {row.subject: Family(row.manufacturer_srn, row.basic_udi) for row in await connection.execute(rows)}
    return found


async def longest_unread(connection: AsyncConnection, now: int) -> int | None:
    """The earliest last try of a watch of an active account; a watch never tried counts from when it was added."""
    untried_since = func.coalesce(watches.c.last_sync, watches.c.created_at)
    since = case((watches.c.tried_at > 0, watches.c.tried_at), else_=untried_since)
    earliest: int | None = (await connection.execute(select(func.min(since)).where(_is_active(now)))).scalar_one()
    return earliest


async def count_by_health(connection: AsyncConnection, now: int) -> Mapping[HealthState, int]:
    """How many watches of active accounts are in each state."""
    state = health_state(now)
    found = select(state, func.count()).where(_is_active(now)).group_by(state)
    return {**dict.fromkeys(get_args(HealthState), 0), **{row[0]: row[1] for row in await connection.execute(found)}}


def health_state(now: int) -> ColumnElement[str]:
    """The `HealthState` of a watch in SQL, the same as `Watch.health`."""
    is_long = watches.c.failing_since <= now - FAILING_AFTER
    unread_since = func.coalesce(watches.c.last_sync, watches.c.created_at)
    return case(
        (IS_NOT_REGISTERED, "unknown"),
        (and_(is_long, watches.c.last_error.not_in(READ_IN_PART), unread_since <= now - FAILING_AFTER), "failing"),
        (is_long, "partial"),
        (unread_since <= now - OVERDUE_AFTER, "overdue"),
        (watches.c.last_sync.is_(None), "unread"),
        else_="ok",
    ).label("state")


async def note_failure(connection: AsyncConnection, subject: str, error: str, now: int) -> Sequence[int]:
    """Note a failed read of a subject: its watches keep their snapshots and store why. Returns their ids."""
    ids = await _locked(connection, watches.c.subject == subject, _is_active(now))
    await _set(connection, ids, _failed(error, now))
    return ids


def _failed(error: str, now: int) -> Mapping[str, object]:
    """The columns of a watch after a failed read. They still say if the register did not have its subject."""
    known = error if error == NOT_REGISTERED else case((IS_NOT_REGISTERED, THEN_FAILED + error), else_=error)
    return {"tried_at": now, "last_error": known, "failing_since": func.coalesce(watches.c.failing_since, now)}


async def without_baseline(connection: AsyncConnection, subject: str, now: int) -> Sequence[int]:
    """The ids of active accounts' watches on a subject that have no baseline; they are locked."""
    return await _locked(connection, watches.c.subject == subject, watches.c.snapshot.is_(None), _is_active(now))


async def set_baseline(connection: AsyncConnection, watch_ids: Sequence[int], new: NewWatch) -> None:
    """Store a baseline, with its error, at watches. Names that people gave stay."""
    known = {
        "snapshot": new.snapshot,
        "last_sync": new.read_at,
        "label": case((watches.c.is_renamed, watches.c.label), else_=new.label),
        "last_error": new.last_error,
        "failing_since": func.coalesce(watches.c.failing_since, new.failing_since),
        "manufacturer_srn": new.manufacturer_srn,
        "basic_udi": new.basic_udi,
    }
    await _set(connection, watch_ids, known)


async def is_untried(connection: AsyncConnection, subject: str, since: int) -> bool:
    """Whether an active account's watch on a subject was not tried since an instant."""
    untried = watches.c.subject == subject, watches.c.tried_at < since, _is_active(since)
    return (await connection.execute(select(watches.c.id).where(*untried).limit(1))).first() is not None


async def note_uncompared(connection: AsyncConnection, subject: str, error: str, now: int) -> Sequence[int]:
    """Note a read of a subject with nothing to compare: its watches count as tried now and store why nothing changed.
    Returns their ids.
    """
    tried = watches.c.subject == subject, watches.c.tried_at < now, _is_active(now)
    ids = await _locked(connection, *tried)
    await _set(connection, ids, _failed(error, now))
    return ids


async def note_unread(connection: AsyncConnection, account_id: int, subject: str, reason: str) -> None:
    """Store why a new watch has no baseline: its subject could not be asked for. It counts as not tried."""
    of_watch = watches.c.account_id == account_id, watches.c.subject == subject, watches.c.snapshot.is_(None)
    await connection.execute(update(watches).where(*of_watch).values(last_error=reason))


async def make_due(connection: AsyncConnection, watch_ids: Sequence[int]) -> None:
    """Let watches be read next."""
    has_older_baseline = watches.c.last_sync <= watches.c.created_at
    await _set(connection, watch_ids, {"tried_at": case((has_older_baseline, MADE_DUE), else_=0)})


async def watched(connection: AsyncConnection, seen_subjects: Sequence[str], now: int) -> Sequence[Watched]:
    """The watches of active accounts on some subjects, locked until this transaction ends."""
    subjects = text(LISTED[connection.dialect.name]).bindparams(listed=listed(seen_subjects))
    found = (
        select(
            watches.c.id,
            watches.c.account_id,
            watches.c.subject,
            watches.c.label,
            watches.c.is_renamed,
            watches.c.snapshot,
            watches.c.failing_since,
            watches.c.options,
            IS_NOT_REGISTERED.label("is_denied"),
            watches.c.manufacturer_srn,
            watches.c.basic_udi,
        )
        .join(accounts, accounts.c.id == watches.c.account_id)
        .where(watches.c.subject.in_(subjects), accounts.c.expires_at > now)
        .order_by(watches.c.id)
        .with_for_update(of=watches)
    )
    return [Watched(**row) for row in (await connection.execute(found)).mappings()]


async def note_seen(connection: AsyncConnection, watch_ids: Sequence[int], now: int, read_at: int) -> None:
    """Note that these watches were compared with a read that began at `read_at`."""
    seen = {"tried_at": now, "last_sync": read_at, "last_error": "", "failing_since": None}
    await _set(connection, watch_ids, seen)


async def note_seen_without(
    connection: AsyncConnection, watch_ids: Sequence[int], missing: str, now: int, read_at: int
) -> None:
    """Note that these watches were compared with a read in part; `missing` is a sentence. It is the first failure of a
    subject that the register did not have until then.
    """
    since = case((IS_NOT_REGISTERED, now), else_=func.coalesce(watches.c.failing_since, now))
    seen = {"tried_at": now, "last_sync": read_at, "last_error": missing, "failing_since": since}
    await _set(connection, watch_ids, seen)


async def note_listed(connection: AsyncConnection, watch_ids: Sequence[int], now: int) -> None:
    """Note that the register has the subjects of watches that said it does not. A failure of the last read stays."""
    reason = func.substr(watches.c.last_error, len(THEN_FAILED) + 1)
    has_failed = watches.c.last_error.startswith(THEN_FAILED, autoescape=True)
    listed_now = {"last_error": case((has_failed, reason), else_=""), "failing_since": case((has_failed, now))}
    await _set(connection, watch_ids, listed_now)


async def set_snapshots(connection: AsyncConnection, kept: Sequence[Mapping[str, Any]]) -> None:
    """Store snapshots: for each watch `watch_id`, `snapshot`, `label`, `manufacturer_srn` and `basic_udi`."""
    if kept:
        changed = (
            update(watches)
            .where(watches.c.id == bindparam("watch_id"))
            .values({name: bindparam(name) for name in ("snapshot", "label", "manufacturer_srn", "basic_udi")})
        )
        await connection.execute(changed, kept)


def _last_tried(now: int) -> ColumnElement[int]:
    """When a watch was last tried; 0 if that is in the future, as after the clock was put back."""
    return case((watches.c.tried_at > now + CLOCK_DIFFERENCE_SECONDS, 0), else_=watches.c.tried_at)


def _is_active(now: int) -> ColumnElement[bool]:
    return watches.c.account_id.in_(select(accounts.c.id).where(accounts.c.expires_at > now))


async def _locked(connection: AsyncConnection, *where: ColumnElement[bool]) -> Sequence[int]:
    """The ids of some watches, locked in the same order by every transaction, which prevents deadlocks."""
    found = select(watches.c.id).where(*where).order_by(watches.c.id).with_for_update()
    return (await connection.execute(found)).scalars().all()


async def _set(connection: AsyncConnection, watch_ids: Sequence[int], values: Mapping[str, Any]) -> None:
    for chunk in chunks(watch_ids):
        await connection.execute(update(watches).where(watches.c.id.in_(chunk)).values(values))


def chunks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    """The ids in chunks for one statement each."""
    for start in range(0, len(ids), _CHUNK):
        yield ids[start : start + _CHUNK]


def watch_of(row: Sequence[Any]) -> Watch:
    """The watch in a row that begins with the columns of `WATCH`."""
    values = list(row[: len(_COLUMNS)])
    snapshot = values[_SNAPSHOT]
    values[_SNAPSHOT] = None if snapshot is None else decoded(snapshot)
    values[_OPTIONS] = options_of(values[_OPTIONS])
    return Watch(*values)
