"""Requests, a client that sends them one by one, and `wrk`, which sends them as fast as they are answered."""

import http.client
import json
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from bench.figures import Figure
from bench.processes import LOAD_CORE, ProcessFailed, computed_seconds, pinned

SCRIPT = Path(__file__).with_name("load.lua")
CONNECTIONS = 16
TIMEOUT_SECONDS = 60  # for which an answer is waited for: a password takes a while where many are compared


class Request(msgspec.Struct, frozen=True):
    """What is asked."""

    target: str
    headers: dict[str, str] = {}
    body: bytes = b""
    method: str = "GET"


class Answer(msgspec.Struct, frozen=True):
    """A whole answer. Header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """A client of a server on the loopback, over one connection, with one request at a time."""

    def __init__(self, port: int, timeout: float = TIMEOUT_SECONDS) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self.close = self._connection.close

    def ask(self, request: Request) -> Answer:
        """Send a request, wait for its whole answer. Raises `OSError` and `HTTPException`."""
        self._connection.request(request.method, request.target, request.body or None, request.headers)
        answer = self._connection.getresponse()
        body = answer.read()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, body)

    def expect(self, request: Request) -> Answer:
        """The answer, which must be a 200. Raises `ProcessFailed` where it is none."""
        answer = self.ask(request)
        if answer.status != 200:
            raise ProcessFailed(f"{request.target} was answered with {answer.status}: {answer.body[:500]!r}")
        return answer

    def json(self, target: str) -> Any:
        """The content of the answer to a GET, which must be a 200."""
        return msgspec.json.decode(self.expect(Request(target)).body)


def device_requests(udis: Sequence[str]) -> list[Request]:
    """A read of each device."""
    return [Request(f"/v1/devices/{quote(udi, safe='')}") for udi in udis]


def actor_requests(srns: Sequence[str]) -> list[Request]:
    """A read of each actor."""
    return [Request(f"/v1/actors/{quote(srn, safe='')}") for srn in srns]


def unchanged_requests(port: int, requests: Sequence[Request]) -> list[Request]:
    """The same reads by a client that has the answers already."""
    with closing(Client(port)) as client:
        return [Request(each.target, {"If-None-Match": client.expect(each).headers["etag"]}) for each in requests]


def post(target: str, content: object, headers: Mapping[str, str] | None = None) -> Request:
    """A POST of JSON."""
    own = {**(headers or {}), "Content-Type": "application/json"}
    return Request(target, own, msgspec.json.encode(content), "POST")


def tool_call(name: str, **arguments: object) -> Request:
    """A call of a tool at the tool endpoint."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return post("/mcp", call)


def rate(port: int, requests: Sequence[Request], seconds: float, connections: int = CONNECTIONS) -> Figure:
    """Requests per second of `wrk` on the load's core, over kept-alive connections. Raises `ProcessFailed`."""
    options = ["-t1", f"-c{connections}", f"-d{ceil(seconds)}s", f"--timeout={TIMEOUT_SECONDS}s", "-s", str(SCRIPT)]
    with tempfile.NamedTemporaryFile() as file, pinned(LOAD_CORE):
        file.write(b"\0".join(map(_as_sent, requests)))
        file.flush()
        command = ["wrk", *options, f"http://127.0.0.1:{port}", "--", file.name]
        done = _wrk(command, seconds)
    if done.returncode != 0:
        raise ProcessFailed(f"wrk failed:\n{done.stdout}{done.stderr}")
    found = json.loads(done.stdout.splitlines()[-1])
    if found["failures"] or not found["samples"]:
        raise ProcessFailed(f"{found['failures']} of {found['samples']} requests failed:\n{done.stdout}{done.stderr}")
    details = {name: found[name] for name in ("p50_ms", "p99_ms", "max", "samples")}
    return Figure(found["samples"] / found["seconds"], "requests/s", {**details, "connections": connections})


def rate_with_cost(
    port: int, pids: Sequence[int], requests: Sequence[Request], seconds: float, connections: int = CONNECTIONS
) -> Figure:
    """The same with `cpu_ms`: what the core computed for these processes, divided by the requests."""
    before = sum(map(computed_seconds, pids))
    figure = rate(port, requests, seconds, connections)
    cost = (sum(map(computed_seconds, pids)) - before) * 1e3 / float(figure.details["samples"])
    return replace(figure, details={**figure.details, "cpu_ms": cost})


def _wrk(command: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """Run wrk for so long. It is told whole seconds; where they are more, it is interrupted, and tells what it has."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        try:
            output, errors = process.communicate(timeout=seconds if seconds < ceil(seconds) else None)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _as_sent(request: Request) -> bytes:
    """A request as it goes over the wire. No server that is measured looks at the `Host`."""
    length = {"Content-Length": len(request.body)} if request.body else {}
    fields = {"Host": "127.0.0.1", **request.headers, **length}
    lines = [f"{request.method} {request.target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + request.body
