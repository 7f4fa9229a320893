"""Reads a list of the register from end to end, and decides whether all of it was seen.

The list may change meanwhile: new rows come first, so rows shift to later pages, come twice, or are missed. A walk is
complete where every page had the same total, and as many different rows came. A missing row proves that a record is
gone only if every row could be read, too.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from registerwatch.platform.clock import Clock
from registerwatch.platform.structs import replace
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.source import ListPage

CHANGED = "The list changed while it was read."
MISSED = "Rows of the list were missed while it was read."
EMPTY = "The register's answer is implausible (an empty list)."
SHRUNK = "The register's answer is implausible (far fewer records than are stored)."
MIN_STORED_TO_SHRINK = 20
"""Of fewer stored records half may be gone."""
MAX_NEW_OF_FEW = 50
"""With fewer stored records, this many may be new."""


class Keyed(Protocol):
    """A record of a list."""

    @property
    def listing_key(self) -> str:
        """Identifies a row of the list."""

    @property
    def id(self) -> str:
        """Identifies the record in all its listed versions."""


Row = TypeVar("Row", bound=Keyed)


class Listed(msgspec.Struct, Generic[Row], frozen=True):
    """A row, and the instant before the request of the page that had it (unix seconds)."""

    row: Row
    visible_at: int


class WalkedList(msgspec.Struct, Generic[Row], frozen=True):
    """The rows of a walk in the order in which they came, including those that came twice.

    `total` is the last count of the register, None where no page could be read. `problem` says why the walk is not
    complete, and is empty where it is. `unread` are the ids of rows of which nothing else can be read, by uuid;
    `unreadable` counts the rows without one.
    """

    rows: Sequence[Listed[Row]]
    total: int | None = None
    unreadable: int = 0
    problem: str = ""
    unread: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether every row was listed."""
        return not self.problem

    @property
    def proves_absence(self) -> bool:
        """Whether a record without a row is listed no more: every row was listed and could be read."""
        return self.is_complete and not self.unreadable and not self.unread

    @property
    def listed(self) -> int:
        """The number of different rows."""
        return len({each.row.listing_key for each in self.rows}.union(self.unread)) + self.unreadable


async def walk(read_page: Callable[[int], Awaitable[ListPage[Row]]], clock: Clock) -> WalkedList[Row]:
    """Read a list page by page. A page that cannot be read ends the walk; the rows before it are returned."""
    rows: list[Listed[Row]] = []
    unreadable: set[int] = set()
    unread: dict[str, str] = {}
    totals: list[int] = []
    page, failure = 0, ""
    try:
        is_last = False
        while not is_last:
            visible_at = int(clock.now())
            answer = await read_page(page)
            rows += [Listed(row, visible_at) for row in answer.rows]
            unreadable |= answer.unreadable
            unread |= answer.named
            totals.append(answer.total)
            page += 1
            is_last = answer.is_last or len(rows) > 2 * answer.total
    except RegisterFailure as failed:
        failure = failed.reason
    walked = WalkedList(rows, totals[-1] if totals else None, len(unreadable), unread=unread)
    return replace(walked, problem=failure or _incompleteness(totals, walked.listed))


def implausible(walked: WalkedList[Row], *, stored: int, may_be_empty: bool) -> str:
    """Why a walk is not to be believed, empty where it is. `stored` is the number of records listed so far."""
    if walked.total is None:
        return walked.problem
    if walked.total == 0 and (stored or not may_be_empty):
        return EMPTY
    if stored >= MIN_STORED_TO_SHRINK and walked.total * 2 < stored:
        return SHRUNK
    return ""


def is_surge(new: int, *, stored: int) -> bool:
    """Whether so many records are new that the stored list was incomplete: then they are not news."""
    return new > max(stored, MAX_NEW_OF_FEW)


def _incompleteness(totals: Sequence[int], listed: int) -> str:
    if len(set(totals)) > 1:
        return CHANGED
    return "" if totals and totals[-1] == listed else MISSED
