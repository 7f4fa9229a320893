"""One fill a day, wherever there is a process that works in the background."""

from collections.abc import Awaitable, Callable
from typing import Literal

import structlog

from registerwatch.clock import Clock
from registerwatch.errors import BulkLoadRefused
from registerwatch.register.ingest.bulk_load import BulkLoader, LoadProgress, ProgressCallback

log = structlog.get_logger(__name__)

HOUR, DAY = 3_600, 86_400
TELL_SECONDS = 300.0


class DailyLoad:
    """Fills the copy from one source in each day, from an hour (UTC) on, until it is through.

    One process does it at a time. Where that one dies or the source fails, any goes on behind the last stored batch
    half an hour later.
    """

    def __init__(
        self,
        bulk_loader: BulkLoader,
        source: Literal["datalake", "register"],
        fill: Callable[[ProgressCallback], Awaitable[LoadProgress]],
        clock: Clock,
        *,
        hour: int,
    ) -> None:
        self._bulk_loader = bulk_loader
        self._source = source
        self._fill = fill
        self._clock = clock
        self._hour = hour

    async def run_where_due(self) -> LoadProgress | None:
        """Fill if that is due and nobody else does; what came of it, None where nothing was to be done."""
        if not await self._bulk_loader.claim(self._source, since=self._last_hour()):
            return None
        teller = _Teller(self._source, self._clock)
        log.info("filling the copy", source=self._source)
        try:
            done = await self._fill(teller.tell)
        except BulkLoadRefused as refused:
            log.warning("the copy could not be filled to the end", source=self._source, reason=str(refused))
            return None
        log.info("filled the copy", source=self._source, records=done.records, changed=done.changed)
        return done

    def _last_hour(self) -> int:
        """The last instant at which a run became due."""
        now = int(self._clock.now())
        return now - (now - self._hour * HOUR) % DAY


class _Teller:
    """Tells in the log how far a fill is, now and then."""

    def __init__(self, source: str, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._told_at = clock.now()

    def tell(self, progress: LoadProgress) -> None:
        now = self._clock.now()
        if now >= self._told_at + TELL_SECONDS:
            self._told_at = now
            log.info(
                "filling the copy",
                source=self._source,
                records=progress.records,
                changed=progress.changed,
                total=progress.total,
            )
