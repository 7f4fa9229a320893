"""A fleet: the product as processes of its own over one PostgreSQL and one Redis, with what stands around it.

Requests to the register and deliveries pass through doors, which know the node and can let it wait: so a node is
stopped truly in the middle of something. A steady trickle of requests is kept, to be judged in the end.
"""

import http.client
import json
import shutil
import signal
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count, cycle
from pathlib import Path
from typing import Any

import httpx2
import psycopg

from registerwatch.db import migrate
from tests.support import postgresql, processes, redis
from tests.support.crashing import Register, register
from tests.support.processes import until

RETRY_POLICIES = 30.0
BETWEEN_REQUESTS = 0.1

_asked = count()

Rule = Callable[[str, str], bool]
"""Whether a node has to wait with something."""


class Postgres:
    """A server with one database that keeps what it has committed, also when it is stopped at once."""

    def __init__(self, sockets: str) -> None:
        self._folder = Path(sockets)
        self.url = f"postgresql://postgres@/fleet?host={sockets}"
        with psycopg.connect(f"postgresql://postgres@/postgres?host={sockets}", autocommit=True) as connection:
            connection.execute("CREATE DATABASE fleet")
            connection.execute("ALTER DATABASE fleet SET synchronous_commit = on")

    def stop(self, mode: str) -> None:
        """End it: `fast` ends all connections, `immediate` is as good as a crash."""
        self._control("stop", "-m", mode)

    def start(self) -> None:
        """Start it; returns when it answers."""
        options = (*postgresql.SETTINGS, f"unix_socket_directories={self._folder}")
        self._control("start", "-l", self._folder / "log", "-o", " ".join(f"-c {option}" for option in options))

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """What a statement gives, committed."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def _control(self, *words: object) -> None:
        folder = postgresql.binaries()
        assert folder is not None
        command = postgresql.as_its_user(folder / "pg_ctl", "-D", self._folder / "data", "-w", *words)
        subprocess.run(command, cwd="/", check=True, timeout=RETRY_POLICIES, stdout=subprocess.DEVNULL)


@contextmanager
def postgres() -> Iterator[Postgres]:
    """A running server."""
    with postgresql.cluster() as sockets:
        server = Postgres(sockets)
        try:
            yield server
        finally:
            if not (Path(sockets) / "data" / "postmaster.pid").exists():
                server.start()  # whoever ends the cluster expects it so


class Door:
    """Something that nodes pass through, and wait at where a rule says so."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waits: Rule = _nobody
        self._waiting: list[tuple[str, str]] = []

    def hold(self, waits: Rule) -> None:
        """Let those wait whom the rule names, and nobody else any more."""
        with self._changed:
            self._waits = waits
            self._changed.notify_all()

    def open(self) -> None:
        """Let everybody pass."""
        self.hold(_nobody)

    def pass_through(self, node: str, what: str) -> None:
        """Returns when the node may go on."""
        with self._changed:
            if self._waits(node, what):
                self._waiting.append((node, what))
                self._changed.wait_for(lambda: not self._waits(node, what))
                self._waiting.remove((node, what))

    def waiting(self, node: str) -> list[str]:
        """What a node waits with."""
        with self._changed:
            return [what for who, what in self._waiting if who == node]


class Gate(Door):
    """Stands before the register and passes every question on; a node waits with the path and query of one."""

    def __init__(self, register_port: int) -> None:
        super().__init__()
        self._port = register_port

    def answer(self, node: str, method: str, path: str, headers: Message, body: bytes) -> tuple[int, bytes]:
        """What the register says."""
        self.pass_through(node, path)
        asking = http.client.HTTPConnection("127.0.0.1", self._port, timeout=RETRY_POLICIES)
        kept = {name: value for name, value in headers.items() if name.lower() not in ("host", "accept-encoding")}
        try:
            asking.request(method, path, body or None, kept)
            answer = asking.getresponse()
            return answer.status, answer.read()
        finally:
            asking.close()


class Inbox(Door):
    """Takes deliveries and remembers them by id, each time that one comes; a node waits with its id."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived: dict[str, list[bytes]] = defaultdict(list)
        self.senders: dict[str, list[str]] = defaultdict(list)

    def answer(self, node: str, method: str, path: str, headers: Message, body: bytes) -> tuple[int, bytes]:
        """It is accepted always, though the sender may have to wait for that."""
        delivery_id = headers["X-Service-Delivery"]
        with self._changed:
            self.arrived[delivery_id].append(body)
            self.senders[delivery_id].append(node)
        self.pass_through(node, delivery_id)
        return 200, b""

    def events(self) -> dict[int, set[str]]:
        """The ids of the deliveries that brought each event."""
        brought: defaultdict[int, set[str]] = defaultdict(set)
        with self._changed:
            first_bodies = {delivery_id: bodies[0] for delivery_id, bodies in self.arrived.items()}
        for delivery_id, body in first_bodies.items():
            for event in json.loads(body)["events"]:
                brought[event["id"]].add(delivery_id)
        return brought


@contextmanager
def listening(behind: Gate | Inbox) -> Iterator[str]:
    """Serve a door; gives its address. Nodes say their names in `User-Agent`, as their contact."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            node = self.headers["User-Agent"].partition("(+")[2].rstrip(")")
            length = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(length)
            if len(body) < length:  # who sent it was killed
                self.close_connection = True
                return
            status, said = behind.answer(node, self.command, self.path, self.headers, body)
            with suppress(ConnectionError):  # who asked may have been killed
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

        do_POST = do_GET  # noqa: N815  # the library's names

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        behind.open()
        server.shutdown()
        server.server_close()
        thread.join()


class Node:
    """A process of the product, `serve` where it has a port, that can be killed and started again."""

    def __init__(self, name: str, words: tuple[object, ...], env: dict[str, str], log: Path) -> None:
        self.name = name
        self._port = processes.free_port() if words[0] == "serve" else None
        self._words = (*words, "--port", self._port) if self._port else words
        self._env = {**env, "REGISTERWATCH_CONTACT": name}
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self.absent: list[tuple[float, float]] = []
        """When it did not answer because it had ended."""
        self._gone_at: float | None = None
        self._client = httpx2.Client(timeout=RETRY_POLICIES, limits=httpx2.Limits(max_keepalive_connections=0))

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def log(self) -> str:
        """Everything that it has logged."""
        return self._log.read_text()

    def ask(self, path: str, body: object = None, *, key: str = "", address: str = "") -> httpx2.Response:
        """Its answer to a GET, or to a POST where there is a body; from an address of its own where none is named."""
        headers = {"X-API-Key": key, "X-Forwarded-For": address or _new_address()}
        return self._client.request("GET" if body is None else "POST", f"{self.url}{path}", json=body, headers=headers)

    def start(self, *, later_migrations: Path | None = None) -> None:
        """Start it, maybe as a later version with migrations of its own."""
        words = processes.command(*self._words)
        if later_migrations is not None:
            words[2] = _LATER.format(str(later_migrations)) + words[2]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(words, env=self._env, stdout=log, stderr=log)

    def wait_until_ready(self) -> None:
        """Returns when it answers."""
        if self._port is not None:
            until(self._is_ready, f"{self.name} to answer")
        if self._gone_at is not None:
            self.absent.append((self._gone_at, time.monotonic()))
            self._gone_at = None

    def started_in_vain(self) -> subprocess.CompletedProcess[str]:
        """One more start, which fails, to its end."""
        return processes.run(*self._words, env=self._env)

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """End it at once."""
        assert self._process is not None
        self._gone_at = time.monotonic()
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(RETRY_POLICIES)

    def end(self) -> None:
        """Ask it to end, and see that it does."""
        if self._process is None or self._process.poll() is not None:
            return
        self._gone_at = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(RETRY_POLICIES)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(RETRY_POLICIES)
            raise

    def _is_ready(self) -> bool:
        assert self.is_running(), f"{self.name} has ended:\n{self.log}"
        return processes.answers(f"{self.url}/health")


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer of the trickle; status 0 is none."""

    node: Node
    path: str
    status: int
    body: bytes
    began: float
    ended: float

    def overlaps(self, windows: list[tuple[float, float]]) -> bool:
        """Whether it was under way in one of some spans of time."""
        return any(self.began <= end and self.ended >= begin for begin, end in windows)


class Trickle:
    """Requests that go on all the time, to every node that serves, each from an address of its own."""

    def __init__(self, nodes: list[Node], paths: list[str], key: str) -> None:
        self.answers: list[Answered] = []
        self._cancellations = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(node, paths, key), daemon=True) for node in nodes]

    @contextmanager
    def going_on(self) -> Iterator["Trickle"]:
        """For the length of a block."""
        for thread in self._threads:
            thread.start()
        try:
            yield self
        finally:
            self.end()

    def end(self) -> None:
        """No more requests."""
        self._cancellations.set()
        for thread in self._threads:
            thread.join(RETRY_POLICIES)

    def _ask(self, node: Node, paths: list[str], key: str) -> None:
        with httpx2.Client(base_url=node.url, headers={"X-API-Key": key}, timeout=RETRY_POLICIES) as client:
            for path in cycle(paths):
                if self._cancellations.wait(BETWEEN_REQUESTS):
                    return
                self.answers.append(self._answer(client, node, path))

    def _answer(self, client: httpx2.Client, node: Node, path: str) -> Answered:
        began, status, body = time.monotonic(), 0, b""
        with suppress(httpx2.TransportError):
            answer = client.get(path, headers={"X-Forwarded-For": _new_address()})
            status, body = answer.status_code, answer.content
        return Answered(node, path, status, body, began, time.monotonic())


@dataclass
class Fleet:
    """Two nodes that serve, of which the second does nothing else, and one that only works."""

    postgres: Postgres
    redis: redis.RedisServer
    world: Register
    gate: Gate
    inbox: Inbox
    first: Node
    second: Node
    worker: Node
    subjects: list[str]
    later_migrations: Path
    keys: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def nodes(self) -> list[Node]:
        """All of them."""
        return [self.first, self.second, self.worker]

    def open_accounts(self, number: int, inbox_url: str) -> None:
        """Accounts that watch every subject and are told of changes, all over the public interface."""
        for place, node in zip(range(number), cycle((self.first, self.second)), strict=False):
            who = {"email": f"owner{place}@acme.example", "password": "correct horse"}
            key = _granted(node.ask("/v1/trial", who))["api_key"]
            _granted(node.ask("/v1/webhook", {"url": inbox_url}, key=key))
            for subject in self.subjects:
                watch = _granted(node.ask("/v1/watches", {"subject": subject}, key=key))["watch"]
                assert watch["last_sync"] is not None, watch
            self.keys.append(key)

    def change(self, *subjects: str) -> None:
        """Let some devices change in the register."""
        for subject in subjects:
            self.world.change(subject, f"REF-{next(self._numbers)}")

    def subject_of(self, path: str) -> str | None:
        """The subject that a question to the register begins the read of."""
        return next((subject for subject in self.subjects if subject in path), None)

    def events(self, key: str) -> list[dict[str, Any]]:
        """An account's events, oldest first."""
        events: list[dict[str, Any]] = _granted(self.second.ask("/v1/events", key=key))["events"]
        return events[::-1]

    def is_told(self) -> bool:
        """Whether everything that changed is told to every account, and every event has arrived."""
        brought = self.inbox.events()
        told = [self.events(key) for key in self.keys]
        changes = sum(len(references) for references in self.world.told.values())
        return all(len(events) >= changes for events in told) and all(
            event["id"] in brought for events in told for event in events
        )


@contextmanager
def fleet(folder: Path, *, subjects: int, accounts: int) -> Iterator[Fleet]:
    """A fleet that runs, with accounts that watch."""
    with ExitStack() as parts:
        database = parts.enter_context(postgres())
        counts = parts.enter_context(redis.server())
        world = parts.enter_context(register(seed=11))
        gate, inbox = Gate(int(world.base.rpartition(":")[2])), Inbox()
        gate_url, inbox_url = parts.enter_context(listening(gate)), parts.enter_context(listening(inbox))
        settings = {
            "REDIS_URL": counts.url,
            "REGISTER_URL": f"{gate_url}/eudamed",
            "DATALAKE_URL": f"{gate_url}/datalake",
            "REGISTER_REQUESTS_PER_MINUTE": "1000000",
            "RECHECK_INTERVAL": "1",
            "RECHECK_WATCHES_PER_RUN": "100",
            "RATE_LIMITS": "on",
            "TRUSTED_PROXIES": "127.0.0.1",
            "WEBHOOKS_ALLOW_PRIVATE": "on",
        }

        def node(name: str, *words: object) -> Node:
            env = processes.environment(folder / name, database.url, **settings)
            made = Node(name, words, env, folder / f"{name}.log")
            parts.callback(made.end)
            made.start()
            return made

        running = Fleet(
            database,
            counts,
            world,
            gate,
            inbox,
            node("first", "serve"),
            node("second", "serve", "--no-background"),
            node("worker", "work"),
            world.choose(subjects),
            _later_migrations(folder / "migrations"),
        )
        for each in running.nodes:
            each.wait_until_ready()
        running.open_accounts(accounts, f"{inbox_url}/hook")
        yield running


def _new_address() -> str:
    """An address of a client that asks once, so that nothing limits it."""
    number = next(_asked)
    return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"


def _granted(answer: httpx2.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    said: dict[str, Any] = answer.json()
    return said


def _nobody(_node: str, _what: str) -> bool:
    return False


def _later_migrations(folder: Path) -> Path:
    """The migrations with one more, which adds to what older programs use and takes nothing away."""
    shutil.copytree(migrate.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    last = max(path.name[:4] for path in (folder / "versions").glob("*.py"))
    (folder / "versions" / "9999_later.py").write_text(_LATER_MIGRATION.format(last))
    return folder


_LATER = "from pathlib import Path; from registerwatch.db import migrate; migrate.MIGRATIONS = Path({0!r}); "
_LATER_MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "9999", {0!r}, None, None


def upgrade():
    for table in ("devices", "accounts", "watches", "events", "webhooks", "deliveries"):
        op.add_column(table, sa.Column("later", sa.Text, nullable=False, server_default="something"))
        op.create_index(f"ix_{{table}}_later", table, ["later"])
    op.create_table("laters", sa.Column("id", sa.BigInteger, primary_key=True))
"""
