"""Figures, ratios, and how a report shows them."""

import json
from io import StringIO
from pathlib import Path

import pytest
from bench.figures import Figure, Goal, Row, Section, latencies, median_figure, percentile
from rich.console import Console

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


SECTIONS = [
    Section(
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
    )
]


def test_a_table_shows_ours_beside_the_peers_with_ratio_and_goal() -> None:
    shown = StringIO()
    report.show(SECTIONS, ["Two cores."], Console(file=shown, width=200))
    line = next(line for line in shown.getvalue().splitlines() if "a|b" in line)
    cells = [cell.strip() for cell in line.replace("a|b", "a b").strip("│").split("│")]
    assert cells == [
        "word “a b”",
        "1.23 / 2.00 / 12.0 ms",
        "1,234",
        "190 / 200 / 201 ms (1,235 found)",
        "154",
        "—",
        "",
        "p99 ≤ 10 ms",
        "yes",
    ]


def test_the_json_has_every_detail() -> None:
    row = json.loads(report.as_json(SECTIONS, ["Two cores."]))["sections"][0]["rows"][0]
    assert row["ours"] == {"value": 1.234, "unit": "ms", "p99": 2.0, "max": 12.0, "total": 1_234}
    assert row["peers"]["FTS5"]["ratio"] == pytest.approx(190 / 1.234)
    assert row["peers"]["other"] is None
    assert row["goal"] == {"text": "p99 ≤ 10 ms", "met": True}


def test_the_documentation_keeps_what_stands_around_the_measured_part(tmp_path: Path) -> None:
    document = tmp_path / "docs" / "performance.md"
    report.write_into(document, report.as_markdown(SECTIONS, ["Two cores."]))
    document.write_text(document.read_text(encoding="utf-8") + "\nWhy this is so.\n", encoding="utf-8")
    report.write_into(document, "Measured anew.\n")
    text = document.read_text(encoding="utf-8")
    assert text.startswith(report.TITLE)
    assert "Measured anew." in text
    assert "Two cores." not in text
    assert text.endswith("Why this is so.\n")
    report.write_into(document, "Measured anew.\n")
    assert document.read_text(encoding="utf-8") == text


def test_markdown_cells_escape_what_would_end_them() -> None:
    lines = report.as_markdown(SECTIONS, []).splitlines()
    assert "| word “a\\|b” | 1.23 / 2.00 / 12.0 ms | 1,234 |" in next(line for line in lines if "word" in line)
