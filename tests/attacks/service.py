"""A service that is attacked: a process of its own on one core, somebody's account, and how others fare meanwhile."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx2
import psutil

from tests.journeys.fleet import Node
from tests.journeys.held_servers import Register, register
from tests.support import processes
from tests.support.paces import start_fast

MAX_GROWTH = 40 << 20
"""Bytes of memory that an attack may leave behind. Hashing a password maps 19 MB in each of two arenas, which stay so:
one of them may be mapped before an attack.
"""
MAX_WAIT = 50.0
"""Milliseconds that 99 of 100 requests of others wait at most for an attack: on a machine that does other work, so much
longer than just before it.
"""
SECONDS_AT_REST = 2.0
SETTLING_SECONDS = 20.0

_addresses = count(1)


@dataclass(frozen=True, slots=True)
class Length:
    """How long attacks go on. In the short form nothing is judged by the clock."""

    seconds: float
    is_timed: bool

    def times(self, short: int, full: int) -> int:
        """How often something is done."""
        return full if self.is_timed else short


SHORT = Length(0.2, is_timed=False)
FULL = Length(10.0, is_timed=True)


@dataclass(frozen=True, slots=True)
class Effect:
    """What an attack did to others: waits in milliseconds, bytes of memory that it left, seconds of CPU, failures."""

    name: str
    waits_at_rest: list[float]
    waits: list[float]
    grown: int
    computed: float
    failures: list[str]

    @property
    def delay(self) -> float:
        """How much longer 99 of 100 requests waited at most than at rest, in milliseconds."""
        return _p99(self.waits) - _p99(self.waits_at_rest)

    def __str__(self) -> str:
        waits = f"others' p99 {_p99(self.waits):.0f} ms of {len(self.waits)} (at rest {_p99(self.waits_at_rest):.0f})"
        longest = f"longest {max(self.waits, default=0):.0f} ms"
        return f"{self.name}: {waits}, {longest}; memory {self.grown / 2**20:+.0f} MB; {self.computed:.1f} s of CPU"


@dataclass
class AttackedService:
    """A running service, the register behind it, and the account of somebody who has nothing to do with an attack."""

    node: Node
    register: Register
    length: Length
    folder: Path
    key: str = ""
    subject: str = ""
    effects: list[Effect] = field(default_factory=list)
    _client: httpx2.Client = field(
        default_factory=partial(httpx2.Client, timeout=60, limits=httpx2.Limits(max_keepalive_connections=0))
    )

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.node.url.rpartition(":")[2])

    def sign_up(self, *, address: str = "") -> str:
        """The API key of a new account."""
        who = {"email": f"somebody{next(_addresses)}@trial.example", "password": "correct horse"}
        answer = self.node.ask("/v1/trial", who, address=address)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["api_key"])

    def browser_session(self, email: str, password: str = "correct horse") -> str:
        """The session of a browser in which a user signs in."""
        headers = {"Sec-Fetch-Site": "same-origin", "X-Forwarded-For": new_address()}
        fields = {"email": email, "password": password}
        with httpx2.Client(timeout=60) as browser:
            answer = browser.post(f"{self.node.url}/login", data=fields, headers=headers)
        assert answer.status_code == 303, answer.text
        return str(answer.cookies["session"])

    def request(
        self,
        method: str,
        path: str,
        *,
        key: str = "",
        address: str = "",
        headers: Mapping[str, str] | None = None,
        content: bytes | Iterable[bytes] | None = None,
        fields: object = None,
    ) -> httpx2.Response:
        """The answer to any request, from an address of its own where none is named. Raises `TransportError`."""
        named = {"X-Forwarded-For": address or new_address(), **({"X-API-Key": key} if key else {}), **(headers or {})}
        return self._client.request(method, f"{self.node.url}{path}", headers=named, content=content, json=fields)

    def number(self) -> int:
        """A number that nobody had before."""
        return next(_addresses)

    def connect(self) -> socket.socket:
        """A connection on which anything can be sent."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def rounds(self) -> Iterator[int]:
        """The numbers of rounds of an attack, which goes on for as long as it should."""
        ends = time.monotonic() + self.length.seconds
        for number in count():
            if number and time.monotonic() > ends:
                return
            yield number

    @contextmanager
    def attacked(self, name: str) -> Iterator[None]:
        """Ask for other people while the block goes on, then judge how they fared and what is left of the attack."""
        at_rest = self._asked_for_others()
        if self.length.is_timed:
            time.sleep(SECONDS_AT_REST)
        waits_at_rest = at_rest.ended()["waits"]
        before, computed = self._memory(), self._computed()
        others = self._asked_for_others()
        try:
            with _on_core(max):
                yield
        finally:
            seen = others.ended()
        self._settle(before)
        grown, spent = self._memory() - before, self._computed() - computed
        effect = Effect(name, waits_at_rest, seen["waits"], grown, spent, seen["failures"])
        self.effects.append(effect)
        self._judge(effect)

    def _asked_for_others(self) -> "_SteadyRequests":
        paths = [f"/v1/devices/{self.subject}", "/v1/search?q=set", "/v1/me", "/v1/watches"]
        return _SteadyRequests([str(self.port), self.key, *paths])

    def _judge(self, effect: Effect) -> None:
        assert not effect.failures, effect.failures[:5]
        assert effect.grown <= MAX_GROWTH, effect
        assert not self.length.is_timed or effect.delay <= MAX_WAIT, effect

    def _settle(self, before: int) -> None:
        deadline = time.monotonic() + SETTLING_SECONDS
        while self._memory() > before + MAX_GROWTH and time.monotonic() < deadline:
            time.sleep(0.1)

    def _memory(self) -> int:
        return int(sum(each.memory_info().rss for each in self._processes()))

    def _computed(self) -> float:
        return float(sum(sum(each.cpu_times()[:2]) for each in self._processes()))

    def _processes(self) -> list[psutil.Process]:
        main = psutil.Process(self.node.pid)
        return [main, *main.children(recursive=True)]


class _SteadyRequests:
    """The process that asks for others; it tells what it saw when it is ended."""

    def __init__(self, words: list[str]) -> None:
        command = [sys.executable, "-m", "tests.attacks.steady", *words]
        root = Path(__file__).parents[2]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root)

    def ended(self) -> dict[str, Any]:
        """Waits in milliseconds, and failures."""
        told, _ = self._process.communicate(timeout=120)
        seen: dict[str, Any] = json.loads(told)
        return seen


def _p99(waits: list[float]) -> float:
    """Of 100 requests one waited longer."""
    return quantiles(waits, n=100)[-1] if len(waits) > 1 else 0.0


@contextmanager
def attacked_service(folder: Path, database_url: str, length: Length, **settings: str) -> Iterator[AttackedService]:
    """A service on one core, with rate limits, behind a proxy that is trusted, so that attackers have addresses."""
    with ExitStack() as parts:
        world = parts.enter_context(register(seed=23))
        values = {
            "REGISTER_URL": f"{world.url}/eudamed",
            "DATALAKE_URL": f"{world.url}/datalake",
            "REGISTER_REQUESTS_PER_MINUTE": "1000000",
            "DATALAKE_REQUESTS_PER_MINUTE": "1000000",
            "RATE_LIMITS": "on",
            "TRUSTED_PROXIES": "127.0.0.1",
            "WEBHOOKS_ALLOW_PRIVATE": "on",
            **settings,
        }
        start_fast(database_url)
        env = processes.environment(folder / "data", database_url, **values)
        node = Node("attacked", ("serve",), {**env, "MALLOC_ARENA_MAX": "2"}, folder / "log")
        parts.callback(node.end)
        with _on_core(min):
            node.start()
        node.wait_until_ready()
        service = AttackedService(node, world, length, folder)
        [service.subject] = world.choose(1)
        service.key = service.sign_up()
        node.ask("/v1/login", {"email": "nobody@trial.example", "password": "wrong"})  # it maps memory for hashing
        answer = node.ask("/v1/watches", {"subject": service.subject}, key=service.key)
        assert answer.status_code == 200, answer.text
        yield service


def new_address() -> str:
    """An address that nobody had before."""
    number = next(_addresses)
    return f"172.{16 + (number >> 16 & 15)}.{number >> 8 & 255}.{number & 255}"


@contextmanager
def _on_core(which: Callable[[set[int]], int]) -> Iterator[None]:
    """The process, and what it starts in the block, computes on one core alone."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {which(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
