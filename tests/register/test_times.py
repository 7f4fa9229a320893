"""Brussels local time without a zone becomes UTC, whatever the clocks do."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.platform.clock import iso_utc
from registerwatch.register.times import date_of, utc_from_brussels
from tests.register.builders import PROPERTY

BRUSSELS = ZoneInfo("Europe/Brussels")


def test_every_hour_around_every_change_of_clocks_agrees_with_the_zone() -> None:
    for year in range(2000, 2051):
        for month in (3, 10):
            change = max(day for day in range(25, 32) if date(year, month, day).weekday() == 6)
            before = datetime.fromisoformat(f"{year}-{month:02}-{change}") - timedelta(hours=12)
            for hours in range(48):
                for minutes in (0, 59):
                    local = before + timedelta(hours=hours, minutes=minutes)
                    assert utc_from_brussels(local.isoformat()) == _by_zone(local), local


@pytest.mark.parametrize(
    ("local", "utc"),
    [
        ("2026-03-29T01:59:59.999", "2026-03-29T00:59:59Z"),
        ("2026-03-29T03:00:00", "2026-03-29T01:00:00Z"),
        ("2026-10-25T01:59:59", "2026-10-24T23:59:59Z"),
        ("2026-10-25T02:30:00", "2026-10-25T00:30:00Z"),
        ("2026-10-25T03:00:00", "2026-10-25T02:00:00Z"),
        ("2021-10-08T12:42:27.657", "2021-10-08T10:42:27Z"),
        ("2026-01-01T00:30:00", "2025-12-31T23:30:00Z"),
        ("2026-07-01", "2026-06-30T22:00:00Z"),
        ("2026-07-01T12:00:00Z", "2026-07-01T12:00:00Z"),
        ("2026-07-01T12:00:00.5+05:30", "2026-07-01T06:30:00Z"),
    ],
)
def test_local_times_are_told_in_utc(local: str, utc: str) -> None:
    assert utc_from_brussels(local) == utc


@PROPERTY
@given(st.datetimes(datetime.fromisoformat("1950-01-01"), datetime.fromisoformat("2150-01-01")))
def test_any_moment_agrees_with_the_zone(local: datetime) -> None:
    local = local.replace(fold=0)
    assert utc_from_brussels(local.isoformat()) == _by_zone(local)


@PROPERTY
@given(st.none() | st.text() | st.from_regex(r"[0-9]{1,5}-[0-9]{1,2}-[0-9]{1,2}(T[0-9:.]{0,12})?Z?", fullmatch=True))
def test_what_is_no_time_is_nothing_and_never_an_error(text: str | None) -> None:
    moment, day = utc_from_brussels(text), date_of(text)

    if moment is not None:
        assert moment.endswith("Z")
        assert datetime.fromisoformat(moment).tzinfo is not None
    if day is not None:
        assert datetime.fromisoformat(day).date().isoformat() == day


@pytest.mark.parametrize(
    "text", [None, "", " ", "soon", "2026-13-01", "2026-02-30T00:00:00", "0001-01-01T00:00:00", "10000-01-01", "1e9"]
)
def test_nonsense_is_nothing(text: str | None) -> None:
    assert utc_from_brussels(text) is None


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2030-09-16T00:00:00", "2030-09-16"),
        ("2030-09-16", "2030-09-16"),
        ("2030-9-16", None),
        ("", None),
        (None, None),
    ],
)
def test_a_date_is_told_as_it_is_written_without_a_shift_by_the_zone(text: str | None, day: str | None) -> None:
    assert date_of(text) == day


@PROPERTY
@given(st.integers(0, 4_000_000_000))
def test_unix_seconds_are_told_in_utc(seconds: int) -> None:
    assert datetime.fromisoformat(iso_utc(seconds)) == datetime.fromtimestamp(seconds, UTC)


def _by_zone(local: datetime) -> str:
    return local.replace(tzinfo=BRUSSELS).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
