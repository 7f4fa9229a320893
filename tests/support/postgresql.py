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


@contextmanager
def cluster() -> Iterator[str]:
    """A running server; gives the address of its folder of sockets. It refuses root, so root runs it as `postgres`."""
    folder = binaries()
    if folder is None:
        raise RuntimeError("PostgreSQL is not installed; `make test` installs it, or install the package postgresql")
    base = Path(tempfile.mkdtemp(prefix="registerwatch-pg-"))
    cluster_dir, sockets = base / "data", base
    if os.geteuid() == 0:
        shutil.chown(base, "postgres", pwd.getpwnam("postgres").pw_gid)
    base.chmod(0o755)
    _run(
        folder / "initdb",
        "-D",
        cluster_dir,
        "-U",
        "postgres",
        "-A",
        "trust",
        "--no-sync",
        "-E",
        "UTF8",
        "--locale=C.UTF-8",
    )
    options = " ".join(f"-c {setting}" for setting in (*SETTINGS, f"unix_socket_directories={sockets}"))
    _run(folder / "pg_ctl", "-D", cluster_dir, "-o", options, "-w", "-l", base / "log", "start")
    try:
        yield str(sockets)
    finally:
        _run(folder / "pg_ctl", "-D", cluster_dir, "-m", "immediate", "-w", "stop")
        shutil.rmtree(base, ignore_errors=True)


def as_its_user(*command: object) -> list[str]:
    """The words of one of PostgreSQL's programs, which root runs as `postgres`."""
    words = [str(word) for word in command]
    if os.geteuid() == 0:
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *words]
    return words


def _run(*command: object) -> None:
    words = as_its_user(*command)
    done = subprocess.run(words, capture_output=True, text=True, cwd="/", check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{words} failed:\n{done.stdout}\n{done.stderr}")
