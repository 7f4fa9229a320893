"""The certificates of an account's watches, from snapshots. The register is not asked."""

import asyncio
from datetime import UTC, tzinfo

from registerwatch.accounts.models import Caller
from registerwatch.platform.clock import Clock, day_of
from registerwatch.platform.db.engine import Database
from registerwatch.watches.questions.certificate_repository import devices_of_account
from registerwatch.watches.questions.certificates import CertificateFilter, CertificateOverview, overview


class CertificateService:
    """Reads certificates from snapshots."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def overview(self, caller: Caller, chosen: CertificateFilter, *, zone: tzinfo = UTC) -> CertificateOverview:
        """The certificates of all watched devices that match a filter. Days are counted in `zone`."""
        today = day_of(self._clock.now(), zone)
        devices = await devices_of_account(self._database, caller.account.id)
        return await asyncio.to_thread(overview, devices, chosen, today)
