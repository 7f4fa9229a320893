"""Nodes that are killed at any moment: the product in processes of its own, over one database.

A node is forked from a server that has loaded the product already, so that hundreds of them can start and die. The
register and the receiver stand outside and see everything.
"""

import asyncio
import multiprocessing
import os
import random
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import httpx2

from registerwatch.accounts.credentials import credential_of
from registerwatch.bootstrap import Service, build_service, working
from registerwatch.settings import Settings
from tests.support import processes
from tests.support.passwords import quick_passwords

ACCOUNTS = 3
SUBJECTS = 12
CALM_SECONDS = 90.0

_forking = multiprocessing.get_context("forkserver")
_forking.set_forkserver_preload(["tests.support.crashing"])


class Receiver:
    """Takes deliveries over HTTP and remembers them. One in five is refused once, and must come again."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._lock = threading.Lock()
        self._refused: set[str] = set()
        self.accepted: dict[str, list[bytes]] = defaultdict(list)
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                body = self.rfile.read(length)
                if len(body) < length:  # who sent it was killed
                    self.close_connection = True
                    return
                self.send_response(receiver.take(self.headers["X-Service-Delivery"], body))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def take(self, delivery_id: str, body: bytes) -> int:
        """The status of an answer."""
        with self._lock:
            if delivery_id not in self._refused and self._rng.random() < 0.2:
                self._refused.add(delivery_id)
                return 503
            self.accepted[delivery_id].append(body)
            return 200

    @contextmanager
    def listening(self) -> Iterator["Receiver"]:
        """Listen for the length of a block."""
        self._thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()


@dataclass(slots=True)
class Register:
    """The stand-in register in a process of its own, and what was changed in it, by UDI-DI and in order."""

    base: str
    told: dict[str, list[str]] = field(default_factory=dict)
    uuids: dict[str, str] = field(default_factory=dict)

    def choose(self, number: int) -> list[str]:
        """Some UDI-DIs that one record alone has."""
        records = httpx2.get(f"{self.base}/_control/sample", params={"n": 200}).json()["records"]
        dis = [record["primary_di"] for record in records]
        for record in records:
            if dis.count(record["primary_di"]) == 1 and len(self.uuids) < number:
                self.uuids[record["primary_di"]] = record["uuid"]
                self.told[record["primary_di"]] = []
        return list(self.uuids)

    def change(self, udi: str, reference: str) -> None:
        """Give a device another catalogue reference."""
        order = {"uuid": self.uuids[udi], "fields": {"reference": reference}}
        httpx2.post(f"{self.base}/_control/change", json=order).raise_for_status()
        self.told[udi].append(reference)


@contextmanager
def register(seed: int) -> Iterator[Register]:
    """A stand-in register that runs."""
    port = processes.free_port()
    env = {name: value for name, value in os.environ.items() if not name.startswith("REGISTERWATCH_")}
    with processes.running("register", "serve", "--devices", "300", "--seed", str(seed), "--port", str(port), env=env):
        base = f"http://127.0.0.1:{port}"
        processes.until(lambda: processes.answers(f"{base}/_control/changes"), "the stand-in register")
        yield Register(base)


def settings_of(database_url: str, data_dir: Path, register_url: str) -> dict[str, Any]:
    """The settings of a node: it rechecks as fast as it can."""
    return {
        "data_dir": data_dir,
        "database_url": database_url,
        "register_url": f"{register_url}/eudamed",
        "datalake_url": f"{register_url}/datalake",
        "register_requests_per_minute": 1_000_000,
        "rate_limits": False,
        "recheck_interval": 1,
        "webhooks_allow_private": True,
    }


def _service(settings: dict[str, Any]) -> Service:
    return build_service(Settings(**settings), passwords=quick_passwords())


def open_accounts(settings: dict[str, Any], subjects: list[str], receiver_url: str) -> list[str]:
    """Accounts that watch all subjects, each with an address at the receiver; their keys."""

    async def run() -> list[str]:
        service, keys = _service(settings), []
        try:
            for number in range(ACCOUNTS):
                opened = await service.accounts.sessions.trial("", f"owner{number}@acme.example", "correct horse")
                assert opened.api_key is not None
                keys.append(opened.api_key)
                caller = await service.accounts.sessions.caller(credential_of(opened.api_key, None))
                await service.notifications.webhooks.set_first(caller, receiver_url)
                for subject in subjects:
                    watch = await service.watches.service.add(caller, subject)
                    assert watch.snapshot is not None, watch.last_error
        finally:
            await service.close()
        return keys

    return asyncio.run(run())


def node(settings: dict[str, Any], key: str) -> None:
    """One node, until it is killed: it rechecks and delivers, and one account syncs all the time."""

    async def run() -> None:
        async with working(_service(settings)) as service:
            caller = await service.accounts.sessions.caller(credential_of(key, None))
            while True:
                await service.watches.sync.sync(caller)
                await asyncio.sleep(0.05)

    asyncio.run(run())


class Fleet:
    """Nodes of which one is killed now and then, and replaced."""

    def __init__(self, settings: dict[str, Any], keys: list[str], size: int) -> None:
        self._settings = settings
        self._keys = keys
        self._size = size
        self._nodes: list[BaseProcess] = []
        self.killed = 0

    def fill(self) -> None:
        """Start what is missing."""
        while len(self._nodes) < self._size:
            key = self._keys[(self.killed + len(self._nodes)) % len(self._keys)]
            process = _forking.Process(target=node, args=(self._settings, key), daemon=True)
            process.start()
            self._nodes.append(process)

    def kill_one(self, rng: random.Random) -> None:
        """Kill any node, at once and for good."""
        victim = self._nodes.pop(rng.randrange(len(self._nodes)))
        assert victim.is_alive(), "a node ends only when it is killed"
        self._kill(victim)
        self.killed += 1

    def end(self) -> None:
        """Kill all."""
        while self._nodes:
            self._kill(self._nodes.pop())

    def _kill(self, process: BaseProcess) -> None:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join(20)


def let_settle(settings: dict[str, Any], keys: list[str]) -> None:
    """One calm node: everything is read once more, and delivered. Leases and holds of the dead run out by a clock that
    is ahead of theirs.
    """

    class Ahead:
        def now(self) -> float:
            return time.time() + 3_600

        async def sleep(self, seconds: float) -> None:
            await asyncio.sleep(seconds)

    async def run() -> None:
        service = build_service(Settings(**settings), passwords=quick_passwords(), clock=Ahead())
        async with asyncio.timeout(CALM_SECONDS), working(service):
            for key in keys:
                caller = await service.accounts.sessions.caller(credential_of(key, None))
                synced = await service.watches.sync.sync(caller)
                assert synced.synced == SUBJECTS, synced
            while (await service.notifications.deliveries.waiting())[0]:
                await asyncio.sleep(0.05)

    asyncio.run(run())
