"""A load generator for machines without `wrk`: `python -m bench.pounding PORT TARGETS SECONDS CONNECTIONS`."""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import uvloop

from bench.connection import request_bytes
from bench.figures import percentile


class Pounding(asyncio.Protocol):
    """One connection: sends a request, waits for the whole answer, sends the next."""

    def __init__(self, requests: Iterator[bytes], times: list[float], failures: list[str]) -> None:
        self._requests, self._times, self._failures = requests, times, failures
        self._received = bytearray()
        self._expected: int | None = None
        self._sent = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._expected is None:
            self._expected = self._length_of_answer()
        if self._expected is not None and len(self._received) >= self._expected:
            self._times.append(time.perf_counter() - self._sent)
            self._ask()

    def _ask(self) -> None:
        self._received.clear()
        self._expected = None
        self._sent = time.perf_counter()
        self._transport.write(next(self._requests))

    def _length_of_answer(self) -> int | None:
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return None
        status = bytes(self._received[9:12])
        if status not in (b"200", b"304"):
            self._failures.append(status.decode("latin-1"))
        head = bytes(self._received[:end]).lower()
        _, _, rest = head.partition(b"\r\ncontent-length:")
        return end + 4 + (int(rest.partition(b"\r\n")[0]) if rest and status != b"304" else 0)


async def pound(port: int, requests: list[bytes], seconds: float, connections: int) -> dict[str, float]:
    """Ask for some seconds; what `wrk` would tell."""
    times: list[float] = []
    failures: list[str] = []
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
    port, targets, seconds, connections = int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    host = f"127.0.0.1:{port}"
    lines = [line.split("\t") for line in targets.read_text(encoding="latin-1").splitlines()]
    requests = [request_bytes(target, host, {"If-None-Match": tag} if tag else None) for target, tag in lines]
    print(json.dumps(uvloop.run(pound(port, requests, seconds, connections))))


if __name__ == "__main__":
    main()
