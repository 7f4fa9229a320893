"""Other people while a service is attacked, in a process of their own: `python -m tests.attacks.steady`.

Clients ask side by side, each on a connection of its own. A request is due every few milliseconds, whether or not the
one before was answered, so that a service that stands still makes all of them late. Beside them one account has work
that waits in tables: a watch to be read, a delivery to be sent, a file to be matched.

The first line of the input is a `Plan`. From a line `ask` on they ask, from a line `work` on there is work too, until a
line `end`: then a line says what was `Seen`.
"""

import http.client
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count, cycle
from typing import Any
from urllib.parse import urlsplit

import msgspec

INTERVAL_SECONDS = 0.2
"""Between two requests of one client."""
TIMEOUT_SECONDS = 60.0
LOOK_SECONDS = 0.02
_times = count()
"""How often the account has had work: each time it asks from another network, as an address may ask for few reads."""


class Request(msgspec.Struct):
    """What a client asks."""

    method: str
    path: str
    fields: dict[str, Any] | None = None


class Worker(msgspec.Struct):
    """The account with work: it watches one device alone, with this `uuid` in the register, and pauses for some seconds
    between two rounds of work.
    """

    key: str
    uuid: str
    pause: float


class Plan(msgspec.Struct):
    """Who asks what. Each client has its key, and what it asks again and again."""

    service: str
    register: str
    clients: list[tuple[str, list[Request]]]
    worker: Worker


class Seen(msgspec.Struct):
    """Milliseconds from when each request was due to its whole answer, seconds that work waited, what went wrong."""

    waits: list[float] = []
    work: dict[str, list[float]] = {}
    failures: list[str] = []


class Failed(Exception):
    """What should have been answered or delivered was not."""


class Client:
    """A connection over which somebody asks with a key, each time from another address of a network."""

    def __init__(self, url: str, key: str = "", network: str = "10.77.255") -> None:
        self._headers = {"X-API-Key": key, "Content-Type": "application/json"}
        self._addresses = cycle(f"{network}.{number}" for number in range(256))
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT_SECONDS)

    def ask(self, method: str, path: str, content: object = None) -> Any:
        """The answered JSON. Raises `Failed` for any answer but a success, and for none."""
        body = content if isinstance(content, bytes) or content is None else msgspec.json.encode(content)
        try:
            self._connection.request(method, path, body, {**self._headers, "X-Forwarded-For": next(self._addresses)})
            answer = self._connection.getresponse()
            answered = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Failed(f"{type(error).__name__} {method} {path}") from None
        if answer.status >= 300:
            raise Failed(f"{answer.status} {method} {path} {answered[:200]!r}")
        return msgspec.json.decode(answered)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class Receiver:
    """Where deliveries arrive."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._arrived = b""

    def arrive(self, body: bytes) -> None:
        """Take a delivery."""
        with self._changed:
            self._arrived += body
            self._changed.notify_all()

    def wait_for(self, word: str) -> None:
        """Returns when a delivery has brought this word. Raises `Failed`."""
        with self._changed:
            if not self._changed.wait_for(lambda: word.encode() in self._arrived, TIMEOUT_SECONDS):
                raise Failed(f"no delivery brought {word}")
            self._arrived = b""


def ask_steadily(plan: Plan, number: int, seen: Seen, ended: threading.Event) -> None:
    """Let one client ask until it is over."""
    key, requests = plan.clients[number]
    due = time.monotonic() + number * INTERVAL_SECONDS / len(plan.clients)
    client = Client(plan.service, key, f"10.77.{number}")
    for request in cycle(requests):
        if ended.wait(max(0.0, due - time.monotonic())):
            break
        try:
            client.ask(request.method, request.path, request.fields)
        except Failed as error:
            seen.failures.append(str(error))
        seen.waits.append((time.monotonic() - due) * 1000)
        due += INTERVAL_SECONDS
    client.close()


def work_steadily(plan: Plan, receiver: Receiver, seen: Seen, ended: threading.Event) -> None:
    """Give the account work, wait until it is done, and so on until it is over: each of its kinds is done once."""
    register, client = Client(plan.register), Client(plan.service, plan.worker.key, f"10.78.{next(_times) % 256}")
    while True:
        word = f"R{time.time_ns()}"
        try:
            register.ask("POST", "/_control/change", {"uuid": plan.worker.uuid, "fields": {"reference": word}})
            register.close()  # it keeps no connection for long
            with _timed(seen, "watch"):
                _sync(client)
            with _timed(seen, "delivery"):
                receiver.wait_for(word)
            with _timed(seen, "file"):
                _match_file(client)
        except Failed as error:
            seen.failures.append(str(error))
        if ended.wait(plan.worker.pause):
            break
    client.close()


def _sync(client: Client) -> None:
    synced = client.ask("POST", "/v1/sync", {})
    if synced["synced"] != 1:
        raise Failed(f"the watch was not read: {synced['error']}")


def _match_file(client: Client) -> None:
    sent = client.ask("POST", "/v1/lists?name=Stock&keep=true", b"GTIN\n04012345000009\n")
    path = f"/v1/lists/{sent['list_id']}/uploads/{sent['upload_id']}"
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while (state := client.ask("GET", path)["upload"]["state"]) not in ("ready", "kept"):
        if time.monotonic() > deadline:
            raise Failed(f"a file of a list is still {state}")
        time.sleep(LOOK_SECONDS)


@contextmanager
def _timed(seen: Seen, name: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    seen.work.setdefault(name, []).append(time.monotonic() - began)


@contextmanager
def listening() -> Iterator[tuple[Receiver, str]]:
    """A receiver that listens for the length of a block, and its address."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.arrive(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield receiver, f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def main() -> None:
    """Do what the lines of the input say."""
    plan = msgspec.json.decode(sys.stdin.readline(), type=Plan)
    with listening() as (receiver, address):
        Client(plan.service, plan.worker.key).ask("POST", "/v1/webhook", {"url": address})
        while order := sys.stdin.readline().strip():
            seen = _seen(plan, receiver if order == "work" else None)
            print(msgspec.json.encode(seen).decode(), flush=True)


def _seen(plan: Plan, receiver: Receiver | None) -> Seen:
    """What is seen until the next line of the input, and until everything is done that was begun."""
    seen, ended = Seen(), threading.Event()
    jobs = [partial(ask_steadily, plan, number, seen, ended) for number in range(len(plan.clients))]
    if receiver is not None:
        jobs.append(partial(work_steadily, plan, receiver, seen, ended))
    threads = [threading.Thread(target=each) for each in jobs]
    for each in threads:
        each.start()
    sys.stdin.readline()
    ended.set()
    for each in threads:
        each.join()
    return seen


if __name__ == "__main__":
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    main()
