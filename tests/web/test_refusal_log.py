"""How many lines a flood of refusals leaves."""

import structlog

from registerwatch.web.refusal_log import MAX_LINES, WINDOW_SECONDS, RefusalLog


def test_a_minute_has_few_lines_and_the_next_one_says_how_many_were_left_out() -> None:
    moment = 1_000.0
    refusals = RefusalLog(lambda: moment)
    with structlog.testing.capture_logs() as lines:
        for _ in range(500):
            refusals.note("192.0.2.1", 400, "malformed-request")
        moment += WINDOW_SECONDS
        refusals.note("192.0.2.2", 431, "head-too-large")

    assert len(lines) == MAX_LINES + 1
    assert (lines[0]["client"], lines[0]["left_out"]) == ("192.0.2.1", 0)
    assert (lines[-1]["client"], lines[-1]["status"], lines[-1]["left_out"]) == ("192.0.2.2", 431, 500 - MAX_LINES)
