"""A PostgreSQL server of the test run's own: a fresh cluster in a temporary folder, reached by its socket alone."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SETTINGS = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "listen_addresses=", "max_connections=200")


def binaries() -> Path | None:
    """The folder with `initdb` and `pg_ctl` of the newest installed version, None without one."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


class Cluster:
    """A server that listens at a socket in the folder `sockets`. It refuses root, so root runs it as `postgres`."""

    def __init__(self, folder: Path) -> None:
        self.sockets = str(folder)
        self._folder = folder

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
        programs = binaries()
        if programs is None:
            raise RuntimeError("PostgreSQL is not installed; `make test` installs it, or install package postgresql")
        words = [str(each) for each in (programs / program, "-D", self._folder / "data", *options)]
        if os.geteuid() == 0:
            words = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *words]
        done = subprocess.run(words, capture_output=True, text=True, cwd="/", check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{words} failed:\n{done.stdout}\n{done.stderr}")


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A running server, of which nothing is left afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="registerwatch-pg-"))
    made = Cluster(folder)
    try:
        made.create()
        made.start()
        yield made
    finally:
        if made.is_running():
            made.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)
