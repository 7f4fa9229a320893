"""What commands say when the data cannot be opened: one line that says what to do, at every command's start."""

import errno
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.terminal import Terminal

COMMANDS = [
    ("serve",),
    ("work",),
    ("db", "upgrade"),
    ("copy", "status"),
    ("copy", "fill"),
    ("copy", "reindex"),
    ("accounts", "list"),
    ("watches", "recheck"),
]


def is_a_file(folder: Path) -> None:
    folder.touch()


def holds_no_database(folder: Path) -> None:
    folder.mkdir()
    (folder / "registerwatch.db").write_bytes(b"this is a letter, no database\n" * 500)


def holds_a_damaged_database(folder: Path) -> None:
    folder.mkdir()
    with sqlite3.connect(folder / "registerwatch.db") as connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
    content = bytearray((folder / "registerwatch.db").read_bytes())
    content[100:4096] = b"\xff" * 3996
    (folder / "registerwatch.db").write_bytes(content)


def holds_a_folder_of_its_name(folder: Path) -> None:
    (folder / "registerwatch.db").mkdir(parents=True)


DAMAGES = [
    (is_a_file, "REGISTERWATCH_DATA_DIR"),
    (holds_no_database, "put a backup in the place of"),
    (holds_a_damaged_database, "put a backup in the place of"),
    (holds_a_folder_of_its_name, "Let the user of the service read and write"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(("damage", "advice"), DAMAGES, ids=[damage.__name__ for damage, _ in DAMAGES])
def test_data_that_cannot_be_opened_is_one_line_that_says_what_to_do(
    terminal: Terminal,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: tuple[str, ...],
    damage: Callable[[Path], None],
    advice: str,
) -> None:
    damage(tmp_path / "data")
    monkeypatch.setenv("REGISTERWATCH_DATA_DIR", str(tmp_path / "data"))

    told = terminal.types(*words)

    assert told.code == 1
    [line] = told.err.splitlines()[-1:]
    assert line.startswith("registerwatch: ")
    assert advice in line
    assert str(tmp_path / "data") in line
    assert "Traceback" not in told.err


@pytest.mark.parametrize("words", [("serve",), ("copy", "reindex")], ids=" ".join)
def test_a_data_folder_that_is_a_file_is_told_where_the_database_is_elsewhere(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "data").touch()
    monkeypatch.setenv("REGISTERWATCH_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("REGISTERWATCH_DATABASE_URL", f"sqlite:///{tmp_path / 'registerwatch.db'}")

    told = terminal.types(*words)

    assert told.code == 1
    assert "REGISTERWATCH_DATA_DIR" in told.err.splitlines()[-1]
    assert "Traceback" not in told.err


@pytest.mark.parametrize(
    ("number", "reason"),
    [(errno.EACCES, "may not write"), (errno.EROFS, "read-only"), (errno.ENAMETOOLONG, "File name too long")],
)
def test_a_folder_that_cannot_be_written_says_why(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, number: int, reason: str
) -> None:
    def refused(*_asked: object, **_options: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "mkdir", refused)

    told = terminal.types("db", "upgrade")

    assert told.code == 1
    assert reason in told.err
    assert told.err.count("\n") == 1
