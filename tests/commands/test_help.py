"""What commands say about themselves, and why they do nothing."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from registerwatch.cli import Commands
from registerwatch.copy.search.fields import LAYOUT
from tests.support.command_words import loaded_commands
from tests.support.terminal import Terminal

HEAVY = {"alembic", "argon2", "cryptography", "fastapi", "httpx2", "jinja2", "msgspec", "openpyxl", "pydantic"} | {
    "sqlalchemy",
    "starlette",
    "stripe",
    "structlog",
    "tantivy",
    "uvicorn",
    "registerwatch_standins",
}
"""What a command may need, and listing the commands does not."""


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


def test_the_list_of_commands_loads_nothing_that_only_commands_need() -> None:
    listed = """
import json, sys
from registerwatch.cli import main
sys.argv = ["registerwatch", "--help"]
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""

    done = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, check=True)

    loaded = json.loads(done.stderr)
    assert {name.partition(".")[0] for name in loaded} & HEAVY == set()
    assert [name for name in loaded if name.startswith("registerwatch.")] == [
        "registerwatch.cli",
        "registerwatch.commands",
        "registerwatch.commands.lazy",
        "registerwatch.errors",
        "registerwatch.platform",
        "registerwatch.platform.collector",
    ]
    assert "copy" in done.stdout


def test_the_line_of_each_command_is_the_first_paragraph_of_its_own_help() -> None:
    told = {name: (command.help or "").split("\n\n")[0] for name, command in loaded_commands().items()}

    assert told == {name: source.line for name, source in Commands.sources.items()}


@pytest.mark.parametrize(
    ("words", "proposed"),
    [("c", {"copy"}), ("copy re", {"reindex"}), ("copy ", {"fill", "status", "reindex"}), ("backup --ch", {"--check"})],
)
def test_a_shell_completes_commands_those_in_groups_and_options(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, words: str, proposed: set[str]
) -> None:
    monkeypatch.setenv("_REGISTERWATCH_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"registerwatch {words}")
    monkeypatch.setenv("COMP_CWORD", str(1 + words.count(" ")))

    told = terminal.types()

    assert set(told.out.split()) == proposed


@pytest.mark.parametrize(("words", "meant"), [(("cpoy",), "copy"), (("copy", "fil"), "fill")])
def test_a_command_that_is_not_there_is_told_with_the_one_that_is_meant(
    terminal: Terminal, words: tuple[str, ...], meant: str
) -> None:
    told = terminal.types(*words)

    assert told.code == 2
    assert f"Did you mean '{meant}'?" in told.err
