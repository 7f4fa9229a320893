"""Fixtures of commands: a terminal whose environment says nothing yet but where the data is."""

from pathlib import Path

import pytest

from registerwatch.settings import Settings
from tests.commands.steps import Operator
from tests.support.terminal import Terminal


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Terminal:
    """Where commands are typed; settings of whoever runs the tests are not there."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"REGISTERWATCH_{name.upper()}", raising=False)
    monkeypatch.setenv("REGISTERWATCH_DATA_DIR", str(tmp_path))
    return Terminal(monkeypatch, capsys)


@pytest.fixture
def operator(monkeypatch: pytest.MonkeyPatch, terminal: Terminal, database_url: str, tmp_path: Path) -> Operator:
    """Who types commands about the accounts of one service."""
    monkeypatch.setenv("REGISTERWATCH_DATABASE_URL", database_url)
    return Operator(terminal, database_url, tmp_path)
