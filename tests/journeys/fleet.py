"""A fleet: the product as processes of its own over one PostgreSQL and one Redis, with what stands around it.

Requests go on all the time and are kept, to be judged in the end.
"""

import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from typing import Any

import httpx2

from registerwatch.platform.db import migrate
from tests.journeys.held_servers import TIMEOUT_SECONDS, DeliveryReceiver, Register, RegisterProxy, register
from tests.support import postgresql, processes, redis
from tests.support.paces import start_fast

BETWEEN_REQUESTS = 0.1

_asked = count()


class Node:
    """A process of the product, `serve` where it has a port, that can be killed and started again."""

    def __init__(self, name: str, words: tuple[object, ...], env: dict[str, str], log: Path) -> None:
        self.name = name
        self._port = processes.free_port() if words[0] == "serve" else None
        self._words = (*words, "--port", self._port) if self._port else words
        self.env = {**env, "REGISTERWATCH_CONTACT": name}
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self.absent: list[tuple[float, float]] = []
        """When it did not answer because it had ended."""
        self._gone_at: float | None = None
        self._client = httpx2.Client(timeout=TIMEOUT_SECONDS, limits=httpx2.Limits(max_keepalive_connections=0))

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        """The process that was started last."""
        assert self._process is not None
        return self._process.pid

    @property
    def index(self) -> Path:
        """The folder of its search index."""
        return Path(self.env["REGISTERWATCH_DATA_DIR"]) / "index"

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
            self._process = subprocess.Popen(words, env=self.env, stdout=log, stderr=log)

    def wait_until_ready(self) -> None:
        """Returns when it answers."""
        if self._port is not None:
            processes.until(self._is_ready, f"{self.name} to answer")
        if self._gone_at is not None:
            self.absent.append((self._gone_at, time.monotonic()))
            self._gone_at = None

    def fail_to_start(self) -> subprocess.CompletedProcess[str]:
        """Start it once more, which fails, and wait for its end."""
        return processes.run(*self._words, env=self.env)

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """End it at once."""
        assert self._process is not None
        self._gone_at = time.monotonic()
        self._process.kill()
        self._process.wait(TIMEOUT_SECONDS)

    def end(self) -> None:
        """Ask it to end, and see that it does."""
        if self._process is not None and self.is_running():
            self._gone_at = time.monotonic()
            processes.end(self._process)

    def _is_ready(self) -> bool:
        assert self.is_running(), f"{self.name} has ended:\n{self.log}"
        return processes.answers(f"{self.url}/health")


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer of the steady requests; status 0 is none."""

    node: Node
    path: str
    status: int
    body: bytes
    began: float
    ended: float

    def overlaps(self, windows: list[tuple[float, float]]) -> bool:
        """Whether it was under way in one of some spans of time."""
        return any(self.began <= end and self.ended >= begin for begin, end in windows)


@contextmanager
def steady_requests(nodes: list[Node], paths: list[str], key: str) -> Iterator[list[Answered]]:
    """Requests that go on all the time, to every node that serves, each from an address of its own; their answers."""
    answers: list[Answered] = []
    ended = threading.Event()

    def ask(node: Node) -> None:
        with httpx2.Client(base_url=node.url, headers={"X-API-Key": key}, timeout=TIMEOUT_SECONDS) as client:
            for path in cycle(paths):
                if ended.wait(BETWEEN_REQUESTS):
                    return
                began, status, body = time.monotonic(), 0, b""
                with suppress(httpx2.TransportError):
                    answer = client.get(path, headers={"X-Forwarded-For": _new_address()})
                    status, body = answer.status_code, answer.content
                answers.append(Answered(node, path, status, body, began, time.monotonic()))

    threads = [threading.Thread(target=ask, args=(node,), daemon=True) for node in nodes]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        ended.set()
        for thread in threads:
            thread.join(TIMEOUT_SECONDS)


@dataclass
class Fleet:
    """Two nodes that serve, of which the second does nothing else, and one that only works."""

    postgres: postgresql.Cluster
    redis: redis.RedisServer
    register: Register
    proxy: RegisterProxy
    receiver: DeliveryReceiver
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

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """What a statement gives, committed."""
        with self.postgres.connect("fleet") as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def open_accounts(self, number: int) -> None:
        """Accounts that watch every subject and are told of changes, all over the public interface."""
        for place, node in zip(range(number), cycle((self.first, self.second)), strict=False):
            who = {"email": f"owner{place}@acme.example", "password": "correct horse"}
            key = _granted(node.ask("/v1/trial", who))["api_key"]
            _granted(node.ask("/v1/webhook", {"url": f"{self.receiver.url}/hook"}, key=key))
            for subject in self.subjects:
                watch = _granted(node.ask("/v1/watches", {"subject": subject}, key=key))["watch"]
                assert watch["last_sync"] is not None, watch
            self.keys.append(key)

    def change(self, *subjects: str) -> None:
        """Let some devices change in the register."""
        for subject in subjects:
            self.register.change(subject, f"REF-{next(self._numbers)}")

    def subject_of(self, path: str) -> str | None:
        """The subject that a question to the register begins the read of."""
        return next((subject for subject in self.subjects if subject in path), None)

    def events(self, key: str) -> list[dict[str, Any]]:
        """An account's events, oldest first."""
        events: list[dict[str, Any]] = _granted(self.second.ask("/v1/events", key=key))["events"]
        return events[::-1]

    def is_told(self) -> bool:
        """Whether everything that changed is told to every account, and every event has arrived."""
        brought = self.receiver.events()
        told = [self.events(key) for key in self.keys]
        changes = sum(len(references) for references in self.register.references.values())
        return all(len(events) >= changes for events in told) and all(
            event["id"] in brought for events in told for event in events
        )


@contextmanager
def fleet(folder: Path, *, subjects: int, accounts: int) -> Iterator[Fleet]:
    """A fleet that runs, with accounts that watch."""
    with ExitStack() as parts:
        database = parts.enter_context(postgresql.cluster())
        with database.connect() as connection:
            connection.execute("CREATE DATABASE fleet")
            connection.execute("ALTER DATABASE fleet SET synchronous_commit = on")  # a crash loses no commit
        counts = parts.enter_context(redis.server())
        world = parts.enter_context(register(seed=11))
        proxy = parts.enter_context(RegisterProxy(world.url).listening())
        settings = {
            "REDIS_URL": counts.url,
            "REGISTER_URL": f"{proxy.url}/eudamed",
            "DATALAKE_URL": f"{proxy.url}/datalake",
            "REGISTER_REQUESTS_PER_MINUTE": "1000000",
            "DATALAKE_REQUESTS_PER_MINUTE": "1000000",
            "RECHECK_INTERVAL": "1",
            "RECHECK_WATCHES_PER_RUN": "100",
            "RATE_LIMITS": "on",
            "TRUSTED_PROXIES": "127.0.0.1",
            "WEBHOOKS_ALLOW_PRIVATE": "on",
        }

        start_fast(database.url("fleet"))

        def node(name: str, *words: object) -> Node:
            env = processes.environment(folder / name, database.url("fleet"), **settings)
            made = Node(name, words, env, folder / f"{name}.log")
            parts.callback(made.end)
            made.start()
            return made

        running = Fleet(
            database,
            counts,
            world,
            proxy,
            parts.enter_context(DeliveryReceiver().listening()),
            node("first", "serve"),
            node("second", "serve", "--no-background"),
            node("worker", "work"),
            world.choose(subjects),
            _later_migrations(folder / "migrations"),
        )
        for each in running.nodes:
            each.wait_until_ready()
        running.open_accounts(accounts)
        yield running


def _new_address() -> str:
    """An address of a client that asks once, so that nothing limits it."""
    number = next(_asked)
    return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"


def _granted(answer: httpx2.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    said: dict[str, Any] = answer.json()
    return said


def _later_migrations(folder: Path) -> Path:
    """The migrations with one more, which adds to what older programs use and takes nothing away."""
    shutil.copytree(migrate.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    last = max(path.name[:4] for path in (folder / "versions").glob("*.py"))
    (folder / "versions" / "9999_later.py").write_text(_LATER_MIGRATION.format(last))
    return folder


_LATER = "from pathlib import Path; from registerwatch.platform.db import migrate; migrate.MIGRATIONS = Path({0!r}); "
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
