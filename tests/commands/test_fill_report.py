"""What a fill says before, while and after it reads."""

from registerwatch.commands.display.fill_report import FillProgress, forecast_line, unread_lines
from registerwatch.ingest.bulk_load import LoadForecast, LoadProgress
from registerwatch.sources.unread_fields import FieldOf, UnreadCount


def test_the_expected_time_is_said_with_what_it_rests_on_and_what_is_stored_already() -> None:
    line = forecast_line(LoadForecast(3_200_000, 200_000, (20, 50)))

    assert line is not None
    assert "3,200,000 devices, 200,000 of them stored" in line
    assert "20 to 50 s a page: 17 to 42 hours are left" in line


def test_nothing_is_said_of_a_source_that_is_not_slow_or_of_unknown_size() -> None:
    assert forecast_line(LoadForecast(3_200_000, 0, None)) is None
    assert forecast_line(LoadForecast(None, 0, (20, 50))) is None


def test_bytes_are_shown_while_a_page_comes_and_the_time_left_by_the_measured_pace() -> None:
    shown: list[tuple[str, int | None, int | None]] = []
    at = iter([0.0, 10.0, 30.0, 30.0, 75.0, 75.0])
    progress = FillProgress(lambda: next(at), lambda *each: shown.append(each))

    progress.received(1_300_000)
    progress.stored(LoadProgress(1_000, 1_000, 3_200_000))
    progress.stored(LoadProgress(2_000, 2_000, 3_200_000))
    progress.received(2_000_000)

    assert shown[0] == ("1.3 MB of the next page", None, None)
    assert shown[-2][1:] == (2_000, 3_200_000)
    assert shown[-1] == ("2.0 MB of the next page, about 40.0 h left", None, None)


def test_fields_that_could_not_be_read_are_listed_at_the_end_with_an_example() -> None:
    unread = {FieldOf("Data Lake device", "RISK_CLASS_ID"): UnreadCount(12, "a list of 2")}
    many = {FieldOf("device row", f"field {number}"): UnreadCount(1, "5") for number in range(25)}

    assert unread_lines({}) == []
    assert unread_lines(unread)[1] == "  RISK_CLASS_ID of Data Lake device: 12 records, such as a list of 2"
    assert unread_lines(many)[-1] == "  and 5 more fields; `/health` lists all."
