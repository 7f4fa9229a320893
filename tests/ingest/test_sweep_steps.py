"""What a sweep asks next: pages or searches by their cost, and when a walk has listed everything."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.copy.sweeps import DeviceSweep
from registerwatch.ingest.sweeps.sweep_steps import (
    NONE,
    ListedPage,
    PageStep,
    SearchStep,
    after_page,
    after_search,
    begun,
    ended,
    lists_pages,
    next_step,
)
from registerwatch.platform.structs import replace
from registerwatch.register.list_doubt import DOUBT_SECONDS, MAX_GAP_SECONDS
from tests.register.builders import PROPERTY

SIZE = 300


def a_sweep(**differs: Any) -> DeviceSweep:
    fresh = DeviceSweep(
        srn="DE-MF-000000001",
        lists_all=False,
        watched=1,
        turn_at=0,
        lease_holder=None,
        walk=0,
        walk_began_at=None,
        cursor="",
        total=None,
        is_steady=True,
        swept_at=None,
        complete_at=None,
        problem="",
    )
    return replace(fresh, **differs)


def test_the_cheaper_of_pages_and_searches_is_asked() -> None:
    assert not lists_pages(a_sweep(watched=1), SIZE)
    assert lists_pages(a_sweep(watched=2), SIZE), "the first page tells how many there are"
    assert lists_pages(a_sweep(watched=5, total=1_500), SIZE)
    assert not lists_pages(a_sweep(watched=5, total=1_501), SIZE)
    assert lists_pages(a_sweep(watched=0, lists_all=True, total=30_000), SIZE)


def test_searches_go_through_the_watched_udi_dis_in_order_and_go_on_where_they_were() -> None:
    sweep = begun(a_sweep(watched=2, total=9_000), SIZE, now=7)
    assert next_step(sweep, ["a", "b"], SIZE) == SearchStep("a")
    sweep = after_search(sweep, SearchStep("a"))
    assert begun(sweep, SIZE, now=8) == sweep
    assert next_step(sweep, ["a", "b"], SIZE) == SearchStep("b")
    sweep = after_search(sweep, SearchStep("b"))
    assert next_step(sweep, ["a", "b"], SIZE) is None
    assert (ended(sweep).swept_at, ended(sweep).complete_at, ended(sweep).cursor) == (7, None, "")


def test_pages_that_turn_out_dearer_give_way_to_searches_and_a_new_watch_of_the_manufacturer_to_pages() -> None:
    sweep = begun(a_sweep(watched=2), SIZE, now=7)
    sweep, is_complete = after_page(sweep, PageStep(0), ListedPage(9_000, is_last=False), None)
    assert not is_complete
    assert next_step(sweep, ["a", "b"], SIZE) == SearchStep("a")

    sweep = begun(replace(after_search(sweep, SearchStep("a")), lists_all=True), SIZE, now=9)
    assert (sweep.walk, sweep.walk_began_at, next_step(sweep, ["a", "b"], SIZE)) == (2, 9, PageStep(0))


def test_no_device_at_all_is_believed_after_a_day_where_nothing_else_is_known() -> None:
    nothing = ListedPage(0, is_last=True, listed=0)
    first = begun(a_sweep(lists_all=True, watched=0), SIZE, now=7)

    doubted, is_complete = after_page(first, PageStep(0), nothing, None)
    assert (is_complete, doubted.doubted_at, doubted.problem) == (False, 7, NONE)
    a_day_later = begun(doubted, SIZE, now=7 + DOUBT_SECONDS)
    assert after_page(a_day_later, PageStep(0), nothing, None)[1]
    assert not after_page(a_day_later, PageStep(0), nothing, 12)[1]
    assert not after_page(replace(a_day_later, watched=1), PageStep(0), nothing, 0)[1]


FEW, UNSETTLED = ListedPage(80, is_last=True, listed=80), ListedPage(100, is_last=True, listed=100, is_unsettled=True)


@pytest.mark.parametrize("doubtful", [FEW, UNSETTLED], ids=["far fewer than are known", "records at two moments"])
def test_a_first_list_that_is_doubted_is_believed_where_it_stays_so_for_a_day(doubtful: ListedPage) -> None:
    first = begun(a_sweep(lists_all=True, watched=0), SIZE, now=7)

    doubted, is_complete = after_page(first, PageStep(0), doubtful, 100)
    assert (is_complete, doubted.complete_at, doubted.problem != "") == (False, None, True)
    assert after_page(first, PageStep(0), replace(doubtful, is_unsettled=False), 85)[1]
    assert after_page(replace(first, complete_at=5), PageStep(0), doubtful, 100)[1]

    again, is_complete = after_page(begun(doubted, SIZE, now=6 + DOUBT_SECONDS), PageStep(0), doubtful, 100)
    assert not is_complete
    believed, is_complete = after_page(begun(again, SIZE, now=7 + DOUBT_SECONDS), PageStep(0), doubtful, 100)
    assert (is_complete, believed.complete_at, believed.doubted_at) == (True, 7 + DOUBT_SECONDS, None)


def test_a_list_that_contradicts_nothing_ends_the_doubt_even_where_it_is_not_complete() -> None:
    first = begun(a_sweep(lists_all=True, watched=0), SIZE, now=7)
    doubted, _ = after_page(first, PageStep(0), FEW, 100)
    fell = replace(begun(doubted, SIZE, now=3_600), is_steady=False)

    whole, is_complete = after_page(fell, PageStep(1), ListedPage(100, is_last=True, listed=100), 100)
    assert (is_complete, whole.doubted_at) == (False, None)

    again, is_complete = after_page(begun(whole, SIZE, now=DOUBT_SECONDS + 7), PageStep(0), FEW, 100)
    assert (is_complete, again.doubted_at) == (False, DOUBT_SECONDS + 7)


@pytest.mark.parametrize(("gap", "is_believed"), [(MAX_GAP_SECONDS, True), (MAX_GAP_SECONDS + 1, False)])
def test_days_without_a_list_are_no_days_of_doubt(gap: int, is_believed: bool) -> None:
    doubted, _ = after_page(begun(a_sweep(lists_all=True, watched=0), SIZE, now=7), PageStep(0), FEW, 100)

    _, is_complete = after_page(begun(doubted, SIZE, now=7 + gap), PageStep(0), FEW, 100)

    assert is_complete is is_believed


def test_a_list_of_which_no_baseline_is_made_is_not_doubted() -> None:
    begins = begun(a_sweep(lists_all=False, watched=2), SIZE, now=7)

    listed, _ = after_page(begins, PageStep(0), ListedPage(80, is_last=True), 100)

    assert (listed.doubted_at, listed.problem) == (None, "")


def test_a_list_that_was_doubted_under_a_clock_that_went_ahead_is_doubted_for_a_day_from_now_on() -> None:
    ahead = a_sweep(lists_all=True, watched=0, doubted_at=100 * DOUBT_SECONDS)

    doubted, is_complete = after_page(begun(ahead, SIZE, now=7), PageStep(0), FEW, 100)
    assert (is_complete, doubted.doubted_at) == (False, 7)


@PROPERTY
@given(st.data())
def test_a_walk_ends_and_is_complete_only_where_it_has_listed_everything(data: st.DataObject) -> None:
    """Devices are registered, the newest first, or taken out, before any page."""
    devices, new = list(range(data.draw(st.integers(0, 12)))), 100
    sweep = begun(a_sweep(lists_all=True, watched=0), 3, now=7)
    listed: set[int] = set()
    requests, fell, is_complete = 0, False, False
    while sweep.walk_began_at is not None:
        for _ in range(data.draw(st.integers(0, 2)) if requests < 30 else 0):
            new += 1
            devices.insert(0, new)
        if devices and requests and data.draw(st.integers(0, 9)) == 0:
            devices.remove(data.draw(st.sampled_from(devices)))
            fell = True
        step = next_step(sweep, [], 3)
        assert isinstance(step, PageStep)
        rows = devices[step.number * 3 : step.number * 3 + 3]
        before = len(listed)
        listed |= set(rows)
        is_last = (step.number + 1) * 3 >= len(devices)
        page = ListedPage(len(devices), is_last, len(listed), len(listed) - before)
        sweep, is_complete = after_page(sweep, step, page, None)
        requests += 1
        assert requests < 200
    if is_complete and not fell:
        assert set(devices) == listed
    if not fell and requests <= 1:
        assert is_complete is bool(devices)
