"""The SQL of saved lists and their uploads. Functions run in the transaction of the connection that they are given."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Row, and_, bindparam, case, delete, exists, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.limits.work_budget import used_in_window
from registerwatch.accounts.tables import work_used
from registerwatch.files.lists.models import ClaimedUpload, FoundTable, ItemList, Upload
from registerwatch.files.lists.tables import item_lists, list_lines, list_uploads
from registerwatch.files.tables.table import ReadChoices
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.leases import NO_LEASE, Lease, is_free, lease_values, new_holder
from registerwatch.platform.structs import replace

_choices = msgspec.json.Decoder(ReadChoices)
_found = msgspec.json.Decoder(FoundTable)

MAX_WAIT_SECONDS = 24 * 3600
"""The longest that an upload waits for processor time: until the end of a lease that no node has."""

_MATCHED = ("ready", "kept")
"""States of uploads whose lines are complete."""

_row = list_uploads.c
_UPLOAD = select(
    *(
        _row[name]
        for name in (
            *("id", "list_id", "created_at", "filename", "choices", "found", "state", "problem", "total", "matched"),
            *("keeps_itself", "revision", "leased_until"),
        )
    ),
    _row.content.is_not(None).label("is_stored"),
)

_LISTS = _UPLOAD.add_columns(
    item_lists.c.id.label("of_list"),
    item_lists.c.name,
    item_lists.c.created_at.label("list_created_at"),
    item_lists.c.upload_id.label("kept_id"),
).select_from(item_lists.outerjoin(list_uploads, _row.list_id == item_lists.c.id))


async def lists_of(connection: AsyncConnection, account_id: int, list_id: int | None = None) -> list[ItemList]:
    """The account's lists, or the one with an id, by name. One statement, so that an upload that is kept meanwhile is
    found either as waiting or as kept.
    """
    found = _LISTS.where(item_lists.c.account_id == account_id)
    if list_id is not None:
        found = found.where(item_lists.c.id == list_id)
    lists: dict[int, ItemList] = {}
    for row in await connection.execute(found.order_by(item_lists.c.name, item_lists.c.id)):
        named = lists.setdefault(row.of_list, ItemList(row.of_list, row.name, row.list_created_at))
        if row.id is not None:
            upload = _upload(row)
            is_kept = upload.id == row.kept_id
            lists[row.of_list] = replace(named, kept=upload) if is_kept else replace(named, waiting=upload)
    return list(lists.values())


async def named(connection: AsyncConnection, account_id: int, name: str) -> int | None:
    """The id of the account's list with a name."""
    found = select(item_lists.c.id).where(item_lists.c.account_id == account_id, item_lists.c.name == name)
    return (await connection.execute(found)).scalar_one_or_none()


async def add(connection: AsyncConnection, account_id: int, name: str, now: int) -> int:
    """Store a new list; its id."""
    added = insert(item_lists).values(account_id=account_id, name=name, created_at=now).returning(item_lists.c.id)
    return int((await connection.execute(added)).scalar_one())


async def rename(connection: AsyncConnection, account_id: int, list_id: int, name: str) -> None:
    """Give a list of the account another name."""
    await connection.execute(update(item_lists).where(*_own(account_id, list_id)).values(name=name))


async def remove(connection: AsyncConnection, account_id: int, list_id: int) -> bool:
    """Delete a list of the account with all of its lines. Returns whether there was one."""
    return (await connection.execute(delete(item_lists).where(*_own(account_id, list_id)))).rowcount > 0


async def not_kept(connection: AsyncConnection, account_id: int) -> int:
    """How many uploads of the account are not kept, with failed ones."""
    counted = select(func.count()).select_from(list_uploads.join(item_lists, item_lists.c.id == _row.list_id))
    of_account = item_lists.c.account_id == account_id, _row.state != "kept"
    return int((await connection.execute(counted.where(*of_account))).scalar_one())


async def stored_bytes(connection: AsyncConnection, account_id: int, *, without_lines_of: int = 0) -> int:
    """The bytes of the files and lines of the account's uploads; the lines of one may be left out."""
    lines = case((_row.id == without_lines_of, 0), else_=_row.line_bytes)
    counted = select(func.coalesce(func.sum(func.coalesce(func.length(_row.content), 0) + lines), 0))
    of_account = counted.join(item_lists, item_lists.c.id == _row.list_id).where(item_lists.c.account_id == account_id)
    return int((await connection.execute(of_account)).scalar_one())


async def lines_kept(connection: AsyncConnection, account_id: int, *, but: int = 0) -> int:
    """The number of lines of the account's lists, without those of one list."""
    of_lists = (
        select(func.coalesce(func.sum(_row.total), 0))
        .join(item_lists, item_lists.c.upload_id == _row.id)
        .where(item_lists.c.account_id == account_id, item_lists.c.id != but)
    )
    return int((await connection.execute(of_lists)).scalar_one())


async def add_upload(
    connection: AsyncConnection,
    list_id: int,
    *,
    filename: str,
    content: bytes,
    choices: ReadChoices,
    keeps_itself: bool,
    now: int,
) -> int:
    """Store an upload, which replaces the list's one that is not kept yet. Returns its id."""
    await discard(connection, list_id)
    values = {
        "list_id": list_id,
        "created_at": now,
        "queued_at": now,
        "filename": filename,
        "content": content,
        "choices": _json(choices),
        "state": "waiting",
        "problem": "",
        "matched": 0,
        "keeps_itself": keeps_itself,
        **NO_LEASE,
        "revision": 0,
    }
    return int((await connection.execute(insert(list_uploads).values(values).returning(_row.id))).scalar_one())


async def discard(connection: AsyncConnection, list_id: int) -> bool:
    """Delete the upload of a list that is not kept. Returns whether there was one."""
    waiting = delete(list_uploads).where(_row.list_id == list_id, _row.state != "kept")
    return (await connection.execute(waiting)).rowcount > 0


async def read_anew(connection: AsyncConnection, upload_id: int, choices: ReadChoices, now: int) -> bool:
    """Queue an upload that is not kept to be read in another way. Returns whether there is one. The present way of
    reading stays stored until then, so that a correction can be corrected.
    """
    anew = {"choices": _json(choices), "state": "waiting", "problem": "", "queued_at": now}
    nothing_read = {"total": None, "matched": 0, "line_bytes": 0}
    changed = update(list_uploads).where(_row.id == upload_id, _row.content.is_not(None))
    is_there = (await connection.execute(changed.values(**anew, **nothing_read, **NO_LEASE))).rowcount > 0
    if is_there:
        await connection.execute(delete(list_lines).where(list_lines.c.upload_id == upload_id))
    return is_there


async def keep(connection: AsyncConnection, item_list: ItemList, upload: Upload) -> None:
    """Make the lines of an upload those of its list. The list's upload before is deleted with its lines."""
    await connection.execute(
        update(list_uploads).where(_row.id == upload.id).values(state="kept", content=None, **NO_LEASE)
    )
    await connection.execute(update(item_lists).where(item_lists.c.id == item_list.id).values(upload_id=upload.id))
    if item_list.kept is not None:
        await connection.execute(delete(list_uploads).where(_row.id == item_list.kept.id))


async def has_waiting(connection: AsyncConnection, now: int) -> bool:
    """Whether an upload waits for a node, or its node has died."""
    return bool((await connection.execute(select(exists().where(_waiting(now))))).scalar_one())


async def claim(connection: AsyncConnection, now: int) -> ClaimedUpload | None:
    """Claim an upload that waits or whose node has died. Accounts with the least work in the last hour come first, then
    the oldest uploads; accounts that a node works for already are left out.
    """
    other, its_list = list_uploads.alias(), item_lists.alias()
    is_worked_for = (
        exists()
        .where(other.c.list_id == its_list.c.id, its_list.c.account_id == item_lists.c.account_id)
        .where(other.c.state == "working", ~is_free(other, now))
    )
    waiting = (
        select(_row.id)
        .join(item_lists, item_lists.c.id == _row.list_id)
        .outerjoin(work_used, work_used.c.account_id == item_lists.c.account_id)
        .where(_waiting(now), ~is_worked_for)
        .order_by(used_in_window(now), _row.queued_at, _row.id)
        .limit(1)
        .with_for_update(skip_locked=True, of=list_uploads)
    )
    claimed = (await connection.execute(waiting)).scalar_one_or_none()
    if claimed is None:
        return None
    holder = new_holder()
    working = update(list_uploads).where(_row.id == claimed)
    await connection.execute(working.values(state="working", problem="", **lease_values(holder, now)))
    found = _UPLOAD.add_columns(_row.content, item_lists.c.account_id).join(item_lists, item_lists.c.id == _row.list_id)
    row = (await connection.execute(found.where(_row.id == claimed))).one()
    return ClaimedUpload(_upload(row), row.content, row.account_id, holder)


def lease_of(database: Database, clock: Clock, claimed: ClaimedUpload) -> Lease:
    """The lease of a claimed upload."""
    return Lease(database, clock, list_uploads, *_held(claimed))


def _held(claimed: ClaimedUpload) -> Sequence[ColumnElement[bool]]:
    return _row.id == claimed.upload.id, _row.lease_holder == claimed.holder


def _waiting(now: int) -> ColumnElement[bool]:
    waits = and_(_row.state == "waiting", is_free(list_uploads, now, MAX_WAIT_SECONDS))
    return or_(waits, and_(_row.state == "working", is_free(list_uploads, now)))


async def set_work(connection: AsyncConnection, claimed: ClaimedUpload, values: Mapping[str, object]) -> bool:
    """Store the progress of an upload. Returns whether this node still has it."""
    changed = update(list_uploads).where(*_held(claimed)).values(**values)
    return (await connection.execute(changed)).rowcount > 0


async def note_appended(connection: AsyncConnection, upload_id: int, total: int, revision: int) -> None:
    """Store that a kept upload has more lines, which reflect a revision of the copy."""
    oldest = case((_row.revision < revision, _row.revision), else_=revision)
    appended = update(list_uploads).where(_row.id == upload_id)
    await connection.execute(appended.values(total=total, matched=total, revision=oldest))


async def note_problem(connection: AsyncConnection, upload_id: int, problem: str) -> None:
    """Store why an upload was not kept automatically."""
    noted = update(list_uploads).where(_row.id == upload_id, _row.state == "ready")
    await connection.execute(noted.values(problem=problem))


async def oldest_revision(connection: AsyncConnection) -> int | None:
    """The oldest revision of the copy that lines of an upload reflect; None without any."""
    found = select(func.min(_row.revision)).where(_row.state.in_(_MATCHED))
    revision: int | None = (await connection.execute(found)).scalar_one()
    return revision


async def locked_revisions(connection: AsyncConnection) -> dict[int, int]:
    """The uploads whose lines follow the copy, locked, each with the revision that its lines reflect.

    Code that updates lines from the copy holds this lock from reading the copy to writing lines. Otherwise a slow node
    could write old values over newer ones of another node.
    """
    followed = select(_row.id, _row.revision).where(_row.state.in_(_MATCHED)).order_by(_row.id).with_for_update()
    return {row.id: row.revision for row in await connection.execute(followed)}


async def note_revision(connection: AsyncConnection, upload_ids: Sequence[int], until: int) -> None:
    """Store that lines of these uploads reflect the copy up to a revision. The caller has locked the uploads."""
    followed = update(list_uploads).where(_row.id == bindparam("of_upload"))
    if upload_ids:
        await connection.execute(followed.values(revision=until), [{"of_upload": each} for each in upload_ids])


async def forget(connection: AsyncConnection, before: int) -> int:
    """Delete old unkept uploads, and lists without others. Returns how many rows."""
    old = delete(list_uploads).where(_row.created_at < before, _row.state != "kept")
    forgotten = (await connection.execute(old)).rowcount
    has_uploads = exists().where(_row.list_id == item_lists.c.id)
    empty = delete(item_lists).where(item_lists.c.created_at < before, item_lists.c.upload_id.is_(None), ~has_uploads)
    return forgotten + (await connection.execute(empty)).rowcount


def found_json(found: FoundTable) -> str:
    """How a file was read, as stored JSON."""
    return _json(found)


def _own(account_id: int, list_id: int) -> Sequence[Any]:
    return item_lists.c.account_id == account_id, item_lists.c.id == list_id


def _json(value: msgspec.Struct) -> str:
    return msgspec.json.encode(value).decode()


def _upload(row: Row[Any]) -> Upload:
    return Upload(
        row.id,
        row.list_id,
        row.created_at,
        row.filename,
        _choices.decode(row.choices),
        _found.decode(row.found) if row.found is not None else None,
        row.state,
        row.problem,
        row.total,
        row.matched,
        bool(row.keeps_itself),
        row.revision,
        bool(row.is_stored),
        row.leased_until if row.state == "waiting" and row.leased_until else None,
    )
