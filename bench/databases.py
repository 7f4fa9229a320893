"""Part `databases`: what a request costs on PostgreSQL and on SQLite, the service over the same rows in both."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from bench.figures import Figure, Goal, Row, Section
from bench.load import CONNECTIONS, Request, actor_requests, device_requests, rate_with_cost, unchanged_requests
from bench.postgresql import DESCRIPTION, cluster
from bench.processes import SERVER_CORE
from bench.questions import Question, sample_of
from bench.service import bring_up_to_date, served, stand_in_register
from bench.setup import Setup
from registerwatch.register.codes import StatusFilter

Sides = Mapping[str, tuple[int, Sequence[int]]]
"""The port of the service over each database, and the ids of the processes whose time counts."""
OURS = "on PostgreSQL"
PEER = "on SQLite"
MAX_TIMES = 1.5
READ_DEVICES = 1_000
READ_ACTORS = 100
WORDS = 10
ONE_CONNECTION = "device, 200, one connection"
ACTOR = "actor with its first 20 devices"  # which has no goal


def measure(setup: Setup) -> Section:
    """Ask both for devices, actors and searches, after both have read the same devices from the stand-in register."""
    with (
        cluster(setup) as running,
        stand_in_register(setup) as register,
        served(setup, register) as sqlite,
        served(setup, register, stored=running.copy(setup)) as postgresql,
    ):
        sides = {OURS: (postgresql.port, [postgresql.pid, running.pid]), PEER: (sqlite.port, [sqlite.pid])}
        rows = [row for what, requests in _requests(setup, sides) for row in _rows(setup, sides, what, requests)]
    remarks = [f"All on core {SERVER_CORE}. {setup.load_remark}", DESCRIPTION]
    return Section("databases", "The same service on PostgreSQL and on SQLite, one core", rows, remarks, ours=OURS)


def _requests(setup: Setup, sides: Sides) -> Iterator[tuple[str, list[Request]]]:
    sample = sample_of(setup)
    udis, srns, common = sample.udis[:READ_DEVICES], sample.srns[:READ_ACTORS], list(sample.common)[:WORDS]
    for port, _ in sides.values():
        bring_up_to_date(port, [*udis, *srns])
    devices = device_requests(udis)
    yield "device, 200", devices
    yield "device, `If-None-Match`", unchanged_requests(sides[PEER][0], devices)
    yield ONE_CONNECTION, devices
    yield ACTOR, actor_requests(srns)
    yield "search, common words", _searches(common)
    yield "search, common words, on the market", _searches(common, StatusFilter.ON)
    yield "search, rare words", _searches(sample.rare[:WORDS])
    yield "search by SRN", _searches(srns)


def _rows(setup: Setup, sides: Sides, what: str, requests: Sequence[Request]) -> Iterator[Row]:
    """Requests per second, and their cost."""
    connections = 1 if what == ONE_CONNECTION else CONNECTIONS
    takes = {name: partial(rate_with_cost, *side, requests, setup.seconds, connections) for name, side in sides.items()}
    row = setup.row(what, takes)
    cost, other = (Figure(float(each.details["cpu_ms"]), "CPU ms") for each in (row.ours, *row.peers.values()) if each)
    goal = None if what == ACTOR else Goal(f"≤ {MAX_TIMES:g} times", cost.value <= MAX_TIMES * other.value)
    yield row
    yield Row(f"{what}: cost of a request", cost, {PEER: other}, goal)


def _searches(texts: Sequence[str], status: StatusFilter | None = None) -> list[Request]:
    return [Request(Question((text,), {"status": status} if status else {}).target) for text in texts]
