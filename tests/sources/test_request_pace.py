"""The pace of requests: what halves it, how it rises, what the clock does to it."""

from hypothesis import given
from hypothesis import strategies as st

from registerwatch.sources.request_pace import PaceLimits, RequestPace
from tests.register.builders import PROPERTY

NOW = 1_800_000_000.5
LIMITS = PaceLimits(60)


def test_the_pace_starts_at_thirty_or_at_the_most_where_that_is_less() -> None:
    assert RequestPace.first(PaceLimits(60), NOW).per_minute == 30
    assert RequestPace.first(PaceLimits(20), NOW).per_minute == 20
    assert RequestPace.first(PaceLimits(100_000, start=100_000), NOW).per_minute == 100_000


def test_a_minute_of_throttling_halves_it_once() -> None:
    pace = RequestPace.first(LIMITS, NOW)
    for seconds in (0, 0, 5, 30, 59):
        pace = pace.after_throttling(LIMITS, NOW + seconds)

    assert pace.per_minute == 15
    assert pace.after_throttling(LIMITS, NOW + 61).per_minute == 7


def test_halving_stops_where_answers_still_come() -> None:
    pace = RequestPace.first(LIMITS, NOW)
    for minute in range(10):
        pace = pace.after_throttling(LIMITS, NOW + 61 * minute)

    assert pace.per_minute == 3
    assert RequestPace.first(PaceLimits(2), NOW).after_throttling(PaceLimits(2), NOW).per_minute == 2


def test_it_rises_by_two_for_each_quiet_minute_in_which_something_was_answered() -> None:
    pace, found = RequestPace.first(LIMITS, NOW).after_throttling(LIMITS, NOW), []
    for second in range(30 * 60):
        pace = pace.after_answer(LIMITS, NOW + second)
        if second % 60 == 0:
            found.append(pace.per_minute)

    assert found[:3] == [15, 17, 19]
    assert found[-8:] == [59, 60, 60, 60, 60, 60, 60, 60]
    assert pace.after_answer(LIMITS, NOW + 86_400).per_minute == 60


def test_hours_without_a_request_are_no_more_than_one_quiet_minute() -> None:
    pace = RequestPace.first(LIMITS, NOW).after_answer(LIMITS, NOW + 86_400)

    assert pace.per_minute == 32
    assert pace.after_answer(LIMITS, NOW + 86_401) == pace


def test_throttling_ends_a_quiet_minute_also_where_it_halves_nothing() -> None:
    pace = RequestPace.first(LIMITS, NOW).after_throttling(LIMITS, NOW).after_throttling(LIMITS, NOW + 50)

    assert pace.after_answer(LIMITS, NOW + 100).per_minute == 15
    assert pace.after_answer(LIMITS, NOW + 110).per_minute == 17


def test_a_high_most_is_reached_within_half_an_hour() -> None:
    limits = PaceLimits(3_000)
    pace = RequestPace.first(limits, NOW)
    for minute in range(1, 31):
        pace = pace.after_answer(limits, NOW + 60 * minute)

    assert pace.per_minute == 3_000


def test_a_most_that_was_lowered_holds_at_once() -> None:
    assert RequestPace.first(LIMITS, NOW).within(PaceLimits(12)).per_minute == 12


def test_a_clock_that_is_put_back_by_days_stops_neither_halving_nor_rising() -> None:
    ahead = NOW + 4 * 86_400
    pace = RequestPace.first(LIMITS, ahead).after_throttling(LIMITS, ahead)

    assert pace.after_throttling(LIMITS, NOW).per_minute == 7
    pace = pace.after_answer(LIMITS, NOW)
    assert pace.per_minute == 15
    assert pace.after_answer(LIMITS, NOW + 60).per_minute == 17


@PROPERTY
@given(
    st.integers(1, 200),
    st.lists(st.tuples(st.sampled_from([0.0, 1.0, 20.0, 61.0, -90_000.0]), st.booleans()), max_size=60),
)
def test_it_stays_between_the_least_and_the_most(most: int, answers: list[tuple[float, bool]]) -> None:
    limits, now = PaceLimits(most), NOW
    pace = RequestPace.first(limits, now)
    for seconds, throttled in answers:
        now += seconds
        pace = pace.after_throttling(limits, now) if throttled else pace.after_answer(limits, now)
        assert min(3, most) <= pace.per_minute <= most
