"""The SQL of the certificates of an account's watches. Only the certificate fields of each snapshot are decoded."""

import asyncio
from collections.abc import Sequence

import msgspec
from sqlalchemy import BigInteger, bindparam, literal_column, select

from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.statements import PreparedSelect
from registerwatch.watches.questions.certificates import CertifiedDevice
from registerwatch.watches.snapshot import SeenCertificate
from registerwatch.watches.tables import watches

_DEVICES = PreparedSelect(
    select(
        watches.c.id,
        watches.c.subject,
        watches.c.label,
        watches.c.snapshot,
        watches.c.last_sync,
        watches.c.last_error,
    )
    .where(watches.c.account_id == bindparam("account_id", type_=BigInteger), watches.c.kind == literal_column("'udi'"))
    .order_by(watches.c.id)
)


class _SnapshotPart(msgspec.Struct, frozen=True, gc=False):
    certs: tuple[SeenCertificate, ...] | None = None
    searched: bool = False
    manufacturer_name: str = ""
    manufacturer_srn: str = ""
    status: str = ""
    status_code: str = ""


_decoder = msgspec.json.Decoder(_SnapshotPart)
_NOTHING = _SnapshotPart()


async def devices_of_account(database: Database, account_id: int) -> Sequence[CertifiedDevice]:
    """The account's watched devices, oldest watch first."""
    rows = await database.rows(_DEVICES, account_id=account_id)
    return await asyncio.to_thread(lambda: [certified_device(*row) for row in rows])


def certified_device(
    watch_id: int, subject: str, label: str, snapshot: str | None, last_sync: int | None, last_error: str
) -> CertifiedDevice:
    """A watched device, from these columns of its watch."""
    part = _decoder.decode(snapshot) if snapshot is not None else _NOTHING
    return CertifiedDevice(
        watch_id,
        subject,
        label,
        part.certs,
        part.searched,
        part.manufacturer_name,
        part.manufacturer_srn,
        last_sync,
        last_error,
        part.status,
        part.status_code,
        snapshot is not None,
    )
