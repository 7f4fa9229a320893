"""Compares ends of certificates that watches were told in a simulated year with those that they had to be told.

The rules are written a second time, without the product's code: 90, 30, 7 and 0 days before the end, each once for a
watch, a certificate and a date; of several that were reached meanwhile the nearest. What was reached before the first
look, before the day of the last look, or by the day of an event that told the date, is told never. The marks of a
certificate wait while it does not end by its date: it is listed no more, has no date now, is ended by its status
(called expired, too, until its date is past), or another revision goes on.
"""

import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import Row, select

from registerwatch.copy.tables import certificates
from registerwatch.platform.db.engine import Database
from registerwatch.watches.tables import events, watches
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
class Known:
    """A certificate as a snapshot or the list of all certificates has it."""

    body: str
    number: str
    revision: str
    last_expiry: str
    has_its_end: bool
    """Whether it is listed and no status has ended it."""
    is_undated: bool

    @property
    def expiry(self) -> str:
        """Its end date now."""
        return "" if self.is_undated else self.last_expiry


@dataclass(frozen=True, slots=True)
class Looked:
    """A watch as the service sees it when it looks: its id and creation, whether it wants ends, which it knows and
    whether each may be told now.
    """

    id: int
    watcher: Watcher
    created_on: date
    is_silent: bool
    endings: dict[Ending, bool]


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
        moved = await self._moved_since(last)
        for watch in await self._watches(today):
            for ending, may_tell in watch.endings.items():
                days = (ending[3] - today).days
                if ending[3] < min(last, today - PAST_DAYS) or days > MARKS[-1]:
                    continue
                key, reached = (watch.id, ending), _reached(days)
                moved_on = moved.get((watch.id, ending[1], ending[3].isoformat()), last)
                first = min(max(last, watch.created_on, moved_on), today)
                before = self._marks.setdefault(key, _reached((ending[3] - first).days))
                if watch.watcher[0] not in active or not may_tell:
                    continue  # it is told when the account is back, or the certificate
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

    async def _moved_since(self, last: date) -> dict[tuple[int, str, str], date]:
        """The days of events that told a new date: by watch, number and date."""
        async with self._database.reading() as connection:
            rows = (await connection.execute(select(events).order_by(events.c.id))).all()
        days = [(row, datetime.fromtimestamp(row.created_at, UTC).date()) for row in rows]
        return {
            (row.watch_id, change["certificate"], change["new"]): on
            for row, on in days
            for change in json.loads(row.changes)
            if on >= last and change["field"] == "cert_expiry"
        }

    async def _watches(self, today: date) -> list[Looked]:
        async with self._database.reading() as connection:
            rows = (await connection.execute(select(watches))).all()
            listed = (await connection.execute(select(certificates))).all()
        found = []
        for row in rows:
            snapshot, options = json.loads(row.snapshot or "{}"), json.loads(row.options)
            if row.kind == "srn":
                endings = _endings(
                    [_listed(each, today) for each in listed if each.srn == row.subject and each.is_latest]
                )
            else:
                endings = _endings([_seen(each, today) for each in snapshot.get("certs") or []])
            is_silent = row.kind == "srn" and options.get("certificates") is False
            created = datetime.fromtimestamp(row.created_at, UTC).date()
            found.append(Looked(row.id, (row.account_id, row.subject), created, is_silent, endings))
        return found


def _listed(row: Row[Any], today: date) -> Known:
    """A certificate of the list of all."""
    has_its_end = row.unlisted_at is None and not _is_over(row.status_code, row.expiry or "", today)
    last = row.expiry or row.last_expiry or ""
    return Known(row.notified_body, row.number, row.revision, last, has_its_end, is_undated=not row.expiry)


def _seen(entry: list[object], today: date) -> Known:
    """A certificate of a device."""
    filled = [*entry, *("", "", "", "", "", False, "", "", False, False, False, "", "", "", "", "")[len(entry) :]]
    number, revision, expiry, _, code, is_gone, body, _, _, _, is_undated, *_, former_revision = filled
    has_its_end = not is_gone and not _is_over(str(code), "" if is_undated else str(expiry), today)
    named = str(revision or former_revision)
    return Known(str(body), str(number), named, str(expiry), has_its_end, bool(is_undated))


def _is_over(status_code: str, expiry: str, today: date) -> bool:
    """Whether its status has ended a certificate before its date."""
    is_past = bool(expiry) and date.fromisoformat(expiry) < today
    return status_code.endswith(OVER) or (status_code.endswith("expired") and not is_past)


def _endings(known: list[Known]) -> dict[Ending, bool]:
    """Those with an end, and whether it counts: no other revision of the number goes on after it."""
    found: dict[Ending, bool] = {}
    for each in known:
        if each.last_expiry:
            ending = each.body, each.number, each.revision, date.fromisoformat(each.last_expiry)
            others = [
                other
                for other in known
                if other.has_its_end and other.number == each.number and other.revision != each.revision
                if other.body == each.body or not (other.body and each.body)
            ]
            counts = each.has_its_end and not each.is_undated
            counts = counts and all(other.expiry and other.expiry <= each.expiry for other in others)
            found[ending] = counts or found.get(ending, False)
    return found


def _reached(days: int) -> int:
    return next((mark for mark in MARKS if days <= mark), NONE_REACHED)


def _words(days: int) -> str:
    if days == 0:
        return "today"
    words = "1 day" if abs(days) == 1 else f"{abs(days)} days"
    return f"in {words}" if days > 0 else f"{words} ago"
