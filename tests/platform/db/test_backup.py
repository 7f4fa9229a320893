"""Backups of SQLite: whole, of one moment, and never half there."""

import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from registerwatch.errors import BackupRefused
from registerwatch.platform.db import backup
from registerwatch.platform.db.backup import back_up, check


@pytest.fixture
def original(tmp_path: Path, sqlite_template: Path) -> Path:
    """A database with two thousand sessions' worth of rows, some of them only in its log."""
    path = tmp_path / "registerwatch.db"
    shutil.copyfile(sqlite_template, path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE numbers (number INTEGER PRIMARY KEY, twice INTEGER, text TEXT)")
        write(connection, 1, 2_000)
    return path


def write(connection: sqlite3.Connection, first: int, last: int) -> None:
    """Rows that belong together: all of them, or none."""
    with connection:
        connection.executemany(
            "INSERT INTO numbers VALUES (?, ?, ?)", [(each, 2 * each, "x" * 500) for each in range(first, last + 1)]
        )


def rows(path: Path) -> list[tuple[int, int]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT number, twice FROM numbers ORDER BY number").fetchall()


def copy_id(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("SELECT copy_id FROM copy_state").fetchone()[0])


def quietly(_done: int, _of: int) -> None:
    """Nobody looks."""


def test_a_backup_is_the_database_in_one_file_as_a_copy_of_its_own(original: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"

    size = back_up(original, target, quietly)

    assert rows(target) == rows(original)
    assert size == target.stat().st_size
    assert target.stat().st_mode & 0o777 == 0o600, "what is in it is for nobody else"
    assert copy_id(target) != copy_id(original), "an index of the one is none of the other"
    assert sorted(each.name for each in tmp_path.iterdir() if "backup" in each.name) == ["backup.db"]
    check(target)


def test_what_is_written_meanwhile_is_in_none_of_it(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "PAGES_A_STEP", 10)
    told: list[tuple[int, int]] = []

    def writing(done: int, of: int) -> None:
        told.append((done, of))
        with closing(sqlite3.connect(original)) as connection:
            write(connection, 10_000 * len(told), 10_000 * len(told) + 20)

    back_up(original, tmp_path / "backup.db", writing)

    assert len(told) > 10
    assert [done for done, _ in told] == sorted({done for done, _ in told}), "it never began anew"
    assert told[-1][0] == told[-1][1]
    assert rows(tmp_path / "backup.db") == [(each, 2 * each) for each in range(1, 2_001)]
    assert len(rows(original)) > 2_000 + 20 * len(told) - 1


def test_a_writer_goes_on_while_a_backup_is_made(original: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(original, check_same_thread=False, timeout=0)) as connection:
        failed: list[BaseException] = []

        def write_on() -> None:
            try:
                for number in range(50):
                    write(connection, 5_000 + 10 * number, 5_000 + 10 * number + 9)
            except sqlite3.Error as error:
                failed.append(error)

        writer = threading.Thread(target=write_on)
        writer.start()
        back_up(original, tmp_path / "backup.db", quietly)
        writer.join()

    assert not failed
    assert (len(rows(tmp_path / "backup.db")) - 2_000) % 10 == 0, "of what belongs together all or nothing"


def test_a_backup_overwrites_nothing(original: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    target.write_text("precious")

    with pytest.raises(BackupRefused, match="overwrites nothing"):
        back_up(original, target, quietly)

    assert target.read_text() == "precious"


def test_a_backup_that_fails_leaves_nothing_behind(original: Path, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()

    def fails(_done: int, _of: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(BackupRefused, match="No space left on device"):
        back_up(original, folder / "backup.db", fails)
    with pytest.raises(BackupRefused, match="could not be written"):
        back_up(original, tmp_path / "missing" / "backup.db", quietly)
    with pytest.raises(BackupRefused, match="no database"):
        back_up(tmp_path / "none.db", folder / "backup.db", quietly)

    assert list(folder.iterdir()) == []


def test_a_file_that_is_cut_off_changed_or_something_else_is_no_backup(original: Path, tmp_path: Path) -> None:
    whole = tmp_path / "backup.db"
    back_up(original, whole, quietly)
    content = whole.read_bytes()
    page = content.index(b"x" * 500) // 4096
    for broken in (
        content[: len(content) // 2],
        content[: page * 4096] + b"\xff" * 4096 + content[(page + 1) * 4096 :],
        b"",
        b"no database at all" * 1_000,
    ):
        file = tmp_path / "broken.db"
        file.write_bytes(broken)
        with pytest.raises(BackupRefused, match=r"broken\.db is"):
            check(file)
    with pytest.raises(BackupRefused, match="no file"):
        check(tmp_path / "none.db")


def test_a_backup_of_a_newer_version_is_told_apart(original: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(original)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(BackupRefused, match="newer version"):
        back_up(original, tmp_path / "backup.db", quietly)


def test_a_backup_of_the_last_program_before_the_first_release_can_be_restored(original: Path) -> None:
    with closing(sqlite3.connect(original)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '0046'")

    check(original)
