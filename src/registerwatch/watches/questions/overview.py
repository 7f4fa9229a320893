"""The overview of an account's watches, for its first page. Few statements read it, however many watches there are."""

from collections.abc import Mapping, Sequence
from datetime import UTC, tzinfo

import msgspec

from registerwatch.accounts.models import Caller
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.watches.models import HealthState
from registerwatch.watches.questions import overview_repository
from registerwatch.watches.questions.certificate_service import CertificateService
from registerwatch.watches.questions.certificates import CertificateFilter, WatchedCertificate
from registerwatch.watches.questions.expiring_certificates import PAST_DAYS
from registerwatch.watches.questions.overview_repository import FailingWatch, StateCount

AHEAD_DAYS = 90
SHOWN = 5


class WatchOverview(msgspec.Struct, frozen=True):
    """The overview of an account's watches."""

    states: Mapping[HealthState, StateCount]
    failing: Sequence[FailingWatch]
    """Watches that could not be read, the longest failing first; at most `SHOWN`."""
    expiring: Sequence[WatchedCertificate]
    """Certificates whose end date is within `AHEAD_DAYS` or was within `PAST_DAYS`, by that date. Certificates ended by
    their status, and those that the register no longer lists, are last.
    """
    in_doubt: int
    """Watched devices that are listed as *Missing or in doubt* on the page of certificates."""
    rechecked_at: int | None
    """When the service's last recheck began; None if there was none, or without watches."""

    @property
    def total(self) -> int:
        """All watches."""
        return sum(each.watches for each in self.states.values())

    @property
    def never_read(self) -> int:
        """Watches that were never read, without those that the register does not have."""
        return sum(each.never_read for state, each in self.states.items() if state != "unknown")

    @property
    def never_listed(self) -> int:
        """Watches whose subject the register never had."""
        return self.count("unknown") - self.delisted

    @property
    def without_read(self) -> int:
        """Watches that were never read, with those that the register does not have."""
        return sum(each.never_read for each in self.states.values())

    @property
    def failed(self) -> int:
        """Watches whose last read failed, without those that the register does not have."""
        return sum(each.failed for state, each in self.states.items() if state != "unknown")

    @property
    def off_market(self) -> int:
        """Devices that were no longer placed on the EU market, or not intended for it, at their last read; without
        those that the register no longer lists.
        """
        return sum(each.off_market for state, each in self.states.items() if state != "unknown")

    @property
    def delisted(self) -> int:
        """Watches of state `unknown` whose subject the register once listed."""
        return self.states["unknown"].once_read if "unknown" in self.states else 0

    @property
    def longest_unread(self) -> int | None:
        """When the longest unread watch was last read; None if none was ever read."""
        return min((each.read_first for each in self.states.values() if each.read_first is not None), default=None)

    def count(self, state: HealthState) -> int:
        """How many watches are in a state."""
        return self.states[state].watches if state in self.states else 0


class OverviewService:
    """Reads the overview of an account. `recheck_interval` is in seconds."""

    def __init__(
        self, database: Database, clock: Clock, certificates: CertificateService, *, recheck_interval: float
    ) -> None:
        self._database = database
        self._clock = clock
        self._certificates = certificates
        self._recheck_interval = recheck_interval

    async def read(self, caller: Caller, *, zone: tzinfo = UTC) -> WatchOverview:
        """The account's overview. Days are counted in `zone`."""
        now, account_id = int(self._clock.now()), caller.account.id
        async with self._database.reading() as connection:
            states, slot = await overview_repository.states(connection, account_id, now)
            failing = await overview_repository.failing(connection, account_id, SHOWN)
        found = await self._certificates.overview(caller, CertificateFilter(), zone=zone)
        ending = [each for each in found.matching if each.days is not None and -PAST_DAYS <= each.days <= AHEAD_DAYS]
        ending.sort(key=lambda each: not each.shown.ends_by_date)
        rechecked_at = None if slot is None else int(slot * self._recheck_interval)
        return WatchOverview(states, failing, ending, len(found.gaps), rechecked_at)
