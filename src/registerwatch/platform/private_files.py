"""Makes stored files private to the service's user, whatever the umask of the shell that started it."""

import os
import stat
from pathlib import Path

import structlog

FOLDER_MODE, FILE_MODE = 0o700, 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_COMPANIONS = ("", "-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite keeps for one database."""

log = structlog.get_logger(__name__)


def make_private_folder(folder: Path) -> None:
    """Make a folder that only this user may enter; an existing one is left as it is. Raises `OSError`."""
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)


def protect_database(path: Path) -> None:
    """Make the file of a SQLite database, or make it private. SQLite gives its companion files the same mode."""
    try:
        path.touch(mode=FILE_MODE, exist_ok=True)
    except OSError:
        return  # opening it reports the error
    for file in (path.with_name(path.name + end) for end in _COMPANIONS):
        if file.is_file():
            _protect(file, FILE_MODE)


def protect_index(folder: Path) -> None:
    """Make the folder of a search index private."""
    _protect(folder, FOLDER_MODE)


def note_open_folder(folder: Path) -> None:
    """Log a data folder that others may read. It may be meant so, and may hold other files: it is not changed."""
    if _is_open(folder):
        log.warning("other users of this machine may look into the data folder", folder=str(folder), advice="chmod 700")


def _protect(path: Path, mode: int) -> None:
    """Make a file or a folder private where it is this user's; else its owner has to."""
    if _is_open(path) and path.stat().st_uid == os.geteuid():
        path.chmod(mode)


def _is_open(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & _OTHERS)
    except OSError:
        return False
