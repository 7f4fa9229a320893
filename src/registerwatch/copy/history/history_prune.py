"""Bounds the history of a subject: the oldest changes are deleted, and the oldest that stays says so."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.platform.db.engine import Database

MAX_CHANGES = 1_000
"""Changes that are kept of a subject. A device has a few in its life; a large manufacturer's total changes daily."""
CHUNK = 20_000
"""Stored changes whose subjects are checked in one transaction."""


class HistoryPruner:
    """Deletes the oldest changes of subjects that have too many, in one database."""

    def __init__(self, database: Database, *, max_changes: int = MAX_CHANGES, chunk: int = CHUNK) -> None:
        self._database = database
        self._max_changes = max_changes
        self._chunk = chunk

    async def prune(self) -> int:
        """Check every subject that changed since the last time. Returns the number of deleted changes.

        Any number of processes may do this at any time.
        """
        deleted = 0
        while True:
            async with self._database.transaction() as connection:
                bounds = (await connection.execute(_BOUNDS, {"chunk": self._chunk})).one()
                if bounds.last is None or bounds.last <= bounds.after:
                    return deleted
                asked = {"after": bounds.after, "last": bounds.last, "most": self._max_changes}
                for subject in (await connection.execute(_CROWDED, asked)).all():
                    deleted += await self._prune_subject(connection, subject.kind, subject.subject)
                await connection.execute(_NOTE, {"last": bounds.last})

    async def _prune_subject(self, connection: AsyncConnection, kind: str, subject: str) -> int:
        of = {"kind": kind, "subject": subject}
        oldest = (await connection.execute(_OLDEST_KEPT, {**of, "skipped": self._max_changes - 1})).scalar_one()
        dropped_at = (await connection.execute(_LAST_BEFORE, {**of, "id": oldest})).scalar_one_or_none()
        if dropped_at is None:
            return 0
        await connection.execute(_SAY_SO, {"id": oldest, "dropped_at": dropped_at})
        return (await connection.execute(_DELETE, {**of, "id": oldest})).rowcount


_BOUNDS = text(
    "SELECT COALESCE(history_pruned, 0) AS after, (SELECT max(id) FROM (SELECT id FROM record_history"
    " WHERE id > COALESCE(history_pruned, 0) ORDER BY id LIMIT :chunk) AS next) AS last FROM copy_state WHERE id = 1"
)
_CROWDED = text(
    "SELECT kind, subject FROM (SELECT DISTINCT kind, subject FROM record_history WHERE id > :after AND id <= :last)"
    " AS changed WHERE (SELECT count(*) FROM record_history AS every WHERE every.kind = changed.kind"
    " AND every.subject = changed.subject) > :most ORDER BY kind, subject"
)
_OF = "FROM record_history WHERE kind = :kind AND subject = :subject"
_OLDEST_KEPT = text(f"SELECT id {_OF} ORDER BY id DESC LIMIT 1 OFFSET :skipped")
_LAST_BEFORE = text(f"SELECT observed_at {_OF} AND id < :id ORDER BY id DESC LIMIT 1")
_SAY_SO = text("UPDATE record_history SET dropped_at = :dropped_at WHERE id = :id")
_DELETE = text(f"DELETE {_OF} AND id < :id")
_NOTE = text("UPDATE copy_state SET history_pruned = :last WHERE id = 1")
