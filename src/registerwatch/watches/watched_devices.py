"""Which devices are watched under a Basic UDI-DI, for what is found of the certificates that name it."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.tables import accounts
from registerwatch.watches.tables import watches

CHUNK = 500
"""Values in one statement."""


class DevicesOfAccounts:
    """The devices that active accounts watch."""

    async def named_by(self, connection: AsyncConnection, basic_udis: Sequence[str], *, now: int) -> Sequence[str]:
        """Watched UDI-DIs under these Basic UDI-DIs, in order."""
        found: set[str] = set()
        for start in range(0, len(basic_udis), CHUNK):
            asked = (
                select(watches.c.subject)
                .distinct()
                .join(accounts, accounts.c.id == watches.c.account_id)
                .where(watches.c.basic_udi.in_(basic_udis[start : start + CHUNK]))
                .where(watches.c.kind == "udi", accounts.c.expires_at > now)
            )
            found.update((await connection.execute(asked)).scalars())
        return sorted(found)
