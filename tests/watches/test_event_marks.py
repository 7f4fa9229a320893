"""Seen is for each user, archived for the account: whatever is done in whatever order, lists and counts are exact."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import Row, delete, func, insert, select, update

from registerwatch.accounts import repository as account_repository
from registerwatch.accounts.models import Account, Caller, Role
from registerwatch.accounts.plans import PlanName, plans
from registerwatch.accounts.tables import accounts, users
from registerwatch.errors import InvalidInput
from registerwatch.platform.db.engine import Database
from registerwatch.watches import repository as watch_repository
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events.event_marks import MAX_COUNTED, MAX_MARKED_IDS, EventMarks
from registerwatch.watches.events.event_pages import EventFilter
from registerwatch.watches.events.event_repository import NewEvent, add_events
from registerwatch.watches.events.event_selection import EventSelection, EventView, field_filter, row_id
from registerwatch.watches.models import EventKind, EventSeverity
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.tables import event_marks, events, watch_tags, watches
from tests.register.builders import PROPERTY
from tests.support.fakes import SteppedClock

T = TypeVar("T")
HIGH, MEDIUM, LOW = (
    [FieldChange("status", "On the EU market", "No longer placed on the EU market")],
    [FieldChange("risk_class", "I", "IIa"), FieldChange("version", "1", "2")],
    [FieldChange("reference", "R-1", "R-2")],
)
CHANGES = {EventSeverity.HIGH: HIGH, EventSeverity.MEDIUM: MEDIUM, EventSeverity.LOW: LOW}
FIELDS = {EventSeverity.HIGH: "status", EventSeverity.MEDIUM: "version", EventSeverity.LOW: "reference"}
severities = st.sampled_from(list(EventSeverity))
picks = st.lists(st.integers(0, 30), min_size=1, max_size=6)
which_user = st.integers(0, 2)
NO_SHRINKING = (Phase.explicit, Phase.generate)
"""A failure is told as it was found: each step is several statements, and looking for a shorter one takes minutes."""


async def an_account(database: Database) -> Account:
    row = {"email": "", "name": "Acme", "plan": "standard", "expires_at": 10**10, "created_at": 0}
    async with database.transaction() as connection:
        added = insert(accounts).values(row).returning(accounts.c.id)
        account_id = (await connection.execute(added)).scalar_one()
    return Account(account_id, "", "Acme", plans(25)[PlanName.STANDARD], 10**10, 0)


async def a_user(database: Database, account: Account) -> Caller:
    async with database.transaction() as connection:
        number = (await connection.execute(select(func.count()).select_from(users))).scalar_one()
        user_id = await account_repository.add_user(
            connection, account.id, email=f"{number}@acme.example", role=Role.MEMBER, password_hash=None, now=0
        )
    return Caller(account, Role.MEMBER, "", user_id)


async def store(database: Database, account: Account, *severities: EventSeverity, watch_id: int = 1) -> list[int]:
    """Store events, one second after the other; their ids."""
    ids: list[int] = []
    for severity in severities:
        new = NewEvent(account.id, watch_id, f"S-{watch_id}", "Label", "", CHANGES[severity], False)
        async with database.transaction() as connection:
            stored = await add_events(connection, [new], len(ids))
        ids.append(stored[account.id][0].id)
    return ids


async def listed(marks: EventMarks, caller: Caller, selection: EventSelection) -> list[int]:
    """Every chosen event, by pages of three: newest first, and the same backwards."""
    page = await marks.page(caller, selection, limit=3)
    matching, found = page.matching, [each.event.id for each in page.events]
    while page.has_older:
        page = await marks.page(caller, selection, before=found[-1], limit=3)
        found += [each.event.id for each in page.events]
    back: list[int] = []
    while page.has_newer and page.events:
        page = await marks.page(caller, selection, after=page.events[0].event.id, limit=3)
        back = [each.event.id for each in page.events] + back
    assert back == found[: len(back)] == found[: (len(found) - 1) // 3 * 3]
    assert matching == len(found)
    return found


class Marks(RuleBasedStateMachine):
    """Users of an account mark events while others are stored; a set of unseen ids for each user is the model."""

    database_url: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.database = Database(self.database_url)
        self.marks = EventMarks(self.database, SteppedClock(1_800_000_000))
        self.stored: dict[int, EventSeverity] = {}
        self.archived: set[int] = set()
        self.callers: list[Caller] = []
        self.unseen: list[set[int]] = []

    def teardown(self) -> None:
        self.run(self.database.close())
        self.runner.close()

    def run(self, awaitable: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await awaitable

        return self.runner.run(awaited())

    @initialize(severities=st.lists(severities, max_size=5))
    def an_account_with_a_user_is_there(self, severities: list[EventSeverity]) -> None:
        self.run(self._forget())
        self.account, self.other = self.run(an_account(self.database)), self.run(an_account(self.database))
        self.somebody_joins()
        self.events_come(severities)
        self.somebody_joins()

    @precondition(lambda self: len(self.callers) < 3)
    @rule()
    def somebody_joins(self) -> None:
        self.callers.append(self.run(a_user(self.database, self.account)))
        self.unseen.append(set())

    @rule(severities=st.lists(severities, min_size=1, max_size=4))
    def events_come(self, severities: list[EventSeverity]) -> None:
        for severity in severities:
            self.run(store(self.database, self.other, severity))
            [event_id] = self.run(store(self.database, self.account, severity))
            self.stored[event_id] = severity
            for unseen in self.unseen:
                unseen.add(event_id)

    @rule(who=which_user, picks=picks)
    def somebody_has_seen_some(self, who: int, picks: list[int]) -> None:
        who, ids = who % len(self.callers), self._ids(picks)
        number = self.run(self.marks.mark_seen(self.callers[who], [*ids, *self._of_the_other_account()]))
        assert number == len(self.unseen[who] & ids)
        self.unseen[who] -= ids

    @rule(who=which_user, picks=picks)
    def somebody_marks_some_unseen(self, who: int, picks: list[int]) -> None:
        who, ids = who % len(self.callers), self._ids(picks)
        number = self.run(self.marks.mark_unseen(self.callers[who], [*ids, *self._of_the_other_account()]))
        assert number == len(ids - self.archived - self.unseen[who])
        self.unseen[who] |= ids - self.archived

    @rule(who=which_user, severity=st.none() | severities, is_field=st.booleans(), back=st.integers(-2, 3))
    def somebody_has_seen_all_that_match(
        self, who: int, severity: EventSeverity | None, is_field: bool, back: int
    ) -> None:
        who, through = who % len(self.callers), max(self.stored, default=0) - back
        ids = {each for each in self._matching(severity) if each <= through}
        selection = self._selection(severity, EventView.UNSEEN, is_field=is_field)
        number = self.run(self.marks.mark_matching_seen(self.callers[who], selection, through))
        assert number == len(self.unseen[who] & ids)
        self.unseen[who] -= ids

    @rule(who=which_user, severity=st.none() | severities, back=st.integers(0, 3))
    def somebody_marks_all_that_match_unseen(self, who: int, severity: EventSeverity | None, back: int) -> None:
        who, through = who % len(self.callers), max(self.stored, default=0) - back
        ids = {each for each in self._matching(severity) if each <= through} - self.archived
        selection = self._selection(severity, EventView.ALL)
        number = self.run(self.marks.mark_matching_unseen(self.callers[who], selection, through))
        assert number == len(ids - self.unseen[who])
        self.unseen[who] |= ids

    @rule(who=which_user, picks=picks)
    def somebody_archives_some(self, who: int, picks: list[int]) -> None:
        ids = self._ids(picks)
        caller = self.callers[who % len(self.callers)]
        assert self.run(self.marks.archive(caller, [*ids, *self._of_the_other_account()])) == len(ids - self.archived)
        self._archive(ids)

    @rule(who=which_user, severity=st.none() | severities, view=st.sampled_from(EventView), back=st.integers(0, 3))
    def somebody_archives_all_that_match(
        self, who: int, severity: EventSeverity | None, view: EventView, back: int
    ) -> None:
        who, through = who % len(self.callers), max(self.stored, default=0) - back
        ids = {each for each in self._matching(severity) if each <= through} & self._listed(who, view) - self.archived
        selection = self._selection(severity, view)
        assert self.run(self.marks.archive_matching(self.callers[who], selection, through)) == len(ids)
        self._archive(ids)

    @rule(who=which_user, picks=picks)
    def somebody_lists_archived_ones_again(self, who: int, picks: list[int]) -> None:
        ids = self._ids(picks)
        caller = self.callers[who % len(self.callers)]
        assert self.run(self.marks.unarchive(caller, [*ids, *self._of_the_other_account()])) == len(ids & self.archived)
        self.archived -= ids

    @rule(who=which_user, view=st.sampled_from(EventView))
    def somebody_turns_the_pages(self, who: int, view: EventView) -> None:
        who %= len(self.callers)
        found = self.run(listed(self.marks, self.callers[who], EventSelection(view)))
        assert found == sorted(self._listed(who, view), reverse=True)

    @rule(who=which_user, limit=st.integers(1, 5))
    def somebody_looks_at_what_matters_most(self, who: int, limit: int) -> None:
        who %= len(self.callers)
        order = list(EventSeverity)
        found = self.run(self.marks.most_severe_unseen(self.callers[who], limit)).events
        expected = sorted(self.unseen[who], key=lambda each: (order.index(self.stored[each]), -each))
        assert [each.event.id for each in found] == expected[:limit]

    @invariant()
    def lists_and_counts_agree_with_the_model(self) -> None:
        for who, caller in enumerate(self.callers):
            everything = self.run(self.marks.page(caller, EventSelection(), limit=100))
            assert everything.unseen.by_severity == {each: self._count(who, each) for each in EventSeverity}
            assert {each.event.id for each in everything.events} == self._listed(who, EventView.ALL)
            assert {each.event.id for each in everything.events if not each.is_seen} == self.unseen[who]

    @invariant()
    def marks_tell_only_what_differs(self) -> None:
        for row in self.run(self._marks()):
            assert row.is_seen == (row.event_id > row.events_seen_through)

    # The model

    def _listed(self, who: int, view: EventView) -> set[int]:
        return {
            EventView.UNSEEN: self.unseen[who],
            EventView.ALL: set(self.stored) - self.archived,
            EventView.ARCHIVED: self.archived,
        }[view]

    def _matching(self, severity: EventSeverity | None) -> set[int]:
        return {each for each, its in self.stored.items() if severity in (None, its)}

    def _count(self, who: int, severity: EventSeverity) -> int:
        return sum(self.stored[each] is severity for each in self.unseen[who])

    def _archive(self, ids: set[int]) -> None:
        self.archived |= ids
        for unseen in self.unseen:
            unseen -= ids

    def _selection(self, severity: EventSeverity | None, view: EventView, *, is_field: bool = False) -> EventSelection:
        if severity is None:
            return EventSelection(view)
        if is_field:
            return EventSelection(view, fields=frozenset({FIELDS[severity]}))
        return EventSelection(view, EventFilter.of(severities=[severity]))

    def _ids(self, picks: list[int]) -> set[int]:
        known = list(self.stored)
        return {known[pick % len(known)] for pick in picks} if known else set()

    # The database

    def _of_the_other_account(self) -> list[int]:
        async def found() -> list[int]:
            async with self.database.reading() as connection:
                rows = await connection.execute(select(events.c.id).where(events.c.account_id == self.other.id))
                return list(rows.scalars())

        return self.run(found())

    async def _forget(self) -> None:
        async with self.database.transaction() as connection:
            await connection.execute(delete(accounts))

    async def _marks(self) -> Sequence[Row[*tuple[Any, ...]]]:
        found = select(event_marks, users.c.events_seen_through).join(users, users.c.id == event_marks.c.user_id)
        async with self.database.reading() as connection:
            return (await connection.execute(found)).all()


def test_whatever_users_mark_lists_and_counts_are_exact(database_url: str) -> None:
    machine = type("MarksOfOneDatabase", (Marks,), {"database_url": database_url})
    examples = min(12, settings().max_examples // 3)
    run_state_machine_as_test(
        machine, settings=settings(PROPERTY, max_examples=examples, stateful_step_count=12, phases=NO_SHRINKING)
    )


async def test_filters_choose_by_every_field_of_an_event_and_together(database: Database) -> None:
    marks, account = EventMarks(database, SteppedClock(0)), await an_account(database)
    caller = await a_user(database, account)
    high, medium, low = await store(database, account, *EventSeverity)
    [other] = await store(database, account, EventSeverity.LOW, watch_id=2)
    async with database.transaction() as connection:
        await connection.execute(update(events).where(events.c.id == medium).values(kind=EventKind.EXPIRY))
        new = [NewWatch("04012345678901")]
        await watch_repository.add(connection, account.id, new, 0)
        await connection.execute(update(watches).values(id=2))
        await connection.execute(insert(watch_tags).values(account_id=account.id, watch_id=2, tag="ward 3"))

    async def chosen(**wanted: Any) -> list[int]:
        return await listed(marks, caller, EventSelection(**wanted))

    assert await chosen(about=EventFilter.of(kinds=["expiry"])) == [medium]
    assert await chosen(about=EventFilter.of(severities=["high", "medium"])) == [medium, high]
    assert await chosen(about=EventFilter(subject="S-2")) == [other]
    assert await chosen(subject="S-") == [other, low, medium, high]
    assert await chosen(subject="-2") == await chosen(subject="S%2") == []
    assert await chosen(fields=field_filter(["version", "status"])) == [medium, high]
    assert await chosen(fields=field_filter(["status_date"])) == []
    assert await chosen(watch_id=2) == await chosen(tag="ward 3") == [other]
    assert await chosen(tag="ward") == []
    assert await chosen(since=1) == [low, medium]
    assert await chosen(until=1, watch_id=1) == [high]
    assert await chosen(view=EventView.UNSEEN, about=EventFilter.of(severities=["low"]), watch_id=1) == [low]


async def test_an_export_has_every_event_once_newest_first(database: Database) -> None:
    marks, account = EventMarks(database, SteppedClock(0)), await an_account(database)
    caller = await a_user(database, account)
    ids = await store(database, account, *[EventSeverity.LOW] * 4)
    await marks.mark_seen(caller, ids[:1])

    parts = [part async for part in marks.export(caller, EventSelection(EventView.UNSEEN), at_once=2)]

    assert [each.event.id for part in parts for each in part] == ids[:0:-1]


async def test_the_number_of_marked_events_is_exact_beyond_the_bound_of_counts(database: Database) -> None:
    marks, account = EventMarks(database, SteppedClock(0)), await an_account(database)
    caller = await a_user(database, account)
    new = NewEvent(account.id, 1, "S-1", "Label", "", LOW, False)
    async with database.transaction() as connection:
        stored = (await add_events(connection, [new] * (MAX_COUNTED + 1), 0))[account.id]

    assert (await marks.most_severe_unseen(caller, 1)).counts.total == MAX_COUNTED
    assert await marks.mark_matching_seen(caller, EventSelection(), stored[-1].id) == MAX_COUNTED + 1


async def test_marks_are_for_users_and_for_a_bounded_number_of_events(database: Database) -> None:
    marks, account = EventMarks(database, SteppedClock(0)), await an_account(database)
    caller = await a_user(database, account)

    with pytest.raises(InvalidInput, match="Sign in"):
        await marks.most_severe_unseen(replace(caller, user_id=None), 1)
    with pytest.raises(InvalidInput, match="at most"):
        await marks.mark_seen(caller, range(MAX_MARKED_IDS + 1))


@pytest.mark.parametrize("text", ["-1", "x", "9223372036854775808", "1" * 5000, "²"])
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        row_id("watch", text)
    with pytest.raises(InvalidInput):
        field_filter([text])


async def test_who_has_seen_most_keeps_marks_of_the_few_that_are_unseen(database: Database) -> None:
    marks, account = EventMarks(database, SteppedClock(0)), await an_account(database)
    caller = await a_user(database, account)
    ids = await store(database, account, EventSeverity.HIGH, *[EventSeverity.LOW] * 5)

    await marks.mark_matching_seen(caller, EventSelection(about=EventFilter.of(severities=["low"])), ids[-1])

    async with database.reading() as connection:
        stored = (await connection.execute(select(event_marks.c.event_id, event_marks.c.is_seen))).all()
    assert [tuple(row) for row in stored] == [(ids[0], False)]


async def test_a_page_counts_the_events_of_its_causes_that_are_chosen_on_all_pages(database: Database) -> None:
    marks = EventMarks(database, SteppedClock(1_800_000_000))
    account, other = await an_account(database), await an_account(database)
    caller = await a_user(database, account)
    for of in (account, other, account, account, account, account):
        new = NewEvent(of.id, 1, "S-1", "Label", "", LOW, False, "run/DE-MF-000000001")
        async with database.transaction() as connection:
            await add_events(connection, [new], 1)
    await store(database, account, EventSeverity.HIGH)
    seen = await marks.page(caller, EventSelection(EventView.ALL), limit=2)
    await marks.mark_seen(caller, [seen.events[1].event.id])

    by_view = {
        view: dict((await marks.page(caller, EventSelection(view), limit=2)).by_cause)
        for view in (EventView.ALL, EventView.UNSEEN)
    }

    assert by_view == {
        EventView.ALL: {"run/DE-MF-000000001": 5},
        EventView.UNSEEN: {"run/DE-MF-000000001": 4},
    }
