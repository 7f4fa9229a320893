"""The SQL that reads and writes the copy for `RecordStore`. Both databases understand it."""

from sqlalchemy import bindparam, func, select, text

from registerwatch.copy.tables import copy_state, fills
from registerwatch.platform.db.listed_values import LISTED as LISTED_VALUES
from registerwatch.platform.db.statements import PreparedSelect

STATE = PreparedSelect(
    select(
        copy_state.c.copy_id,
        copy_state.c.revision,
        copy_state.c.devices,
        copy_state.c.last_read_at,
        select(func.max(fills.c.finished_at)).scalar_subquery(),
    )
)
LOCK = {
    "sqlite": text("SELECT revision FROM copy_state WHERE id = 1"),
    "postgresql": text("SELECT revision FROM copy_state WHERE id = 1 FOR UPDATE"),
}
ADVANCE = text(
    "UPDATE copy_state SET revision = :revision, devices = devices + :added,"
    " last_read_at = COALESCE(:read_at, last_read_at) WHERE id = 1"
).bindparams(bindparam("read_at", type_=None))
IDENTIFY = text("UPDATE copy_state SET copy_id = :copy_id WHERE id = 1")
READ = text("UPDATE copy_state SET last_read_at = :read_at WHERE id = 1")
WRITTEN = (
    "primary_di",
    "uuid",
    "is_current",
    "latest_version",
    "version_number",
    "legislation_code",
    "detail_version",
    "revision",
    "read_at",
    "document",
    "source",
    "document_version",
    "delisted_at",
    "detail_read_at",
    "certs_read_at",
    "certs_revision",
    "lost_certs",
    "basic_key",
    "basic_read_at",
    "own_revision",
)
"""Columns of `devices` that every change writes."""
INSERTED = (*WRITTEN, "first_seen_at")
"""Columns in the order in which rows of a batch have their values; the last one is written once."""
WATCHED = ("watched_read_at", "watched_certs_at", "watched_basic_at")
"""Columns that few rows have. A statement of their own writes them after every other one: a load of the register writes
none.
"""
BY_UDI = {
    kind: text(f"SELECT {', '.join((*WRITTEN, *WATCHED))} FROM devices WHERE primary_di IN ({listed})")
    for kind, listed in LISTED_VALUES.items()
}
OTHERS = {
    kind: text(
        "SELECT other.primary_di, other.document, current.document AS answering,"
        " COALESCE(other.certs_read_at, other.basic_read_at) AS as_of"
        " FROM devices AS other JOIN devices AS current"
        " ON current.primary_di = other.primary_di AND current.is_current"
        f" WHERE other.primary_di IN ({listed}) AND NOT other.is_current AND other.latest_version"
        " AND other.delisted_at IS NULL ORDER BY other.uuid"
    )
    for kind, listed in LISTED_VALUES.items()
}
"""Listed records beside the current ones of UDI-DIs, with the document of that."""
NEWEST = text("SELECT max(revision) FROM devices WHERE primary_di IN :udis").bindparams(
    bindparam("udis", expanding=True)
)
KNOWN = text(
    "SELECT uuid, document, detail_version, detail_read_at, document_version, revision, certs_read_at,"
    " certs_revision, basic_read_at, watched_basic_at FROM devices"
    " WHERE primary_di = :udi"
)
LAST_READ = text(
    "SELECT read_at, watched_read_at, certs_read_at, watched_certs_at FROM devices"
    " WHERE primary_di = :udi AND is_current"
)
UNDER = text(
    "SELECT DISTINCT primary_di FROM devices WHERE basic_key = :key AND primary_di > :after ORDER BY primary_di"
    " LIMIT :most"
)
OF_ACTOR = (
    "srn, name, country, status_code, device_total, complete, read_at, reads, doubted_at, watched_read_at, delisted_at"
)
FRESH_DEVICES = text(
    "SELECT document, revision, read_at, certs_read_at, certs_revision, lost_certs FROM devices"
    " WHERE primary_di IN :subjects AND is_current"
    " AND delisted_at IS NULL AND detail_version = version_number AND document_version >= :document_version"
    " AND read_at > :since AND (basic_read_at IS NULL OR basic_read_at > :since)"
).bindparams(bindparam("subjects", expanding=True))
DELISTED_DEVICES = text(
    "SELECT document, read_at, certs_read_at, delisted_at, detail_version IS NOT NULL AS has_detail,"
    " detail_version = version_number AND document_version >= :document_version AS is_in_full FROM devices"
    " WHERE primary_di IN :subjects AND is_current AND delisted_at IS NOT NULL"
).bindparams(bindparam("subjects", expanding=True))
LISTED = text("SELECT DISTINCT primary_di FROM devices WHERE primary_di IN :udis").bindparams(
    bindparam("udis", expanding=True)
)
FRESH_ACTORS = text(
    f"SELECT {OF_ACTOR} FROM actors WHERE srn IN :subjects AND complete AND delisted_at IS NULL AND read_at > :since"
).bindparams(bindparam("subjects", expanding=True))
DELISTED_ACTORS = text(f"SELECT {OF_ACTOR} FROM actors WHERE srn IN :subjects AND delisted_at IS NOT NULL").bindparams(
    bindparam("subjects", expanding=True)
)


PLACEHOLDERS = {"sqlite": "?", "postgresql": "%s"}


def _upsert(placeholder: str) -> str:
    """An upsert in the driver's own form: bulk loads spend a third of their time on translating named parameters."""
    return (
        f"INSERT INTO devices ({', '.join(INSERTED)}) VALUES ({', '.join([placeholder] * len(INSERTED))})"
        " ON CONFLICT (primary_di, uuid) DO UPDATE SET "
        + ", ".join(f"{column} = excluded.{column}" for column in WRITTEN[2:])
        + "".join(f", {column} = NULL" for column in WATCHED)
    )


UPSERT = {kind: _upsert(each) for kind, each in PLACEHOLDERS.items()}
SET_WATCHED = {
    kind: f"UPDATE devices SET {', '.join(f'{column} = {each}' for column in WATCHED)}"
    f" WHERE primary_di = {each} AND uuid = {each}"
    for kind, each in PLACEHOLDERS.items()
}
ADD_CODE = {
    kind: f"INSERT INTO device_codes (code, primary_di, uuid) VALUES ({each}, {each}, {each}) ON CONFLICT DO NOTHING"
    for kind, each in PLACEHOLDERS.items()
}
REMOVE_CODE = {
    kind: f"DELETE FROM device_codes WHERE code = {each} AND primary_di = {each} AND uuid = {each}"
    for kind, each in PLACEHOLDERS.items()
}
CODED = text(
    "SELECT c.code, d.delisted_at IS NULL AS is_listed, min(d.primary_di) AS first, max(d.primary_di) AS last"
    " FROM device_codes c JOIN devices d ON d.primary_di = c.primary_di AND d.uuid = c.uuid AND d.is_current"
    " WHERE c.code IN :codes AND NOT EXISTS (SELECT 1 FROM devices WHERE primary_di = c.code)"
    " GROUP BY c.code, d.delisted_at IS NULL ORDER BY is_listed"
).bindparams(bindparam("codes", expanding=True))
ACTOR = text(f"SELECT {OF_ACTOR} FROM actors WHERE srn = :srn")
ACTORS = text(f"SELECT {OF_ACTOR} FROM actors WHERE srn IN :srns").bindparams(bindparam("srns", expanding=True))
UPSERT_ACTOR = text(
    "INSERT INTO actors"
    " (srn, name, country, status_code, device_total, complete, read_at, source, first_seen_at, reads, doubted_at,"
    " watched_read_at, listing_revision)"
    " VALUES (:srn, :name, :country, :status_code, :device_total, :complete, :read_at, :source, :read_at, 1,"
    " :doubted_at, :watched_read_at, :revision)"
    " ON CONFLICT (srn) DO UPDATE SET name = excluded.name, country = excluded.country,"
    " status_code = excluded.status_code, device_total = excluded.device_total, complete = excluded.complete,"
    " read_at = excluded.read_at, source = excluded.source, reads = actors.reads + 1,"
    " doubted_at = excluded.doubted_at, watched_read_at = excluded.watched_read_at, delisted_at = NULL"
)
SET_LISTING = text(
    "UPDATE actors SET delisted_at = :delisted_at, listing_revision = :revision, reads = reads + 1 WHERE srn = :srn"
)
NAME_ACTOR = text(
    "INSERT INTO actors (srn, name, country, status_code, device_total, complete, read_at, source, first_seen_at,"
    " listing_revision)"
    " VALUES (:srn, :name, :country, :status_code, :device_total, :complete, :read_at, :source, :read_at, :revision)"
    " ON CONFLICT (srn) DO UPDATE SET name = excluded.name, status_code = excluded.status_code,"
    " source = CASE WHEN actors.complete THEN actors.source ELSE excluded.source END"
)
NOTE_LISTED = text("UPDATE actors SET listed = :listed, listed_at = :at WHERE srn = :srn")
NOTE_LISTED_BY_WALK = text(
    "UPDATE actors SET listed = :listed, listed_at = :at WHERE srn = :srn AND (listed IS NULL OR listed < :listed)"
    " AND :listed = (SELECT count(*) FROM portfolio_devices p JOIN devices d"
    " ON d.primary_di = p.primary_di AND d.uuid = p.uuid WHERE p.srn = :srn AND p.walk = :walk)"
)
ADDED_SINCE = {
    kind: text(f"SELECT primary_di, uuid FROM devices WHERE primary_di IN ({values}) AND first_seen_at > :since")
    for kind, values in LISTED_VALUES.items()
}
