"""Processes of the product that are forked from one which has loaded it: loading is nine tenths of a start.

What a program does is the same; that a fresh interpreter gets as far is for those tests to see which start one.
"""

import multiprocessing
import multiprocessing.forkserver
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["tests.support.preloaded"])


def start_server() -> None:
    """Start the process that all others are forked from, unless it runs; its memory is set up as that of the image."""
    before = os.environ.get("MALLOC_ARENA_MAX")
    os.environ["MALLOC_ARENA_MAX"] = "2"
    try:
        multiprocessing.forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["MALLOC_ARENA_MAX"]
        else:
            os.environ["MALLOC_ARENA_MAX"] = before


class ForkedProcess:
    """`registerwatch …`, with what is used of `subprocess.Popen`. It ends with the process of the tests at the latest.

    What it prints goes to the ends of two files. `later_migrations` make it a later version.
    """

    def __init__(
        self,
        words: Sequence[str],
        env: Mapping[str, str],
        *,
        out: Path | str = os.devnull,
        err: Path | str = os.devnull,
        later_migrations: Path | None = None,
    ) -> None:
        start_server()
        cores = os.sched_getaffinity(0)
        arguments = (list(words), dict(env), str(out), str(err), cores, later_migrations)
        self._process = context.Process(target=_run, args=arguments, daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.args = words
        self.pid: int = self._process.pid

    @property
    def returncode(self) -> int | None:
        """The code that it ended with, or the signal with a minus; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """The same."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """How it ended. Raises `TimeoutExpired`."""
        self._process.join(timeout)
        if (code := self._process.exitcode) is None:
            raise subprocess.TimeoutExpired(list(self.args), timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def _run(
    words: list[str], env: dict[str, str], out: str, err: str, cores: set[int], later_migrations: Path | None
) -> None:
    """The forked process: become what a new interpreter would be, and run the command."""
    os.sched_setaffinity(0, cores)
    for number, path in ((1, out), (2, err)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["registerwatch", *words]
    if later_migrations is not None:
        from registerwatch.db import migrate

        migrate.MIGRATIONS = later_migrations
    from registerwatch.cli import main

    main()
