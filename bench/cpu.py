"""Part `cpu`: what the core computes for one request, beside a bare ASGI application that answers the same bytes.

Times of waiting depend on what else the machine does; this figure depends on it little.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from statistics import median

import msgspec

from bench.bare import PEER, serving_answers_of
from bench.figures import Figure, Goal, Row, Section
from bench.load import Client, Request, actor_requests, device_requests, post, rate_with_cost, unchanged_requests
from bench.processes import REGISTERWATCH, SERVER_CORE, ProcessFailed, Server, spent_by
from bench.questions import Question, Sample, sample_of
from bench.search import wait_for_index
from bench.service import Customer, bring_up_to_date, customer, served, stand_in_register
from bench.setup import Setup, say
from registerwatch.copy.search.queries import MAX_RESULTS, NAME_ROWS
from registerwatch.copy.search.ties import MANY

BARE_MICROSECONDS = 45
"""What the bare application took where the goals in microseconds were set; elsewhere they are as many times it."""
READ_DEVICES, READ_ACTORS, WATCHED = 1_000, 100, 25
EVENTS = 50
WORDS = 10
NOTHING = "qxzvwj"
SMALL = 100_000
"""Up to so many devices the goal of a search by name is that of a small copy."""
NAME_GOALS = {"small": 350 / BARE_MICROSECONDS, "large": 3_000 / BARE_MICROSECONDS}
NOTHING_GOAL = 800 / BARE_MICROSECONDS
HELP_GOALS = (0.25, 40.0)  # seconds of a core, megabytes


@dataclass(frozen=True, slots=True)
class Work:
    """A kind of request, and how many times what the bare application needs it may cost; None where nothing was set."""

    what: str
    requests: Sequence[Request]
    times: float | None = None


def measure(setup: Setup) -> Section:
    """Every kind of request in turn with the bare application, over a copy whose register is the generated stand-in."""
    sample = sample_of(setup)
    with ExitStack() as stack:
        register = stack.enter_context(stand_in_register(setup))
        service = stack.enter_context(served(setup, register))
        company = stack.enter_context(customer(service.port))
        rows = [_row(setup, service, work) for work in _works(setup, sample, service, company, register)]
    remark = (
        f"Shown are microseconds that the core computed for one request, the median of {setup.rounds} rounds of"
        f" {setup.seconds:g} s (the least to the most), under wrk's load over 16 kept-alive connections, all on core"
        f" {SERVER_CORE}, in turn. Goals in microseconds hold where the bare application takes {BARE_MICROSECONDS}."
        f" Hits of a search that finds more than {MANY:,} devices are kept, so here it is one that was asked before."
    )
    return Section("cpu", "What a request costs", [*rows, *_help(setup)], [remark])


def _works(
    setup: Setup, sample: Sample, service: Server, company: Customer, register: Mapping[str, str]
) -> Iterator[Work]:
    port, key = service.port, company.by_key
    udis, srns = sample.udis[:READ_DEVICES], sample.srns[:READ_ACTORS]
    bring_up_to_date(port, [*udis, *srns])
    with closing(Client(port)) as client:
        wait_for_index(client)
    devices = device_requests(udis)
    yield Work("device, 200", devices, 1.6)
    yield Work("device, 304 by `If-None-Match`", unchanged_requests(port, devices), 1.3)
    yield Work("`/live`", [Request("/live")], 3)
    yield Work("actor with its first 20 devices", actor_requests(srns), 250 / BARE_MICROSECONDS)
    yield Work("`/health`", [Request("/health")], 150 / BARE_MICROSECONDS)
    yield Work("`/openapi.json`", [Request("/openapi.json")], 70 / BARE_MICROSECONDS)
    yield from _searches(setup, sample, service)
    _watch(port, company, udis[:WATCHED], register)
    yield Work("`/v1/me`", [Request("/v1/me", key)], 200 / BARE_MICROSECONDS)
    yield Work(f"`/v1/watches` ({WATCHED})", [Request("/v1/watches", key)], 300 / BARE_MICROSECONDS)
    yield Work("`/v1/events`", [Request("/v1/events", key)], 300 / BARE_MICROSECONDS)


def _searches(setup: Setup, sample: Sample, service: Server) -> Iterator[Work]:
    goal = NAME_GOALS["small" if setup.devices <= SMALL else "large"]
    common = list(sample.common)
    prefixes = list(dict.fromkeys(word[:3] for word in common if len(word) > 3 and word.isalpha()))
    for what, words in (
        ("search, ten frequent words", common[:WORDS]),
        ("search, ten words of many", common[:: max(1, len(common) // WORDS)][:WORDS]),
        ("search, ten rare words", sample.rare[:WORDS]),
        ("search, ten beginnings of three letters", prefixes[:WORDS]),
    ):
        yield Work(what, [_search(word) for word in words], goal)
    worst = _slowest(setup, service, [*common[:WORDS], *prefixes[:WORDS]])
    say(f"the costliest search of a word or of three letters: {worst}")
    yield Work("search, the costliest of these", [_search(worst)], goal)
    yield Work("search that finds nothing", [_search(NOTHING)], NOTHING_GOAL)
    found = min(sample.common[common[0]], MAX_RESULTS)
    deep = f"{Question((common[0],)).target}&page={max(1, found // NAME_ROWS)}"
    yield Work("search, the last page that is given", [Request(deep)], goal)


def _search(word: str) -> Request:
    return Request(Question((word,)).target)


def _slowest(setup: Setup, service: Server, words: Sequence[str]) -> str:
    """The word whose search costs most, by a second of each at most."""

    def cost(word: str) -> float:
        figure = rate_with_cost(service.port, [service.pid], [_search(word)], min(1, setup.seconds))
        return float(figure.details["cpu_ms"])

    return max(words, key=cost)


def _watch(port: int, company: Customer, udis: Sequence[str], register: Mapping[str, str]) -> None:
    """Watches of devices that then change until there is a page of events."""
    control = register["REGISTER_URL"].rpartition(":")[2].partition("/")[0]
    with closing(Client(port)) as client, closing(Client(int(control))) as stand_in:
        client.expect(company.post("/v1/import", csv="\n".join(udis)))
        for _ in range(EVENTS):
            found = client.expect(Request(f"/v1/events?limit={EVENTS}", company.by_key))
            if len(msgspec.json.decode(found.body)["events"]) >= EVENTS:
                return
            stand_in.expect(post("/_control/random-changes", {"n": WATCHED, "among": list(udis)}))
            client.expect(company.post("/v1/sync"))
    raise ProcessFailed(f"After {EVENTS} rounds of changes there are not {EVENTS} events.")


def _row(setup: Setup, service: Server, work: Work) -> Row:
    with serving_answers_of(setup, service.port, work.requests) as bare:
        sides = {"ours": service, PEER: bare}
        row = setup.row(
            work.what,
            {name: partial(_cost, setup, side, work.requests) for name, side in sides.items()},
        )
    goal, other = None, row.peers[PEER]
    if work.times is not None and other is not None:
        goal = Goal(f"≤ {work.times:.1f} × bare", row.ours.value <= work.times * other.value)
    return replace(row, goal=goal)


def _cost(setup: Setup, server: Server, requests: Sequence[Request]) -> Figure:
    figure = rate_with_cost(server.port, [server.pid], requests, setup.seconds)
    cost = float(figure.details["cpu_ms"]) * 1e3
    return Figure(cost, "CPU µs", {**figure.details, "least": cost, "most": cost})


def _help(setup: Setup) -> Iterator[Row]:
    """What `--help` costs, beside Python itself."""
    sides = {"ours": [str(REGISTERWATCH), "--help"], "python": [sys.executable, "-c", "pass"]}
    runs = {name: [spent_by(command) for _ in range(max(3, setup.rounds))] for name, command in sides.items()}
    for what, unit, figure_of, most in (
        ("`registerwatch --help`", "CPU s", attrgetter("cpu_seconds"), HELP_GOALS[0]),
        ("`registerwatch --help`, memory", "MB", attrgetter("megabytes"), HELP_GOALS[1]),
    ):
        ours, python = (Figure(median(map(figure_of, runs[name])), unit) for name in sides)
        yield Row(what, ours, {"python": python}, Goal(f"≤ {most:g} {unit}", ours.value <= most))
