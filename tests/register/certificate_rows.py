"""Rows of the tables of certificates, as the certificate sweep stores them. Tests say only what matters."""

from collections.abc import Mapping
from typing import Any

import msgspec
from sqlalchemy import insert

from registerwatch.copy.tables import certificate_scopes, certificates, notified_bodies, record_history, refusals, walks
from registerwatch.platform.db.engine import Database

SEEN_AT = 1_799_990_000
"""2027-01-15, 05:13 UTC: began the walk that saw everything."""
SRN = "DE-MF-000006413"
BODY, BODY_NAME = "0123", "TÜV SÜD Product Service GmbH"
STATUS, TYPE = "refdata.certificate-status.", "refdata.certificate-mdr-type.quality-management-system"


def certificate_id(number: int) -> str:
    """The ulid of a certificate: later ones have higher numbers."""
    return f"01KTRNZDXJ{number:016d}"


def a_certificate(place: int = 1, /, status: str = "issued", **fields: Any) -> dict[str, Any]:
    """A row of `certificates`: `Z-25-001` of a manufacturer, valid until 2030."""
    return {
        "id": certificate_id(place),
        "uuid": f"c266239c-462c-4840-9017-{place:012d}",
        "srn": SRN,
        "actor_name": "AIRAmed GmbH",
        "notified_body": BODY,
        "number": f"Z-25-{place:03d}",
        "revision": "",
        "type_code": TYPE,
        "status_code": f"{STATUS}{status}" if status else "",
        "issue_date": "2025-09-17",
        "valid_from": "2025-09-17",
        "expiry": "2030-09-16",
        "version": 1,
        "is_latest": True,
        "first_seen_at": SEEN_AT,
        "seen_at": SEEN_AT,
        **fields,
    }


def a_refusal(place: int = 1, /, **fields: Any) -> dict[str, Any]:
    """A row of `refusals`."""
    return {
        "id": f"01KTREFUSE{place:016d}",
        "srn": SRN,
        "actor_name": "AIRAmed GmbH",
        "notified_body": BODY,
        "reference": f"APP-{place:03d}",
        "procedure_code": "refdata.conformity-assessment-procedure.annex-ix-chapter-i",
        "refused_on": "2026-05-04",
        "first_seen_at": SEEN_AT,
        "seen_at": SEEN_AT,
        **fields,
    }


def scopes(*basic_udis: str, **fields: Any) -> dict[str, Any]:
    """Columns of a certificate whose scopes were read and name these; without any, one scope that names no device."""
    named = [{"basic_udi": each, **fields} for each in basic_udis] or [{"description": "Software", **fields}]
    return {"scopes_read_at": SEEN_AT, "scopes": msgspec.json.encode(named).decode()}


async def store_certificates(
    database: Database,
    *rows: Mapping[str, Any],
    refused: tuple[Mapping[str, Any], ...] = (),
    bodies: Mapping[str, str] | None = None,
) -> None:
    """Store certificates with the Basic UDI-DIs of their scopes, refused applications and names of notified bodies."""
    async with database.transaction() as connection:
        for row in rows:
            await connection.execute(insert(certificates).values(row))
            for scope in msgspec.json.decode(row.get("scopes") or "[]"):
                if scope.get("basic_udi"):
                    named = {"certificate_id": row["id"], "basic_udi": scope["basic_udi"]}
                    await connection.execute(insert(certificate_scopes).values(named))
        for row in refused:
            await connection.execute(insert(refusals).values(row))
        for number, name in (bodies or {}).items():
            await connection.execute(insert(notified_bodies).values(number=number, name=name, seen_at=SEEN_AT))


async def note_history(database: Database, place: int, observed_at: int = SEEN_AT, /, **old: Any) -> None:
    """Note a change of a certificate: what these columns had before."""
    row = {"kind": "certificate", "subject": certificate_id(place), "record": "", "revision": 0}
    async with database.transaction() as connection:
        old_values = msgspec.json.encode(old).decode()
        await connection.execute(insert(record_history).values(observed_at=observed_at, old=old_values, **row))


async def note_walk(
    database: Database, *names: str, complete_at: int | None = SEEN_AT, problem: str = "", **fields: Any
) -> None:
    """Note how lists were last read; those of certificates and refusals unless others are named."""
    async with database.transaction() as connection:
        for name in names or ("certificates", "refusals", "notified_bodies"):
            await connection.execute(walks.delete().where(walks.c.name == name))
            row = {"began_at": SEEN_AT, "ended_at": SEEN_AT + 20, "leased_until": 0, "listed": 1, "total": 1, **fields}
            await connection.execute(insert(walks).values(name=name, complete_at=complete_at, problem=problem, **row))
