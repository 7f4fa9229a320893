"""A PostgreSQL server of the bench's own: a cluster in the working folder, all of it on the server's core.

It keeps its data for the next run, and commits as durably as PostgreSQL does by default. PostgreSQL refuses root, so
root runs it as `postgres`.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from tests.support.postgresql import as_its_user, binaries

from bench.inputs import Inputs
from bench.machine import SERVER_CORE, Others, memory_bytes, pinned
from bench.processes import ProcessFailed

START_SECONDS = 120
"""An interrupted run may have left it something to recover."""


def is_installed() -> bool:
    """Whether there is a PostgreSQL to start."""
    return binaries() is not None


def settings() -> dict[str, str]:
    """For a server that has the machine almost to itself: a quarter of its memory for shared buffers, at most 4 GB."""
    megabytes = memory_bytes() // 1_000_000
    return {
        "shared_buffers": f"{min(4_000, megabytes // 4)}MB",
        "effective_cache_size": f"{megabytes // 2}MB",
        "work_mem": "256MB",
        "maintenance_work_mem": f"{min(1_000, megabytes // 8)}MB",
        "max_wal_size": "8GB",
        "jit": "off",
        "max_parallel_workers_per_gather": "0",
    }


def described_settings() -> str:
    """The settings as a remark tells them."""
    return ", ".join(f"{name} = {value}" for name, value in settings().items())


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running server: the folder of its socket, and its first process, whose children are all the others."""

    sockets: str
    postmaster: int

    def address(self, database: str) -> str:
        """A database of it, as the service's settings name one."""
        return f"postgresql://postgres@/{database}?host={self.sockets}"

    def connect(self, database: str = "postgres") -> psycopg.Connection[tuple[Any, ...]]:
        """A connection that commits each statement."""
        return psycopg.connect(host=self.sockets, user="postgres", dbname=database, autocommit=True)

    def recreate(self, database: str) -> None:
        """An empty database of that name."""
        with self.connect() as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)".encode())
            connection.execute(f"CREATE DATABASE {database}".encode())


@contextmanager
def cluster(inputs: Inputs) -> Iterator[Cluster]:
    """The server of this size and seed, until the end of the block. Raises `ProcessFailed`."""
    folder = inputs.path("postgresql")
    _make(folder)
    sockets = Path(tempfile.mkdtemp(prefix="registerwatch-pg-"))  # the address of a socket must be short
    try:
        _own(sockets)
        with pinned(SERVER_CORE):
            _start(folder, sockets)
        postmaster = int((folder / "postmaster.pid").read_text(encoding="utf-8").splitlines()[0])
        Others.guests.add(postmaster)
        try:
            yield Cluster(str(sockets), postmaster)
        finally:
            Others.guests.discard(postmaster)
    finally:
        _stop(folder)
        shutil.rmtree(sockets, ignore_errors=True)


def _make(folder: Path) -> None:
    """Make the cluster if it is missing; end the server that a killed run may have left behind."""
    if (folder / "made").exists():
        _stop(folder)
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if os.geteuid() == 0:
        folder.parent.chmod(folder.parent.stat().st_mode | 0o711)  # a temporary folder lets nobody else through
    _own(folder)
    _run("initdb", "-D", folder, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
    (folder / "made").touch()


def _start(folder: Path, sockets: Path) -> None:
    own = {"listen_addresses": "", "unix_socket_directories": str(sockets), **settings()}
    options = " ".join(f"-c {name}={value}" for name, value in own.items())
    _run("pg_ctl", "-D", folder, "-o", options, "-w", "-t", START_SECONDS, "-l", folder / "log", "start")


def _stop(folder: Path) -> None:
    if (folder / "postmaster.pid").exists():
        _run("pg_ctl", "-D", folder, "-m", "fast", "-w", "-t", START_SECONDS, "stop", check=False)


def _own(folder: Path) -> None:
    """Let the server have the folder."""
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", pwd.getpwnam("postgres").pw_gid)
    folder.chmod(0o700)


def _run(program: str, *options: object, check: bool = True) -> None:
    """Run one of PostgreSQL's programs. Ctrl-C does not reach it, so that nothing is left half-way."""
    found = binaries()
    if found is None:
        raise ProcessFailed("PostgreSQL is not installed.")
    words = as_its_user(found / program, *options)
    done = subprocess.run(words, capture_output=True, text=True, cwd="/", check=False, start_new_session=True)
    if check and done.returncode != 0:
        raise ProcessFailed(f"{program} failed: {(done.stderr or done.stdout).strip()}"[:2000])
