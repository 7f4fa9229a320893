"""The SQL of ends of certificates: which certificates watches show, and how near an end each was told.

Functions run in the transaction of the connection that they are given.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Any

import msgspec
from sqlalchemy import Row, or_, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.clock import day_of
from registerwatch.db.tables import accounts, certificates, expiry_notices, ticks, watches
from registerwatch.register.certificate_states import ENDED_STATUSES
from registerwatch.register.codes import CERTIFICATE_STATUS_PREFIX
from registerwatch.register.models import may_be_same_body
from registerwatch.watches.expiry_marks import DueCertificate, Notice
from registerwatch.watches.options import WatchOptions, options_of
from registerwatch.watches.repository import chunks
from registerwatch.watches.snapshot import SeenCertificate, shown_certificates

ENDED_EARLIER = frozenset(CERTIFICATE_STATUS_PREFIX + each for each in ENDED_STATUSES)
"""Statuses of certificates whose date means nothing any more."""
EXPIRED = CERTIFICATE_STATUS_PREFIX + "expired"
"""With this status a date that is still to come contradicts it, so that it is not announced as an end."""
MAX_KEY_LENGTH = 500

_DAY = "expiry day"
"""The row of `ticks` that has the day of the last run, as days since 1970."""
_EPOCH = date(1970, 1, 1).toordinal()

Known = Mapping[int, Mapping[tuple[str, str], int]]
"""Stored marks: by watch, then by certificate and date."""


class _SnapshotPart(msgspec.Struct, frozen=True, gc=False):
    certs: tuple[SeenCertificate, ...] | None = None
    manufacturer_srn: str = ""


_snapshots = msgspec.json.Decoder(_SnapshotPart)


class EndingWatch(msgspec.Struct, frozen=True):
    """A watch with those of its certificates that end soon or have ended lately."""

    id: int
    account_id: int
    subject: str
    label: str
    created_at: int
    options: WatchOptions
    manufacturer_srn: str
    is_active: bool
    """Whether the account's period goes on; else it is told when it is back."""
    certificates: Sequence[DueCertificate]


async def last_day(connection: AsyncConnection) -> date | None:
    """The day of the last run, None before the first."""
    found = select(ticks.c.slot).where(ticks.c.name == _DAY)
    slot: int | None = (await connection.execute(found)).scalar_one_or_none()
    return None if slot is None else date.fromordinal(slot + _EPOCH)


async def set_last_day(connection: AsyncConnection, day: date) -> None:
    """A run has been through on this day."""
    added = _insert(connection)(ticks)
    stored = added.on_conflict_do_update(index_elements=["name"], set_={"slot": added.excluded.slot})
    await connection.execute(stored, {"name": _DAY, "slot": day.toordinal() - _EPOCH})


async def device_watches(
    connection: AsyncConnection, now: int, after: int, limit: int, since: date, until: date
) -> tuple[int | None, Sequence[EndingWatch]]:
    """Of so many watches of devices after one those with certificates that end between two days; and the last watch
    that was looked at, None where there is none.
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
    """The same of watches of manufacturers, and certificates that the register lists for these."""
    cert, other, today = certificates.c, certificates.alias("other").c, day_of(now).isoformat()
    is_superseded = (
        select(other.id)
        .where(other.srn == cert.srn, other.number == cert.number, other.notified_body == cert.notified_body)
        .where(other.revision != cert.revision, other.unlisted_at.is_(None), other.is_latest.is_(True))
        .where(or_(other.expiry.is_(None), other.expiry > cert.expiry), other.status_code.not_in(ENDED_EARLIER))
        .where(or_(other.status_code != EXPIRED, other.expiry <= today))
    )
    ends = (
        cert.srn == watches.c.subject,
        cert.expiry.between(since.isoformat(), until.isoformat()),
        cert.unlisted_at.is_(None),
        cert.is_latest.is_(True),
        cert.status_code.not_in(ENDED_EARLIER),
        or_(cert.status_code != EXPIRED, cert.expiry <= today),
        ~is_superseded.exists(),
    )
    page = _with_period(now).where(watches.c.kind == "srn", watches.c.id > after)
    page = page.where(select(cert.id).where(*ends).exists()).order_by(watches.c.id).limit(limit)
    rows = (await connection.execute(page)).all()
    listed = select(watches.c.id, cert.notified_body, cert.number, cert.revision, cert.expiry).join_from(
        watches, certificates, ends[0]
    )
    found: defaultdict[int, list[DueCertificate]] = defaultdict(list)
    for row in await connection.execute(listed.where(*ends, watches.c.id.in_([row.id for row in rows]))):
        found[row.id] += _due(row.notified_body, row.number, row.revision, row.expiry, since, until)
    return (rows[-1].id if rows else None), [_watch(row, row.subject, found[row.id]) for row in rows]


async def lock(connection: AsyncConnection, watch_ids: Collection[int]) -> Collection[int]:
    """Nobody else changes these watches until this transaction ends. Gives those that are still there."""
    found: set[int] = set()
    for chunk in chunks(sorted(watch_ids)):
        own = select(watches.c.id).where(watches.c.id.in_(chunk)).order_by(watches.c.id).with_for_update()
        found.update((await connection.execute(own)).scalars())
    return found


async def known_marks(connection: AsyncConnection, watch_ids: Sequence[int]) -> Known:
    """The marks that are stored of some watches."""
    marks = expiry_notices.c
    found: defaultdict[int, dict[tuple[str, str], int]] = defaultdict(dict)
    for chunk in chunks(watch_ids):
        for row in await connection.execute(select(expiry_notices).where(marks.watch_id.in_(chunk))):
            found[row.watch_id][row.certificate, row.expiry] = row.days
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
    """The certificates that a watch shows and that end between two days."""
    shown = [each for each in shown_certificates(seen.certs or ()) if _has_its_end(each, today.isoformat())]
    return [
        certificate
        for each in shown
        if each.ends and not _is_superseded(each, shown)
        for certificate in _due(each.notified_body, each.number, each.revision, each.ends, since, until)
    ]


def _has_its_end(certificate: SeenCertificate, today: str) -> bool:
    """Whether its status leaves its end date, or that it has none, as it is."""
    if certificate.status_code == EXPIRED:
        return bool(certificate.ends) and certificate.ends <= today
    return certificate.status_code not in ENDED_EARLIER


def _is_superseded(certificate: SeenCertificate, shown: Sequence[SeenCertificate]) -> bool:
    """Whether another revision of a certificate is shown that ends later, or that has no end date."""
    return any(
        other.number == certificate.number
        and other.revision != certificate.revision
        and may_be_same_body(other.notified_body, certificate.notified_body)
        and (not other.ends or other.ends > certificate.ends)
        for other in shown
    )


def _watch(row: Row[Any], manufacturer_srn: str, due: Iterable[DueCertificate]) -> EndingWatch:
    """A watch with its certificates, several alike once."""
    about = row.id, row.account_id, row.subject, row.label, row.created_at
    options, is_active = options_of(row.options), bool(row.is_active)
    return EndingWatch(*about, options, manufacturer_srn, is_active, list(dict.fromkeys(due)))


def _due(body: str, number: str, revision: str, expiry: str, since: date, until: date) -> Sequence[DueCertificate]:
    """A certificate, where it ends between two days."""
    ends = _date(expiry)
    if ends is None or not since <= ends <= until:
        return ()
    key = msgspec.json.encode((body, number, revision)).decode()[:MAX_KEY_LENGTH]
    return (DueCertificate(key, number, ends),)


@lru_cache(4_096)
def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _insert(connection: AsyncConnection) -> Callable[..., Any]:
    return postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
