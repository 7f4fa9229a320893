"""The results of checks in the table `register_checks`, and stored values to compare answers with."""

from typing import Any

import msgspec
from msgspec.structs import asdict
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.ingest.checks.check_rules import RegisterCheck
from registerwatch.register.models import from_document
from registerwatch.sources.checks.names import CheckName

RECENT = 300
"""Records stored last whose codes are checked."""


class StoredSample(msgspec.Struct, frozen=True):
    """A sample of the records stored last: their codes, and one that lists certificates, `""` for none."""

    codes: dict[CheckName, set[str]]
    certified: str


async def all_checks(connection: AsyncConnection) -> dict[CheckName, RegisterCheck]:
    """The state of every check, in the order of their names. Names of another release are left out."""
    rows = (await connection.execute(_ALL)).all()
    known = {name.value for name in CheckName}
    found = {CheckName(row.name): row for row in rows if row.name in known}
    return {name: _check(name, found[name]) for name in CheckName if name in found}


async def store_check(connection: AsyncConnection, check: RegisterCheck) -> None:
    """Store the state of a check."""
    await connection.execute(_STORE, {**asdict(check), "name": check.name.value})


async def sample(connection: AsyncConnection) -> StoredSample:
    """The codes of recent records, of actors and of certificates."""
    codes: dict[CheckName, set[str]] = {name: set() for name in CheckName if name.is_of_codes}
    certified = ""
    for document in (await connection.execute(_RECENT, {"recent": RECENT})).scalars():
        device = from_document(document)
        codes[CheckName.STATUS_CODES].add(device.status_code)
        codes[CheckName.RISK_CODES].add(device.risk_class_code)
        codes[CheckName.LEGISLATION_CODES].add(device.legislation_code)
        codes[CheckName.ACTOR_STATUS_CODES].add(device.manufacturer_status_code)
        codes[CheckName.CERTIFICATE_STATUS_CODES].update(each.status_code for each in device.certs)
        if not certified and any(each.listed_in == "record" for each in device.certs):
            certified = device.uuid
    for name, statement in _DISTINCT.items():
        codes[name].update((await connection.execute(statement)).scalars())
    return StoredSample({name: found - {""} for name, found in codes.items()}, certified)


def _check(name: CheckName, row: Any) -> RegisterCheck:
    is_ok = None if row.is_ok is None else bool(row.is_ok)
    return RegisterCheck(
        name, row.looked_at, row.checked_at, is_ok, row.found, row.changed_at, row.unanswered_since, row.reason
    )


_ALL = text(
    "SELECT name, looked_at, checked_at, is_ok, found, changed_at, unanswered_since, reason FROM register_checks"
)
_STORE = text(
    "INSERT INTO register_checks"
    " (name, looked_at, checked_at, is_ok, found, changed_at, unanswered_since, reason)"
    " VALUES (:name, :looked_at, :checked_at, :is_ok, :found, :changed_at, :unanswered_since, :reason)"
    " ON CONFLICT (name) DO UPDATE SET looked_at = excluded.looked_at, checked_at = excluded.checked_at,"
    " is_ok = excluded.is_ok, found = excluded.found, changed_at = excluded.changed_at,"
    " unanswered_since = excluded.unanswered_since, reason = excluded.reason"
)
_RECENT = text("SELECT document FROM devices WHERE delisted_at IS NULL ORDER BY revision DESC LIMIT :recent")
_DISTINCT = {
    CheckName.ACTOR_STATUS_CODES: text("SELECT DISTINCT status_code FROM actors WHERE source = 'eudamed'"),
    CheckName.CERTIFICATE_STATUS_CODES: text("SELECT DISTINCT status_code FROM certificates"),
}
