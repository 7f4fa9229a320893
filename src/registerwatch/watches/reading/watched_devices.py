"""Watched devices that certificates concern, for what is found of certificates apart from devices."""

from collections.abc import Collection, Sequence

import msgspec
from sqlalchemy import ColumnElement, Select, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.tables import accounts
from registerwatch.platform.db.text_search import holds_text
from registerwatch.watches.snapshot import SeenCertificate, decoded
from registerwatch.watches.tables import watches

CHUNK = 500
"""How many values one statement has."""
MAX_NUMBERS = 100
"""How many numbers one statement looks for in snapshots."""


class DevicesOfAccounts:
    """The devices that active accounts watch."""

    async def named_by(self, connection: AsyncConnection, basic_udis: Sequence[str], *, now: int) -> Sequence[str]:
        """Watched UDI-DIs under these Basic UDI-DIs, in order."""
        found: set[str] = set()
        for start in range(0, len(basic_udis), CHUNK):
            asked = _watched(now).where(watches.c.basic_udi.in_(basic_udis[start : start + CHUNK])).distinct()
            found.update(row.subject for row in await connection.execute(asked))
        return sorted(found)

    async def with_found(
        self, connection: AsyncConnection, numbers: Collection[tuple[str, str]], *, now: int
    ) -> Sequence[str]:
        """Watched UDI-DIs, in order, for which a search found a certificate of these manufacturers and numbers."""
        in_order, found = sorted(numbers), set[str]()
        for start in range(0, len(in_order), MAX_NUMBERS):
            pairs = in_order[start : start + MAX_NUMBERS]
            texts = {msgspec.json.encode(number).decode() for _, number in pairs}  # as a snapshot has them
            asked = (
                _watched(now)
                .add_columns(watches.c.manufacturer_srn, watches.c.snapshot)
                .where(watches.c.manufacturer_srn.in_({srn for srn, _ in pairs}))
                .where(or_(*(holds_text(watches.c.snapshot, each) for each in sorted(texts))))
            )
            for row in await connection.execute(asked):
                certificates = decoded(row.snapshot).certs or ()
                if any(_is_found(each) and (row.manufacturer_srn, each.number) in numbers for each in certificates):
                    found.add(row.subject)
        return sorted(found)


def _watched(now: int) -> Select[tuple[str]]:
    """The devices that active accounts watch."""
    is_active: ColumnElement[bool] = accounts.c.expires_at > now
    joined = select(watches.c.subject).join(accounts, accounts.c.id == watches.c.account_id)
    return joined.where(watches.c.kind == "udi", is_active)


def _is_found(certificate: SeenCertificate) -> bool:
    """Whether a search found a certificate that the register still lists for a device, as far as was read."""
    return certificate.listed_in == "search" and not certificate.is_scoped and not certificate.is_gone
