"""A PostgreSQL server of the bench's own with a filled copy, which stays in the working folder for the next run."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from bench.processes import MEGABYTES, SERVER_CORE, START_SECONDS, ProcessFailed, running, tail
from bench.setup import Setup, Stored

USER = "postgres" if os.geteuid() == 0 else None
SETTINGS = {
    "shared_buffers": f"{min(4_000, MEGABYTES // 4)}MB",
    "effective_cache_size": f"{MEGABYTES // 2}MB",
    "work_mem": "256MB",
    "maintenance_work_mem": f"{min(1_000, MEGABYTES // 8)}MB",
    "max_wal_size": "8GB",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}
"""For a server that has the machine almost to itself: a quarter of its memory for shared buffers, at most 4 GB."""
DESCRIPTION = f"PostgreSQL: {', '.join(f'{name} = {value}' for name, value in SETTINGS.items())}, else its defaults."


def binaries() -> Path | None:
    """The folder with `initdb` and `postgres` of the newest installed version, None without one."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running server: the folder of its socket, and its first process, whose children are all the others."""

    sockets: str
    pid: int

    def connect(self, database: str = "postgres") -> psycopg.Connection[tuple[Any, ...]]:
        """A connection that commits each statement."""
        return psycopg.connect(host=self.sockets, user="postgres", dbname=database, autocommit=True)

    def recreate(self, database: str) -> None:
        """An empty database of that name."""
        with self.connect() as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)".encode())
            connection.execute(f"CREATE DATABASE {database}".encode())

    def copy(self, setup: Setup) -> Stored:
        """The filled copy, from an earlier run or filled now."""
        settings = {"DATABASE_URL": f"postgresql://postgres@/copy?host={self.sockets}"}
        stored = Stored("PostgreSQL", setup.path("postgresql-data"), settings)
        if not stored.mark.exists():
            self.recreate("copy")
            setup.fill(stored)
            with self.connect("copy") as connection:
                connection.execute("VACUUM ANALYZE")
                connection.execute("CHECKPOINT")
        return stored


@contextmanager
def cluster(setup: Setup) -> Iterator[Cluster]:
    """The server of this size and seed, until the end of the block. Raises `ProcessFailed`."""
    programs, folder, log = binaries(), setup.path("postgresql"), setup.path("postgresql.log")
    if programs is None:
        raise ProcessFailed("PostgreSQL is not installed.")
    if not (folder / "made").exists():
        _make(programs, folder, log)
    if (folder / "postmaster.pid").exists():  # a killed run left it behind, which may still serve
        _run([programs / "pg_ctl", "-D", folder, "-m", "fast", "-w", "stop"], log, check=False)
    with tempfile.TemporaryDirectory(prefix="registerwatch-pg-") as sockets:  # the address of a socket must be short
        _own(Path(sockets))
        options = {"listen_addresses": "", "unix_socket_directories": sockets, **SETTINGS}
        command = [programs / "postgres", "-D", folder]
        command += [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        with running(command, log, cores=[SERVER_CORE], user=USER) as process:
            ready: list[str | Path] = [programs / "pg_isready", "-h", sockets, "-U", "postgres", "-q"]
            ends = time.monotonic() + START_SECONDS  # an interrupted run may have left it something to recover
            while subprocess.run(ready, check=False).returncode != 0:
                if time.monotonic() > ends:
                    raise ProcessFailed(f"PostgreSQL did not start:\n{tail(log)}")
                time.sleep(0.1)
            yield Cluster(sockets, process.pid)


def cluster_if_installed(setup: Setup) -> AbstractContextManager[Cluster | None]:
    """The same server, or None where PostgreSQL is not installed."""
    return cluster(setup) if binaries() else nullcontext()


def _make(programs: Path, folder: Path, log: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if USER:
        folder.parent.chmod(folder.parent.stat().st_mode | 0o711)  # a temporary folder lets nobody else through
    _own(folder)
    _run([programs / "initdb", "-D", folder, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"], log)
    (folder / "made").touch()


def _run(command: list[object], log: Path, *, check: bool = True) -> None:
    with running(command, log, user=USER) as process:
        if process.wait() != 0 and check:
            raise ProcessFailed(f"PostgreSQL's {command[0]} failed:\n{tail(log)}")


def _own(folder: Path) -> None:
    """Let the server have the folder."""
    if USER:
        shutil.chown(folder, USER, USER)
    folder.chmod(0o700)
