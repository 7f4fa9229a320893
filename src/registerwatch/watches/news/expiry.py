"""Reports ends of certificates 90, 30, 7 and 0 days before, for each watch that shows the certificate.

The first run on a day looks at all watches; later runs have nothing to do, since days alone decide. Accounts whose
period has ended get their reports when they are active again. A mark is stored in the transaction that reports it,
under a lock of its watch, so that each is reported once.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.platform.clock import Clock, day_of
from registerwatch.platform.db.engine import Database
from registerwatch.register.observation import ReadContext
from registerwatch.watches.events.causes import cause_of
from registerwatch.watches.events.event_publisher import EventPublisher, FoundEvent
from registerwatch.watches.news import expiry_repository
from registerwatch.watches.news.expiry_marks import MARKS, Notice, notice_of
from registerwatch.watches.news.expiry_repository import EndingWatch, Known, MovedEnds
from registerwatch.watches.outbox import Outbox, release_at_end

PAST_DAYS = 30
"""An end that could not be reported in time is reported up to this many days later."""
WATCHES_AT_A_TIME = 1_000
HELD_SECONDS = 900
"""Time for which a run that was killed holds back its deliveries."""

Decided = Sequence[tuple[EndingWatch, Sequence[Notice]]]
"""Watches with the notices to store and report of their certificates."""

log = structlog.get_logger(__name__)


class ExpiryService:
    """Reports to watches which of their certificates end soon."""

    def __init__(self, database: Database, clock: Clock, outbox: Outbox) -> None:
        self._database = database
        self._clock = clock
        self._outbox = outbox
        self._publisher = EventPublisher(outbox)

    async def run(self) -> int:
        """Report what is due, unless a run of this day has finished. Gives the number of events."""
        now = int(self._clock.now())
        today = day_of(now)
        async with self._database.reading() as connection:
            last = await expiry_repository.last_day(connection)
        if last == today:
            return 0
        context = ReadContext(held_until=now + HELD_SECONDS, is_recheck=True)
        async with release_at_end(context, self._outbox):
            events = await _Run(self._database, self._clock, self._publisher, context, now, last or today).report_all()
        async with self._database.transaction() as connection:
            await expiry_repository.set_last_day(connection, today)
        if events:
            log.info("told ends of certificates", events=events)
        return events


class _Run:
    """One run, which began at `now`; the run before was on `last_day`."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        publisher: EventPublisher,
        context: ReadContext,
        now: int,
        last_day: date,
    ) -> None:
        self._database = database
        self._clock = clock
        self._publisher = publisher
        self._context = context
        self._now = now
        self._today = day_of(now)
        self._last_day = last_day
        self._days = min(last_day, self._today - timedelta(PAST_DAYS)), self._today + timedelta(max(MARKS))

    async def report_all(self) -> int:
        """Report to all watches what is due. Gives the number of events."""
        events = 0
        for read in (expiry_repository.device_watches, expiry_repository.manufacturer_watches):
            after: int | None = 0
            while after is not None:
                async with self._database.reading() as connection:
                    after, ending = await read(connection, self._now, after, WATCHES_AT_A_TIME, *self._days)
                    due = [watch for watch, _ in await self._decided(connection, ending)]
                if due:
                    events += await self._report(due)
        return events

    async def _report(self, due: Sequence[EndingWatch]) -> int:
        """Decide again with the watches locked, since another node may have reported; then store and report."""
        async with self._context.storing(), self._database.transaction() as connection:
            present = await expiry_repository.lock(connection, [watch.id for watch in due])
            decided = await self._decided(connection, [watch for watch in due if watch.id in present])
            found = [event for watch, notices in decided if (event := self._event(watch, notices))]
            marks = ((watch.id, notice) for watch, notices in decided for notice in notices)
            await expiry_repository.store_marks(connection, marks)
            await self._publisher.publish(connection, found, self._context, int(self._clock.now()))
        return len(found)

    async def _decided(self, connection: AsyncConnection, ending: Sequence[EndingWatch]) -> Decided:
        ids = [watch.id for watch in ending]
        known = await expiry_repository.known_marks(connection, ids)
        moved = await expiry_repository.moved_ends(connection, ids, _start_of(self._last_day))
        decided = [(watch, self._notices(watch, known, moved)) for watch in ending]
        return [(watch, notices) for watch, notices in decided if notices]

    def _notices(self, watch: EndingWatch, known: Known, moved: MovedEnds) -> Sequence[Notice]:
        """The notices of a watch. An end that an event reported as moved was seen then."""
        marks, moved_on = known.get(watch.id, {}), moved.get(watch.id, {})
        seen_on = max(self._last_day, day_of(watch.created_at))
        found: list[Notice | None] = []
        for each in watch.certificates:
            end = each.expiry.isoformat()
            day = moved_on.get((each.number, end))
            found.append(
                notice_of(
                    each,
                    marks.get((each.key, end)),
                    seen_on if day is None else max(seen_on, day),
                    self._today,
                    was_moved=day is not None,
                    may_report=watch.is_active,
                )
            )
        return [notice for notice in found if notice is not None]

    def _event(self, watch: EndingWatch, notices: Sequence[Notice]) -> FoundEvent | None:
        """The event of a watch, the nearest end first; None where nothing is to be reported."""
        due = sorted(
            (each for each in notices if each.is_reported), key=lambda each: (each.days, each.certificate.number)
        )
        if not due or (watch.subject == watch.manufacturer_srn and not watch.options.certificates):
            return None
        changes = [each.change for each in due]
        return FoundEvent(
            account_id=watch.account_id,
            watch_id=watch.id,
            subject=watch.subject,
            label=watch.label,
            changes=changes,
            options=watch.options,
            manufacturer_srn=watch.manufacturer_srn,
            cause=cause_of(self._context.batch, watch.manufacturer_srn, changes),
            visible_at=min(_start_of(each.reached_on) for each in due),
        )


def _start_of(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
