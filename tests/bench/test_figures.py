"""Figures, ratios, and how a report shows them."""

from dataclasses import replace
from pathlib import Path

import pytest
from bench.figures import Figure, Goal, Report, Row, Section, latencies, median_figure, percentile

from bench import report


def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed() -> None:
    values = list(range(1, 101))
    assert (percentile(values, 50), percentile(values, 99), percentile([7.0], 99)) == (50, 99, 7.0)


def test_latencies_are_told_in_milliseconds_with_their_spread() -> None:
    figure = latencies([0.004, 0.001, 0.002], total=12)
    assert figure.value == pytest.approx(2)
    assert figure.details == pytest.approx({"p99": 4.0, "max": 4.0, "samples": 3, "total": 12})


def test_a_ratio_above_one_means_better_for_rates_and_for_times() -> None:
    rates = Row("reads", Figure(300, "requests/s"), {"bare": Figure(400, "requests/s")})
    times = Row("search", Figure(2, "ms"), {"other": Figure(100, "ms"), "unable": None})
    assert rates.ratio("bare") == 0.75
    assert times.ratio("other") == 50
    assert times.ratio("unable") is None


def test_rounds_become_their_median_and_keep_the_longest_time() -> None:
    rounds = [Figure(p50, "ms", {"p99": p50 + 1, "max": p50 * 10, "samples": 5, "by": "x"}) for p50 in (3.0, 1.0, 2.0)]
    figure = median_figure(rounds)
    assert figure.value == 2.0
    assert figure.details == {"p99": 3.0, "max": 30.0, "samples": 15, "by": "x", "rounds": 3}


SEARCH = Section(
    "search",
    "Searches",
    [
        Row(
            "word “a|b”",
            Figure(1.234, "ms", {"p99": 2.0, "max": 12.0, "total": 1_234}),
            {"FTS5": Figure(190.0, "ms", {"p99": 200.0, "max": 201.0, "total": 1_235}), "other": None},
            Goal("p99 ≤ 10 ms", met=True),
        )
    ],
    ["A remark."],
    devices=400,
)
REPORT = Report(["Two cores."], [SEARCH])


def at(devices: int, milliseconds: float, *, met: bool) -> Section:
    """The search at another size."""
    row = replace(SEARCH.rows[0], ours=Figure(milliseconds, "ms"), goal=Goal("p99 ≤ 10 ms", met))
    return replace(SEARCH, rows=[row], devices=devices)


GROWN = Report([], [at(400, 1.0, met=True), at(4_000, 2.0, met=True), at(40_000, 30.0, met=False)])


def test_a_table_shows_ours_beside_the_peers_with_ratio_and_goal() -> None:
    lines = report.as_markdown(REPORT).splitlines()
    head = lines.index("| what | whose | 400 | goal | met |")
    assert lines[head + 2 : head + 5] == [
        r"| word “a\|b” | ours | 1.23 / 2.00 / 12.0 ms, 1,234 found | p99 ≤ 10 ms | yes |",
        "|  | FTS5 | 190 / 200 / 201 ms (1,235 found) (154) |  |  |",
        "|  | other | — |  |  |",
    ]


def test_the_json_has_every_detail_and_becomes_the_same_report_again() -> None:
    assert report.from_json(report.as_json(REPORT)) == REPORT
    assert report.from_json(report.as_json(GROWN)) == GROWN


def test_several_sizes_are_shown_as_one_line_for_each_figure() -> None:
    lines = report.as_markdown(GROWN).splitlines()
    assert "### Searches" in lines
    assert "| what | whose | 400 | 4,000 | 40,000 | goal | met |" in lines
    assert r"| word “a\|b” | ours | 1.00 ms | 2.00 ms | 30.0 ms | p99 ≤ 10 ms | yes / yes / NO |" in lines
    beside = next(line for line in lines if line.startswith("|  | FTS5 |"))
    assert [cell.rpartition("(")[2] for cell in beside.split(" | ")[2:5]] == ["190)", "95.0)", "6.33)"]


def test_what_failed_at_one_size_is_said_beside_what_was_measured_at_others() -> None:
    failed = Section("search", "Part `search`", [], failure="ProcessFailed: no room", devices=4_000)
    lines = report.as_markdown(Report([], [at(400, 1.0, met=True), failed])).splitlines()
    assert "- Not measured with 4,000 records: ProcessFailed: no room" in lines
    assert "| what | whose | 400 | goal | met |" in lines


def test_the_documentation_keeps_what_stands_around_the_measured_part(tmp_path: Path) -> None:
    document = tmp_path / "performance.md"
    report.write_into(document, report.as_markdown(REPORT))
    document.write_text(document.read_text(encoding="utf-8") + "\nWhy this is so.\n", encoding="utf-8")
    report.write_into(document, "Measured anew.\n")
    text = document.read_text(encoding="utf-8")
    assert text.startswith(report.TITLE)
    assert "Measured anew." in text
    assert "Two cores." not in text
    assert text.endswith("Why this is so.\n")
    report.write_into(document, "Measured anew.\n")
    assert document.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (Figure(0, "answers"), "0 answers"),
        (Figure(12_345, "answers"), "12,345 answers"),
        (Figure(0.0712, "CPU ms"), "0.071 CPU ms"),
        (Figure(-0.02, "MB/min"), "-0.02 MB/min"),
        (Figure(2.0, "ms", {"p99": 3.0, "max": 4.0, "requests": 1_500}), "2.00 / 3.00 / 4.00 ms (1,500)"),
    ],
)
def test_a_figure_is_shown_with_the_digits_that_matter(figure: Figure, text: str) -> None:
    assert figure.text == text


def test_a_report_in_the_documentation_has_tables_plots_and_raw_figures(tmp_path: Path) -> None:
    stale = tmp_path / "plots" / "gone.svg"
    stale.parent.mkdir()
    stale.touch()
    common = replace(SEARCH.rows[0], what="common word, no filter")
    grown = [replace(each, rows=[replace(common, ours=each.rows[0].ours)]) for each in GROWN.measured]
    report.write(Report([], grown), tmp_path)
    page = (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert "](plots/growth-search.svg)" in page
    assert "| common word, no filter | ours |" in page
    assert sorted(path.name for path in stale.parent.iterdir()) == ["figures.json", "growth-search.svg"]
    drawn = stale.with_name("growth-search.svg").read_text(encoding="utf-8")
    assert all(f">{words}</text>" in drawn for words in ("ours", "FTS5", "400", "40k", "ms"))
    kept = stale.with_name("figures.json").read_bytes()
    assert list(report.from_json(kept).of("search")) == [400, 4_000, 40_000]
