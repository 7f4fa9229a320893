"""The table of watches and the progress of a sync, for their templates."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date

import msgspec

from registerwatch.bootstrap import Service
from registerwatch.pages.account.visitor import Visitor
from registerwatch.pages.account.watches.watch_query import WatchQuery
from registerwatch.pages.page_position import PagePosition
from registerwatch.platform.structs import replace
from registerwatch.register.standing import NOT_IN_REGISTER, Badge
from registerwatch.watches.models import HealthState, SyncRun, Watch
from registerwatch.watches.questions.listed_watches import PAGE_ROWS, ListedWatch, WatchCounts
from registerwatch.watches.standing import standing_of
from registerwatch.watches.watch_states import STATES, is_last_read_bad, state_words
from registerwatch.web.answers.watch_answers import WatchObject

BADGES: Mapping[HealthState, str] = {
    "ok": "",
    "failing": "bad",
    "partial": "warn",
    "overdue": "warn",
    "unread": "none",
    "unknown": NOT_IN_REGISTER[1],
}


class WatchRow(msgspec.Struct, frozen=True):
    """A row of the table."""

    listed: ListedWatch
    answer: WatchObject
    is_chosen: bool
    today: date

    @classmethod
    def of(cls, listed: ListedWatch, now: float, today: date, chosen: Collection[str]) -> "WatchRow":
        """The row of a watch at `now` (unix seconds), which is `today` in the reader's zone."""
        return cls(listed, WatchObject.of(listed.watch, now), str(listed.watch.id) in chosen, today)

    @property
    def state(self) -> Badge:
        """Its state in words, and its tone."""
        return state_badge(self.listed.watch, self.answer.health.state)

    @property
    def is_read(self) -> bool:
        """Whether its last read succeeded, and was lately."""
        return self.answer.health.state == "ok" and not self.listed.watch.last_error

    @property
    def warnings(self) -> Sequence[Badge]:
        """The warnings about its subject."""
        watch = self.listed.watch
        if watch.snapshot is None:
            return ()
        return standing_of(watch.kind, watch.snapshot, self.today, is_delisted=watch.is_delisted).warnings

    @property
    def status(self) -> str:
        """The status of its subject; empty if the register no longer lists it."""
        return "" if self.listed.watch.is_delisted else self.answer.status


def state_badge(watch: Watch, state: HealthState) -> Badge:
    """The state of a watch in words, and its tone; empty if there is no problem."""
    return state_words(watch, state), "warn" if is_last_read_bad(watch, state) else BADGES[state]


class WatchTable(msgspec.Struct, frozen=True):
    """A page of watches with its filters and actions."""

    query: WatchQuery
    rows: Sequence[WatchRow]
    counts: WatchCounts
    paging: PagePosition
    all_tags: Mapping[str, int]
    total: int
    """All watches of the account."""

    @classmethod
    async def of(
        cls, service: Service, visitor: Visitor, query: WatchQuery, *, chosen: Collection[str] = ()
    ) -> "WatchTable":
        """The table for an address; a page beyond the last is the last."""
        caller, now = visitor.caller, service.clock.now()
        listing = service.watches.listing
        today = visitor.day_of(now)
        page = await listing.page(caller, query.chosen, query.order, is_descending=query.is_descending, page=query.page)
        is_filtered = bool(query.chosen.text or query.chosen.tags)
        return cls(
            replace(query, page=page.page),
            [WatchRow.of(row, now, today, chosen) for row in page.rows],
            page.counts,
            PagePosition(page.page, PAGE_ROWS, page.counts.matching),
            await service.watches.tags.counts(caller),
            await service.watches.service.count(caller.account.id) if is_filtered else page.counts.of(None, None),
        )

    @property
    def states(self) -> list[tuple[str, str, int, bool]]:
        """The filters by state: address, words, number, and whether it is active."""
        chosen = self.query.chosen.state
        found: list[tuple[str, str, int, bool]] = [
            (self.query.with_state(None), "All", self.counts.of_state(None), chosen is None)
        ]
        for state, words in STATES.items():
            number = self.counts.of_state(state)
            found.append((self.query.with_state(state), words, number, chosen == state))
        return found


class SyncView(msgspec.Struct, frozen=True):
    """The progress of the account's last sync."""

    run: SyncRun
    state: str


async def sync_view(service: Service, visitor: Visitor) -> SyncView | None:
    """The account's last sync that was started on a page; None before the first."""
    run = await service.watches.sync_runs.last(visitor.caller)
    return SyncView(run, run.state(service.clock.now())) if run is not None else None
