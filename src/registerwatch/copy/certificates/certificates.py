"""Stores certificates, refused applications and notified bodies, and reads the stored ones.

The writes of a walk go into one transaction. Statements take many rows at once, and only rows that changed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.certificates import certificate_statements as statements
from registerwatch.copy.certificates.certificate_numbers import plain_number
from registerwatch.copy.history.history import HistoryKind, RecordChange, note_changes, old_values
from registerwatch.register.certificates import (
    CertificateFacts,
    CertificateNews,
    NotifiedBody,
    ReadCertificate,
    Refusal,
    RegisteredCertificate,
    Scope,
    StoredCertificate,
    WrittenCertificate,
    decoded_scopes,
    encoded_changes,
    encoded_facts,
    encoded_scopes,
    named_devices,
)

SOURCE = "eudamed"
"""The source of all certificates, as history names it."""

MAX_READ_SECONDS = 24 * 3600
"""No read takes this long: a read observed still later is from before the clock was put back."""

ListedTable = Literal["certificates", "refusals"]
"""A table for a list's records."""


class ReadScopes(msgspec.Struct, frozen=True):
    """The scopes in a certificate's own record, the instant before the request, when they are next due, and the other
    facts of the record.
    """

    scopes: Sequence[Scope]
    read_at: int
    due_at: int
    facts: CertificateFacts = CertificateFacts()


class DueScopes(msgspec.Struct, frozen=True):
    """A certificate whose scopes are to be read, as it is or will be stored."""

    certificate: RegisteredCertificate
    due_at: int = 0


class AskedScopes(msgspec.Struct, frozen=True):
    """A certificate that the register was asked for after the instant `began_at`; None where it could not be read."""

    due: DueScopes
    began_at: int
    record: ReadCertificate | None


async def stored_certificates(connection: AsyncConnection) -> dict[str, StoredCertificate]:
    """Every stored certificate by id, listed or not."""
    return {row.id: _stored(row) for row in (await connection.execute(statements.CERTIFICATES)).all()}


async def stored_refusals(connection: AsyncConnection) -> dict[str, tuple[Refusal, bool]]:
    """Every stored refused application by id, with whether it is listed."""
    rows = (await connection.execute(statements.REFUSALS)).all()
    return {
        row[0]: (Refusal(**dict(zip(statements.OF_REFUSAL, row, strict=False))), row.unlisted_at is None)
        for row in rows
    }


async def stored_bodies(connection: AsyncConnection) -> dict[str, str]:
    """The names of notified bodies by their number."""
    return {row.number: row.name for row in (await connection.execute(statements.BODIES)).all()}


async def write_certificates(
    connection: AsyncConnection, written: Sequence[WrittenCertificate], walk_at: int, *, since: int
) -> None:
    """Store certificates that a walk listed: new, changed, or back. Scopes of changed ones become due.

    `since` is the revision of the copy before the walk.
    """
    rows = [
        {
            **msgspec.structs.asdict(each.certificate),
            "last_expiry": each.last_expiry,
            "plain_number": plain_number(each.certificate.number),
            "walk_at": walk_at,
            "is_changed": each.is_changed,
            "since": since,
        }
        for each in written
    ]
    if rows:
        await connection.execute(statements.UPSERT_CERTIFICATE, rows)
    for visible_at in sorted({each.visible_at for each in written}):
        changes = [_was(each) for each in written if each.visible_at == visible_at]
        await note_changes(connection, HistoryKind.CERTIFICATE, changes, observed_at=visible_at, source=SOURCE)


async def write_refusals(connection: AsyncConnection, refusals: Sequence[Refusal], walk_at: int) -> None:
    """Store refused applications that a walk listed: new, changed, or back."""
    rows = [{**msgspec.structs.asdict(each), "walk_at": walk_at} for each in refusals]
    if rows:
        await connection.execute(statements.UPSERT_REFUSAL, rows)


async def write_bodies(connection: AsyncConnection, bodies: Sequence[NotifiedBody], seen_at: int) -> None:
    """Store the notified bodies of a list. One that is not listed keeps its name."""
    rows = [{"number": each.number, "name": each.name, "seen_at": seen_at} for each in bodies]
    if rows:
        await connection.execute(statements.UPSERT_BODY, rows)


async def note_seen(connection: AsyncConnection, table: ListedTable, ids: Sequence[str], walk_at: int) -> None:
    """Note that a walk listed these stored records."""
    for batch in _batches(ids):
        await connection.execute(statements.SEEN[table], {"ids": batch, "walk_at": walk_at})


async def note_shown(connection: AsyncConnection, ids: Sequence[str], walk_at: int, *, since: int) -> None:
    """Note stored certificates whose latest version a walk listed. `since` is the copy's revision before the walk."""
    for batch in _batches(ids):
        await connection.execute(statements.SHOWN, {"ids": batch, "walk_at": walk_at, "since": since})


async def numbers_of(connection: AsyncConnection, ids: Sequence[str]) -> set[tuple[str, str]]:
    """Manufacturers and numbers of certificates."""
    found: set[tuple[str, str]] = set()
    for batch in _batches(ids):
        rows = (await connection.execute(statements.NUMBERS, {"ids": batch})).all()
        found.update((row.srn, row.number) for row in rows)
    return found


async def unlist(connection: AsyncConnection, table: ListedTable, ids: Sequence[str], walk_at: int) -> None:
    """Note that a walk no longer listed these records."""
    for batch in _batches(ids):
        await connection.execute(statements.UNLIST[table], {"ids": batch, "walk_at": walk_at})
    if table == "certificates":
        changes = [RecordChange(number, {"unlisted_at": None}) for number in ids]
        await note_changes(connection, HistoryKind.CERTIFICATE, changes, observed_at=walk_at, source=SOURCE)


async def add_news(connection: AsyncConnection, news: Sequence[CertificateNews], found_at: int) -> None:
    """Add news to the log that watches are notified from."""
    rows = [
        {
            "srn": each.srn,
            "certificate_id": each.certificate_id,
            "changes": encoded_changes(each.changes),
            "found_at": found_at,
            "visible_at": each.visible_at,
        }
        for each in news
    ]
    if rows:
        await connection.execute(statements.ADD_NEWS, rows)


async def due_scopes(connection: AsyncConnection, *, now: int, most: int) -> list[DueScopes]:
    """Listed certificates whose scopes are due, those that are due the longest first."""
    rows = (await connection.execute(statements.DUE_SCOPES, {"now": now, "most": most})).all()
    return [DueScopes(_stored(row).certificate, row.scopes_due_at) for row in rows]


async def not_overtaken(connection: AsyncConnection, asked: Sequence[AskedScopes]) -> list[AskedScopes]:
    """Reads of scopes whose certificates are stored unchanged since they were due, and not read since this read began.

    The caller that stores the results has the lock of the list.
    """
    stored: dict[str, Row[Any]] = {}
    for batch in _batches([each.due.certificate.id for each in asked]):
        rows = (await connection.execute(statements.SCOPES_STATE, {"ids": batch})).all()
        stored |= {row.id: row for row in rows}
    return [each for each in asked if (row := stored.get(each.due.certificate.id)) and _is_as_asked(row, each)]


async def write_scopes(connection: AsyncConnection, read: Mapping[str, ReadScopes]) -> None:
    """Store scopes by the id of their certificate."""
    before = await _stored_scopes(connection, list(read))
    for number, each in sorted(read.items()):
        written = {"scopes": encoded_scopes(each.scopes), "facts": encoded_facts(each.facts)}
        times = {"read_at": each.read_at, "due_at": each.due_at}
        await connection.execute(statements.SET_SCOPES, {"id": number, **written, **times})
        await connection.execute(statements.FORGET_DEVICES, {"id": number})
        named = [{"id": number, "basic_udi": basic_udi} for basic_udi in named_devices(each.scopes)]
        if named:
            await connection.execute(statements.NAME_DEVICE, named)
        was = before.get(number)
        if was is not None and was != tuple(each.scopes):
            changes = [RecordChange(number, {"scopes": msgspec.to_builtins(was)})]
            await note_changes(connection, HistoryKind.CERTIFICATE, changes, observed_at=each.read_at, source=SOURCE)


async def postpone_scopes(connection: AsyncConnection, ids: Sequence[str], due_at: int) -> None:
    """Postpone scopes that could not be read."""
    for batch in _batches(ids):
        await connection.execute(statements.POSTPONE, {"ids": batch, "due_at": due_at})


async def _stored_scopes(connection: AsyncConnection, ids: Sequence[str]) -> dict[str, tuple[Scope, ...]]:
    """The scopes of those certificates that were read before."""
    found: dict[str, tuple[Scope, ...]] = {}
    for batch in _batches(ids):
        rows = (await connection.execute(statements.SCOPES, {"ids": batch})).all()
        found |= {row.id: decoded_scopes(row.scopes) for row in rows}
    return found


def _was(written: WrittenCertificate) -> RecordChange:
    """Old values of a certificate before it is written; none for a new one."""
    before, number = written.before, written.certificate.id
    if before is None:
        return RecordChange(number, {})
    old = old_values(msgspec.structs.asdict(before.certificate), msgspec.structs.asdict(written.certificate))
    return RecordChange(number, old if before.is_listed else {**old, "unlisted_at": before.unlisted_at})


def _is_as_asked(row: Row[Any], asked: AskedScopes) -> bool:
    began_at, read_at = asked.began_at, row.scopes_read_at
    is_newer = read_at is not None and began_at <= read_at <= began_at + MAX_READ_SECONDS
    return not is_newer and row.scopes_due_at == asked.due.due_at and _stored(row).certificate == asked.due.certificate


def _stored(row: Row[Any]) -> StoredCertificate:
    fields = dict(zip(statements.OF_CERTIFICATE, row, strict=False))
    fields["is_latest"] = bool(row.is_latest)
    return StoredCertificate(RegisteredCertificate(**fields), row.last_expiry, row.unlisted_at)


def _batches(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[start : start + statements.BATCH] for start in range(0, len(ids), statements.BATCH)]
