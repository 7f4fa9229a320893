"""Events and failed reads of a watch by time. Pure."""

from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.errors import InvalidInput
from registerwatch.watches.models import Event
from registerwatch.watches.questions.timeline import Position, TimelinePage, position_of
from registerwatch.watches.reading.read_failures import ReadFailure


def an_event(at: int, number: int) -> Event:
    return Event(number, 1, "A1", "Alpha", at, "", [])


def a_failure(at: int, number: int) -> ReadFailure:
    return ReadFailure(number, "It failed.", at - 60, at, 2, None)


entries = st.lists(
    st.builds(an_event, st.integers(0, 20), st.integers(1, 99))
    | st.builds(a_failure, st.integers(0, 20), st.integers(1, 99)),
    unique_by=position_of,
)


@given(entries, st.integers(1, 5))
def test_pages_one_after_the_other_show_each_entry_once_the_newest_first(
    found: list[Event | ReadFailure], limit: int
) -> None:
    shown: list[Position] = []
    left, earlier = found, None
    while True:
        events = sorted((each for each in left if isinstance(each, Event)), key=position_of, reverse=True)
        page = TimelinePage.cut(events[: limit + 1], [each for each in left if isinstance(each, ReadFailure)], limit)
        shown += map(position_of, page.entries)
        if page.earlier is None:
            break
        earlier = Position.of(str(page.earlier))
        left = [each for each in found if position_of(each) < earlier]

    assert shown == sorted(map(position_of, found), reverse=True)


def test_days_are_those_of_the_readers_zone() -> None:
    before_midnight_utc = 1_795_305_600 - 1_800  # 2026-11-21, 23:30 UTC
    page = TimelinePage([an_event(before_midnight_utc, 2), a_failure(before_midnight_utc - 7_200, 1)], None)

    def days(zone: str) -> list[tuple[str, int]]:
        return [(str(each.day), len(each.entries)) for each in page.by_day(ZoneInfo(zone))]

    assert days("UTC") == [("2026-11-21", 2)]
    assert days("Europe/Brussels") == [("2026-11-22", 1), ("2026-11-21", 1)]


@pytest.mark.parametrize("text", ["", "1", "1-event", "x-event-1", "1-event-1 ", "١-event-1", "1-event-" + "9" * 30])
def test_what_is_no_position_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        Position.of(text)
