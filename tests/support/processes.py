"""The product in processes of its own, as an operator starts it."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2

WAIT_SECONDS = 60.0
END_SECONDS = 30.0


def environment(data_dir: Path, database_url: str, **settings: str) -> dict[str, str]:
    """The environment of a process of the product: nothing of ours but these settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REGISTERWATCH_")}
    values = {"DATA_DIR": str(data_dir), "DATABASE_URL": database_url, "RATE_LIMITS": "off", **settings}
    return kept | {f"REGISTERWATCH_{name}": value for name, value in values.items()}


def command(*words: object) -> list[str]:
    """The command line of `registerwatch …`."""
    return [sys.executable, "-c", "from registerwatch.cli import main; main()", *map(str, words)]


def run(*words: object, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(command(*words), env=env, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False)


@contextmanager
def running(*words: object, env: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A command that goes on; ended at the end of the block however it went."""
    process = subprocess.Popen(command(*words), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        with suppress(subprocess.TimeoutExpired):
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to end; killed, and raises `TimeoutExpired`, where it does not."""
    process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(met: Callable[[], bool], what: str) -> None:
    """Look again and again until something is so; fails after a minute."""
    deadline = time.monotonic() + WAIT_SECONDS
    pause = 0.005
    while not met():
        assert time.monotonic() < deadline, f"in vain waited for: {what}"
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)


def answers(url: str) -> bool:
    """Whether an address answers with 200."""
    try:
        return httpx2.get(url, timeout=5).status_code == 200
    except httpx2.TransportError:
        return False
