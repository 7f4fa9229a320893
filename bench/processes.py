"""The processes that are measured: started, watched, and ended whatever happens."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import psutil

from bench.connection import Connection, Refused
from bench.machine import pinned

START_SECONDS = 120.0
END_SECONDS = 20.0
SAMPLE_SECONDS = 0.2


class ProcessFailed(Exception):
    """A process that is measured ended badly, or never answered."""


def registerwatch() -> str:
    """The installed command."""
    return str(Path(sys.executable).with_name("registerwatch"))


def service_environment(data_dir: Path, register_url: str, **settings: str) -> dict[str, str]:
    """The environment of a measured service: its settings alone, no limits, and no register but a local one."""
    foreign = {name: value for name, value in os.environ.items() if not name.startswith("REGISTERWATCH_")}
    own = {"DATA_DIR": str(data_dir), "RATE_LIMITS": "off", "CACHE_HOURS": "100000"}
    own |= {"REGISTER_URL": register_url, "DATALAKE_URL": NO_REGISTER, **settings}
    return foreign | {f"REGISTERWATCH_{name}": value for name, value in own.items()}


NO_REGISTER = "http://127.0.0.1:9"
"""Nobody listens there: what is measured against it must not need the register."""


@contextmanager
def running(
    command: Sequence[str], log: Path, *, environment: Mapping[str, str] | None = None, cores: Sequence[int] = ()
) -> Iterator[psutil.Popen]:
    """A process, on these cores if any are named, that does not outlive the block. It tells its troubles in `log`.

    It has a session of its own, so that Ctrl-C reaches it through us and nothing is left behind.
    """
    with open(log, "wb") as output, pinned(*cores) if cores else nullcontext():
        process = psutil.Popen(
            command, env=environment, stdout=output, stderr=output, stdin=subprocess.DEVNULL, start_new_session=True
        )
    try:
        yield process
    finally:
        end(process)


def end(process: psutil.Popen) -> None:
    """End a process and its children, politely first."""
    try:
        family = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        family = [process]
    for member in family:
        _signal(member, kill=False)
    _, alive = psutil.wait_procs(family, timeout=END_SECONDS)
    for member in alive:
        _signal(member, kill=True)
    process.wait()


def _signal(process: psutil.Process, *, kill: bool) -> None:
    try:
        if kill:
            process.kill()
        else:
            process.terminate()
    except psutil.NoSuchProcess:
        pass


def wait_until_answering(
    process: psutil.Popen, port: int, target: str, log: Path, *, statuses: Sequence[int] = (200,)
) -> Connection:
    """A connection over which `target` was answered with one of `statuses`."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ProcessFailed(f"It ended with {process.returncode}:\n{tail(log)}")
        try:
            connection = Connection(port)
        except OSError:
            time.sleep(0.005)
            continue
        try:
            if connection.get(target).status in statuses:
                return connection
        except (OSError, Refused):
            pass
        connection.close()
        time.sleep(0.005)
    raise ProcessFailed(f"It did not answer {target} within {START_SECONDS:.0f} s:\n{tail(log)}")


def tail(log: Path) -> str:
    """The end of what a process told."""
    return log.read_text(encoding="utf-8", errors="replace")[-2000:]


def free_port() -> int:
    """A port of the loopback that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Watch:
    """Samples a process and its children while the block runs: resident memory, summed, and the time they computed.

    Pages that two of them share count twice, so the sum errs on the high side.
    """

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._computed: dict[int, float] = {}
        self.peak_bytes = 0
        self.at_peak: list[int] = []
        """What each process had at the peak, the first one first."""

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    @property
    def computed_seconds(self) -> list[float]:
        """Seconds of a core that each process used, up to its last sample."""
        return list(self._computed.values())

    def _watch(self) -> None:
        while self._sampled() and not self._done.wait(SAMPLE_SECONDS):
            pass

    def _sampled(self) -> bool:
        try:
            family = [self._process, *self._process.children(recursive=True)]
        except psutil.NoSuchProcess:
            return False
        sizes = [self._sample(member) for member in family]
        if sum(sizes) > self.peak_bytes:
            self.peak_bytes, self.at_peak = sum(sizes), sizes
        return True

    def _sample(self, process: psutil.Process) -> int:
        try:
            with process.oneshot():
                times = process.cpu_times()
                self._computed[process.pid] = times.user + times.system
                return int(process.memory_info().rss)
        except psutil.NoSuchProcess:
            return 0
