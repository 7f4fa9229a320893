"""What commands say about themselves, and why they do nothing."""

import re
from pathlib import Path

import pytest

from registerwatch.register.search.fields import LAYOUT
from tests.support.terminal import Terminal


@pytest.mark.parametrize(
    ("words", "settings", "said"),
    [
        (("serve",), {"DATABASE_URL": "mysql://x"}, "sqlite:// or postgresql://"),
        (("serve",), {"REGISTER_REQUESTS_PER_MINUTE": "0"}, "REGISTERWATCH_REGISTER_REQUESTS_PER_MINUTE"),
        (("serve",), {"SIGNUP": "closed"}, "REGISTERWATCH_SIGNUP"),
        (("serve",), {"TRUSTED_PROXIES": "here"}, "REGISTERWATCH_TRUSTED_PROXIES"),
        (("settings",), {"DATABASE_URL_FILE": "/nowhere/at/all"}, "REGISTERWATCH_DATABASE_URL_FILE"),
        (("copy", "fill", "--source", "nowhere.jsonl"), {}, "There is no file"),
        (("backup", "copy.db"), {"DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none"}, "pg_dump"),
        (("backup", "--check", "missing.db"), {}, "There is no file missing.db"),
        (("copy", "status"), {"DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none"}, "database does not answer"),
    ],
)
def test_a_command_that_cannot_work_says_what_to_do_in_few_lines(
    terminal: Terminal,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    settings: dict[str, str],
    said: str,
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(f"REGISTERWATCH_{name}", value)

    told = terminal.types(*words)

    assert told.code == 1
    assert said in told.err
    assert "Traceback" not in told.err
    assert told.err.startswith("registerwatch: ")
    assert told.err.count("\n") <= 3


@pytest.mark.parametrize(
    "words", [(), ("copy",), ("backup",), ("db",), ("register",), ("serve",), ("demo",), ("settings",), ("work",)]
)
def test_every_command_explains_itself(terminal: Terminal, words: tuple[str, ...]) -> None:
    told = terminal.types(*words, "--help")

    assert told.code == 0
    assert re.search(f"Usage: .*{' '.join(words)}.* \\[OPTIONS\\]", told.out)


def test_the_status_of_the_copy_says_that_the_search_index_is_damaged_and_shows_the_rest(
    terminal: Terminal, tmp_path: Path
) -> None:
    damaged = tmp_path / "index" / LAYOUT / "meta.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text("{")

    told = terminal.types("copy", "status")

    assert told.code == 0
    assert "index      damaged" in told.out
    assert "0 registrations" in told.out
