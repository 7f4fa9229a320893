"""The parts of the request budget, for any order in which kinds of requests ask for places."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.register.sources.budget_parts import (
    ASKING_SECONDS,
    OF_READERS,
    OF_WATCHES,
    SHARES,
    BudgetWindow,
    RequestPriority,
    guaranteed,
)
from tests.register.builders import PROPERTY

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
    """Kinds of requests that ask for places, as `RequestBudget` does for them."""

    def __init__(self, per_minute: int) -> None:
        self.window = BudgetWindow(per_minute, {}, {})
        self.now = 1_800_000_000.0
        self.taken: list[tuple[float, RequestPriority, int]] = []

    def asks(self, priority: RequestPriority, cost: int = 1) -> bool:
        """Whether a request has its places now, and takes them."""
        self.window.ask(priority, cost, self.now)
        if self.window.seconds_until_places(priority, cost, self.now) > 0:
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
def test_who_has_to_wait_is_told_the_first_second_that_has_a_place(
    per_minute: int, bursts: Sequence[Burst], kind: RequestPriority, cost: int
) -> None:
    senders = Senders(per_minute)
    for gap, other, number, each in bursts:
        senders.now += gap
        senders.burst(other, number, each)
    senders.window.ask(kind, cost, senders.now)

    wait, saved = senders.window.seconds_until_places(kind, cost, senders.now), senders.window.saved(senders.now)

    assert wait <= ASKING_SECONDS + 1
    assert senders.window.permits(kind, cost, senders.now + wait, saved)
    assert not any(senders.window.permits(kind, cost, senders.now + each / 4, saved) for each in range(int(wait * 4)))
