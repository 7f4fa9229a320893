"""Compares ends of certificates that watches were told in a simulated year with those that they had to be told.

The rules are written a second time, without the product's code: 90, 30, 7 and 0 days before the end, each once for a
watch, a certificate and a date; of several that were reached meanwhile the nearest. What was reached before the first
look, or before the day of the last look, is told never.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from sqlalchemy import select

from registerwatch.db.engine import Database
from registerwatch.db.tables import certificates, watches
from tests.journeys.event_checks import ENDS, Stored, Watcher, WrongYear

MARKS = (0, 7, 30, 90)
NONE_REACHED = 999
OVER = ("withdrawn", "cancelled")
PAST_DAYS = timedelta(30)

Ends = tuple[Watcher, str, str, str]
"""A told end: watcher, date, words and number."""
Ending = tuple[str, str, str, date]
"""Notified body, number, revision and end."""


@dataclass(frozen=True, slots=True)
class Looked:
    """A watch as the service sees it when it looks: its id and creation, whether it wants ends, what it shows."""

    id: int
    watcher: Watcher
    created_on: date
    is_silent: bool
    shown: frozenset[Ending]


class ExpiryChecks:
    """The marks that were told or passed by, for every watch."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._marks: dict[tuple[int, Ending], int] = {}
        self._last_day: date | None = None

    async def expected(self, now: float, active: set[int]) -> Counter[Ends]:
        """What a look now has to tell. It counts as done."""
        today = datetime.fromtimestamp(int(now), UTC).date()
        told: Counter[Ends] = Counter()
        if self._last_day == today:
            return told
        last = self._last_day or today
        for watch in await self._watches():
            for ending in watch.shown:
                days = (ending[3] - today).days
                if ending[3] < min(last, today - PAST_DAYS) or days > MARKS[-1]:
                    continue
                key, reached = (watch.id, ending), _reached(days)
                first = min(max(last, watch.created_on), today)
                before = self._marks.setdefault(key, _reached((ending[3] - first).days))
                if watch.watcher[0] not in active:
                    continue  # it is told when the account is back
                self._marks[key] = min(before, reached)
                if reached < before and not watch.is_silent:
                    told[watch.watcher, ending[3].isoformat(), _words(days), ending[1]] += 1
        self._last_day = today
        return told

    def compare(self, expected: Counter[Ends], events: list[Stored]) -> None:
        """Judge the events of a look."""
        got = Counter((event.watcher, *change[1:]) for event in events for change in event.changes if change[0] == ENDS)
        if got != expected:
            raise WrongYear(f"ends told: {got - expected} too many, {expected - got} missing")

    async def _watches(self) -> list[Looked]:
        async with self._database.reading() as connection:
            rows = (await connection.execute(select(watches))).all()
            listed = (await connection.execute(select(certificates))).all()
        found = []
        for row in rows:
            snapshot, options = json.loads(row.snapshot or "{}"), json.loads(row.options)
            if row.kind == "srn":
                latest = [each for each in listed if each.srn == row.subject and each.unlisted_at is None]
                known = [
                    (each.notified_body, each.number, each.revision, each.expiry or "", each.status_code)
                    for each in latest
                    if each.is_latest
                ]
                shown = set(_ending(known))
            else:
                shown = set(_shown(snapshot.get("certs") or []))
            is_silent = row.kind == "srn" and options.get("certificates") is False
            created = datetime.fromtimestamp(row.created_at, UTC).date()
            found.append(Looked(row.id, (row.account_id, row.subject), created, is_silent, frozenset(shown)))
        return found


def _shown(entries: list[list[object]]) -> Iterator[Ending]:
    """Certificates of a device that are not gone: what the register lists no more does not end."""
    filled = [[*entry, *("", "", "", "", "", False, "", "", False, False, False)[len(entry) :]] for entry in entries]
    present = [each for each in filled if not each[5]]
    yield from _ending(
        [
            (str(body), str(number), str(revision), "" if is_undated else str(expiry), str(code))
            for number, revision, expiry, _, code, _, body, _, _, _, is_undated, *_ in present
        ]
    )


def _ending(known: list[tuple[str, str, str, str, str]]) -> Iterator[Ending]:
    """Those with an end that counts: not withdrawn, and no other revision of the number goes on after it."""
    in_force = [each for each in known if not each[4].endswith(OVER)]
    for body, number, revision, expiry, _ in in_force:
        others = [
            each
            for each in in_force
            if each[1] == number and each[2] != revision and (each[0] == body or not (each[0] and body))
        ]
        if expiry and all(each[3] and each[3] <= expiry for each in others):
            yield body, number, revision, date.fromisoformat(expiry)


def _reached(days: int) -> int:
    return next((mark for mark in MARKS if days <= mark), NONE_REACHED)


def _words(days: int) -> str:
    if days == 0:
        return "today"
    words = "1 day" if abs(days) == 1 else f"{abs(days)} days"
    return f"in {words}" if days > 0 else f"{words} ago"
