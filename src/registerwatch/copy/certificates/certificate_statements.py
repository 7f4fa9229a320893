"""The SQL of `certificates.py`. Both databases understand it."""

from collections.abc import Sequence

from sqlalchemy import bindparam, text

from registerwatch.register.certificates import Refusal, RegisteredCertificate

BATCH = 400
"""Values in one statement."""


def _updates(columns: Sequence[str]) -> str:
    return ", ".join(f"{column} = excluded.{column}" for column in columns)


OF_CERTIFICATE = RegisteredCertificate.__struct_fields__
OF_REFUSAL = Refusal.__struct_fields__
_WHOLE = f"{', '.join(OF_CERTIFICATE)}, last_expiry, unlisted_at"
CERTIFICATES = text(f"SELECT {_WHOLE} FROM certificates")
WRITTEN = (*OF_CERTIFICATE, "last_expiry", "plain_number")
UPSERT_CERTIFICATE = text(
    f"INSERT INTO certificates ({', '.join(WRITTEN)}, first_seen_at, seen_at, listed_revision, scopes_due_at)"
    f" VALUES (:{', :'.join(WRITTEN)}, :walk_at, :walk_at, :since, 0)"
    f" ON CONFLICT (id) DO UPDATE SET {_updates(WRITTEN[1:])}, seen_at = excluded.seen_at,"
    " listed_revision = excluded.listed_revision, unlisted_at = NULL,"
    " scopes_due_at = CASE WHEN :is_changed THEN 0 ELSE certificates.scopes_due_at END"
)
SEEN, UNLIST = (
    {
        table: text(f"UPDATE {table} SET {column} = :walk_at WHERE id IN :ids").bindparams(
            bindparam("ids", expanding=True)
        )
        for table in ("certificates", "refusals")
    }
    for column in ("seen_at", "unlisted_at")
)
SHOWN = text("UPDATE certificates SET seen_at = :walk_at, listed_revision = :since WHERE id IN :ids").bindparams(
    bindparam("ids", expanding=True)
)
REFUSALS = text(f"SELECT {', '.join(OF_REFUSAL)}, unlisted_at FROM refusals")
UPSERT_REFUSAL = text(
    f"INSERT INTO refusals ({', '.join(OF_REFUSAL)}, first_seen_at, seen_at)"
    f" VALUES (:{', :'.join(OF_REFUSAL)}, :walk_at, :walk_at)"
    f" ON CONFLICT (id) DO UPDATE SET {_updates(OF_REFUSAL[1:])}, seen_at = excluded.seen_at, unlisted_at = NULL"
)
BODIES = text("SELECT number, name FROM notified_bodies")
UPSERT_BODY = text(
    "INSERT INTO notified_bodies (number, name, seen_at) VALUES (:number, :name, :seen_at)"
    " ON CONFLICT (number) DO UPDATE SET seen_at = excluded.seen_at,"
    " name = CASE WHEN excluded.name = '' THEN notified_bodies.name ELSE excluded.name END"
)
ADD_NEWS = text(
    "INSERT INTO certificate_news (srn, certificate_id, changes, found_at, visible_at)"
    " VALUES (:srn, :certificate_id, :changes, :found_at, :visible_at)"
)
DUE_SCOPES = text(
    f"SELECT {_WHOLE}, scopes_due_at FROM certificates WHERE scopes_due_at <= :now AND unlisted_at IS NULL"
    " ORDER BY scopes_due_at, id LIMIT :most"
)
SCOPES_STATE = text(f"SELECT {_WHOLE}, scopes_due_at, scopes_read_at FROM certificates WHERE id IN :ids").bindparams(
    bindparam("ids", expanding=True)
)
SET_SCOPES = text(
    "UPDATE certificates SET scopes = :scopes, facts = :facts, scopes_read_at = :read_at, scopes_due_at = :due_at"
    " WHERE id = :id"
)
FORGET_DEVICES = text("DELETE FROM certificate_scopes WHERE certificate_id = :id")
NAME_DEVICE = text("INSERT INTO certificate_scopes (certificate_id, basic_udi) VALUES (:id, :basic_udi)")
POSTPONE = text("UPDATE certificates SET scopes_due_at = :due_at WHERE id IN :ids").bindparams(
    bindparam("ids", expanding=True)
)
_OF_KEY = ("srn", "number", "revision", "notified_body")
OF_READ = (*_OF_KEY, "primary_di", "read_at", "told")
_OF_WRITTEN_READ = (*OF_READ, "plain_number")
NOTE_READ = text(
    f"INSERT INTO device_certificates ({', '.join(_OF_WRITTEN_READ)}) VALUES (:{', :'.join(_OF_WRITTEN_READ)})"
    f" ON CONFLICT ({', '.join(_OF_KEY)}) DO UPDATE SET {_updates(_OF_WRITTEN_READ[len(_OF_KEY) :])}"
    " WHERE device_certificates.read_at < excluded.read_at OR device_certificates.read_at > :latest"
    " OR (device_certificates.read_at = excluded.read_at AND device_certificates.told <> excluded.told)"
)
READS_OF = text(
    f"SELECT {', '.join(OF_READ)} FROM device_certificates WHERE srn IN :srns AND number IN :numbers"
).bindparams(*(bindparam(name, expanding=True) for name in ("srns", "numbers")))
SCOPES = text("SELECT id, scopes FROM certificates WHERE id IN :ids AND scopes IS NOT NULL").bindparams(
    bindparam("ids", expanding=True)
)
NAMED = text("SELECT DISTINCT basic_udi FROM certificate_scopes WHERE certificate_id IN :ids").bindparams(
    bindparam("ids", expanding=True)
)
NAMING = text(
    "SELECT scope.basic_udi, certificate.srn, certificate.number, certificate.revision, certificate.expiry,"
    " certificate.valid_from, certificate.issue_date, certificate.status_code, certificate.type_code,"
    " certificate.notified_body, certificate.listed_revision, body.name"
    " FROM certificate_scopes AS scope JOIN certificates AS certificate ON certificate.id = scope.certificate_id"
    " LEFT JOIN notified_bodies AS body ON body.number = certificate.notified_body"
    " WHERE scope.basic_udi IN :basic_udis AND certificate.srn IN :srns AND certificate.unlisted_at IS NULL"
    " AND certificate.is_latest ORDER BY certificate.id"
).bindparams(bindparam("basic_udis", expanding=True), bindparam("srns", expanding=True))
WITH_NUMBERS = text(
    "SELECT certificate.srn, certificate.number, certificate.revision, certificate.expiry, certificate.valid_from,"
    " certificate.issue_date, certificate.status_code, certificate.type_code, certificate.notified_body,"
    " certificate.listed_revision, certificate.is_latest, certificate.scopes_read_at, body.name, EXISTS"
    " (SELECT 1 FROM certificate_scopes AS scope WHERE scope.certificate_id = certificate.id) AS names_devices"
    " FROM certificates AS certificate LEFT JOIN notified_bodies AS body ON body.number = certificate.notified_body"
    " WHERE certificate.number IN :numbers AND certificate.unlisted_at IS NULL ORDER BY certificate.id"
).bindparams(bindparam("numbers", expanding=True))
UNREAD_SCOPES = text(
    "SELECT DISTINCT srn FROM certificates WHERE srn IN :srns AND scopes_read_at IS NULL AND unlisted_at IS NULL"
    " AND is_latest"
).bindparams(bindparam("srns", expanding=True))
NUMBERS = text("SELECT srn, number FROM certificates WHERE id IN :ids AND number <> ''").bindparams(
    bindparam("ids", expanding=True)
)
HAS_LIST = text("SELECT 1 FROM walks WHERE name = 'certificates' AND complete_at IS NOT NULL")
