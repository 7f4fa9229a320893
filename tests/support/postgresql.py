"""A PostgreSQL server of the test run's own: a fresh cluster in a temporary folder, reached by its socket alone."""

import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

SETTINGS = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "listen_addresses=", "max_connections=200")


class Cluster:
    """A server that listens at a socket in its folder. It refuses root, so root runs it as `postgres`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def url(self, database: str) -> str:
        """The address of a database, for the settings."""
        return f"postgresql://postgres@/{database}?host={self._folder}"

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        """A connection on which each statement is committed by itself."""
        return psycopg.connect(self.url(database), autocommit=True)

    @contextmanager
    def new_database(self, template: str = "template1") -> Iterator[str]:
        """The address of a new database that is a copy of this one, and is dropped afterwards."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        with self.connect() as connection:
            file_by_file = "STRATEGY file_copy" if connection.info.server_version >= 150_000 else ""  # as older ones do
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} {file_by_file}".encode())
            yield self.url(name)
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

    def create(self) -> None:
        """Make its files."""
        if os.geteuid() == 0:
            shutil.chown(self._folder, "postgres", pwd.getpwnam("postgres").pw_gid)
        self._folder.chmod(0o755)
        self._run("initdb", "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")

    def start(self) -> None:
        """Start it; returns when it answers."""
        options = " ".join(f"-c {setting}" for setting in (*SETTINGS, f"unix_socket_directories={self._folder}"))
        self._run("pg_ctl", "-o", options, "-w", "-l", self._folder / "log", "start")

    def stop(self, mode: str) -> None:
        """End it: `fast` ends all connections, `immediate` is as good as a crash."""
        self._run("pg_ctl", "-m", mode, "-w", "stop")

    def is_running(self) -> bool:
        """Whether it was started and not stopped."""
        return (self._folder / "data" / "postmaster.pid").exists()

    def _run(self, program: str, *options: object) -> None:
        words = [str(each) for each in (_programs() / program, "-D", self._folder / "data", *options)]
        if os.geteuid() == 0:
            words = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *words]
        done = subprocess.run(words, capture_output=True, text=True, cwd="/", check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{words} failed:\n{done.stdout}\n{done.stderr}")


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A running server, of which nothing is left afterwards."""
    with tempfile.TemporaryDirectory(prefix="registerwatch-pg-", ignore_cleanup_errors=True) as folder:
        made = Cluster(Path(folder))
        try:
            made.create()
            made.start()
            yield made
        finally:
            if made.is_running():
                made.stop("immediate")


def _programs() -> Path:
    """The folder with `initdb` and `pg_ctl` of the newest installed version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    initdb = found[-1] if found else shutil.which("initdb")
    if initdb is None:
        raise RuntimeError("PostgreSQL is not installed; `make test` installs it, or install the package postgresql")
    return Path(initdb).parent
