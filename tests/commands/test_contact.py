"""The warning of commands that read the real register without telling its operators whom to write to."""

import json

import pytest

from tests.support.terminal import Terminal

READING = (("serve",), ("work",), ("copy", "fill"), ("copy", "fill", "--source", "register"), ("watches", "recheck"))
NOWHERE = "postgresql://nobody@127.0.0.1:9/none"
"""A database that does not answer, so that a command ends before it reads anything."""


@pytest.fixture
def terminal(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("REGISTERWATCH_DATABASE_URL", NOWHERE)
    monkeypatch.setenv("REGISTERWATCH_LOG_FORMAT", "json")
    return terminal


def warnings(terminal: Terminal, *words: str) -> list[str]:
    """What a command warns of in the log; it ends because there is no database."""
    told = terminal.types(*words)
    assert told.code == 1
    assert "Traceback" not in told.err
    assert "database does not answer" in told.err
    lines = [json.loads(line) for line in told.err.splitlines() if line.startswith("{")]
    return [line["event"] for line in lines if line["level"] == "warning"]


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_the_log_warns_once_where_the_real_register_is_read_without_a_contact(
    terminal: Terminal, words: tuple[str, ...]
) -> None:
    [warned] = warnings(terminal, *words)

    assert "REGISTERWATCH_CONTACT" in warned


@pytest.mark.parametrize("words", READING, ids=" ".join)
@pytest.mark.parametrize(
    ("name", "value"), [("CONTACT", "you@example.org"), ("REGISTER_URL", "http://127.0.0.1:9/eudamed")]
)
def test_nothing_is_warned_of_where_there_is_a_contact_or_a_stand_in(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], name: str, value: str
) -> None:
    monkeypatch.setenv(f"REGISTERWATCH_{name}", value)

    assert warnings(terminal, *words) == []


@pytest.mark.parametrize("words", [("copy", "fill", "--source", "records.jsonl"), ("copy", "status")], ids=" ".join)
def test_a_command_that_does_not_read_the_register_warns_of_nothing(terminal: Terminal, words: tuple[str, ...]) -> None:
    assert warnings(terminal, *words) == []
