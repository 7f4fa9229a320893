"""One bulk load a day, by any process that does background work."""

import structlog

from registerwatch.errors import BulkLoadRefused
from registerwatch.ingest.bulk_load import BulkLoader, LoadProgress
from registerwatch.ingest.checks.check_rules import CheckedList
from registerwatch.ingest.checks.register_checks import ListingChecks
from registerwatch.platform.clock import Clock
from registerwatch.sources.source import BulkSource

log = structlog.get_logger(__name__)

LISTINGS = {"datalake": CheckedList.DATA_LAKE, "register": CheckedList.NEWEST_DEVICES}
"""The list that is read of a source, by its `load_name`."""
HOUR, DAY = 3_600, 86_400
LOG_SECONDS = 300.0


class DailyLoad:
    """Loads one source once a day, from an hour (UTC) on, until it is read to its end.

    One process does it at a time. Nothing is read while a check of the list has failed: it is due again half an hour
    later. When that process dies or the source fails, any process continues after the last
    stored batch half an hour later.
    """

    def __init__(
        self,
        bulk_loader: BulkLoader,
        source: BulkSource,
        clock: Clock,
        *,
        hour: int,
        checks: ListingChecks | None = None,
    ) -> None:
        self._bulk_loader = bulk_loader
        self._source = source
        self._clock = clock
        self._hour = hour
        self._checks = checks

    async def run_where_due(self) -> LoadProgress | None:
        """Load if that is due and no other process does. Returns the progress, None if nothing was to do."""
        name = self._source.load_name
        if not await self._bulk_loader.claim(name, since=self._last_hour()):
            return None
        problem = await self._problem()
        if problem is not None:
            log.warning("the copy is not filled from a list of which a check has failed", source=name, reason=problem)
            return None
        progress_log = _ProgressLog(name, self._clock)
        log.info("filling the copy", source=name)
        try:
            done = await self._bulk_loader.load(self._source, progress_log.note)
        except BulkLoadRefused as refused:
            log.warning("the copy could not be filled to the end", source=name, reason=str(refused))
            return None
        log.info("filled the copy", source=name, records=done.records, changed=done.changed)
        return done

    async def _problem(self) -> str | None:
        listing = LISTINGS.get(self._source.load_name)
        return None if listing is None or self._checks is None else await self._checks.problem(listing)

    def _last_hour(self) -> int:
        """The last instant at which a run became due."""
        now = int(self._clock.now())
        return now - (now - self._hour * HOUR) % DAY


class _ProgressLog:
    """Logs the progress of a load, every few minutes."""

    def __init__(self, source: str, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._logged_at = clock.now()

    def note(self, progress: LoadProgress) -> None:
        now = self._clock.now()
        if now >= self._logged_at + LOG_SECONDS:
            self._logged_at = now
            log.info(
                "filling the copy",
                source=self._source,
                records=progress.records,
                changed=progress.changed,
                total=progress.total,
            )
