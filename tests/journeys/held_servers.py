"""What stands around nodes in processes of their own: the register's stand-in, a way to it, a receiver of deliveries.

Nodes say their names in `User-Agent`, as their contact. A test can hold a node at a request, and so stop it truly in
the middle of something.
"""

import http.client
import json
import os
import random
import threading
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import httpx2

from tests.support import processes

TIMEOUT_SECONDS = 30.0

Rule = Callable[[str, str], bool]
"""Whether a node has to wait with something: its name, and the path or the id of a delivery."""


class HeldServer:
    """An HTTP server at which a node waits where a rule says so."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waits: Rule = _nobody
        self._waiting: list[tuple[str, str]] = []
        self.url = ""

    @abstractmethod
    def answer(self, node: str, method: str, path: str, headers: Message, body: bytes) -> tuple[int, bytes]:
        """The status and the body of an answer."""

    def hold(self, waits: Rule) -> None:
        """Let those wait whom the rule names, and nobody else any more."""
        with self._changed:
            self._waits = waits
            self._changed.notify_all()

    def release(self) -> None:
        """Let everybody pass."""
        self.hold(_nobody)

    def waiting(self, node: str) -> list[str]:
        """What a node waits with."""
        with self._changed:
            return [what for who, what in self._waiting if who == node]

    @contextmanager
    def listening(self) -> Iterator[Self]:
        """Serve at `url` for the length of a block."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.release()
            server.shutdown()
            server.server_close()
            thread.join()

    def _pass(self, node: str, what: str) -> None:
        with self._changed:
            if self._waits(node, what):
                self._waiting.append((node, what))
                self._changed.wait_for(lambda: not self._waits(node, what))
                self._waiting.remove((node, what))


class RegisterProxy(HeldServer):
    """Passes every request on to the register; a node waits with the path and query of one."""

    def __init__(self, register_url: str) -> None:
        super().__init__()
        self._register = register_url.removeprefix("http://")

    def answer(self, node: str, method: str, path: str, headers: Message, body: bytes) -> tuple[int, bytes]:
        """What the register says."""
        self._pass(node, path)
        connection = http.client.HTTPConnection(self._register, timeout=TIMEOUT_SECONDS)
        kept = {name: value for name, value in headers.items() if name.lower() not in ("host", "accept-encoding")}
        try:
            connection.request(method, path, body or None, kept)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


class DeliveryReceiver(HeldServer):
    """Keeps deliveries by id, each time that one comes, and may refuse some once; a node waits with the id."""

    def __init__(self, *, refused_share: float = 0.0, seed: int = 5) -> None:
        super().__init__()
        self._refused_share, self._rng, self._refused = refused_share, random.Random(seed), set[str]()
        self._bodies: dict[str, list[bytes]] = defaultdict(list)
        self.senders: dict[str, list[str]] = defaultdict(list)

    def answer(self, node: str, method: str, path: str, headers: Message, body: bytes) -> tuple[int, bytes]:
        """503 where it is refused, else 200, though the sender may have to wait for that."""
        delivery_id = headers["X-Service-Delivery"]
        with self._changed:
            if delivery_id not in self._refused and self._rng.random() < self._refused_share:
                self._refused.add(delivery_id)
                return 503, b""
            self._bodies[delivery_id].append(body)
            self.senders[delivery_id].append(node)
        self._pass(node, delivery_id)
        return 200, b""

    def events(self) -> dict[int, set[str]]:
        """The ids of the deliveries that brought each event. Each time that a delivery came it was the same."""
        brought: defaultdict[int, set[str]] = defaultdict(set)
        with self._changed:
            arrived = {delivery_id: list(bodies) for delivery_id, bodies in self._bodies.items()}
        for delivery_id, bodies in arrived.items():
            assert len(set(bodies)) == 1, f"{delivery_id} came with different bodies"
            for event in json.loads(bodies[0])["events"]:
                brought[event["id"]].add(delivery_id)
        return brought


@dataclass(slots=True)
class Register:
    """The stand-in register in a process of its own, and what was changed in it, by UDI-DI and in order."""

    url: str
    references: dict[str, list[str]] = field(default_factory=dict)
    uuids: dict[str, str] = field(default_factory=dict)

    def choose(self, number: int) -> list[str]:
        """Some UDI-DIs that one record alone has."""
        records = httpx2.get(f"{self.url}/_control/sample", params={"n": 200}).json()["records"]
        udis = [record["primary_di"] for record in records]
        single = {udi: record["uuid"] for udi, record in zip(udis, records, strict=True) if udis.count(udi) == 1}
        self.uuids = dict(list(single.items())[:number])
        self.references = {udi: [] for udi in self.uuids}
        return list(self.uuids)

    def manufacturers(self, number: int) -> "list[Manufacturer]":
        """Those that have the most devices in a sample."""
        records = httpx2.get(f"{self.url}/_control/sample", params={"n": 200}).json()["records"]
        uuids = {record["manufacturer"]["srn"]: record["uuid"] for record in records}
        sizes = Counter(record["manufacturer"]["srn"] for record in records)
        return [Manufacturer(self.url, srn, uuids[srn]) for srn, _ in sizes.most_common(number)]

    def change(self, udi: str, reference: str) -> None:
        """Give a device another catalogue reference."""
        order = {"uuid": self.uuids[udi], "fields": {"reference": reference}}
        httpx2.post(f"{self.url}/_control/change", json=order).raise_for_status()
        self.references[udi].append(reference)


@dataclass(slots=True)
class Manufacturer:
    """A manufacturer of the stand-in register, and what was made of its devices and certificates, in order."""

    register_url: str
    srn: str
    uuid: str
    """Of one of its devices, which is on the market at first."""
    certificate: str = ""
    """The uuid of one of its certificates, which is issued at first."""
    registered: list[str] = field(default_factory=list)
    """UDI-DIs."""
    certificates: list[str] = field(default_factory=list)
    """Numbers."""

    def begin(self) -> None:
        """Bring it to where changes begin."""
        self._post("change", uuid=self.uuid, fields={"status": "on-the-market"})
        self.certificate = self._post("certificate", srn=self.srn, fields={"number": "Z-FIRST"})["uuid"]

    def add(self, number: str) -> None:
        """Another device and another certificate come."""
        self.registered.append(self._post("registration", uuid=self.uuid)["primary_di"])
        self._post("certificate", srn=self.srn, fields={"number": number})
        self.certificates.append(number)

    def turn(self, *, is_on: bool) -> None:
        """The device leaves the market or comes back, and the certificate is suspended or issued again."""
        market = "on-the-market" if is_on else "no-longer-on-the-market"
        self._post("change", uuid=self.uuid, fields={"status": market})
        self._post("certificate", uuid=self.certificate, fields={"status": "issued" if is_on else "suspended"})

    def _post(self, what: str, **order: object) -> dict[str, Any]:
        answer = httpx2.post(f"{self.register_url}/_control/{what}", json=order).raise_for_status()
        found: dict[str, Any] = answer.json()
        return found


@contextmanager
def register(seed: int) -> Iterator[Register]:
    """A stand-in register that runs."""
    port = processes.free_port()
    env = {name: value for name, value in os.environ.items() if not name.startswith("REGISTERWATCH_")}
    with processes.running("register", "serve", "--devices", "300", "--seed", str(seed), "--port", str(port), env=env):
        url = f"http://127.0.0.1:{port}"
        processes.until(lambda: processes.answers(f"{url}/_control/changes"), "the stand-in register")
        yield Register(url)


def _handler(server: HeldServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            node = self.headers["User-Agent"].partition("(+")[2].rstrip(")")
            length = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(length)
            if len(body) < length:  # who sent it was killed
                self.close_connection = True
                return
            status, said = server.answer(node, self.command, self.path, self.headers, body)
            with suppress(ConnectionError):  # who asked may have been killed
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

        do_POST = do_GET  # noqa: N815  # the library's names

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


def _nobody(_node: str, _what: str) -> bool:
    return False
