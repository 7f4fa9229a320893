"""Asking a server as fast as it answers, from a process on the other core: `wrk` where it is installed, else ours."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec

from bench.connection import Request
from bench.figures import Figure
from bench.machine import LOAD_CORE, pinned
from bench.processes import ProcessFailed

SCRIPT = Path(__file__).with_name("load.lua")
CONNECTIONS = 16
LONGEST_WAIT = 60
"""Seconds for which `wrk` waits for an answer: a password takes a while where many are compared."""
BETWEEN = b"\0"
"""Stands between the requests of a file."""


class Outcome(msgspec.Struct, frozen=True):
    """What a load generator tells. Latencies are in seconds."""

    requests: int
    seconds: float
    p50: float
    p99: float
    max: float
    failures: int


def generator() -> str:
    """Which load generator is used."""
    return "wrk" if shutil.which("wrk") else "the bench's own load generator (wrk is not installed)"


def write_requests(requests: Iterable[Request], path: Path) -> Path:
    """A file of requests as they go over the wire, which a load generator sends in turn."""
    path.write_bytes(BETWEEN.join(request.as_sent() for request in requests))
    return path


def read_requests(path: Path) -> list[bytes]:
    """The requests of a file."""
    return path.read_bytes().split(BETWEEN)


def rate(port: int, requests: Path, *, seconds: int, connections: int = CONNECTIONS) -> Figure:
    """Requests per second over some kept-alive connections without pipelining. Raises `ProcessFailed`."""
    command = _wrk if shutil.which("wrk") else _own
    with pinned(LOAD_CORE):
        done = subprocess.run(
            command(port, requests, seconds, connections), capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        raise ProcessFailed(f"The load generator failed:\n{done.stdout}{done.stderr}")
    outcome = msgspec.convert(json.loads(done.stdout.splitlines()[-1]), Outcome)
    if outcome.failures:
        raise ProcessFailed(f"{outcome.failures} of {outcome.requests} requests failed:\n{done.stdout}{done.stderr}")
    times = {"p50_ms": outcome.p50 * 1e3, "p99_ms": outcome.p99 * 1e3, "max": outcome.max * 1e3}
    counts = {"connections": connections, "samples": outcome.requests}
    return Figure(outcome.requests / outcome.seconds, "requests/s", {**times, **counts})


def _wrk(port: int, requests: Path, seconds: int, connections: int) -> list[str]:
    options = ["-t1", f"-c{connections}", f"-d{seconds}s", f"--timeout={LONGEST_WAIT}s", "--latency", "-s", str(SCRIPT)]
    return ["wrk", *options, f"http://127.0.0.1:{port}", "--", str(requests)]


def _own(port: int, requests: Path, seconds: int, connections: int) -> list[str]:
    return [sys.executable, "-m", "bench.pounding", str(port), str(requests), str(seconds), str(connections)]
