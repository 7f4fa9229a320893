"""What a choice lets through, and when a digest is due, whatever the time zone does."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.notifications.choices import EVERYTHING, Choice, Frequency, choice_of, next_period
from registerwatch.watches.models import Event, EventSeverity

ZONES = ("Europe/Lisbon", "Europe/Berlin", "Europe/Athens", "UTC", "Australia/Lord_Howe", "America/St_Johns")
YEAR = 1_790_000_000, 1_822_000_000
DIGESTS = st.sampled_from((Frequency.DAILY, Frequency.WEEKLY))


def an_event(*, watch_id: int = 1, severity: str = EventSeverity.LOW) -> Event:
    return Event(1, watch_id, "04012345678901", "Trocar", 0, "", [], severity=severity)


@given(DIGESTS, st.sampled_from(ZONES), st.integers(0, 23), st.integers(0, 6), st.integers(*YEAR))
def test_a_digest_is_due_at_the_next_chosen_hour_of_its_zone(
    frequency: Frequency, zone: str, hour: int, weekday: int, now: int
) -> None:
    choice = Choice(frequency=frequency, hour=hour, weekday=weekday)
    period = next_period(choice, zone, now)

    local = datetime.fromtimestamp(period.due_at, ZoneInfo(zone))
    was_skipped = (local - timedelta(hours=1)).utcoffset() != local.utcoffset() or local.minute
    assert period.due_at > now
    assert period.due_at - now <= (8 if frequency is Frequency.WEEKLY else 1.05) * 86_400
    assert local.hour == hour or was_skipped
    assert frequency is Frequency.DAILY or local.weekday() == weekday


@given(DIGESTS, st.sampled_from(ZONES), st.integers(0, 23), st.integers(*YEAR), st.integers(0, 9 * 86_400))
def test_instants_before_the_same_hour_are_of_one_period_and_periods_do_not_overlap(
    frequency: Frequency, zone: str, hour: int, now: int, later: int
) -> None:
    choice = Choice(frequency=frequency, hour=hour)
    first, second = next_period(choice, zone, now), next_period(choice, zone, now + later)

    assert (first == second) == (now + later < first.due_at)
    assert first.due_at <= second.due_at


@pytest.mark.parametrize(
    ("zone", "now", "due"),
    [
        ("Europe/Berlin", "2027-03-27T12:00+01:00", "2027-03-28T03:30+02:00"),  # 02:30 does not exist that day
        ("Europe/Berlin", "2027-10-30T12:00+02:00", "2027-10-31T02:00+02:00"),  # the first of two
        ("Europe/Lisbon", "2027-10-31T00:30+01:00", "2027-10-31T02:00+00:00"),
    ],
)
def test_a_digest_comes_once_where_clocks_are_changed(zone: str, now: str, due: str) -> None:
    period = next_period(Choice(frequency=Frequency.DAILY, hour=2), zone, _instant(now))

    assert abs(period.due_at - _instant(due)) <= 1800
    assert next_period(Choice(frequency=Frequency.DAILY, hour=2), zone, period.due_at).due_at >= period.due_at + 82_800


def test_severity_tags_and_watches_narrow_a_choice_down() -> None:
    medium = Choice(severity=EventSeverity.MEDIUM)
    assert [medium.hears(an_event(severity=each), ()) for each in ("low", "medium", "high", "of a later release")] == [
        False,
        True,
        True,
        True,
    ]
    some = Choice(tags=("Implants",), watches=(7,))
    assert some.hears(an_event(watch_id=7), ())
    assert some.hears(an_event(watch_id=8), ("implants", "other"))
    assert not some.hears(an_event(watch_id=8), ("other",))
    assert not Choice(frequency=Frequency.OFF).hears(an_event(severity=EventSeverity.HIGH), ())


def test_what_is_urgent_does_not_wait_for_the_digest_where_that_is_chosen() -> None:
    daily = Choice(frequency=Frequency.DAILY, high_at_once=True)
    assert daily.is_sent_at_once(an_event(severity=EventSeverity.HIGH))
    assert not daily.is_sent_at_once(an_event(severity=EventSeverity.MEDIUM))


def test_a_choice_that_this_release_does_not_understand_hides_nothing() -> None:
    assert choice_of('{"frequency": "hourly"}') == EVERYTHING
    assert choice_of(None) == EVERYTHING
    assert choice_of('{"frequency": "weekly", "later": 1}') == Choice(frequency=Frequency.WEEKLY)


def test_a_time_zone_that_this_machine_does_not_know_is_utc() -> None:
    daily = Choice(frequency=Frequency.DAILY)
    assert next_period(daily, "Mars/Olympus", YEAR[0]) == next_period(daily, "UTC", YEAR[0])


def _instant(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())
