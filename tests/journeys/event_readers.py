"""Readers that follow the events of every account in a simulated year, page by page, while it goes on."""

from collections.abc import Mapping

from registerwatch.accounts.models import Caller
from registerwatch.watches.events.event_pages import EventFilter
from registerwatch.watches.models import Event, EventSeverity
from registerwatch.watches.service import WatchService

PAGE = 5


class EventReaders:
    """A reader of each account, and one who reads only what is severe."""

    def __init__(self) -> None:
        self._next: dict[tuple[int, EventFilter], int] = {}
        self._seen: dict[tuple[int, EventFilter], list[int]] = {}

    async def read_page(self, watches: WatchService, caller: Caller) -> bool:
        """Let the account's readers read one page each. Whether there is more for one of them."""
        return any([await self._read(watches, caller, chosen) for chosen in FILTERS])

    async def _read(self, watches: WatchService, caller: Caller, chosen: EventFilter) -> bool:
        reader = caller.account.id, chosen
        page = await watches.event_page(caller, chosen, after=self._next.get(reader, 0), limit=PAGE)
        self._next[reader] = page.next
        self._seen.setdefault(reader, []).extend(event.id for event in page.events)
        return page.more

    async def check(self, watches: WatchService, callers: Mapping[int, Caller]) -> None:
        """Read to the end: every reader must have seen every stored event that is theirs, once and in order."""
        for account_id, caller in callers.items():
            while await self.read_page(watches, caller):
                pass
            stored = await watches.events(caller, 100_000)
            for chosen in FILTERS:
                theirs = sorted(event.id for event in stored if _is_chosen(event, chosen))
                assert self._seen[account_id, chosen] == theirs, f"a reader of account {account_id} missed something"


FILTERS = (EventFilter(), EventFilter(severities=frozenset({EventSeverity.HIGH, EventSeverity.MEDIUM})))


def _is_chosen(event: Event, chosen: EventFilter) -> bool:
    return not chosen.severities or event.severity in chosen.severities
