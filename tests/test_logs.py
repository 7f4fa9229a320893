"""Where logs go."""

import io
import sys
from collections.abc import Iterator

import pytest
import structlog

from registerwatch import logs
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
