"""Processes content of strangers in processes with bounds of time and memory and without the service's secrets.

The module that does the work ends with `answer_contents(prepared, BOUNDS)`, which makes it a template of processes
(`process_template.py`), one for each content. Before a process reads its content, it gives up files, sockets and other
processes (`process_confinement.py`).
"""

import asyncio
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from functools import partial
from typing import Protocol

import msgspec
import structlog

from registerwatch.errors import InvalidInput, Overloaded
from registerwatch.platform.account_slots import AccountSlots, enter_within
from registerwatch.platform.db.run_uncancelled import run_uncancelled
from registerwatch.platform.process_confinement import confine
from registerwatch.platform.process_template import serve_copies, template_of

MADE, REFUSED = "made", "refused"
QUICK_NICENESS, NICENESS = 4, 10
"""Niceness at first, and after `QUICK_SECONDS`: the service and others go first. Beside a busy service a process has a
third of a core, then a tenth. Most files take less than `QUICK_SECONDS` (docs/performance.md)."""
QUICK_SECONDS = 1.0
BEGIN_SECONDS = 30.0
"""How long a process may take to begin: some milliseconds, and the first one of its module as long as that loads."""
NO_PROCESS = "This cannot be read at the moment: the machine can start no process. Try again in a minute."

log = structlog.get_logger(__name__)


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
        self._pid: int | None = None
        self._is_wanted = False

    @contextmanager
    def of(self, pid: int) -> Iterator[None]:
        """While the block goes on, `end` kills this process; an error in the block does, too."""
        with self._lock:
            self._pid = pid
            if self._is_wanted:
                _kill(pid)
        try:
            yield
        except BaseException:
            _kill(pid)
            raise
        finally:
            with self._lock:
                self._pid = None

    def end(self) -> None:
        """Kill the process, now or when it begins."""
        with self._lock:
            self._is_wanted = True
            if self._pid is not None:
                _kill(self._pid)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


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
        """The module's output for a content. A process that could not begin is charged nothing, one that reports no
        seconds all that it may have used.
        """
        began, seconds = time.monotonic(), None
        try:
            output = await asyncio.to_thread(self._run, self._module, content, self._bounds, end)
            seconds = output.seconds
            return output.content
        except ContentRefused as refused:
            seconds = refused.seconds
            raise
        except Overloaded:
            seconds = 0.0
            raise
        finally:
            if self._budget is not None:
                if seconds is None:
                    seconds = min(self._bounds.cpu_seconds, time.monotonic() - began)
                await self._budget.spend(account_id, seconds)


def run_process(module: str, content: bytes, bounds: ProcessBounds, end: ProcessEnd) -> ProcessOutput:
    """The output of a module for a content, from a process of its own. Raises `ContentRefused`; `ProcessFailed`, also
    where `end` was called; and `Overloaded` where no process can be begun, which is not the content's fault.
    """
    connection, pid = _begun(module)
    try:
        written = _written(connection, pid, content, bounds.wall_seconds, end)
        head, _, output = written.partition(b"\n")
        outcome, seconds = head.decode().split()
    except (OSError, ValueError):
        raise ProcessFailed from None
    if outcome == REFUSED:
        raise ContentRefused(output.decode(), float(seconds))
    return ProcessOutput(output, float(seconds))


def _written(connection: socket.socket, pid: int, content: bytes, wall_seconds: float, end: ProcessEnd) -> bytes:
    """What a process wrote. Raises `OSError`, such as a timeout, after which it is killed."""
    later = threading.Timer(QUICK_SECONDS, _lower_priority, (pid,))
    with connection, end.of(pid):
        later.start()
        try:
            connection.settimeout(wall_seconds)
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)
            with connection.makefile("rb") as answer:
                return answer.read()
        finally:
            later.cancel()


def _begun(module: str) -> tuple[socket.socket, int]:
    """The connection to a new process, and its id. Raises `Overloaded`."""
    template = template_of(module)
    for _ in range(2):  # the template may just have ended, as where memory was short
        with suppress(OSError, ValueError), ExitStack() as opened:
            connection = opened.enter_context(template.copy())
            connection.settimeout(BEGIN_SECONDS)
            pid = int(_line(connection))
            opened.pop_all()
            return connection, pid
    log.error("no process can be started", module=module)
    raise Overloaded(NO_PROCESS)


def _line(connection: socket.socket) -> bytes:
    """The first line, without what follows."""
    line = b""
    while (sign := connection.recv(1)) not in (b"", b"\n"):
        line += sign
    return line


def _lower_priority(pid: int) -> None:
    """Let a process run after everything else on the machine."""
    with suppress(ProcessLookupError):
        niceness = os.getpriority(os.PRIO_PROCESS, pid)
        os.setpriority(os.PRIO_PROCESS, pid, max(NICENESS, niceness))


def answer_contents(prepared: Callable[[], Work], bounds: ProcessBounds) -> None:
    """In the template of a module: load all that the work needs, which `prepared` does and gives the work; then answer
    each content in a process of its own.
    """
    os.nice(QUICK_NICENESS)
    serve_copies(partial(_answer, prepared(), bounds))


def _answer(work: Work, bounds: ProcessBounds, connection: int) -> None:
    """Bound and confine this process, and run the work on a content. Writes a line with the outcome and the processor
    seconds, then the output.
    """
    _limit(resource.RLIMIT_CPU, bounds.cpu_seconds)
    _limit(resource.RLIMIT_AS, bounds.memory_bytes)
    _limit(resource.RLIMIT_FSIZE, 0)  # the content must not get into a file
    _limit(resource.RLIMIT_CORE, 0)
    with open(connection, "rb", closefd=False) as reader, open(connection, "wb", closefd=False) as writer:
        confine()
        try:
            output, outcome = work(reader.read()), MADE
        except InvalidInput as error:
            output, outcome = str(error).encode(), REFUSED
        writer.write(b"%s %.3f\n" % (outcome.encode(), time.process_time()) + output)


def _limit(what: int, most: int) -> None:
    """Lower a limit of this process; a lower one stays."""
    _, hard = resource.getrlimit(what)
    lowest = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (lowest, lowest))
