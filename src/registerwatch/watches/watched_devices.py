"""Watched devices that certificates concern, for what is found of certificates apart from devices."""

from collections.abc import Collection, Sequence

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.tables import accounts
from registerwatch.watches.snapshot import SeenCertificate, decoded
from registerwatch.watches.tables import watches

CHUNK = 500
"""How many values one statement has."""


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
        srns = sorted({srn for srn, _ in numbers})
        found: set[str] = set()
        for start in range(0, len(srns), CHUNK):
            asked = (
                _watched(now)
                .add_columns(watches.c.manufacturer_srn, watches.c.snapshot)
                .where(watches.c.manufacturer_srn.in_(srns[start : start + CHUNK]), watches.c.snapshot.is_not(None))
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
