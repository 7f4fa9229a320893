"""Whether a folder can be written, and whether its disk has room."""

import asyncio
import errno
import shutil
import tempfile
from pathlib import Path

from registerwatch.errors import ConfigurationError
from registerwatch.platform.private_files import make_private_folder

MIN_FREE_BYTES = 50_000_000
"""Less is too little for the log of SQLite and for a commit of the search index."""
MIN_FREE_FOR_FILES = 200_000_000
"""With less, users' files are refused: the register's records have priority."""
WRITTEN_BYTES = 65_536

FULL = "The disk of the data folder is full."
NEARLY_FULL = f"The disk of the data folder has less than {MIN_FREE_BYTES // 1_000_000} MB free."
ADVICE = (
    "Name a folder that the user of the service may write into: in REGISTERWATCH_DATA_DIR, or in"
    " REGISTERWATCH_DATABASE_URL where the database has a place of its own."
)
NOT_WRITABLE = "The data folder cannot be written."


class DiskCheck:
    """Checks the folders that the service writes into."""

    def __init__(self, *folders: Path, min_free_bytes: int = MIN_FREE_BYTES) -> None:
        self._folders = folders
        self._min_free_bytes = min_free_bytes

    async def problem(self) -> str | None:
        """Why a folder cannot be written; None where all can."""
        return await asyncio.to_thread(self._problem)

    def _problem(self) -> str | None:
        for folder in self._folders:
            try:
                _write(folder)
                if shutil.disk_usage(folder).free < self._min_free_bytes:
                    return NEARLY_FULL
            except OSError as error:
                return FULL if error.errno in _FULL_ERRORS else NOT_WRITABLE
        return None


def make_folder(folder: Path) -> None:
    """Make a folder that the service can write into. Raises `ConfigurationError`, which says what to do.

    A full disk is not an error here: stored data can still be read.
    """
    try:
        make_private_folder(folder)
        _write(folder)
    except OSError as error:
        if error.errno not in _FULL_ERRORS:
            raise ConfigurationError(f"The folder {folder} cannot be used: {_reason(error)}. {ADVICE}") from error


def _reason(error: OSError) -> str:
    if isinstance(error, (FileExistsError, NotADirectoryError)):
        return "it, or something above it, is a file"
    if isinstance(error, PermissionError):
        return "this user may not write into it"
    return "its file system is read-only" if error.errno == errno.EROFS else str(error.strerror or error)


def _write(folder: Path) -> None:
    """Write a nameless file that is gone at once. Free space alone does not show quotas and permissions."""
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        file.write(bytes(WRITTEN_BYTES))


_FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
