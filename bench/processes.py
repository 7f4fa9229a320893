"""The machine and the processes that are measured on it: started on their cores, watched, ended whatever happens."""

import http.client
import os
import platform
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, LOAD_CORE = CORES[0], CORES[-1]
"""The same where there is only one: then the load disturbs the server, and figures are lower."""
ALL_BUT_LOAD = CORES[:-1] or CORES  # of a server that is measured with all that the machine has for it
NO_REGISTER = "http://127.0.0.1:9"  # nobody listens there: what is measured against it must not need the register
REGISTERWATCH = Path(sys.executable).with_name("registerwatch")
MEGABYTES = psutil.virtual_memory().total // 1_000_000
START_SECONDS = 120.0
END_SECONDS = 20.0


_LAUNCHER = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[
    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
_, status, usage = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""
"""A small process that starts the one that is measured, which counts the memory of its parent as its own."""


class ProcessFailed(Exception):
    """A process that is measured ended badly, or never answered."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a command took from its start to its end."""

    cpu_seconds: float
    megabytes: float
    """At the peak."""


def spent_by(command: Sequence[str], content: bytes = b"", environment: Mapping[str, str] | None = None) -> Spent:
    """What a command takes that reads this content and ends well. Raises `ProcessFailed`."""
    launcher = [sys.executable, "-S", "-E", "-c", _LAUNCHER, *command]
    done = subprocess.run(launcher, input=content, stdout=subprocess.PIPE, env=environment, check=True)
    status, seconds, kibibytes = done.stdout.split()
    if int(status):
        raise ProcessFailed(f"{' '.join(command)} ended with {int(status)}.")
    return Spent(float(seconds), int(kibibytes) * 1024 / 1e6)


def description() -> str:
    """The machine and its versions in a few words, without any name of it."""
    cores = "1 core" if len(CORES) == 1 else f"{len(CORES)} cores"
    return (
        f"Machine: {cores} ({platform.machine()}), {MEGABYTES / 1e3:.0f} GB of memory, "
        f"{platform.system()}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}."
    )


@contextmanager
def pinned(*cores: int) -> Iterator[None]:
    """Run the block on these cores. A process that is started inside stays there."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def computed_seconds(pid: int) -> float:
    """Seconds of a core that a process and its descendants used, those that ended included.

    What runs is told to the nanosecond, what has ended in hundredths of a second.
    """
    seconds = 0.0
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for each in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess, OSError):
                times = each.cpu_times()
                seconds += time.clock_gettime(~each.pid << 3 | _SCHEDULED) + times.children_user + times.children_system
    return seconds


_SCHEDULED = 2
"""With a process id in the form that Linux has for it: the clock of the time for which that process ran."""


def foreign_seconds() -> float:
    """Seconds that all cores worked since the system started, less those that they worked for us."""
    whole = psutil.cpu_times()
    idle = whole.idle + getattr(whole, "iowait", 0.0) + getattr(whole, "guest", 0.0)
    return float(sum(whole) - idle - computed_seconds(os.getpid()))


def service_environment(data_dir: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """The environment of a measured service: its settings alone, no limits, and no register but one they name."""
    foreign = {name: value for name, value in os.environ.items() if not name.startswith("REGISTERWATCH_")}
    own = {"DATA_DIR": str(data_dir), "RATE_LIMITS": "off", "CACHE_HOURS": "100000"}
    own |= {"REGISTER_URL": NO_REGISTER, "DATALAKE_URL": NO_REGISTER, **settings}
    arenas = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "524288"}  # as the image and the units set it
    return foreign | arenas | {f"REGISTERWATCH_{name}": value for name, value in own.items()}


@contextmanager
def running(
    command: Sequence[object],
    log: Path,
    *,
    environment: Mapping[str, str] | None = None,
    cores: Sequence[int] = (),
    user: str | None = None,
) -> Iterator[psutil.Popen]:
    """A process, on these cores if any are named, that does not outlive the block. It writes its errors into `log`.

    It has a session of its own, so that Ctrl-C reaches it through us and nothing is left behind.
    """
    words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
    words += map(str, command)
    with open(log, "wb") as output, pinned(*cores) if cores else nullcontext():
        process = psutil.Popen(
            words, env=environment, stdout=output, stderr=output, stdin=subprocess.DEVNULL, start_new_session=True
        )
    try:
        yield process
    finally:
        for each in (signal.SIGTERM, signal.SIGKILL):  # also what it started itself, politely first
            with suppress(ProcessLookupError):
                os.killpg(process.pid, each)
            with suppress(psutil.TimeoutExpired):
                process.wait(END_SECONDS)


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: its port, the id of its first process."""

    port: int
    pid: int


@contextmanager
def answering(
    command: Sequence[object],
    log: Path,
    target: str,
    *,
    environment: Mapping[str, str] | None = None,
    cores: Sequence[int] = (),
) -> Iterator[Server]:
    """A server on a free port, which ends its command as `--port`, from its first answer to `target` on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with running([*command, "--port", port], log, environment=environment, cores=cores) as process:
        deadline = time.monotonic() + START_SECONDS
        while not _answers(port, target):
            if process.poll() is not None or time.monotonic() > deadline:
                raise ProcessFailed(f"There is no answer to {target}:\n{tail(log)}")
            time.sleep(0.005)
        yield Server(port, process.pid)


def _answers(port: int, target: str) -> bool:
    with (
        closing(http.client.HTTPConnection("127.0.0.1", port, timeout=START_SECONDS)) as connection,
        suppress(OSError, http.client.HTTPException),
    ):
        connection.request("GET", target)
        return connection.getresponse().status in (200, 304)
    return False


def tail(log: Path) -> str:
    """The end of what a process wrote."""
    return log.read_text(encoding="utf-8", errors="replace")[-2000:]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process and its children have at one time. Pages that two of them share count twice."""

    seconds: float  # since they are watched
    megabytes: float  # resident memory of all
    files: int  # open file descriptors


LOOKS_AT_ONCE = 20
"""Looks in the time of one, in the beginning: else a process that ends soon is seen only before it has begun."""


@contextmanager
def watched(process: psutil.Process, every: float = 0.2) -> Iterator[list[Usage]]:
    """What the process and its children have, from now on until the block ends.

    The first look is at once: on a busy machine the thread gets its turn when a short process has ended.
    """
    usages, done, began = list[Usage](), threading.Event(), time.monotonic()

    def look() -> None:
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            family = [process, *process.children(recursive=True)]
            megabytes = sum(each.memory_info().rss for each in family) / 1e6
            usages.append(Usage(time.monotonic() - began, megabytes, sum(each.num_fds() for each in family)))

    def look_again() -> None:
        while not done.wait(every if len(usages) > LOOKS_AT_ONCE else every / LOOKS_AT_ONCE):
            look()

    look()
    looking = threading.Thread(target=look_again)
    looking.start()
    try:
        yield usages
    finally:
        done.set()
        looking.join()
