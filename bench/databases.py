"""Part `databases`: what a request costs on PostgreSQL and on SQLite, the service over the same rows in both.

Service and PostgreSQL share one core, which is the core of the service on SQLite too, so that requests per second are
of the same hardware. Cost is the time that cores computed for a request, in the service and in PostgreSQL together.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from urllib.parse import quote

from bench import capture
from bench.cluster import Cluster, cluster, described_settings
from bench.connection import Connection, Request
from bench.figures import Figure, Goal, Row, Section, median_figure
from bench.inputs import Inputs, Stored
from bench.load import CONNECTIONS, generator, rate, write_requests
from bench.log import timed
from bench.machine import SERVER_CORE, family_seconds
from bench.postgresql_copy import postgresql_copy
from bench.questions import ApiRequest
from bench.service import UNPACED, bring_up_to_date, device_requests, served, stand_in_register
from bench.settings import Settings
from registerwatch.register.codes import StatusFilter

PART = "databases"
OURS = "on PostgreSQL"
PEER = "on SQLite"
GOAL = 2.0
READ_DEVICES = 1_000
READ_ACTORS = 100
WORDS = 10


@dataclass(frozen=True, slots=True)
class Side:
    """The service over one database: its port, and the processes whose time counts."""

    port: int
    processes: Sequence[int]

    def rate(self, inputs: Inputs, requests: Sequence[Request], seconds: int, connections: int) -> Figure:
        """Requests per second, with the milliseconds of a core that one costs."""
        sent = write_requests(requests, inputs.path("requests.bin"))
        before = self._seconds()
        figure = rate(self.port, sent, seconds=seconds, connections=connections)
        cost = (self._seconds() - before) * 1e3 / float(figure.details["samples"])
        return replace(figure, details={**figure.details, "cpu_ms": cost})

    def _seconds(self) -> float:
        return sum(family_seconds(pid) for pid in self.processes)


@dataclass(frozen=True, slots=True)
class Sides:
    """Both, asked in turn."""

    inputs: Inputs
    settings: Settings
    sqlite: Side
    postgresql: Side

    def rows(
        self, what: str, requests: Sequence[Request], connections: int = CONNECTIONS, *, goal: bool = True
    ) -> list[Row]:
        """Requests per second, their cost, and how many times as much it is on PostgreSQL."""

        def both() -> list[Figure]:
            sides = (self.postgresql, self.sqlite)
            return [side.rate(self.inputs, requests, self.settings.seconds, connections) for side in sides]

        with timed(f"on both databases: {what}"):
            rounds = [self.settings.noted(both) for _ in range(self.settings.rounds)]
        ours, beside = (median_figure(figures) for figures in zip(*rounds, strict=True))
        costs = [Figure(float(figure.details["cpu_ms"]), "CPU ms") for figure in (ours, beside)]
        times = costs[0].value / costs[1].value
        return [
            Row(what, ours, {PEER: beside}),
            Row(f"{what}: cost of a request", costs[0], {PEER: costs[1]}),
            Row(
                f"{what}: cost on PostgreSQL / cost on SQLite",
                Figure(times, "times"),
                goal=Goal(f"≤ {GOAL:.0f} times", times <= GOAL) if goal else None,
            ),
        ]


def measure(inputs: Inputs, settings: Settings) -> Section:
    """Ask both for devices, actors and searches, after both have read the same devices from the stand-in register."""
    with (
        cluster(inputs) as running,
        stand_in_register(inputs) as register,
        _side(inputs, register, inputs.stored) as sqlite,
        _side(inputs, register, postgresql_copy(inputs, running), running) as postgresql,
    ):
        rows = _rows(Sides(inputs, settings, sqlite, postgresql))
    remarks = [
        (
            "The same service over the same rows in both. On PostgreSQL the "
            f"service and all processes of PostgreSQL run on core {SERVER_CORE}, on which the service on SQLite runs "
            f"too; the load on another one. Cost: the time that the core computed for service and PostgreSQL together, "
            f"as the kernel counts it, divided by the requests. Load: {generator()}, {CONNECTIONS} kept-alive "
            f"connections unless told otherwise, {settings.seconds} s a round, median of {settings.rounds} rounds, the "
            "two databases in turn."
        ),
        f"PostgreSQL: over a Unix socket, {described_settings()}, else its defaults.",
        settings.remark(),
    ]
    return Section(PART, "The same service on PostgreSQL and on SQLite, one core", rows, remarks, ours=OURS)


@contextmanager
def _side(inputs: Inputs, register: str, stored: Stored, running: Cluster | None = None) -> Iterator[Side]:
    with served(inputs, register, stored=stored, REGISTER_REQUESTS_PER_MINUTE=UNPACED) as service:
        processes = [service.process.pid, *([running.postmaster] if running else [])]
        yield Side(service.port, processes)


def _rows(sides: Sides) -> list[Row]:
    sample = sides.inputs.sample()
    udis, srns = sample.udis[:READ_DEVICES], sample.srns[:READ_ACTORS]
    for side in (sides.sqlite, sides.postgresql):
        with closing(Connection(side.port)) as connection:
            bring_up_to_date(connection, [*udis, *srns])
    with closing(Connection(sides.sqlite.port)) as connection:
        known = capture.capture(connection, device_requests(udis))
    unchanged = [Request(answer.target, {"If-None-Match": answer.answered_tag}) for answer in known]
    common = list(sample.common)[:WORDS]
    return [
        *sides.rows("device, 200", device_requests(udis)),
        *sides.rows("device, `If-None-Match`", unchanged),
        *sides.rows("device, 200, one connection", device_requests(udis), connections=1),
        *sides.rows("actor with its first 20 devices", _actors(srns), goal=False),
        *sides.rows("search, common words", _searches(ApiRequest((word,)) for word in common)),
        *sides.rows(
            "search, common words, on the market",
            _searches(ApiRequest((word,), StatusFilter.ON) for word in common),
        ),
        *sides.rows("search, rare words", _searches(ApiRequest((word,)) for word in list(sample.rare)[:WORDS])),
        *sides.rows("search by SRN", _searches(ApiRequest((srn,)) for srn in srns)),
    ]


def _actors(srns: Sequence[str]) -> list[Request]:
    return [Request(f"/v1/actors/{quote(srn, safe='')}") for srn in srns]


def _searches(questions: Iterator[ApiRequest]) -> list[Request]:
    return [Request(question.target) for question in questions]
