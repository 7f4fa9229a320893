"""Reads the stored history of a device, an actor or a certificate."""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import bindparam, select

from registerwatch.copy.history.changed_fields import ACTOR_FIELDS
from registerwatch.copy.history.history import HistoryKind
from registerwatch.copy.history.record_history import RecordHistory, StoredChange, StoredState, device_state
from registerwatch.copy.tables import actors, devices, record_history
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.statements import PreparedSelect
from registerwatch.register.models import from_document


class HistoryReader:
    """Histories in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def device(self, udi: str) -> RecordHistory:
        """Every record of a UDI-DI with its changes; none where the copy has none."""
        rows = await self._database.rows(_DEVICES, udi=udi)
        revisions = {row[1]: row[2] for row in rows}
        records = {row[1]: _device(row) for row in rows}
        stored = await self.changes(HistoryKind.DEVICE, udi) if rows else []
        # A change that was stored after the records were read does not belong to them yet.
        known = [each for each in stored if each.revision <= revisions.get(each.record, -1)]
        return RecordHistory(records, known)

    async def actor(self, srn: str) -> RecordHistory:
        """An actor with its changes, as one record without a uuid."""
        rows = await self._database.rows(_ACTOR, srn=srn, kind=HistoryKind.ACTOR.value)
        if not rows:
            return RecordHistory({})
        width = len(_OF_ACTOR)
        fields = dict(zip(ACTOR_FIELDS, rows[0][1 : width - 1], strict=True))
        beside = {"complete": bool(fields["complete"]), "delisted_at": rows[0][width - 1]}
        state = StoredState({"srn": srn, **fields, **beside}, rows[0][0])
        stored = [_change(row[width:]) for row in rows if row[width] is not None]
        return RecordHistory({"": state}, stored)

    async def changes(self, kind: HistoryKind, subject: str) -> Sequence[StoredChange]:
        """The stored changes of a subject, the last one first. Pruning bounds their number."""
        rows = await self._database.rows(_CHANGES, kind=kind.value, subject=subject)
        return [_change(row) for row in rows]


def _device(row: Sequence[Any]) -> StoredState:
    document, _, _, is_current, latest_version, delisted_at, detail_version, version, certs_read_at, first_seen_at = row
    state = device_state(
        from_document(document),
        is_current=bool(is_current),
        latest_version=bool(latest_version),
        delisted_at=delisted_at,
        has_detail=detail_version is not None,
        has_old_detail=detail_version is not None and detail_version != version,
        has_certificates=certs_read_at is not None,
    )
    return StoredState(state, first_seen_at)


def _change(row: Sequence[Any]) -> StoredChange:
    number, record, observed_at, source, old, dropped_at, revision = row
    return StoredChange(number, record, observed_at, source, _old.decode(old), dropped_at, revision)


_old = msgspec.json.Decoder(dict[str, Any])
_OF_CHANGE = tuple(
    record_history.c[name] for name in ("id", "record", "observed_at", "source", "old", "dropped_at", "revision")
)
_OF_ACTOR = (actors.c.first_seen_at, *(actors.c[name] for name in ACTOR_FIELDS), actors.c.delisted_at)
_CHANGES = PreparedSelect(
    select(*_OF_CHANGE)
    .where(record_history.c.kind == bindparam("kind"), record_history.c.subject == bindparam("subject"))
    .order_by(record_history.c.id.desc())
)
_ACTOR = PreparedSelect(  # one statement, so that the actor and its changes are of one instant
    select(*_OF_ACTOR, *_OF_CHANGE)
    .select_from(
        actors.outerjoin(
            record_history, (record_history.c.subject == actors.c.srn) & (record_history.c.kind == bindparam("kind"))
        )
    )
    .where(actors.c.srn == bindparam("srn"))
    .order_by(record_history.c.id.desc())
)
_DEVICES = PreparedSelect(
    select(
        *(
            devices.c[name]
            for name in (
                "document",
                "uuid",
                "revision",
                "is_current",
                "latest_version",
                "delisted_at",
                "detail_version",
                "version_number",
                "certs_read_at",
                "first_seen_at",
            )
        )
    ).where(devices.c.primary_di == bindparam("udi"))
)
