"""Stores the history of records: old values of changed fields, in the transaction of the change.

A record as of an instant is its present with the changes after that instant undone (docs/decisions/0042).
"""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.tables import record_history

CHUNK = 500
"""Values in one statement."""
MAX_OVERTAKEN_SECONDS = 24 * 3600
"""No read takes this long: a change observed still later is from before the clock was put back."""


class HistoryKind(StrEnum):
    """The kind of a record; its subject is a UDI-DI, an SRN, or an id in `certificates`."""

    DEVICE = "device"
    ACTOR = "actor"
    CERTIFICATE = "certificate"


class RecordChange(msgspec.Struct, frozen=True):
    """One change of a stored record. `old` has the old values of the changed fields, in the form of JSON."""

    subject: str
    old: Mapping[str, Any]
    record: str = ""
    """The uuid of a device record, empty where the subject is the record."""
    revision: int = 0
    """The copy's number of the change, 0 where it has none."""


def old_values(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The old values of the fields that differ. Both have the same fields; leave out those that only say when
    something was read.
    """
    return {name: value for name, value in old.items() if value != new[name]}


async def note_changes(
    connection: AsyncConnection,
    kind: HistoryKind,
    changes: Sequence[RecordChange],
    *,
    observed_at: int,
    source: str | None,
) -> None:
    """Write changes of records that were stored before, in the transaction that stores their new values.

    New records are not changes, nor is one without a difference (`old` is empty). `observed_at` is the instant
    before the first request of the read that found them. If a change of a later read is stored already, its instant is
    used, since changes are undone in the order in which they were stored.
    """
    changes = [each for each in changes if each.old]
    last = await _last_observed(connection, kind, {each.subject for each in changes}, observed_at)
    rows = [
        {
            "kind": kind.value,
            "subject": each.subject,
            "record": each.record,
            "revision": each.revision,
            "observed_at": max(observed_at, last.get(each.subject, 0)),
            "source": source,
            "old": _encoder.encode(each.old).decode(),
        }
        for each in changes
    ]
    if rows:
        await connection.execute(_INSERT, rows)


async def _last_observed(
    connection: AsyncConnection, kind: HistoryKind, subjects: Collection[str], observed_at: int
) -> dict[str, int]:
    """The last observation of a change of these subjects, where it is later than this one."""
    found: dict[str, int] = {}
    named = sorted(subjects)
    for start in range(0, len(named), CHUNK):
        asked = _LATER.where(
            record_history.c.kind == kind.value,
            record_history.c.subject.in_(named[start : start + CHUNK]),
            record_history.c.observed_at.between(observed_at + 1, observed_at + MAX_OVERTAKEN_SECONDS),
        )
        found |= {row.subject: row.observed_at for row in await connection.execute(asked)}
    return found


_encoder = msgspec.json.Encoder()
_INSERT = record_history.insert()
_LATER = select(record_history.c.subject, func.max(record_history.c.observed_at).label("observed_at")).group_by(
    record_history.c.subject
)
