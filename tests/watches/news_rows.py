"""Rows of the logs as sweeps write them, and what tells of complete lists."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import delete, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.tables import certificate_news, certificates, device_sweeps, portfolio_news, walks
from registerwatch.watches.diff import FieldChange
from tests.support.harness import SRN


async def list_devices(connection: AsyncConnection, complete_at: int | None, srn: str = SRN) -> None:
    """The manufacturer's devices were listed completely by a walk that began then."""
    await connection.execute(delete(device_sweeps).where(device_sweeps.c.srn == srn))
    row = {
        "srn": srn,
        "lists_all": True,
        "watched": 0,
        "added_at": 0,
        "turn_at": 0,
        "leased_until": 0,
        "walk": 1,
        "cursor": "",
        "is_steady": True,
        "complete_at": complete_at,
        "problem": "",
    }
    await connection.execute(insert(device_sweeps), row)


async def list_certificates(connection: AsyncConnection, complete_at: int | None) -> None:
    """All certificates were listed completely by a walk that began then."""
    await connection.execute(delete(walks).where(walks.c.name == "certificates"))
    row = {"name": "certificates", "began_at": 0, "complete_at": complete_at, "leased_until": 0, "listed": 0}
    await connection.execute(insert(walks), {**row, "problem": ""})


async def add_device_news(
    connection: AsyncConnection, *dis: str, change: str = "registered", srn: str = SRN, visible_at: int = 5, **more: Any
) -> None:
    """News of devices, each called by its UDI-DI."""
    row = {"srn": srn, "change": change, "found_at": visible_at, "visible_at": visible_at}
    rows = [{**row, "primary_di": di, "name": f"Device {di}", **more} for di in dis]
    await connection.execute(insert(portfolio_news), rows)


async def add_certificate_news(
    connection: AsyncConnection, *changes: FieldChange, srn: str = SRN, visible_at: int = 5
) -> None:
    """News of one certificate."""
    told: Sequence[Mapping[str, Any]] = [msgspec.to_builtins(each) for each in changes]
    row = {"srn": srn, "certificate_id": "c-1", "found_at": visible_at, "visible_at": visible_at}
    await connection.execute(insert(certificate_news), {**row, "changes": msgspec.json.encode(told).decode()})


async def list_certificate(connection: AsyncConnection, number: str, expiry: str | None, **differs: Any) -> None:
    """A certificate of the manufacturer, as the certificate sweep stores it."""
    row = {
        "id": number,
        "uuid": number,
        "srn": SRN,
        "actor_name": "Acme",
        "notified_body": "0123",
        "number": number,
        "revision": "",
        "type_code": "",
        "status_code": "refdata.certificate-status.issued",
        "expiry": expiry,
        "is_latest": True,
        "first_seen_at": 0,
        "seen_at": 0,
    }
    await connection.execute(insert(certificates), {**row, **differs})
