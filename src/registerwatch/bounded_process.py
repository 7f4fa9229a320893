"""Work on what strangers sent, in processes that have bounds of time and memory and none of the service's secrets.

The module that does the work ends with `sys.exit(answer_from_input(work, BOUNDS))`; `BoundedProcesses` starts it as
`python -I -m <module>`, with the content as its input. Exit code 3: the content is refused, and the output says why.
"""

import asyncio
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack

import msgspec

from registerwatch.db.run_uncancelled import run_uncancelled
from registerwatch.errors import InvalidInput
from registerwatch.net.account_places import AccountPlaces, enter_within

REFUSED = 3
NICENESS = 10
"""The service and others on the machine go first."""


class ProcessBounds(msgspec.Struct, frozen=True):
    """What one process may use."""

    cpu_seconds: int
    wall_seconds: float
    memory_bytes: int


RunProcess = Callable[[str, bytes, ProcessBounds], bytes]
"""As `run_process`."""


class ProcessFailed(Exception):
    """The process used more than it may, or broke down: its content is damaged, or made to be slow."""


class BoundedProcesses:
    """Processes of one module, few at a time; of an account fewer still, else one that sends slow content would let no
    others in.
    """

    def __init__(
        self,
        module: str,
        bounds: ProcessBounds,
        *,
        most: int,
        most_per_account: int,
        wait_seconds: float,
        busy: str,
        run: RunProcess | None = None,
    ) -> None:
        """`wait_seconds` is how long a content waits for those before it; then `busy` is said."""
        self._module = module
        self._bounds = bounds
        self._places = AccountPlaces(most=most, most_per_account=most_per_account)
        self._wait_seconds = wait_seconds
        self._busy = busy
        self._run = run or run_process

    async def run(self, content: bytes, account_id: int) -> bytes:
        """What the module makes of a content.

        Raises `InvalidInput` where it refuses it, `ProcessFailed`, and `Overloaded` where too many are under way. The
        place is kept until the process has ended, also where nobody waits for it any more.
        """
        async with AsyncExitStack() as held:
            await enter_within(self._wait_seconds, held, self._places.place(account_id), otherwise=self._busy)
            return await run_uncancelled(asyncio.to_thread(self._run, self._module, content, self._bounds))


def run_process(module: str, content: bytes, bounds: ProcessBounds) -> bytes:
    """What a module makes of a content, in a process of its own. Raises `InvalidInput`, `ProcessFailed`."""
    command = [sys.executable, "-I", "-m", module]
    try:
        done = subprocess.run(  # noqa: S603  # our own module
            command,
            input=content,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # an error may repeat what was sent, which no log is to have
            timeout=bounds.wall_seconds,
            check=False,
            env={},
        )
    except subprocess.TimeoutExpired:
        raise ProcessFailed from None
    if done.returncode == REFUSED:
        raise InvalidInput(done.stdout.decode())
    if done.returncode:
        raise ProcessFailed
    return done.stdout


def answer_from_input(work: Callable[[bytes], bytes], bounds: ProcessBounds) -> int:
    """Bound this process, and write what `work` makes of its input. Gives the exit code."""
    os.nice(NICENESS)
    _limit(resource.RLIMIT_CPU, bounds.cpu_seconds)
    _limit(resource.RLIMIT_AS, bounds.memory_bytes)
    _limit(resource.RLIMIT_FSIZE, 0)  # nothing of the content is to be in a file
    _limit(resource.RLIMIT_CORE, 0)
    try:
        output, code = work(sys.stdin.buffer.read()), 0
    except InvalidInput as error:
        output, code = str(error).encode(), REFUSED
    sys.stdout.buffer.write(output)
    return code


def _limit(what: int, most: int) -> None:
    """Lower a limit of this process; one that is lower already stays."""
    _, hard = resource.getrlimit(what)
    lowest = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (lowest, lowest))
