"""Counting requests: what both ways of counting have in common, and what this process forgets."""

import tracemalloc
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.web.limits.rate_limit_memory import MemoryRateCounter, RateCounter, RateLimitRule, usage_of
from registerwatch.web.limits.rate_limit_redis import RedisRateCounter
from tests.register.builders import PROPERTY
from tests.support.fakes import SteppedClock

THREE = RateLimitRule("three", 3, 60)
FOUR_AN_HOUR = RateLimitRule("four", 4, 3600)
NOW = 1_800_000_000.0


@pytest.fixture(params=["memory", "redis"])
async def counts(request: pytest.FixtureRequest) -> AsyncIterator[RateCounter]:
    """Every way of counting."""
    made: RateCounter = (
        MemoryRateCounter(SteppedClock())
        if request.param == "memory"
        else RedisRateCounter(_redis_url(request), timeout=30)
    )
    yield made
    await made.aclose()


async def test_as_many_are_allowed_as_the_allowance_says_and_no_more(counts: RateCounter) -> None:
    usages = [await counts.hit(THREE, "192.0.2.7") for _ in range(5)]

    assert [each.allowed for each in usages] == [True, True, True, False, False]
    assert [each.remaining for each in usages] == [2, 1, 0, 0, 0]
    assert all(1 <= each.reset <= 60 for each in usages)
    assert {each.rule for each in usages} == {THREE}


async def test_addresses_and_allowances_count_for_themselves(counts: RateCounter) -> None:
    for _ in range(4):
        await counts.hit(THREE, "192.0.2.7")

    assert (await counts.hit(THREE, "192.0.2.8")).remaining == 2
    assert (await counts.hit(THREE, "2001:db8:1:2::/64")).remaining == 2
    assert (await counts.hit(RateLimitRule("another", 3, 60), "192.0.2.7")).remaining == 2
    assert not (await counts.hit(THREE, "192.0.2.7")).allowed


async def test_a_request_counts_until_the_window_has_passed_and_a_refused_one_not_at_all() -> None:
    clock = SteppedClock(NOW)
    counts = MemoryRateCounter(clock)
    for _ in range(3):
        await counts.hit(THREE, "192.0.2.7")
        clock.move(10)  # at 0, 10 and 20 seconds

    refused = await counts.hit(THREE, "192.0.2.7")
    assert (refused.allowed, refused.reset) == (False, 30)
    clock.move(29.5)
    assert (await counts.hit(THREE, "192.0.2.7")).reset == 1
    clock.move(0.5)  # the first one is over
    assert (await counts.hit(THREE, "192.0.2.7")).allowed
    assert not (await counts.hit(THREE, "192.0.2.7")).allowed


@PROPERTY
@given(st.lists(st.floats(0, 40), min_size=1, max_size=40))
async def test_in_no_window_are_more_allowed_than_the_allowance_says(pauses: list[float]) -> None:
    clock = SteppedClock(NOW)
    counts = MemoryRateCounter(clock)
    allowed = []
    for pause in pauses:
        clock.move(pause)
        if (await counts.hit(THREE, "192.0.2.7")).allowed:
            allowed.append(clock.now())

    assert all(later - earlier >= 60 for earlier, later in zip(allowed, allowed[3:], strict=False))


@pytest.mark.parametrize(("left", "reset"), [(-5.0, 1), (0.0, 1), (0.2, 1), (1.2, 2), (60.0, 60), (90.0, 60)])
def test_the_time_to_wait_is_within_the_window_even_where_clocks_differ(left: float, reset: int) -> None:
    assert usage_of(THREE, True, 1, left).reset == reset


def test_who_is_refused_has_nothing_left_even_where_a_place_has_just_come_free() -> None:
    assert usage_of(THREE, False, 2, 30).remaining == 0


async def test_a_clock_that_is_set_back_locks_nobody_out() -> None:
    clock = SteppedClock(NOW)
    counts = MemoryRateCounter(clock)
    for _ in range(3):
        await counts.hit(THREE, "192.0.2.7")

    clock.move(-3600)

    assert (await counts.hit(THREE, "192.0.2.7")).remaining == 2


async def test_a_hundred_thousand_addresses_do_not_stay_when_their_windows_have_passed() -> None:
    clock = SteppedClock(NOW)
    counts = MemoryRateCounter(clock)
    for number in range(100_000):
        await counts.hit(THREE if number % 2 else FOUR_AN_HOUR, _address(number))
    assert counts.addresses == 100_000

    clock.move(61)
    await _come(counts, 60)
    assert counts.addresses == 50_001, "those of the hour still count"
    clock.move(3600)
    await _come(counts, 60)

    assert counts.addresses == 1


async def test_no_single_request_forgets_for_all_the_others() -> None:
    clock = SteppedClock(NOW)
    counts = MemoryRateCounter(clock)
    for number in range(5_000):
        await counts.hit(THREE, _address(number))
    clock.move(61)

    await counts.hit(THREE, "192.0.2.7")

    assert counts.addresses == 4_001


async def test_an_address_that_comes_again_and_again_is_not_forgotten_with_those_that_came_once() -> None:
    clock = SteppedClock(NOW)
    counts = MemoryRateCounter(clock)
    await counts.hit(THREE, "192.0.2.7")
    await counts.hit(THREE, "192.0.2.8")
    clock.move(50)
    await counts.hit(THREE, "192.0.2.7")
    clock.move(15)

    assert (await counts.hit(FOUR_AN_HOUR, "192.0.2.9")).allowed
    assert counts.addresses == 2
    assert (await counts.hit(THREE, "192.0.2.7")).remaining == 1


async def test_more_addresses_than_are_remembered_push_out_the_longest_unseen() -> None:
    counts = MemoryRateCounter(SteppedClock(NOW), max_addresses=10)
    for number in range(11):
        await counts.hit(THREE, _address(number))
    for number in range(100):
        await counts.hit(THREE, _address(10))
        assert counts.addresses <= 11, number

    assert not (await counts.hit(THREE, _address(10))).allowed
    assert (await counts.hit(THREE, _address(0))).remaining == 2


async def test_a_counted_address_takes_a_few_hundred_bytes() -> None:
    counts = MemoryRateCounter(SteppedClock(NOW))
    tracemalloc.start()
    try:
        for number in range(20_000):
            await counts.hit(THREE, _address(number))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert taken / 20_000 < 400


async def _come(counts: RateCounter, times: int) -> None:
    for _ in range(times):
        await counts.hit(THREE, "192.0.2.7")


def _address(number: int) -> str:
    return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"


def _redis_url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("redis_url"))
