"""The SQL of ends of certificates: the certificates that watches show, and their stored marks.

Functions run in the transaction of the connection that they are given.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Row, exists, func, or_, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from registerwatch.accounts.tables import accounts
from registerwatch.copy.certificates.certificate_queries import StoredCertificate, certificates_as_read
from registerwatch.copy.tables import certificates, device_certificates
from registerwatch.platform.clock import day_of
from registerwatch.platform.db.tables import ticks
from registerwatch.platform.structs import replace
from registerwatch.watches.diff import EXPIRY, FieldChange
from registerwatch.watches.news.expiry_marks import DueCertificate, EndingCertificate, Notice, due_certificates
from registerwatch.watches.options import WatchOptions, options_of
from registerwatch.watches.repository import chunks
from registerwatch.watches.snapshot import SeenCertificate
from registerwatch.watches.standing import shown_of
from registerwatch.watches.tables import events, expiry_notices, watches

_DAY = "expiry day"
"""The row of `ticks` with the day of the last run, in days since 1970."""
_EPOCH = date(1970, 1, 1).toordinal()

Known = Mapping[int, Mapping[tuple[str, str], int]]
"""Stored marks: by watch, then by certificate and date."""
MovedEnds = Mapping[int, Mapping[tuple[str, str], date]]
"""The days of events with a new end: by watch, then by number of the certificate and its new end."""


class _SnapshotPart(msgspec.Struct, frozen=True, gc=False):
    certs: tuple[SeenCertificate, ...] | None = None
    manufacturer_srn: str = ""


_snapshots = msgspec.json.Decoder(_SnapshotPart)
_changes = msgspec.json.Decoder(tuple[FieldChange, ...])


class EndingWatch(msgspec.Struct, frozen=True):
    """A watch with its certificates whose date is near or recently past."""

    id: int
    account_id: int
    subject: str
    label: str
    created_at: int
    options: WatchOptions
    manufacturer_srn: str
    is_active: bool
    """Whether the account's period goes on; if not, reports wait until it does."""
    certificates: Sequence[DueCertificate]


async def last_day(connection: AsyncConnection) -> date | None:
    """The day of the last run, None before the first."""
    found = select(ticks.c.slot).where(ticks.c.name == _DAY)
    slot: int | None = (await connection.execute(found)).scalar_one_or_none()
    return None if slot is None else date.fromordinal(slot + _EPOCH)


async def set_last_day(connection: AsyncConnection, day: date) -> None:
    """Store the day of a finished run."""
    added = _insert(connection)(ticks)
    stored = added.on_conflict_do_update(index_elements=["name"], set_={"slot": added.excluded.slot})
    await connection.execute(stored, {"name": _DAY, "slot": day.toordinal() - _EPOCH})


async def device_watches(
    connection: AsyncConnection, now: int, after: int, limit: int, since: date, until: date
) -> tuple[int | None, Sequence[EndingWatch]]:
    """Reads `limit` watches of devices after the id `after`. Gives the last id, None where none was read, and the
    watches with certificates that end between two days.
    """
    found = _with_period(now).add_columns(watches.c.snapshot).where(watches.c.kind == "udi", watches.c.id > after)
    found = found.where(watches.c.snapshot.is_not(None)).order_by(watches.c.id).limit(limit)
    rows = (await connection.execute(found)).all()
    seen = [(row, _snapshots.decode(row.snapshot)) for row in rows]
    today = day_of(now)
    due = [(row, part.manufacturer_srn, _due_of_device(part, today, since, until)) for row, part in seen if part.certs]
    ending = [_watch(row, srn, certificates) for row, srn, certificates in due if certificates]
    return (rows[-1].id if rows else None), ending


async def manufacturer_watches(
    connection: AsyncConnection, now: int, after: int, limit: int, since: date, until: date
) -> tuple[int | None, Sequence[EndingWatch]]:
    """Reads watches of manufacturers as `device_watches` does, with certificates that the register lists or listed, as
    the newer of the list and the reads of devices has them.
    """
    cert, near = certificates.c, certificates.alias("near").c
    may_be_near = or_(
        func.coalesce(near.expiry, near.last_expiry).between(since.isoformat(), until.isoformat()),
        _has_newer_read(near),
    )
    page = _with_period(now).where(watches.c.kind == "srn", watches.c.id > after)
    of_watch = select(near.id).where(near.srn == watches.c.subject, may_be_near, near.is_latest.is_(True))
    rows = (await connection.execute(page.where(of_watch.exists()).order_by(watches.c.id).limit(limit))).all()
    revision_may_be_near = select(near.id).where(near.srn == cert.srn, near.number == cert.number, may_be_near)
    listed = select(cert.id, cert.last_expiry).where(cert.srn.in_({row.subject for row in rows}))
    listed = listed.where(cert.is_latest.is_(True), revision_may_be_near.exists())
    last_ends = {row.id: row.last_expiry for row in await connection.execute(listed)}
    known: defaultdict[str, list[EndingCertificate]] = defaultdict(list)
    for each in await certificates_as_read(connection, [*last_ends]):
        known[each.srn].append(_listed(each, last_ends[each.id], day_of(now)))
    due = {srn: due_certificates(of_maker, since, until) for srn, of_maker in known.items()}
    ending = [_watch(row, row.subject, due[row.subject]) for row in rows if due.get(row.subject)]
    return (rows[-1].id if rows else None), ending


async def lock(connection: AsyncConnection, watch_ids: Collection[int]) -> Collection[int]:
    """Lock watches until this transaction ends. Gives the ids of those that still exist."""
    found: set[int] = set()
    for chunk in chunks(sorted(watch_ids)):
        own = select(watches.c.id).where(watches.c.id.in_(chunk)).order_by(watches.c.id).with_for_update()
        found.update((await connection.execute(own)).scalars())
    return found


async def known_marks(connection: AsyncConnection, watch_ids: Sequence[int]) -> Known:
    """The stored marks of some watches."""
    marks = expiry_notices.c
    found: defaultdict[int, dict[tuple[str, str], int]] = defaultdict(dict)
    for chunk in chunks(watch_ids):
        for row in await connection.execute(select(expiry_notices).where(marks.watch_id.in_(chunk))):
            found[row.watch_id][row.certificate, row.expiry] = row.days
    return found


async def moved_ends(connection: AsyncConnection, watch_ids: Sequence[int], since: int) -> MovedEnds:
    """The ends to which certificates of some watches were moved by events since an instant (unix seconds)."""
    event = events.c
    of_watches = select(event.watch_id, event.created_at, event.changes).join(watches, watches.c.id == event.watch_id)
    of_watches = of_watches.where(event.account_id == watches.c.account_id, event.created_at >= since)
    of_watches = of_watches.where(event.fields.contains(f",{EXPIRY},")).order_by(event.id)
    found: defaultdict[int, dict[tuple[str, str], date]] = defaultdict(dict)
    for chunk in chunks(watch_ids):
        for row in await connection.execute(of_watches.where(event.watch_id.in_(chunk))):
            for change in _changes.decode(row.changes):
                if change.field == EXPIRY:
                    found[row.watch_id][change.certificate or "", change.new] = day_of(row.created_at)
    return found


async def store_marks(connection: AsyncConnection, notices: Iterable[tuple[int, Notice]]) -> None:
    """Store the marks of notices, each with the id of its watch."""
    rows = [
        {
            "watch_id": watch_id,
            "certificate": notice.certificate.key,
            "expiry": notice.certificate.expiry.isoformat(),
            "days": notice.mark,
        }
        for watch_id, notice in notices
    ]
    if rows:
        added = _insert(connection)(expiry_notices)
        key = ["watch_id", "certificate", "expiry"]
        stored = added.on_conflict_do_update(index_elements=key, set_={"days": added.excluded.days})
        await connection.execute(stored, rows)


def _with_period(now: int) -> Any:
    """All watches, and whether the period of their accounts goes on."""
    columns = watches.c.id, watches.c.account_id, watches.c.subject, watches.c.label, watches.c.created_at
    is_active = select(accounts.c.id).where(accounts.c.id == watches.c.account_id, accounts.c.expires_at > now).exists()
    return select(*columns, watches.c.options, is_active.label("is_active"))


def _due_of_device(seen: _SnapshotPart, today: date, since: date, until: date) -> Sequence[DueCertificate]:
    """The certificates that a watch shows or showed whose date is between two days."""
    certs = seen.certs or ()
    if not any(since.isoformat() <= each.expiry <= until.isoformat() for each in certs):
        return ()  # quickly, since most watches are like that
    ending = [EndingCertificate(shown_of(each, today), each.expiry, each.former_revision) for each in certs]
    return due_certificates(ending, since, until)


def _has_newer_read(listed: ReadOnlyColumnCollection[str, Any]) -> ColumnElement[bool]:
    """Whether a device was read with a certificate after the list."""
    read = device_certificates.c
    is_same = (read.srn == listed.srn) & (read.plain_number == listed.plain_number)
    return exists().where(is_same, read.read_at > func.coalesce(listed.unlisted_at, listed.seen_at))


def _listed(certificate: StoredCertificate, last_end: str | None, today: date) -> EndingCertificate:
    """A certificate that the register lists or listed, with its state and end by the newer read."""
    shown = certificate.standing(today).shown
    named = replace(
        shown.certificate,
        number=certificate.number,
        revision=certificate.revision,
        notified_body=certificate.notified_body,
    )
    ends = named.expiry or certificate.expiry or last_end or ""
    return EndingCertificate(replace(shown, certificate=named), ends)


def _watch(row: Row[Any], manufacturer_srn: str, due: Sequence[DueCertificate]) -> EndingWatch:
    """A watch with its certificates."""
    about = row.id, row.account_id, row.subject, row.label, row.created_at
    options, is_active = options_of(row.options), bool(row.is_active)
    return EndingWatch(*about, options, manufacturer_srn, is_active, due)


def _insert(connection: AsyncConnection) -> Callable[..., Any]:
    return postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
