"""However news, watches, options, periods and runs of sweeps follow one another, each watch is told each piece once."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.tables import accounts
from registerwatch.copy.tables import certificate_news, device_sweeps, portfolio_news, walks
from registerwatch.platform.db.engine import Database
from registerwatch.watches import repository
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events.event_repository import EVENT, event_of
from registerwatch.watches.models import Event
from registerwatch.watches.news.news import WatchNews
from registerwatch.watches.news.news_cursors import begin_added, set_options
from registerwatch.watches.news.news_repository import BASELINE_SECONDS, NewsLog
from registerwatch.watches.options import OptionChange
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.tables import events, watches
from tests.register.builders import FEW
from tests.watches.news_rows import add_certificate_news, add_device_news, list_certificates, list_devices

SRNS = ("DE-MF-000000001", "FR-MF-000000002")
ACCOUNTS = (1, 2)
Step = tuple[str, *tuple[object, ...]]
"""The name of a method of `Steps`, and its arguments."""
START, FOR_EVER = 1_800_000_000, 2_000_000_000


class NoOutbox:
    """Nobody has a target."""

    async def put(
        self, connection: AsyncConnection, batch: str, events: Mapping[int, Sequence[Event]], *, due_at: int, now: int
    ) -> None:
        """Take nothing."""

    async def release(self, batch: str) -> None:
        """Release nothing."""


@dataclass
class ExpectedCursor:
    """What a watch ought to be told of one log, by the rules alone."""

    waits_since: int
    seen: int | None = None
    """How many pieces of the log it is past."""
    told: list[str] = field(default_factory=list)


@dataclass
class ExpectedWatch:
    """A watch as it ought to be."""

    srn: str
    is_on: dict[NewsLog, bool]
    cursors: dict[NewsLog, ExpectedCursor]


@dataclass
class Expected:
    """Watches by account and SRN, logs, complete lists and periods."""

    now: int = START
    watches: dict[tuple[int, str], ExpectedWatch] = field(default_factory=dict)
    logs: dict[tuple[NewsLog, str], list[str]] = field(default_factory=dict)
    complete: dict[tuple[NewsLog, str], int] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)

    def begin(self, watch: ExpectedWatch, log: NewsLog) -> None:
        """A watch is told what comes from now on."""
        is_fresh = self.complete.get((log, watch.srn), 0) >= self.now - BASELINE_SECONDS
        cursor = watch.cursors[log]
        cursor.seen = len(self.logs.get((log, watch.srn), [])) if is_fresh else None
        for each in watch.cursors.values():
            each.waits_since = self.now

    def add(self, account: int, srn: str) -> None:
        """A new watch."""
        cursors = {log: ExpectedCursor(self.now) for log in NewsLog}
        watch = self.watches[account, srn] = ExpectedWatch(srn, dict.fromkeys(NewsLog, True), cursors)
        for log in NewsLog:
            self.begin(watch, log)

    def tell(self, log: NewsLog, srn: str) -> None:
        """What comes after the cursors is told."""
        entries = self.logs.get((log, srn), [])
        for (account, of_srn), watch in self.watches.items():
            cursor = watch.cursors[log]
            if account in self.ended or of_srn != srn:
                continue
            if cursor.seen is not None:
                cursor.told += entries[cursor.seen :] if watch.is_on[log] else []
            elif self.complete.get((log, srn), 0) < cursor.waits_since:
                continue
            cursor.seen = len(entries)


class Steps:
    """The same done to the database and to what is expected."""

    def __init__(self, database: Database) -> None:
        self.database, self.expected, self.pieces = database, Expected(), 0
        self.nodes = [WatchNews(NoOutbox()), WatchNews(NoOutbox())]

    async def add(self, account: int, srn: str) -> None:
        """Add a watch, where there is none."""
        if (account, srn) not in self.expected.watches:
            async with self.database.transaction() as connection:
                await repository.add(connection, account, [NewWatch(srn)], self.expected.now)
                await begin_added(connection, account, [srn], self.expected.now)
            self.expected.add(account, srn)

    async def find(self, log: NewsLog, srn: str, number: int) -> None:
        """A sweep finds something."""
        for _ in range(number):
            self.pieces += 1
            name = f"P-{self.pieces}"
            self.expected.logs.setdefault((log, srn), []).append(name)
            async with self.database.transaction() as connection:
                if log is NewsLog.PORTFOLIO:
                    await add_device_news(connection, name, srn=srn, name=name)
                else:
                    await add_certificate_news(connection, FieldChange("certificate", "", name, name), srn=srn)

    async def list_all(self, log: NewsLog, srn: str) -> None:
        """A sweep lists everything; of certificates this is so for all manufacturers."""
        async with self.database.transaction() as connection:
            if log is NewsLog.PORTFOLIO:
                await list_devices(connection, self.expected.now, srn)
            else:
                await list_certificates(connection, self.expected.now)
        for each in SRNS if log is NewsLog.CERTIFICATES else [srn]:
            self.expected.complete[log, each] = self.expected.now

    async def tell(self, log: NewsLog, srn: str, nodes: int) -> None:
        """Sweeps on so many nodes tell at once."""
        await asyncio.gather(*(self._tell(log, srn, each) for each in self.nodes[:nodes]))
        for each in SRNS if log is NewsLog.CERTIFICATES else [srn]:
            self.expected.tell(log, each)

    async def _tell(self, log: NewsLog, srn: str, node: WatchNews) -> None:
        async with self.database.transaction() as connection:
            if log is NewsLog.PORTFOLIO:
                await node.notify_portfolio(connection, srn, now=self.expected.now)
            else:
                await node.notify_certificates(connection, now=self.expected.now)

    async def switch(self, account: int, srn: str, log: NewsLog) -> None:
        """Somebody switches an option on or off."""
        watch = self.expected.watches.get((account, srn))
        if watch is None:
            return
        watch.is_on[log] = not watch.is_on[log]
        name = "portfolio" if log is NewsLog.PORTFOLIO else "certificates"
        async with self.database.transaction() as connection:
            watch_id = (await repository.ids_of(connection, account, [srn]))[srn]
            change = OptionChange(**{name: watch.is_on[log]})
            await set_options(connection, account, watch_id, change, self.expected.now)
        if watch.is_on[log]:
            self.expected.begin(watch, log)

    async def end_or_renew(self, account: int) -> None:
        """The period of an account ends, or begins again."""
        self.expected.ended ^= {account}
        until = self.expected.now if account in self.expected.ended else FOR_EVER
        async with self.database.transaction() as connection:
            await connection.execute(update(accounts).where(accounts.c.id == account).values(expires_at=until))

    async def told(self) -> dict[tuple[int, str], list[str]]:
        """What the events of each watch have told, oldest first."""
        found: dict[tuple[int, str], list[str]] = {}
        async with self.database.reading() as connection:
            for row in await connection.execute(EVENT.add_columns(events.c.account_id).order_by(events.c.id)):
                named = [each.new for each in event_of(row).changes if each.field != "devices_registered"]
                found.setdefault((row.account_id, row.subject), []).extend(named)
        return found


async def begin(database: Database) -> Steps:
    """Accounts without watches, and nothing found."""
    async with database.transaction() as connection:
        for table in (portfolio_news, certificate_news, device_sweeps, walks, events, watches, accounts):
            await connection.execute(delete(table))
        about = {"name": "Acme", "plan": "standard", "expires_at": FOR_EVER, "created_at": 0}
        rows = [{"id": each, "email": f"{each}@acme.example", **about} for each in ACCOUNTS]
        await connection.execute(insert(accounts), rows)
        found = await connection.execute(select(accounts.c.id).order_by(accounts.c.id))
        assert found.scalars().all() == list(ACCOUNTS)
    return Steps(database)


PASSES, WEIGHTS = [1, 60, BASELINE_SECONDS + 1], [16, 4, 1]
FIRST_STEPS: Sequence[Step] = (
    *(("list_all", log, each) for log in NewsLog for each in SRNS),
    *(("add", each, SRNS[0]) for each in ACCOUNTS),
)


def random_steps(seed: int, length: int) -> Iterator[tuple[int, Step]]:
    """Steps, and how many seconds pass before each."""
    random = Random(seed)  # an example
    for step in FIRST_STEPS:
        yield 1, step
    for _ in range(length):
        account, srn, log = random.choice(ACCOUNTS), random.choice(SRNS), random.choice(list(NewsLog))
        steps: Mapping[str, tuple[int, tuple[object, ...]]] = {
            "find": (6, (log, srn, random.randint(1, 3))),
            "tell": (6, (log, srn, random.randint(1, 2))),
            "add": (1, (account, srn)),
            "list_all": (2, (log, srn)),
            "switch": (4, (account, srn, log)),
            "end_or_renew": (1, (account,)),
        }
        [name] = random.choices(list(steps), [weight for weight, _ in steps.values()])
        yield random.choices(PASSES, WEIGHTS)[0], (name, *steps[name][1])


@FEW
@given(seed=st.integers(0, 2**32), length=st.integers(30, 250))
async def test_each_watch_is_told_each_piece_once_in_order_and_none_from_before_its_baseline(
    database: Database, seed: int, length: int
) -> None:
    told = await begin(database)
    for passes, (name, *arguments) in random_steps(seed, length):
        told.expected.now += passes
        await getattr(told, name)(*arguments)
    for log in NewsLog:
        for each in SRNS:
            await told.tell(log, each, 2)

    found = await told.told()
    for key, watch in told.expected.watches.items():
        names = found.pop(key, [])
        for log, cursor in watch.cursors.items():
            log_names = set(told.expected.logs.get((log, watch.srn), []))
            assert [each for each in names if each in log_names] == cursor.told, (key, log)
        assert len(names) == len(set(names))
    assert found == {}
