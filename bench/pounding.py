"""A load generator for machines without `wrk`: `python -m bench.pounding PORT REQUESTS SECONDS CONNECTIONS`."""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import uvloop

from bench.exchange import Exchange
from bench.figures import percentile
from bench.load import read_requests


class Pounding(Exchange):
    """One connection: sends a request, waits for the whole answer, sends the next."""

    def __init__(self, requests: Iterator[bytes], times: list[float], failures: list[int]) -> None:
        super().__init__()
        self._requests, self._times, self._failures = requests, times, failures
        self._sent = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._ask()

    def answered(self, status: int) -> None:
        self._times.append(time.perf_counter() - self._sent)
        if status not in (200, 304):
            self._failures.append(status)
        self._ask()

    def _ask(self) -> None:
        self._sent = time.perf_counter()
        self.send(next(self._requests))


async def pound(port: int, requests: list[bytes], seconds: float, connections: int) -> dict[str, float]:
    """Ask for some seconds; what `wrk` would tell."""
    times: list[float] = []
    failures: list[int] = []
    turn = cycle(requests)
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    opened = [
        await loop.create_connection(lambda: Pounding(turn, times, failures), "127.0.0.1", port)
        for _ in range(connections)
    ]
    await asyncio.sleep(seconds)
    taken = time.perf_counter() - started
    for transport, _ in opened:
        transport.abort()
    spread = {"p50": percentile(times, 50), "p99": percentile(times, 99), "max": max(times)}
    return {"requests": len(times), "seconds": taken, **spread, "failures": len(failures)}


def main() -> None:
    """Pound and tell the result as JSON."""
    port, requests, seconds, connections = int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    print(json.dumps(uvloop.run(pound(port, read_requests(requests), seconds, connections))))


if __name__ == "__main__":
    main()
