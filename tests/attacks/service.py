"""A service that is attacked: a process of its own, somebody's account, and how others fare meanwhile."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count, cycle, islice
from pathlib import Path
from statistics import quantiles

import httpx2
import msgspec
import psutil

from tests.attacks.steady import Plan, Request, Seen, Worker
from tests.journeys.fleet import Node
from tests.journeys.held_servers import Register, register
from tests.support import processes
from tests.support.paces import start_fast

MEMORY = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "524288"}
"""As the image and the units set it."""
MAX_GROWTH = 48 << 20
"""Bytes of memory that an attack may leave behind. Hashing a password maps 19 MB in each of two arenas, which stay."""
CLIENTS, CLIENTS_BY_DAY = 20, 4
"""Other people who ask while an attack goes on: in the short form few, as nobody judges how long they wait."""
MAX_WAIT = 100.0
"""Milliseconds that 99 of 100 of their requests wait at most."""
MAX_WORK_GROWTH = 2.0
"""How many times as long as before the work of another account waits at most: a watch, a delivery, a file."""
MIN_WORK_SECONDS = 0.5
"""What work may wait at rest, as workers look for it so often."""
PAUSE_SECONDS, READS_OF_WORK = 1.0, 40
"""Between two rounds of work: long enough that it uses an eighth of what may be read of the register."""
SECONDS_AT_REST = 4.0
SETTLING_SECONDS = 20.0

_addresses = count(1)


@dataclass(frozen=True, slots=True)
class Length:
    """How long attacks go on. In the short form nothing is judged by the clock."""

    seconds: float
    is_timed: bool

    def judges(self, *, waited: float, at_most: float) -> None:
        """Hold somebody's wait against its bound, in seconds."""
        assert not self.is_timed or waited < at_most, waited

    @contextmanager
    def on_core(self, which: Callable[[set[int]], int]) -> Iterator[None]:
        """Where waits are judged, this process, and what it starts in the block, computes on one core alone."""
        cores = os.sched_getaffinity(0)
        if self.is_timed:
            os.sched_setaffinity(0, {which(cores)})
        try:
            yield
        finally:
            os.sched_setaffinity(0, cores)

    def times(self, short: int, full: int) -> int:
        """How often something is done."""
        return full if self.is_timed else short


SHORT = Length(0.2, is_timed=False)
FULL = Length(10.0, is_timed=True)


@dataclass(frozen=True, slots=True)
class Effect:
    """What an attack did to others, bytes of memory that it left, seconds of the processor."""

    name: str
    before: Seen
    during: Seen
    grown: int
    computed: float

    @property
    def delayed_work(self) -> list[str]:
        """Work of others that waited too long."""
        return [name for name, (before, during) in self._work().items() if during > MAX_WORK_GROWTH * before]

    @property
    def p99(self) -> float:
        """Milliseconds that 99 of 100 requests waited at most."""
        return _p99(self.during.waits)

    def _work(self) -> dict[str, tuple[float, float]]:
        """Seconds that each kind of work waited at most, before and during the attack."""
        return {
            name: (max(MIN_WORK_SECONDS, *self.before.work.get(name, ())), max(waits))
            for name, waits in self.during.work.items()
        }

    def __str__(self) -> str:
        waits = f"others' p99 {self.p99:.0f} ms of {len(self.during.waits)} (at rest {_p99(self.before.waits):.0f})"
        longest = f"longest {max(self.during.waits, default=0):.0f} ms"
        work = "".join(
            f"; a {name} waited {max(waits):.2f} s (at rest {max(self.before.work.get(name, (0.0,))):.2f})"
            for name, waits in self.during.work.items()
        )
        memory = f"memory {self.grown / 2**20:+.0f} MB"
        return f"{self.name}: {waits}, {longest}{work}; {memory}; {self.computed:.1f} s of CPU"


@dataclass
class AttackedService:
    """A running service, the register behind it, and the account of somebody who has nothing to do with an attack."""

    node: Node
    register: Register
    length: Length
    folder: Path
    key: str = ""
    subject: str = ""
    others: "OtherPeople" = field(init=False)
    attacks: int = 0
    """How many have begun."""
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
    def attacked(self, name: str, *, max_growth: int = MAX_GROWTH) -> Iterator[None]:
        """Ask for other people while the block goes on, then judge how they fared and what is left of the attack."""
        self.attacks += 1
        has_work = self.length.is_timed or self.attacks == 1  # it takes a second, and a short attack less
        with self.others.asking(has_work=has_work) as before:
            if self.length.is_timed:
                time.sleep(SECONDS_AT_REST)
        memory, computed = self._memory(), self._computed()
        with self.others.asking(has_work=has_work) as during, self.length.on_core(max):
            yield
        self._settle(memory + max_growth)
        grown, spent = self._memory() - memory, self._computed() - computed
        effect = Effect(name, before[0], during[0], grown, spent)
        self.effects.append(effect)
        self._judge(effect, max_growth)

    def _judge(self, effect: Effect, max_growth: int) -> None:
        assert not effect.during.failures, effect.during.failures[:5]
        assert effect.grown <= max_growth, effect
        if self.length.is_timed:
            assert effect.p99 <= MAX_WAIT, effect
            assert not effect.delayed_work, effect

    def _settle(self, most: int) -> None:
        deadline = time.monotonic() + SETTLING_SECONDS
        while self._memory() > most and time.monotonic() < deadline:
            time.sleep(0.1)

    def _memory(self) -> int:
        return int(sum(each.memory_info().rss for each in self._processes()))

    def _computed(self) -> float:
        return float(sum(sum(each.cpu_times()[:2]) for each in self._processes()))

    def _processes(self) -> list[psutil.Process]:
        main = psutil.Process(self.node.pid)
        return [main, *main.children(recursive=True)]


class OtherPeople:
    """The process that asks for other people."""

    def __init__(self, plan: Plan) -> None:
        command = [sys.executable, "-m", "tests.attacks.steady"]
        root = Path(__file__).parents[2]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root)
        self._write(msgspec.json.encode(plan))

    @contextmanager
    def asking(self, *, has_work: bool) -> Iterator[list[Seen]]:
        """They ask while the block goes on; what they saw is there after it."""
        seen: list[Seen] = []
        self._write(b"work" if has_work else b"ask")
        try:
            yield seen
        finally:
            self._write(b"end")
            assert self._process.stdout is not None
            seen.append(msgspec.json.decode(self._process.stdout.readline(), type=Seen))

    def end(self) -> None:
        """End the process."""
        self._process.communicate(timeout=60)

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()


def _p99(waits: list[float]) -> float:
    """Of 100 requests one waited longer."""
    return quantiles(waits, n=100)[-1] if len(waits) > 1 else 0.0


@contextmanager
def attacked_service(folder: Path, database_url: str, length: Length, **settings: str) -> Iterator[AttackedService]:
    """A service with rate limits, behind a proxy that is trusted, so that attackers have addresses."""
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
            "SECRETS_KEY": "k9ZVdLbJjP0Q7yZr4S2mB8nX5cV1wT6hG3fD0aE7uRI=",
            **settings,
        }
        start_fast(database_url)
        env = processes.environment(folder / "data", database_url, **values)
        node = Node("attacked", ("serve",), {**env, **MEMORY}, folder / "log")
        parts.callback(node.end)
        with length.on_core(min):
            node.start()
        node.wait_until_ready()
        service = AttackedService(node, world, length, folder)
        service.subject, *_, of_worker = world.choose(100)
        service.key, _ = _watching(service, service.subject)
        pause = 60 * READS_OF_WORK / int(values["REGISTER_REQUESTS_PER_MINUTE"])
        service.others = OtherPeople(_plan(service, of_worker, max(PAUSE_SECONDS, pause)))
        parts.callback(service.others.end)
        node.ask("/v1/login", {"email": "nobody@trial.example", "password": "wrong"})  # it maps memory for hashing
        yield service


def _plan(service: AttackedService, of_worker: str, pause: float) -> Plan:
    """Clients that read, and name a watch of theirs; in the short form they have two accounts together."""
    accounts = [_watching(service, service.subject) for _ in range(service.length.times(2, CLIENTS))]
    reads = [f"/v1/devices/{service.subject}", "/v1/search?q=set", "/v1/me", "/v1/watches"]
    clients = []
    for key, watch_id in islice(cycle(accounts), service.length.times(CLIENTS_BY_DAY, CLIENTS)):
        name = Request("PATCH", f"/v1/watches/{watch_id}", {"label": "Ward 3"})
        clients.append((key, [*(Request("GET", path) for path in reads), name]))
    key, _ = _watching(service, of_worker)
    worker = Worker(key, service.register.uuids[of_worker], pause)
    return Plan(service.node.url, service.register.url, clients, worker)


def _watching(service: AttackedService, subject: str) -> tuple[str, int]:
    """The key of a new account, and its watch."""
    key = service.sign_up()
    answer = service.node.ask("/v1/watches", {"subject": subject}, key=key)
    assert answer.status_code == 200, answer.text
    return key, answer.json()["watch"]["id"]


def new_address() -> str:
    """An address that nobody had before."""
    number = next(_addresses)
    return f"172.{16 + (number >> 16 & 15)}.{number >> 8 & 255}.{number & 255}"
