"""Processes content of strangers in processes with bounds of time and memory and without the service's secrets.

The module that does the work ends with `sys.exit(answer_from_input(prepared, BOUNDS))`; `BoundedProcesses` starts it as
`python -I -m <module>`, with the content as its input. Before the process reads it, it gives up files, sockets and
other processes (`process_confinement.py`). Exit code 3: the content is refused, and the output says why.
"""

import asyncio
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Protocol

import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.platform.account_slots import AccountSlots, enter_within
from registerwatch.platform.db.run_uncancelled import run_uncancelled
from registerwatch.platform.process_confinement import confine

REFUSED = 3
QUICK_NICENESS, NICENESS = 4, 10
"""Niceness at first, and after `QUICK_SECONDS`: the service and others go first. Beside a busy service a process has a
third of a core, then a tenth. Most files take less than `QUICK_SECONDS` (docs/performance.md)."""
QUICK_SECONDS = 1.0


class ProcessBounds(msgspec.Struct, frozen=True):
    """The limits of one process."""

    cpu_seconds: int
    wall_seconds: float
    memory_bytes: int


class ProcessOutput(msgspec.Struct, frozen=True):
    """The output of a process, and the processor seconds that it took."""

    content: bytes
    seconds: float


class ProcessorBudget(Protocol):
    """Counts processor seconds by account."""

    async def require(self, account_id: int) -> None:
        """Raises `RateLimited` where the account has used its share."""

    async def spend(self, account_id: int, seconds: float) -> None:
        """Count processor seconds."""


class ProcessEnd:
    """Ends a process early, from any thread, also before it has begun."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_wanted = False

    def begun(self, process: subprocess.Popen[bytes]) -> None:
        """Set the process, and kill it if `end` was called."""
        with self._lock:
            self._process = process
            if self._is_wanted:
                process.kill()

    def end(self) -> None:
        """Kill the process, now or when it begins."""
        with self._lock:
            self._is_wanted = True
            if self._process is not None:
                self._process.kill()


RunProcess = Callable[[str, bytes, ProcessBounds, ProcessEnd], ProcessOutput]
"""The type of `run_process`."""

Work = Callable[[bytes], bytes]
"""Makes the output from the content. Raises `InvalidInput` to refuse it."""


class ProcessFailed(Exception):
    """The process exceeded a limit or crashed: its content is damaged, or made to be slow."""


class ContentRefused(InvalidInput):
    """The process refused its content, after `seconds` of the processor."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class BoundedProcesses:
    """Processes of one module, few at a time. An account and a client network have fewer still, so that slow content of
    one does not keep out others.
    """

    def __init__(
        self,
        module: str,
        bounds: ProcessBounds,
        *,
        most: int,
        most_per_account: int,
        most_per_network: int | None = None,
        wait_seconds: float,
        busy: str,
        budget: ProcessorBudget | None = None,
        run: RunProcess | None = None,
    ) -> None:
        """A content waits `wait_seconds` for a slot; then `Overloaded` says `busy`. `budget` counts processor time."""
        self._module = module
        self._bounds = bounds
        self._slots = AccountSlots(most=most, most_per_account=most_per_account, most_per_network=most_per_network)
        self._wait_seconds = wait_seconds
        self._busy = busy
        self._budget = budget
        self._run = run or run_process

    async def run(self, content: bytes, account_id: int, network: str | None = None) -> bytes:
        """The module's output for a content from a client network, if from any.

        Raises `InvalidInput` where the module refuses it, `ProcessFailed`, `Overloaded` where too many are running, and
        `RateLimited` where the account has used its share of the processor. Where it is cancelled, the process is
        killed. The slot is kept until the process has ended.
        """
        async with AsyncExitStack() as held:
            slot = self._slots.slot(account_id, network)
            await enter_within(self._wait_seconds, held, slot, otherwise=self._busy)
            if self._budget is not None:
                await self._budget.require(account_id)
            end = ProcessEnd()
            return await run_uncancelled(self._counted(content, account_id, end), on_cancel=end.end)

    async def _counted(self, content: bytes, account_id: int, end: ProcessEnd) -> bytes:
        """The module's output for a content. A process that reports no seconds is charged all that it may have used."""
        began, seconds = time.monotonic(), None
        try:
            output = await asyncio.to_thread(self._run, self._module, content, self._bounds, end)
            seconds = output.seconds
            return output.content
        except ContentRefused as refused:
            seconds = refused.seconds
            raise
        finally:
            if self._budget is not None:
                if seconds is None:
                    seconds = min(self._bounds.cpu_seconds, time.monotonic() - began)
                await self._budget.spend(account_id, seconds)


def run_process(module: str, content: bytes, bounds: ProcessBounds, end: ProcessEnd) -> ProcessOutput:
    """The output of a module for a content, from a process of its own. Raises `ContentRefused`, and `ProcessFailed`,
    also where `end` was called.
    """
    command = [sys.executable, "-I", "-m", module]
    try:
        code, written = _ended(command, content, bounds.wall_seconds, end)
    except subprocess.TimeoutExpired:
        raise ProcessFailed from None
    if code not in (0, REFUSED):
        raise ProcessFailed
    seconds, _, output = written.partition(b"\n")
    if code == REFUSED:
        raise ContentRefused(output.decode(), float(seconds))
    return ProcessOutput(output, float(seconds))


def _ended(command: Sequence[str], content: bytes, wall_seconds: float, end: ProcessEnd) -> tuple[int, bytes]:
    """The exit code and the output of a process. Raises `TimeoutExpired` after it is killed."""
    with subprocess.Popen(  # noqa: S603  # our own module
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # an error may repeat the content, which must not be logged
        env={},
    ) as process:
        end.begun(process)
        later = threading.Timer(QUICK_SECONDS, _lower_priority, (process,))
        try:
            later.start()
            output, _ = process.communicate(content, timeout=wall_seconds)  # once: a second call sends no more of it
            return process.returncode, output
        except BaseException:
            process.kill()
            raise
        finally:
            later.cancel()


def _lower_priority(process: subprocess.Popen[bytes]) -> None:
    """Let a process run after everything else on the machine."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            niceness = os.getpriority(os.PRIO_PROCESS, process.pid)
            os.setpriority(os.PRIO_PROCESS, process.pid, max(NICENESS, niceness))


def answer_from_input(prepared: Callable[[], Work], bounds: ProcessBounds) -> int:
    """Bound and confine this process, and run the work on its input. Writes a line with the processor seconds, then the
    output. Gives the exit code.

    `prepared` gives the work, and loads all that it needs: afterwards nothing can be imported.
    """
    os.nice(QUICK_NICENESS)
    _limit(resource.RLIMIT_CPU, bounds.cpu_seconds)
    _limit(resource.RLIMIT_AS, bounds.memory_bytes)
    _limit(resource.RLIMIT_FSIZE, 0)  # the content must not get into a file
    _limit(resource.RLIMIT_CORE, 0)
    work = prepared()
    confine()
    try:
        output, code = work(sys.stdin.buffer.read()), 0
    except InvalidInput as error:
        output, code = str(error).encode(), REFUSED
    sys.stdout.buffer.write(b"%.3f\n" % time.process_time() + output)
    return code


def _limit(what: int, most: int) -> None:
    """Lower a limit of this process; a lower one stays."""
    _, hard = resource.getrlimit(what)
    lowest = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (lowest, lowest))
