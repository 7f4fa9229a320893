"""What is stored is for the user of the service alone."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from registerwatch.platform.private_files import note_open_folder
from tests.support.harness import running_harness
from tests.support.processes import environment, run


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """As careless as a shell can be."""
    before = os.umask(0)
    yield
    os.umask(before)


def open_paths(folder: Path) -> list[str]:
    """What other users of the machine may look into."""
    return [
        str(path.relative_to(folder.parent)) for path in [folder, *folder.rglob("*")] if path.stat().st_mode & 0o077
    ]


async def test_a_service_that_is_started_with_an_open_umask_stores_nothing_openly(tmp_path: Path) -> None:
    data = tmp_path / "new" / "data"
    async with running_harness(f"sqlite:///{data / 'registerwatch.db'}", data) as harness:
        await harness.sign_up()
        await harness.update_index()
        names = {path.name for path in data.iterdir()}

        assert {"registerwatch.db", "registerwatch.db-wal", "registerwatch.db-shm", "index"} <= names
        within = [path for path in open_paths(data) if path.count("/") < 2]  # nobody enters the folder of the index
        assert [path for path in within if not path.endswith(".lock")] == [], "the lock is empty"


def test_what_commands_make_is_private(tmp_path: Path) -> None:
    data = tmp_path / "data"
    env = environment(data, f"sqlite:///{data / 'registerwatch.db'}")
    done = run("copy", "reindex", env=env)
    backed_up = run("backup", tmp_path / "backup.db", env=env)

    assert (done.returncode, backed_up.returncode) == (0, 0), done.stderr + backed_up.stderr
    assert open_paths(data) == []
    assert (tmp_path / "backup.db").stat().st_mode & 0o077 == 0


async def test_a_database_that_was_open_is_closed_to_others_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "registerwatch.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE anything (x)")
    path.chmod(0o644)
    async with running_harness(f"sqlite:///{path}", tmp_path):
        pass

    assert path.stat().st_mode & 0o077 == 0


async def test_a_data_folder_that_others_may_enter_is_left_and_told(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o755)
    with structlog.testing.capture_logs() as lines:
        note_open_folder(folder)
        folder.chmod(0o700)
        note_open_folder(folder)

    assert [(each["log_level"], each["folder"]) for each in lines] == [("warning", str(folder))]
