"""A mixed load: sixteen connections that ask as fast as they are answered, in many ways side by side.

Each connection draws what it does next by its weight and goes on as soon as it is answered, so the mix is the same
however fast the service is. Beside them the register changes what is watched.
"""

import http.client
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from random import Random

import msgspec

from bench.figures import Figure, latencies
from bench.load import Client, Request
from bench.service import Customer

CONNECTIONS = 16
SECONDS_BETWEEN_CHANGES = 1.0
TIMEOUT_SECONDS = 120.0
"""Within which everything is answered; later counts as unexpected."""
PAUSE_SECONDS = 0.2
"""After an answer that should not be."""
NO_ANSWER = 0
"""The status of a request that got none."""
READS = {
    "device read": 430,
    "device, unchanged": 250,
    "search": 120,
    "actor read": 50,
    "tool call": 80,
    "account": 20,
    "list of watches": 30,
}
"""Weights of requests that change nothing."""
CHANGES = {"login": 5, "sync": 3, "import": 2}
"""Weights of the others. An import is followed by a look at the list and by ending each of its watches."""
KINDS = (*READS, *CHANGES, "stop watching")
EXPECTED = {"device, unchanged": (200, 304)}
"""Statuses besides 200: a device that changed meanwhile is answered in full."""


@dataclass(slots=True)
class Outcome:
    """How requests of a kind went."""

    seconds: list[float] = field(default_factory=list)
    unexpected: Counter[int] = field(default_factory=Counter)
    """Answers that should not be, by their status; no answer at all is `NO_ANSWER`."""

    @property
    def figure(self) -> Figure:
        """How long they took, and how many there were."""
        return latencies(self.seconds, requests=len(self.seconds))


@dataclass(slots=True)
class MixedLoad:
    """What is asked, of whom, for how long."""

    port: int
    register_port: int
    seconds: float
    seed: int
    reads: dict[str, list[Request]]
    """By kind, in the names of `READS`."""
    watchers: Sequence[Customer]
    """Those who sync."""
    importer: Customer
    imported: Sequence[Sequence[str]]
    watched: Sequence[str]
    outcomes: dict[str, Outcome] = field(default_factory=lambda: {kind: Outcome() for kind in KINDS})

    def run(self) -> dict[str, Outcome]:
        """Ask until the time is over; each kind's outcome."""
        ends = time.perf_counter() + self.seconds
        with ThreadPoolExecutor(CONNECTIONS + 1) as threads:
            changing = threads.submit(self._change, ends)
            asking = [threads.submit(self._ask_until, ends, Random(f"{self.seed} {at}")) for at in range(CONNECTIONS)]
        for each in (changing, *asking):
            each.result()
        return {kind: outcome for kind, outcome in sorted(self.outcomes.items()) if outcome.seconds}

    def _ask_until(self, ends: float, random: Random) -> None:
        weights = READS | CHANGES
        with closing(Client(self.port, TIMEOUT_SECONDS)) as client:
            while time.perf_counter() < ends:
                kind = random.choices(list(weights), list(weights.values()))[0]
                if kind == "import":
                    self._import(client, random)
                else:
                    self._ask(client, kind, self._request(kind, random))

    def _request(self, kind: str, random: Random) -> Request:
        if kind == "sync":
            return random.choice(self.watchers).post("/v1/sync")
        if kind == "login":
            return random.choice(random.choice([*self.watchers, self.importer]).logins)
        return random.choice(self.reads[kind])

    def _import(self, client: Client, random: Random) -> None:
        """Import a list, look at it, stop watching all of it: the account is as before."""
        headers = self.importer.by_key
        self._ask(client, "import", self.importer.post("/v1/import", csv="\n".join(random.choice(self.imported))))
        found = self._ask(client, "list of watches", Request("/v1/watches", headers))
        for watch in msgspec.json.decode(found)["watches"] if found else []:
            self._ask(client, "stop watching", Request(f"/v1/watches/{watch['id']}", headers, method="DELETE"))

    def _ask(self, client: Client, kind: str, request: Request) -> bytes:
        """The body of the answer; empty where it is not what it should be."""
        began = time.perf_counter()
        try:
            answer = client.ask(request)
            status, body = answer.status, answer.body
        except (OSError, http.client.HTTPException):
            client.close()  # it connects anew by itself
            status, body = NO_ANSWER, b""
        outcome = self.outcomes[kind]
        outcome.seconds.append(time.perf_counter() - began)
        if status in EXPECTED.get(kind, (200,)):
            return body
        outcome.unexpected[status] += 1
        time.sleep(PAUSE_SECONDS)
        return b""

    def _change(self, ends: float) -> None:
        """Let the register change something that is watched, again and again."""
        request = Request("/_control/random-changes", body=msgspec.json.encode({"n": 2, "among": self.watched}))
        with closing(Client(self.register_port)) as register:
            while time.perf_counter() < ends:
                register.expect(request)
                time.sleep(SECONDS_BETWEEN_CHANGES)
