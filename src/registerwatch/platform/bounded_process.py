"""Work on what strangers sent, in processes that have bounds of time and memory and none of the service's secrets.

The module that does the work ends with `sys.exit(answer_from_input(prepared, BOUNDS))`; `BoundedProcesses` starts it as
`python -I -m <module>`, with the content as its input. Before it reads that, it gives up files, sockets and other
processes (`process_confinement.py`). Exit code 3: the content is refused, and the output says why.
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
"""The service and others on the machine go first: beside a busy service a process has a third of a core, and after
`QUICK_SECONDS` a tenth. Most files need no longer (docs/performance.md)."""
QUICK_SECONDS = 1.0


class ProcessBounds(msgspec.Struct, frozen=True):
    """What one process may use."""

    cpu_seconds: int
    wall_seconds: float
    memory_bytes: int


class ProcessOutput(msgspec.Struct, frozen=True):
    """What a process made of its content, and the seconds of the processor that it took."""

    content: bytes
    seconds: float


class ProcessorBudget(Protocol):
    """Counts what processes take, by account."""

    async def require(self, account_id: int) -> None:
        """Raises `RateLimited` where the account has used its share."""

    async def spend(self, account_id: int, seconds: float) -> None:
        """Note seconds of the processor."""


class ProcessEnd:
    """Ends a process early, from any thread: the one that is under way, or one that begins later."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_wanted = False

    def begun(self, process: subprocess.Popen[bytes]) -> None:
        """Note which process it is."""
        with self._lock:
            self._process = process
            if self._is_wanted:
                process.kill()

    def end(self) -> None:
        """Kill the process."""
        with self._lock:
            self._is_wanted = True
            if self._process is not None:
                self._process.kill()


RunProcess = Callable[[str, bytes, ProcessBounds, ProcessEnd], ProcessOutput]
"""As `run_process`."""

Work = Callable[[bytes], bytes]
"""What a process makes of its content. Raises `InvalidInput` where it refuses it."""


class ProcessFailed(Exception):
    """The process used more than it may, or broke down: its content is damaged, or made to be slow."""


class ContentRefused(InvalidInput):
    """The process refused its content, after so many seconds of the processor."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class BoundedProcesses:
    """Processes of one module, few at a time; of an account and of a client network fewer still, else one that sends
    slow content would let no others in.
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
        """`wait_seconds` is how long a content waits for those before it; then `busy` is said. `budget` counts what
        processes take.
        """
        self._module = module
        self._bounds = bounds
        self._slots = AccountSlots(most=most, most_per_account=most_per_account, most_per_network=most_per_network)
        self._wait_seconds = wait_seconds
        self._busy = busy
        self._budget = budget
        self._run = run or run_process

    async def run(self, content: bytes, account_id: int, network: str | None = None) -> bytes:
        """What the module makes of a content, which came from a network, if from any.

        Raises `InvalidInput` where it refuses it, `ProcessFailed`, `Overloaded` where too many are under way, and
        `RateLimited` where the account has used its share of the processor. Where it is cancelled, the process is
        killed. The place is kept until the process has ended.
        """
        async with AsyncExitStack() as held:
            slot = self._slots.slot(account_id, network)
            await enter_within(self._wait_seconds, held, slot, otherwise=self._busy)
            if self._budget is not None:
                await self._budget.require(account_id)
            end = ProcessEnd()
            return await run_uncancelled(self._counted(content, account_id, end), on_cancel=end.end)

    async def _counted(self, content: bytes, account_id: int, end: ProcessEnd) -> bytes:
        """What the module makes of a content. A process that did not say what it took counts as it may have taken."""
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
    """What a module makes of a content, in a process of its own. Raises `ContentRefused`, and `ProcessFailed`, also
    where it was ended.
    """
    command = [sys.executable, "-I", "-m", module]
    try:
        code, told = _ended(command, content, bounds.wall_seconds, end)
    except subprocess.TimeoutExpired:
        raise ProcessFailed from None
    if code not in (0, REFUSED):
        raise ProcessFailed
    seconds, _, output = told.partition(b"\n")
    if code == REFUSED:
        raise ContentRefused(output.decode(), float(seconds))
    return ProcessOutput(output, float(seconds))


def _ended(command: Sequence[str], content: bytes, wall_seconds: float, end: ProcessEnd) -> tuple[int, bytes]:
    """The exit code of a process and what it wrote. Raises `TimeoutExpired`; then it is killed."""
    with subprocess.Popen(  # noqa: S603  # our own module
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # an error may repeat what was sent, which no log is to have
        env={},
    ) as process:
        end.begun(process)
        later = threading.Timer(QUICK_SECONDS, _let_go_last, (process,))
        try:
            later.start()
            told, _ = process.communicate(content, timeout=wall_seconds)  # once: a second call sends no more of it
            return process.returncode, told
        except BaseException:
            process.kill()
            raise
        finally:
            later.cancel()


def _let_go_last(process: subprocess.Popen[bytes]) -> None:
    """Let everything else on the machine go before a process."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            niceness = os.getpriority(os.PRIO_PROCESS, process.pid)
            os.setpriority(os.PRIO_PROCESS, process.pid, max(NICENESS, niceness))


def answer_from_input(prepared: Callable[[], Work], bounds: ProcessBounds) -> int:
    """Bound and confine this process, and write the seconds of the processor that it took, in a line, and what the work
    makes of its input. Gives the exit code.

    `prepared` gives the work, and loads all that it needs: afterwards nothing can be imported.
    """
    os.nice(QUICK_NICENESS)
    _limit(resource.RLIMIT_CPU, bounds.cpu_seconds)
    _limit(resource.RLIMIT_AS, bounds.memory_bytes)
    _limit(resource.RLIMIT_FSIZE, 0)  # nothing of the content is to be in a file
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
    """Lower a limit of this process; one that is lower already stays."""
    _, hard = resource.getrlimit(what)
    lowest = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (lowest, lowest))
