"""How long a reader waits while many sign in at once: steady reads over one connection, bursts of logins beside them.

Reads are paced, so that what is measured is waiting for others and not how much the service can do.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from itertools import cycle, islice

import uvloop

from bench.connection import Refused, Request
from bench.exchange import line
from bench.figures import Figure, latencies
from bench.machine import LOAD_CORE, pinned
from bench.processes import ProcessFailed
from bench.settings import no_collection

READS_PER_SECOND = 200
BURST = 50
LONGEST_WAIT = 60.0
"""Seconds after the end of a round within which everything has been answered."""


def waiting(port: int, reads: Sequence[Request], logins: Sequence[Request], seconds: float) -> Figure:
    """How long reads take while `BURST` logins are sent at once, and again as soon as all are answered.

    Without `logins` nothing goes on beside the reads. Raises `ProcessFailed`.
    """
    sent = [read.as_sent() for read in reads], [login.as_sent() for login in logins]
    try:
        with pinned(LOAD_CORE), no_collection():
            return uvloop.run(_waiting(port, *sent, seconds))
    except (OSError, Refused) as error:
        raise ProcessFailed(f"Reads or logins were not answered: {error!r}") from error


async def _waiting(port: int, reads: Sequence[bytes], logins: Sequence[bytes], seconds: float) -> Figure:
    began = time.perf_counter()
    async with asyncio.timeout(seconds + LONGEST_WAIT):
        times, signed_in = await asyncio.gather(
            read_steadily(port, reads, round(seconds * READS_PER_SECOND)), _bursts(port, logins, began + seconds)
        )
    return latencies(times, logins_per_second=signed_in / (time.perf_counter() - began))


async def read_steadily(port: int, reads: Sequence[bytes], count: int) -> list[float]:
    """Seconds that each read took.

    A read that was due while the one before it still waited counts from when it was due.
    """
    times = []
    async with line(port) as reader:
        began = time.perf_counter()
        for number, read in enumerate(islice(cycle(reads), count)):
            asked = began + number / READS_PER_SECOND
            early = asked - time.perf_counter()
            if early > 0:
                await asyncio.sleep(early)
                asked = time.perf_counter()
            _expect_success([await reader.ask(read)])
            times.append(time.perf_counter() - asked)
    return times


async def _bursts(port: int, logins: Sequence[bytes], ends: float) -> int:
    """Bursts until it ends; how many signed in. The last burst is answered in full, so that nothing is left behind."""
    signed_in = 0
    while logins and time.perf_counter() < ends:
        async with AsyncExitStack() as stack:
            lines = [await stack.enter_async_context(line(port)) for _ in range(BURST)]
            sent = [each.ask(login) for each, login in zip(lines, cycle(logins), strict=False)]
            _expect_success(await asyncio.gather(*sent))
        signed_in += BURST
    return signed_in


def _expect_success(statuses: Sequence[int]) -> None:
    failed = [status for status in statuses if status != 200]
    if failed:
        raise ProcessFailed(f"{len(failed)} of {len(statuses)} requests were answered with {failed[0]}.")
