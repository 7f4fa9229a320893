"""The new command is listed, and does what it says."""

import pytest

from tests.support.terminal import Terminal


def test_the_command_is_listed_and_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("REGISTERWATCH_DATA_DIR", "/srv/rw")
    terminal = Terminal(monkeypatch, capsys)

    assert "Print the folder" in terminal.types("--help").out
    assert terminal.types("folder").out == "/srv/rw\n"
