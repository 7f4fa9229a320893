"""What commands say about themselves, and why they do nothing."""

import re
import sys
from pathlib import Path

import pytest

from registerwatch.cli import main


@pytest.mark.parametrize(
    ("words", "settings", "said"),
    [
        (("serve",), {"DATABASE_URL": "mysql://x"}, "sqlite:// or postgresql://"),
        (("serve",), {"REGISTER_REQUESTS_PER_MINUTE": "0"}, "REGISTERWATCH_REGISTER_REQUESTS_PER_MINUTE"),
        (("serve",), {"TRUSTED_PROXIES": "here"}, "REGISTERWATCH_TRUSTED_PROXIES"),
        (("settings",), {"DATABASE_URL_FILE": "/nowhere/at/all"}, "REGISTERWATCH_DATABASE_URL_FILE"),
        (("copy", "fill", "--source", "nowhere.jsonl"), {}, "There is no file"),
        (("backup", "copy.db"), {"DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none"}, "pg_dump"),
        (("backup", "--check", "missing.db"), {}, "There is no file missing.db"),
        (("copy", "status"), {"DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none"}, "database does not answer"),
    ],
)
def test_a_command_that_cannot_work_says_what_to_do_in_few_lines(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    settings: dict[str, str],
    said: str,
) -> None:
    for name, value in {"DATA_DIR": str(tmp_path), **settings}.items():
        monkeypatch.setenv(f"REGISTERWATCH_{name}", value)

    code, _, error = _typed(monkeypatch, capsys, *words)

    assert code == 1
    assert said in error
    assert error.startswith("registerwatch: ")
    assert error.count("\n") <= 3


@pytest.mark.parametrize(
    "words", [(), ("copy",), ("backup",), ("db",), ("register",), ("serve",), ("demo",), ("settings",), ("work",)]
)
def test_every_command_explains_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    code, shown, _ = _typed(monkeypatch, capsys, *words, "--help")

    assert code == 0
    assert re.search(f"Usage: .*{' '.join(words)}.* \\[OPTIONS\\]", shown)


def _typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """How a command ends, what it prints and what it says on standard error."""
    monkeypatch.setattr(sys, "argv", ["registerwatch", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err
