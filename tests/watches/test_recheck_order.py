"""Whatever accounts do, nobody waits for the recheck longer than a fair share (`RecheckService` has the formula)."""

import asyncio
import math
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from sqlalchemy import delete, insert, select, update

from registerwatch.accounts.models import Account
from registerwatch.accounts.tables import accounts
from registerwatch.ingest.refresh import ReadLimits
from registerwatch.platform.db.engine import Database
from registerwatch.watches import repository
from registerwatch.watches.reading import recheck_repository
from registerwatch.watches.reading.read_order import Family
from registerwatch.watches.reading.read_subject import SubjectRead
from registerwatch.watches.reading.recheck import RecheckService
from registerwatch.watches.reading.recheck_order import (
    FIRST_READS_OF,
    RecheckEntry,
    WaitingAccount,
    order_of,
    slots_of_paying,
)
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.tables import watches
from tests.register.builders import PROPERTY
from tests.support.fakes import SteppedClock

T = TypeVar("T")

PLACES = 6
FIRST_PLACES = PLACES // FIRST_READS_OF
OF_EACH_GROUP = {False: (PLACES - FIRST_PLACES) // 2, True: FIRST_PLACES // 2}
"""Places that accounts that pay have, and trials, of a kind: of watches that were never read, or of the others."""
SUBJECTS = [f"{number:014}" for number in range(80)]
which = st.integers(0, 59)
"""Picks one of however many there are."""


class Reads:
    """Reads that note that a subject was tried, until there is no place left in the request budget."""

    def __init__(self, database: Database, clock: SteppedClock) -> None:
        self._database, self._clock = database, clock
        self.left = math.inf

    def limits(
        self, start_until: float | None = None, account: Account | None = None, *, max_shared_age: float = 0.0
    ) -> ReadLimits:
        return ReadLimits(0, start_until)

    async def propagate_rest(self) -> None:
        pass

    async def families(self, _subjects: object) -> dict[str, Family]:
        return {}

    async def read(self, subject: str, *_others: object) -> SubjectRead:
        if self.left <= 0:
            return SubjectRead(unasked="The requests of the minute are used up.")
        self.left -= 1
        async with self._database.transaction() as connection:
            await repository.note_failure(connection, subject, "It was tried.", int(self._clock.now()))
        return SubjectRead(is_found=True)


class NoOutbox:
    """Nothing is told."""

    async def release(self, *_of_batch: object) -> None:
        """Do nothing."""


@dataclass
class Waiting:
    """What waits for its turn: since how many runs or turns, and what may come before it.

    Accounts that came after the account `newest` come behind.
    """

    passed: int = 0
    before: set[int] = field(default_factory=set)
    newest: int = 0


@dataclass
class Known:
    """An account, as the model knows it: since when each subject waits, by how many of its turns."""

    turns: Waiting
    first_turns: Waiting
    is_active: bool = True
    is_trial: bool = True
    subjects: dict[str, Waiting] = field(default_factory=dict)
    never_read: dict[str, Waiting] = field(default_factory=dict)

    def add(self, subject: str) -> None:
        """It begins to watch a subject, which comes behind its others."""
        self.subjects[subject] = Waiting(before=set(range(len(self.subjects) + 1)))
        self.never_read[subject] = Waiting(before=set(range(len(self.never_read) + 1)))

    def remove(self, subject: str) -> None:
        self.subjects.pop(subject, None)
        self.never_read.pop(subject, None)

    def tried(self, subject: str) -> None:
        """Its watch was tried: it waits behind the others again."""
        if subject in self.subjects:
            self.subjects[subject] = Waiting(before=set(range(len(self.subjects))))
            self.never_read.pop(subject, None)


class Queue(RuleBasedStateMachine):
    """Accounts that come, import, delete and go while rechecks run."""

    database_url: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.database, self.clock = Database(self.database_url), SteppedClock(1_800_000_000)
        self.reads = Reads(self.database, self.clock)
        self.known: dict[int, Known] = {}
        self.service = RecheckService(
            self.database,
            self.clock,
            self.reads,  # type: ignore[arg-type]  # a reader
            NoOutbox(),  # type: ignore[arg-type]  # an outbox
            watches_per_run=PLACES,
        )
        self.run(self._forget())

    def teardown(self) -> None:
        self.run(self.database.close())
        self.runner.close()

    def run(self, awaitable: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await awaitable

        return self.runner.run(awaited())

    @initialize()
    def some_accounts_are_there(self) -> None:
        for number in range(5):
            self.an_account_comes(is_trial=number % 2 == 0)
            self.an_account_imports(number, 6 * number, 2 + number)

    @precondition(lambda self: len(self.known) < 20)
    @rule(is_trial=st.booleans())
    def an_account_comes(self, *, is_trial: bool) -> None:
        account_id = self.run(self._come("trial" if is_trial else "standard"))
        self.known[account_id] = Known(Waiting(newest=account_id), Waiting(newest=account_id), is_trial=is_trial)

    @rule(who=which, first=which, number=st.integers(1, 12))
    def an_account_imports(self, who: int, first: int, number: int) -> None:
        account_id = self._account(who)
        known = self.known[account_id]
        new = [each for each in (SUBJECTS * 3)[first : first + number] if each not in known.subjects]
        self.run(self._import(account_id, new))
        for each in new:
            known.add(each)

    @rule(who=which)
    def an_account_deletes_all_and_imports_it_again(self, who: int) -> None:
        account_id = self._account(who)
        subjects = list(self.known[account_id].subjects)
        self._remove(account_id, subjects)
        self.run(self._import(account_id, subjects))
        for each in subjects:
            self.known[account_id].add(each)

    @rule(who=which, what=which, again=st.booleans(), times=st.integers(1, 6))
    def an_account_deletes_a_watch_and_may_add_it_again(self, who: int, what: int, again: bool, times: int) -> None:
        account_id = self._account(who)
        for _ in range(times if again else 1):
            subjects = list(self.known[account_id].subjects)
            if subjects:
                subject = subjects[what % len(subjects)] if not again else subjects[-1]
                self._remove(account_id, [subject])
                if again:
                    self.run(self._import(account_id, [subject]))
                    self.known[account_id].add(subject)
                    self._recheck(math.inf)

    @precondition(lambda self: len(self.known) < 20)
    @rule(times=st.integers(1, 4))
    def somebody_opens_one_account_after_the_other(self, times: int) -> None:
        for _ in range(times):
            for _ in range(PLACES):
                self.an_account_comes(is_trial=True)
                self.an_account_imports(len(self.known) - 1, 40 + len(self.known), 1)
            self._recheck(math.inf)

    @rule(who=which)
    def an_account_ends_or_goes_on(self, who: int) -> None:
        account_id = self._account(who)
        known = self.known[account_id]
        known.is_active = not known.is_active
        self.run(self._set_end(account_id, is_active=known.is_active))

    @precondition(lambda self: len(self.known) > 2)
    @rule(who=which)
    def an_account_goes(self, who: int) -> None:
        account_id = self._account(who)
        del self.known[account_id]
        self.run(self._delete(account_id))

    @rule(left=st.integers(0, PLACES))
    def a_run_finds_no_places_in_the_request_budget(self, left: int) -> None:
        self._recheck(left)

    @rule(times=st.integers(1, 5))
    def the_recheck_runs(self, times: int) -> None:
        for _ in range(times):
            self._recheck(math.inf)

    def _recheck(self, left: float) -> None:
        self.clock.move(600)
        turns = self.run(self._due())
        self._check(turns)
        self.reads.left = left
        result = self.run(self.service.run())
        subjects = [turn.subject for turn in turns if turn.subject is not None]
        assert len(set(subjects)) == len(subjects) <= PLACES
        tried = subjects[: result.tried]
        is_through = tried == subjects
        had = [turn for turn in turns if turn.subject in tried or (turn.subject is None and is_through)]
        self._note(had, is_full=left > PLACES)

    def _check(self, turns: Sequence[RecheckEntry]) -> None:
        """Who waits for as long as is fair is read now; as much is read as can be."""
        active = {each: known for each, known in self.known.items() if known.is_active and known.subjects}
        watched = {subject for known in active.values() for subject in known.subjects}
        assert sum(turn.subject is not None for turn in turns) == min(PLACES, len(watched))
        first = [turn for turn in turns if turn.is_first_read]
        for account_id, known in active.items():
            group = {each: other for each, other in active.items() if other.is_trial is known.is_trial}
            known.turns.before |= {each for each in group if each <= known.turns.newest}
            if known.turns.passed + 1 >= math.ceil(len(known.turns.before) / OF_EACH_GROUP[False]):
                read = {turn.subject for turn in turns}
                assert account_id in {turn.account_id for turn in turns if turn not in first} or read >= set(
                    known.subjects
                )
            if known.never_read:
                known.first_turns.before |= {
                    each for each, other in group.items() if other.never_read and each <= known.first_turns.newest
                }
                if known.first_turns.passed + 1 >= math.ceil(len(known.first_turns.before) / OF_EACH_GROUP[True]):
                    assert account_id in {turn.account_id for turn in first}

    def _note(self, turns: Sequence[RecheckEntry], *, is_full: bool) -> None:
        """What a run has read, and whose turns passed."""
        read = {turn.subject for turn in turns}
        for turn in turns:
            known = self.known[turn.account_id]
            waiting = known.never_read if turn.is_first_read else known.subjects
            for subject, wait in waiting.items():
                if subject not in read:
                    wait.passed += 1
                    assert wait.passed < len(wait.before), "the longest unread comes first"
        for known in (each for each in self.known.values() if each.is_active):
            for turn in turns:
                if turn.subject is not None:
                    known.tried(turn.subject)
            known.turns.passed += is_full
            known.first_turns.passed += is_full and bool(known.never_read)
        for turn in turns:
            if turn.is_first_read:
                self.known[turn.account_id].first_turns = Waiting(newest=max(self.known))
            else:
                self.known[turn.account_id].turns = Waiting(newest=max(self.known))

    def _account(self, who: int) -> int:
        self.clock.move(1)
        return list(self.known)[who % len(self.known)]

    def _remove(self, account_id: int, subjects: Sequence[str]) -> None:
        self.clock.move(1)
        for each in subjects:
            self.known[account_id].remove(each)
        self.run(self._delete_watches(account_id, subjects))

    # The database

    async def _forget(self) -> None:
        async with self.database.transaction() as connection:
            await connection.execute(delete(accounts))

    async def _come(self, plan: str) -> int:
        self.clock.move(1)
        now = int(self.clock.now())
        row = {"email": f"{now}@acme.example", "name": "Acme", "plan": plan, "created_at": now}
        async with self.database.transaction() as connection:
            added = insert(accounts).values(**row, expires_at=now + 10**9).returning(accounts.c.id)
            return int((await connection.execute(added)).scalar_one())

    async def _import(self, account_id: int, subjects: Sequence[str]) -> None:
        async with self.database.transaction() as connection:
            await repository.add(connection, account_id, [NewWatch(each) for each in subjects], int(self.clock.now()))

    async def _delete_watches(self, account_id: int, subjects: Sequence[str]) -> None:
        of_account = watches.c.account_id == account_id, watches.c.subject.in_(subjects)
        async with self.database.transaction() as connection:
            for watch_id in (await connection.execute(select(watches.c.id).where(*of_account))).scalars().all():
                await repository.remove(connection, account_id, watch_id)

    async def _set_end(self, account_id: int, *, is_active: bool) -> None:
        end = int(self.clock.now()) + (10**9 if is_active else -1)
        async with self.database.transaction() as connection:
            await connection.execute(update(accounts).where(accounts.c.id == account_id).values(expires_at=end))

    async def _delete(self, account_id: int) -> None:
        async with self.database.transaction() as connection:
            await connection.execute(delete(accounts).where(accounts.c.id == account_id))

    async def _due(self) -> list[RecheckEntry]:
        async with self.database.reading() as connection:
            return await recheck_repository.due(connection, int(self.clock.now()), PLACES)


@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_whatever_accounts_do_nobody_waits_longer_than_a_fair_share(database_url: str) -> None:
    machine = type("QueueOfOneDatabase", (Queue,), {"database_url": database_url})
    examples = min(10, settings().max_examples // 3)
    run_state_machine_as_test(machine, settings=settings(PROPERTY, max_examples=examples, stateful_step_count=15))


@pytest.mark.parametrize(
    ("places", "were_last", "paying"),
    [(0, False, 0), (1, False, 1), (1, True, 0), (2, True, 1), (5, True, 3), (10, False, 5)],
)
def test_half_of_the_places_is_for_accounts_that_pay(places: int, were_last: bool, paying: int) -> None:
    assert slots_of_paying(places, were_last=were_last) == paying


def test_accounts_take_turns_and_begin_again_once_each_has_had_one() -> None:
    waiting = [WaitingAccount(1, 30, ["a", "b", "c"]), WaitingAccount(2, 10, ["d"]), WaitingAccount(3, 20, ["a", "e"])]

    turns = order_of(waiting, 5, ["c"])

    assert [(turn.account_id, turn.subject) for turn in turns] == [(2, "d"), (3, "a"), (1, "b"), (3, "e")]


def test_an_account_of_which_others_had_all_read_has_had_its_turn() -> None:
    waiting = [WaitingAccount(number, number, ["a"]) for number in range(1, 4)]

    assert order_of(waiting, 2, []) == [RecheckEntry(1, "a"), RecheckEntry(2, None), RecheckEntry(3, None)]
