"""The parts of the request budget, for any order in which kinds of requests ask for places."""

import heapq
import math
import random
from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from registerwatch.sources.budget_parts import (
    ASKING_SECONDS,
    KEPT_SECONDS,
    OF_READERS,
    OF_WATCHES,
    SHARES,
    BudgetWindow,
    RequestPriority,
    guaranteed,
)
from tests.register.builders import FEW, PROPERTY

PER_MINUTE = st.integers(1, 120)
"""Every pace: those that a register that throttles leaves, too."""
BURSTS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.3, 1.0, 5.0, 17.0, 58.9, 60.0, 61.0, 66.0, 130.0]),
        st.sampled_from(RequestPriority),
        st.sampled_from([1, 3, 10, 80]),
        st.sampled_from([1, 1, 2]),
    ),
    max_size=40,
)
"""After so many seconds this kind asks so often for so many places."""

Burst = tuple[float, RequestPriority, int, int]


class Senders:
    """Kinds of requests that ask for places, as `RequestBudget` does for them; `spread` where what leaves at once is
    bounded, too.
    """

    def __init__(self, per_minute: int, *, spread: bool = False) -> None:
        self.window = BudgetWindow(per_minute, {}, {})
        self._seconds_until = self.window.seconds_until if spread else self.window.seconds_until_slots
        self.now = 1_800_000_000.0
        self.taken: list[tuple[float, RequestPriority, int]] = []

    def asks(self, priority: RequestPriority, cost: int = 1) -> bool:
        """Whether a request has its places now, and takes them."""
        self.window.ask(priority, cost, self.now)
        if self._seconds_until(priority, cost, self.now) > 0:
            return False
        self.window.take(priority, cost, self.now)
        self.taken.append((self.now, priority, cost))
        return True

    def takes_all(self, priority: RequestPriority, cost: int = 1) -> int:
        """The requests of a kind that are sent now until one has to wait."""
        sent = 0
        while self.asks(priority, cost):
            sent += 1
        return sent

    def burst(self, priority: RequestPriority, number: int, cost: int = 1) -> None:
        for _ in range(number):
            if not self.asks(priority, cost):
                return

    def held(self, *kinds: RequestPriority) -> int:
        """The places that kinds hold of the last minute, as the window counts it."""
        since = math.floor(self.now) - 60
        return sum(cost for at, kind, cost in self.taken if kind in kinds and math.floor(at) >= since)


class ConstantDemand:
    """Every kind asks for places all the time, and waits as long as it has to."""

    def __init__(self, per_minute: int, costs: Mapping[RequestPriority, int], seed: int) -> None:
        self._costs, self._chance = costs, random.Random(seed)
        self.window = BudgetWindow(per_minute, {}, {})
        self.taken: list[tuple[float, RequestPriority, int]] = []

    def goes_on(self, seconds: float) -> None:
        """Let so long pass. Instants of `taken` count from the beginning."""
        begin = 1_800_000_000.25
        due = [(begin + self._chance.random(), number, kind) for number, kind in enumerate(self._costs)]
        heapq.heapify(due)
        while due[0][0] < begin + seconds:
            at, number, kind = due[0]
            cost = self._costs[kind]
            self.window.ask(kind, cost, at)
            wait = self.window.seconds_until(kind, cost, at)
            if wait <= 0:
                self.window.take(kind, cost, at)
                self.taken.append((at - begin, kind, cost))
            heapq.heapreplace(due, (at + max(wait, 0.001) + self._chance.uniform(0, 0.05), number, kind))


COSTS = st.fixed_dictionaries({kind: st.sampled_from([1, 1, 2]) for kind in RequestPriority})


def test_the_parts_are_the_whole_budget_and_watches_have_more_than_half_of_it() -> None:
    assert sum(share.part for share in SHARES.values()) == 100
    for per_minute in range(1, 121):
        assert sum(guaranteed(per_minute).values()) <= per_minute
    parts = guaranteed(60)
    assert sum(parts[kind] for kind in OF_WATCHES) > 30
    assert parts[RequestPriority.REFRESH] == min(parts.values())
    assert max(parts[kind] for kind in OF_READERS) < min(parts[kind] for kind in parts if kind not in OF_READERS)


@PROPERTY
@given(PER_MINUTE, BURSTS)
def test_no_minute_sees_more_than_the_budget(per_minute: int, bursts: Sequence[Burst]) -> None:
    senders = Senders(per_minute)
    for gap, kind, number, cost in bursts:
        senders.now += gap
        senders.burst(kind, number, cost)

    for begin, _, _ in senders.taken:
        assert sum(cost for at, _, cost in senders.taken if begin <= at < begin + 60) <= max(per_minute, 2)


@PROPERTY
@given(PER_MINUTE, st.sampled_from(RequestPriority), st.sampled_from([1, 20, 60]), BURSTS, st.integers(0, 39))
def test_a_kind_that_has_asked_for_a_minute_never_waits_for_a_place_of_its_part(
    per_minute: int, kind: RequestPriority, every: int, bursts: Sequence[Burst], wanted_at: int
) -> None:
    senders, part = Senders(per_minute), guaranteed(per_minute)[kind]
    begun, second = senders.now, 0
    for place, (gap, other, number, cost) in enumerate(bursts):
        for _ in range(math.ceil(gap)):  # now and then it asks for one place
            senders.now += gap / math.ceil(gap)
            second += 1
            if second % every == 0:
                senders.asks(kind)
        senders.burst(other, number, cost)
        if place >= wanted_at and senders.now - begun > every + ASKING_SECONDS:  # then for all that is due to it
            while senders.held(kind) < part:
                assert senders.asks(kind)


def test_a_kind_that_begins_to_ask_takes_nothing_that_is_due_to_one_that_was_asking() -> None:
    senders = Senders(60)
    for _ in range(70):
        senders.now += 1
        if senders.held(RequestPriority.RECHECK) < 2:
            senders.asks(RequestPriority.RECHECK)
        senders.takes_all(RequestPriority.WATCH)
    assert senders.held(*RequestPriority) == 60 - 10
    for kind in (RequestPriority.BULK_LOAD, RequestPriority.READER, RequestPriority.REFRESH):
        assert not senders.asks(kind)

    assert [senders.asks(RequestPriority.RECHECK) for _ in range(10)] == [True] * 10


@PROPERTY
@given(PER_MINUTE, st.sampled_from(RequestPriority), BURSTS)
def test_constant_demand_has_its_part_in_every_minute_but_the_first(
    per_minute: int, kind: RequestPriority, bursts: Sequence[Burst]
) -> None:
    senders = Senders(per_minute)
    begun = senders.now
    for gap, other, number, cost in [*bursts, (61.0, kind, 1, 1)]:
        for _ in range(math.ceil(gap)):
            senders.now += gap / math.ceil(gap)
            senders.takes_all(kind)
            if senders.now - begun > ASKING_SECONDS + 61:
                assert senders.held(kind) >= guaranteed(per_minute)[kind]
        senders.burst(other, number, cost)


@PROPERTY
@given(
    st.integers(3, 120),
    st.lists(
        st.tuples(st.sampled_from([0.0, 1.0, 20.0, 61.0, 300.0]), st.sampled_from(sorted(OF_READERS, key=str))),
        max_size=30,
    ),
)
def test_whatever_readers_do_half_of_the_minute_is_free_for_watches_at_once(
    per_minute: int, bursts: Sequence[tuple[float, RequestPriority]]
) -> None:
    senders = Senders(per_minute)
    senders.asks(RequestPriority.RECHECK)
    for gap, kind in bursts:
        senders.now += gap
        if senders.now > 1_800_000_000 + 3_500:
            break
        senders.takes_all(kind)

    senders.takes_all(RequestPriority.WATCH)
    senders.takes_all(RequestPriority.RECHECK)

    assert senders.held(*OF_WATCHES) >= per_minute // 2


@pytest.mark.parametrize("kind", RequestPriority)
def test_a_kind_that_asks_alone_may_use_more_than_its_part(kind: RequestPriority) -> None:
    senders = Senders(60)

    assert senders.takes_all(kind) == 60 * SHARES[kind].borrows_up_to // 100 > guaranteed(60)[kind]


def test_who_waits_for_an_answer_may_use_nearly_all_where_nobody_else_asks() -> None:
    assert Senders(60).takes_all(RequestPriority.WATCH) == 60
    assert Senders(60).takes_all(RequestPriority.READER) == 54


def test_what_nobody_uses_is_taken_first_by_accounts_then_by_readers_then_by_the_recheck() -> None:
    senders = Senders(60)
    order = [RequestPriority.BULK_LOAD, RequestPriority.RECHECK, RequestPriority.READER, RequestPriority.WATCH]
    for _ in range(200):
        senders.now += 1
        for kind in order:
            senders.takes_all(kind)

    parts = guaranteed(60)
    fill, recheck, reader, watch = (senders.held(kind) - parts[kind] for kind in order)
    assert watch >= reader > recheck > fill == 0
    assert senders.held(*RequestPriority) == 60


@PROPERTY
@given(PER_MINUTE, BURSTS, st.sampled_from(RequestPriority), st.sampled_from([1, 2]))
@example(2, [(0.0, RequestPriority.WATCH, 1, 1), (0.0, RequestPriority.READER, 1, 1)], RequestPriority.READER, 1)
def test_who_has_to_wait_is_told_the_first_second_that_has_a_place(
    per_minute: int, bursts: Sequence[Burst], kind: RequestPriority, cost: int
) -> None:
    senders = Senders(per_minute)
    for gap, other, number, each in bursts:
        senders.now += gap
        senders.burst(other, number, each)
    senders.window.ask(kind, cost, senders.now)

    wait, saved = senders.window.seconds_until_slots(kind, cost, senders.now), senders.window.saved(senders.now)

    saves_up = not guaranteed(per_minute)[kind]  # and gets its places when it asks again, before that
    assert wait <= (KEPT_SECONDS if saves_up else ASKING_SECONDS) + 1
    assert senders.window.permits(kind, cost, senders.now + wait, saved)
    before = range(int(min(wait, ASKING_SECONDS) * 4))
    assert not any(senders.window.permits(kind, cost, senders.now + each / 4, saved) for each in before)


# Small paces, where parts round to nothing


def test_a_part_that_is_less_than_a_request_is_saved_up() -> None:
    senders = Senders(10)
    refreshes = 0
    for _ in range(1_800):
        senders.now += 1
        sent = {kind: senders.takes_all(kind) for kind in RequestPriority}
        refreshes += sent[RequestPriority.REFRESH]

    assert guaranteed(10)[RequestPriority.REFRESH] == 0
    assert 1_800 / 270 <= refreshes <= 1_800 / 200 + 1, "0.3 places a minute, once there is a free one"


@FEW
@given(st.one_of(st.integers(2, 40), st.integers(2, 120)), COSTS, st.integers(0, 99))
def test_no_kind_starves_at_any_pace(per_minute: int, costs: dict[RequestPriority, int], seed: int) -> None:
    longest = {kind: 6_000 * cost / (per_minute * SHARES[kind].part) + 300 for kind, cost in costs.items()}
    demand = ConstantDemand(per_minute, costs, seed)

    demand.goes_on(seconds := max(longest.values()) + 300)

    for kind, seconds_of_kind in longest.items():
        sent = [0.0, *(at for at, other, _ in demand.taken if other is kind), seconds]
        assert max(later - at for at, later in pairwise(sent)) <= seconds_of_kind


@FEW
@given(st.integers(10, 60), st.integers(0, 99))
def test_constant_demand_of_all_kinds_has_its_parts_while_requests_are_spread(per_minute: int, seed: int) -> None:
    demand = ConstantDemand(per_minute, dict.fromkeys(RequestPriority, 1), seed)

    demand.goes_on(440)

    for kind, part in guaranteed(per_minute).items():
        sent = [at for at, other, _ in demand.taken if other is kind]
        for begin in (130.0, *(at + 0.01 for at in sent if 130 <= at <= 370)):
            assert sum(begin <= at < begin + 70 for at in sent) >= part
    assert len(demand.taken) >= 0.85 * per_minute * 440 / 60


# Requests are spread over the minute


@PROPERTY
@given(PER_MINUTE, BURSTS)
def test_at_most_ten_leave_at_once_and_never_more_than_the_pace_in_a_minute(
    per_minute: int, bursts: Sequence[Burst]
) -> None:
    senders = Senders(per_minute, spread=True)
    for gap, kind, number, cost in bursts:
        senders.now += gap
        senders.burst(kind, number, cost)

    burst = max(10, per_minute // 6)
    for begin, _, _ in senders.taken:
        since = [(at - begin, cost) for at, _, cost in senders.taken if at >= begin]
        assert sum(cost for after, cost in since if after < 60) <= max(per_minute, 2)
        for length in (0.0, 1.0, 5.0, 17.0, 30.0):
            assert sum(cost for after, cost in since if after <= length) <= burst + per_minute * length / 60


@pytest.mark.parametrize(("per_minute", "at_once"), [(3, 1), (10, 4), (20, 7), (30, 10), (60, 10), (120, 20)])
def test_a_third_of_a_minute_but_at_most_ten_leave_at_once(per_minute: int, at_once: int) -> None:
    assert Senders(per_minute, spread=True).takes_all(RequestPriority.WATCH) == at_once


def test_a_kind_that_borrows_leaves_some_of_what_may_leave_at_once() -> None:
    senders = Senders(30, spread=True)

    assert [senders.takes_all(kind) for kind in (RequestPriority.BULK_LOAD, RequestPriority.WATCH)] == [6, 4]


def test_a_sync_that_borrows_leaves_other_kinds_their_parts_of_what_leaves_each_second() -> None:
    senders = Senders(60, spread=True)
    sent = dict.fromkeys(RequestPriority, 0)
    for second in range(180):
        senders.now += 1
        kinds = [RequestPriority.WATCH, RequestPriority.BULK_LOAD, RequestPriority.READER]
        for kind in kinds if second >= 120 else kinds[1:]:
            taken = senders.takes_all(kind)
            sent[kind] += taken if second >= 120 else 0

    assert sent[RequestPriority.WATCH] >= 30
    assert sent[RequestPriority.BULK_LOAD] >= guaranteed(60)[RequestPriority.BULK_LOAD]
    assert sent[RequestPriority.READER] >= guaranteed(60)[RequestPriority.READER]
