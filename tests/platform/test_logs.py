"""Where logs go, and what a line has."""

import io
import json
import logging
import re
import sys
from collections.abc import Iterator

import pytest
import structlog

from registerwatch.platform import logs
from tests.support.terminal import logs_as_they_are


@pytest.fixture(autouse=True)
def logs_of_others() -> Iterator[None]:
    """Each test sets logs up anew, and the tests after it find theirs."""
    with logs_as_they_are():
        yield


def test_a_log_goes_to_what_standard_error_is_by_then(monkeypatch: pytest.MonkeyPatch) -> None:
    before, during = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", before)
    logs.set_up("json")
    monkeypatch.setattr(sys, "stderr", during)  # as a progress bar does, which then draws itself below

    structlog.get_logger("registerwatch.tests").info("something happened")

    assert before.getvalue() == ""
    assert '"event": "something happened"' in during.getvalue()


@pytest.mark.parametrize("library", [False, True], ids=["ours", "of a library"])
def test_a_line_is_json_with_its_time_in_utc_its_level_and_what_happened(
    monkeypatch: pytest.MonkeyPatch, library: bool
) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    logs.set_up("json")

    log = logging.getLogger("a library") if library else structlog.get_logger("registerwatch.tests")
    log.warning("first line\nsecond line")

    [line] = written.getvalue().splitlines()
    told = json.loads(line)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", told["timestamp"])
    assert (told["level"], told["event"]) == ("warning", "first line\nsecond line")
