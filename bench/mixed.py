"""Part `mixed`: everything at once at the machine's capacity, on both databases; errors, waits, memory over time."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import msgspec

from bench import capture
from bench.cluster import Cluster, cluster, described_settings, is_installed
from bench.connection import Connection, Request
from bench.customer import Customer, customer
from bench.figures import Figure, Goal, Row, Section
from bench.inputs import Inputs, Stored
from bench.log import say, timed
from bench.machine import ALL_BUT_LOAD, LOAD_CORE, family_seconds
from bench.mixing import CHANGES, CONNECTIONS, READS, Outcome, Plan
from bench.mixing import Customer as ToolContext
from bench.postgresql_copy import postgresql_copy
from bench.processes import ProcessFailed, free_port, running, tail, wait_until_answering
from bench.questions import ApiRequest
from bench.sampling import Sample, Sampling, at, slope
from bench.service import UNPACED, Served, bring_up_to_date, device_requests, served, stand_in_register
from bench.settings import Settings

PART = "mixed"
ON_SQLITE = "on SQLite"
ON_POSTGRESQL = "on PostgreSQL"
ACCOUNTS = 4
WATCHED = 25
"""Watches of each account that syncs."""
IMPORTED = 20
LISTS = 20
READ_DEVICES = 1_000
READ_ACTORS = 100
PARTS = (0.2, 0.4, 0.6, 0.8, 1.0)
MAX_GROWTH = 1.0
"""MB a minute from which on memory is not flat."""
CAP = "10000"


@dataclass(frozen=True, slots=True)
class Mixed:
    """How it went on one database."""

    outcomes: Mapping[str, Outcome]
    samples: Sequence[Sample]
    computed: float
    """Seconds of a core that service and database used."""

    def latency(self, kind: str) -> Figure | None:
        """How long requests of a kind took, and how many there were."""
        outcome = self.outcomes.get(kind)
        if outcome is None:
            return None
        return Figure(outcome.p50, "ms", {"p99": outcome.p99, "max": outcome.max, "requests": outcome.requests})

    @property
    def unexpected(self) -> int:
        """Answers that should not be."""
        return sum(sum(outcome.unexpected.values()) for outcome in self.outcomes.values())

    @property
    def total(self) -> int:
        """All requests."""
        return sum(outcome.requests for outcome in self.outcomes.values())

    @property
    def problems(self) -> str:
        """What was unexpected, by kind and status."""
        return ", ".join(
            f"{count} times {'no answer' if status == '0' else status} to {kind}"
            for kind, outcome in self.outcomes.items()
            for status, count in outcome.unexpected.items()
        )


def measure(inputs: Inputs, settings: Settings) -> Section:
    """Mix on SQLite, then on PostgreSQL."""
    inputs.copy()
    found = {"": _mixed(inputs, settings, inputs.stored)}
    if is_installed():
        with cluster(inputs) as running_cluster:
            found[ON_POSTGRESQL] = _mixed(inputs, settings, postgresql_copy(inputs, running_cluster), running_cluster)
    else:
        say("PostgreSQL is not installed; it is left out")
    return Section(
        PART,
        f"Mixed load for {settings.minutes:g} minutes on each database",
        _rows(found),
        _remarks(found),
        ours=ON_SQLITE,
    )


def _mixed(inputs: Inputs, settings: Settings, stored: Stored, database: Cluster | None = None) -> Mixed:
    with ExitStack() as stack:
        register = stack.enter_context(stand_in_register(inputs, [LOAD_CORE]))
        receiver = stack.enter_context(_receiver(inputs))
        options = {"REGISTER_REQUESTS_PER_MINUTE": UNPACED, "TRIAL_WATCH_CAP": CAP, "WEBHOOKS_ALLOW_PRIVATE": "on"}
        service = stack.enter_context(served(inputs, register, stored=stored, cores=ALL_BUT_LOAD, **options))
        companies = [stack.enter_context(customer(service.port)) for _ in range(ACCOUNTS)]
        plan = _plan(inputs, settings, service, urlsplit(register).port or 0, companies)
        _furnish(service.port, plan, f"http://127.0.0.1:{receiver}/")
        with timed(f"mixing on {stored.kind} for {settings.minutes:g} minutes"), Sampling(service.process) as sampling:
            processes = [service.process.pid, *([database.postmaster] if database else [])]
            before = sum(map(family_seconds, processes))
            outcomes = _asked(inputs, plan)
            computed = sum(map(family_seconds, processes)) - before
    return Mixed(outcomes, sampling.samples, computed)


def _asked(inputs: Inputs, plan: Plan) -> dict[str, Outcome]:
    planned, told, log = inputs.path("mixing.msgpack"), inputs.path("mixing.json"), inputs.path("mixing.log")
    planned.write_bytes(msgspec.msgpack.encode(plan))
    command = [sys.executable, "-m", "bench.mixing", str(planned), str(told)]
    with running(command, log, cores=[LOAD_CORE]) as process:
        if process.wait() != 0:
            raise ProcessFailed(f"The mixed load failed:\n{tail(log)}")
    return msgspec.json.decode(told.read_bytes(), type=dict[str, Outcome])


@contextmanager
def _receiver(inputs: Inputs) -> Iterator[int]:
    port = free_port()
    log = inputs.path("receiver.log")
    with running([sys.executable, "-m", "bench.receiver", str(port)], log, cores=[LOAD_CORE]) as process:
        wait_until_answering(process, port, "/", log).close()
        yield port


def _plan(
    inputs: Inputs, settings: Settings, service: Served, register_port: int, companies: Sequence[Customer]
) -> Plan:
    """All accounts but the last sync.

    Watched devices are the last of the sample, so that other parts read devices which no mixed load changes.
    """
    sample = inputs.sample()
    udis = sample.udis[:READ_DEVICES]
    watched = sample.udis[-WATCHED * (ACCOUNTS - 1) :]
    others = sample.udis[READ_DEVICES : -len(watched)] or udis
    lists = [others[start : start + IMPORTED] for start in range(0, IMPORTED * LISTS, IMPORTED)]
    askers = [_asker(company, number, watched) for number, company in enumerate(companies)]
    return Plan(
        port=service.port,
        register_port=register_port,
        seconds=settings.minutes * 60,
        seed=inputs.seed,
        reads=_reads(inputs, service.port, udis, companies[0]),
        customers=askers,
        imported=[each for each in lists if each],
    )


def _asker(company: Customer, number: int, watched: Sequence[str]) -> ToolContext:
    """Each account that syncs watches its own part."""
    subjects = list(watched[number * WATCHED : (number + 1) * WATCHED])
    return ToolContext(company.by_key, [login.as_sent() for login in company.logins], subjects)


def _reads(inputs: Inputs, port: int, udis: Sequence[str], company: Customer) -> dict[str, list[bytes]]:
    sample = inputs.sample()
    devices, srns = device_requests(udis), sample.srns[:READ_ACTORS]
    with closing(Connection(port)) as connection:
        bring_up_to_date(connection, [*udis, *srns])
        known = capture.capture(connection, devices)
    words = [*list(sample.common)[:40], *list(sample.rare)[:40], *srns[:20]]
    calls = [{"name": "get_device", "arguments": {"udi": udi}} for udi in udis[:200]]
    calls += [{"name": "search_devices", "arguments": {"q": word, "limit": 20}} for word in words]
    requests = {
        "device read": devices,
        "device, unchanged": [Request(each.target, {"If-None-Match": each.answered_tag}) for each in known],
        "search": [Request(ApiRequest((word,)).target) for word in words],
        "actor read": [Request(f"/v1/actors/{quote(srn, safe='')}") for srn in srns],
        "tool call": [_tool_call(call) for call in calls],
        "account": [Request("/v1/me", company.by_key), Request("/v1/me", company.by_session)],
        "list of watches": [Request("/v1/watches", company.by_key)],
    }
    assert requests.keys() == READS.keys(), "every kind of read is asked"
    return {kind: [request.as_sent() for request in asked] for kind, asked in requests.items()}


def _tool_call(parameters: Mapping[str, object]) -> Request:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
    return Request("/mcp", body=msgspec.json.encode(call))


def _furnish(port: int, plan: Plan, receiver: str) -> None:
    """Watches and webhooks of those who sync."""
    with closing(Connection(port, timeout=120)) as connection, timed("watching"):
        for each in plan.customers:
            if not each.watched:
                continue
            orders = {"/v1/import": {"csv": "\n".join(each.watched)}, "/v1/webhooks": {"url": receiver}, "/v1/sync": {}}
            for target, body in orders.items():
                answer = connection.ask(Request(target, each.headers, msgspec.json.encode(body)))
                if answer.status != 200:
                    raise ProcessFailed(f"{target} was answered with {answer.status}: {answer.body[:500]!r}")


def _rows(found: Mapping[str, Mixed]) -> list[Row]:
    """Each kind of request, then what was unexpected, then memory and files."""
    ours, beside = found[""], {name: mixed for name, mixed in found.items() if name}
    rows = [
        Row(kind, latency, {name: mixed.latency(kind) for name, mixed in beside.items()})
        for kind in ours.outcomes
        if (latency := ours.latency(kind)) is not None
    ]
    wrong = {name: Figure(mixed.unexpected, "answers") for name, mixed in found.items()}
    rows.append(_of_both("unexpected answers", wrong, "none", met=not any(each.value for each in wrong.values())))
    rows.append(_of_both("all requests", {name: Figure(mixed.total, "answers") for name, mixed in found.items()}))
    costs = {name: Figure(mixed.computed * 1e3 / mixed.total, "CPU ms") for name, mixed in found.items()}
    rows.append(_of_both("cost of a request, all kinds together", costs))
    for part in PARTS:
        memory = {name: Figure(at(mixed.samples, part).megabytes, "MB") for name, mixed in found.items()}
        rows.append(_of_both(f"memory of the service after {part:.0%} of the time", memory))
    slopes = {name: slope(mixed.samples) for name, mixed in found.items()}
    flat = all(each.value <= MAX_GROWTH for each in slopes.values())
    rows.append(_of_both("growth of memory after the first 20 %", slopes, f"≤ {MAX_GROWTH:g} MB/min", met=flat))
    for name, part in (("open files after 20 % of the time", 0.2), ("open files at the end", 1.0)):
        rows.append(
            _of_both(name, {each: Figure(at(mixed.samples, part).files, "files") for each, mixed in found.items()})
        )
    return rows


def _of_both(what: str, figures: Mapping[str, Figure], goal: str = "", *, met: bool = False) -> Row:
    beside = {name: figure for name, figure in figures.items() if name}
    return Row(what, figures[""], beside, Goal(goal, met) if goal else None)


def _remarks(found: Mapping[str, Mixed]) -> list[str]:
    problems = {name or ON_SQLITE: mixed.problems for name, mixed in found.items() if mixed.problems}
    return [
        (
            f"Shown are p50 / p99 / the longest and how many requests. {CONNECTIONS} connections "
            f"ask without a pause and draw each time what: of 1,000 {_weights()}. A sync reads {WATCHED} watches from "
            f"the stand-in register; an import brings {IMPORTED} watches, which are then ended one by one. The "
            "register makes two changes a second among the watched devices, which bring signed deliveries. Service and "
            "database are on every core but the load's; load, stand-in register and receiver on that one."
        ),
        (
            "Memory is the resident memory of the service's processes without PostgreSQL's, looked at every second; "
            "its growth is the slope of the line that fits best. Rate limits are off."
        ),
        f"PostgreSQL: {described_settings()}, else its defaults.",
        *(f"Unexpected {name}: {what}." for name, what in problems.items()),
    ]


def _weights() -> str:
    whole = sum(READS.values()) + sum(CHANGES.values())
    return ", ".join(f"{weight * 1_000 / whole:.0f} {kind}" for kind, weight in (READS | CHANGES).items())
