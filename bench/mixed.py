"""Part `mixed`: everything at once at the machine's capacity, on both databases; errors, waits, memory over time."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from statistics import linear_regression
from urllib.parse import urlsplit

import psutil

from bench.bare import serving
from bench.figures import Figure, Goal, Row, Section
from bench.load import Client, Request, actor_requests, device_requests, tool_call, unchanged_requests
from bench.mixed_load import CHANGES, CONNECTIONS, READS, MixedLoad, Outcome
from bench.postgresql import DESCRIPTION, Cluster, binaries, cluster
from bench.processes import ALL_BUT_LOAD, LOAD_CORE, Usage, computed_seconds, pinned, watched
from bench.questions import Question
from bench.sample import Sample, sample_of
from bench.service import Customer, bring_up_to_date, customer, served, stand_in_register
from bench.setup import Setup, Stored, say, timed

ON_SQLITE = "on SQLite"
ON_POSTGRESQL = "on PostgreSQL"
WATCHERS = 3
"""Accounts that sync; one more imports."""
WATCHED = 25
"""Watches of each account that syncs."""
IMPORTED = 20
LISTS = 20
READ_DEVICES = 1_000
READ_ACTORS = 100
MAX_GROWTH = 1.0
"""MB a minute from which on memory is not flat."""
SETTLED_AFTER = 0.2
"""Part of the time from which on the growth of memory counts: before, caches fill."""
PLOTTED = 60
"""Points of the plot of memory."""
SETTINGS = {"TRIAL_WATCH_CAP": "10000", "WEBHOOKS_ALLOW_PRIVATE": "on"}


@dataclass(frozen=True, slots=True)
class Mixed:
    """How it went on one database."""

    outcomes: Mapping[str, Outcome]
    usages: Sequence[Usage]
    computed: float
    """Seconds of a core that service and database used."""

    @property
    def total(self) -> int:
        """All requests."""
        return sum(len(outcome.seconds) for outcome in self.outcomes.values())

    @property
    def unexpected(self) -> int:
        """Answers that should not be."""
        return sum(outcome.unexpected.total() for outcome in self.outcomes.values())

    def at(self, part: float) -> Usage:
        """What the service had after that part of the time."""
        return self.usages[max(0, min(len(self.usages) - 1, round(len(self.usages) * part) - 1))]


def measure(setup: Setup) -> Section:
    """Mix on SQLite, then on PostgreSQL."""
    found = {ON_SQLITE: _mixed(setup, setup.copy())}
    if binaries():
        with cluster(setup) as database:
            found[ON_POSTGRESQL] = _mixed(setup, database.copy(setup), database)
    else:
        say("PostgreSQL is not installed; it is left out")
    title = f"Mixed load for {setup.minutes:g} minutes on each database"
    return Section("mixed", title, _rows(found), _remarks(found), ours=ON_SQLITE)


def _mixed(setup: Setup, stored: Stored, database: Cluster | None = None) -> Mixed:
    sample = sample_of(setup)
    with ExitStack() as stack:
        register = stack.enter_context(stand_in_register(setup, [LOAD_CORE]))
        receiver = stack.enter_context(serving(setup, LOAD_CORE))
        service = stack.enter_context(served(setup, register | SETTINGS, stored=stored, cores=ALL_BUT_LOAD))
        companies = [stack.enter_context(customer(service.port)) for _ in range(WATCHERS + 1)]
        load = _load(setup, sample, service.port, urlsplit(register["REGISTER_URL"]).port or 0, companies)
        _watch(load, f"http://127.0.0.1:{receiver.port}/")
        pids = [service.pid, *([database.pid] if database else [])]
        before = sum(map(computed_seconds, pids))
        with timed(f"mixing on {stored.kind}"), watched(psutil.Process(service.pid), 1) as usages, pinned(LOAD_CORE):
            outcomes = load.run()
        return Mixed(outcomes, usages, sum(map(computed_seconds, pids)) - before)


def _load(setup: Setup, sample: Sample, port: int, register_port: int, companies: Sequence[Customer]) -> MixedLoad:
    """Watched are the last devices of the sample, so that other parts read devices which no mixed load changes."""
    watched = sample.udis[-WATCHED * WATCHERS :]
    others = sample.udis[READ_DEVICES : -len(watched)] or sample.udis
    lists = [others[start : start + IMPORTED] for start in range(0, IMPORTED * LISTS, IMPORTED)]
    return MixedLoad(
        port=port,
        register_port=register_port,
        seconds=setup.minutes * 60,
        seed=setup.seed,
        reads=_reads(sample, port, companies[0]),
        watchers=companies[:-1],
        importer=companies[-1],
        imported=[each for each in lists if each],
        watched=watched,
    )


def _reads(sample: Sample, port: int, company: Customer) -> dict[str, list[Request]]:
    udis, srns = sample.udis[:READ_DEVICES], sample.srns[:READ_ACTORS]
    bring_up_to_date(port, [*udis, *srns])
    devices = device_requests(udis)
    words = [*list(sample.common)[:40], *sample.rare[:40], *srns[:20]]
    return {
        "device read": devices,
        "device, unchanged": unchanged_requests(port, devices),
        "search": [Request(Question((word,)).target) for word in words],
        "actor read": actor_requests(srns),
        "tool call": [
            *(tool_call("get_device", udi=udi) for udi in udis[:200]),
            *(tool_call("search_devices", q=word, limit=20) for word in words),
        ],
        "account": [Request("/v1/me", company.by_key), Request("/v1/me", company.by_session)],
        "list of watches": [Request("/v1/watches", company.by_key)],
    }


def _watch(load: MixedLoad, receiver: str) -> None:
    """Watches and webhooks of those who sync, each with its own part of what is watched."""
    with closing(Client(load.port, timeout=120)) as client, timed("watching"):
        for number, each in enumerate(load.watchers):
            client.expect(each.post("/v1/import", csv="\n".join(load.watched[number::WATCHERS])))
            client.expect(each.post("/v1/webhooks", url=receiver))
            client.expect(each.post("/v1/sync"))


def _rows(found: Mapping[str, Mixed]) -> list[Row]:
    """Each kind of request, then what was unexpected, then memory and files."""

    def row(what: str, figure_of: Callable[[Mixed], Figure | None], goal: Goal | None = None) -> Row:
        figures = {name: figure_of(mixed) for name, mixed in found.items()}
        ours = figures.pop(ON_SQLITE)
        assert ours is not None, "every kind is one that SQLite was asked for"
        return Row(what, ours, figures, goal)

    is_flat = all(_growth(mixed).value <= MAX_GROWTH for mixed in found.values())
    is_expected = not any(mixed.unexpected for mixed in found.values())
    return [
        *(row(kind, partial(_latency, kind)) for kind in found[ON_SQLITE].outcomes),
        row("unexpected answers", lambda mixed: Figure(mixed.unexpected, "answers"), Goal("none", is_expected)),
        row("all requests", lambda mixed: Figure(mixed.total, "answers")),
        row(
            "cost of a request, all kinds together", lambda mixed: Figure(mixed.computed * 1e3 / mixed.total, "CPU ms")
        ),
        *(
            row(f"memory of the service after {part:.0%} of the time", partial(_memory, part))
            for part in (0.2, 0.4, 0.6, 0.8, 1.0)
        ),
        row("growth of memory after the first 20 %", _growth, Goal(f"≤ {MAX_GROWTH:g} MB/min", is_flat)),
        row("open files after 20 % of the time", lambda mixed: Figure(mixed.at(0.2).files, "files")),
        row("open files at the end", lambda mixed: Figure(mixed.at(1.0).files, "files")),
    ]


def _latency(kind: str, mixed: Mixed) -> Figure | None:
    return mixed.outcomes[kind].figure if kind in mixed.outcomes else None


def _memory(part: float, mixed: Mixed) -> Figure:
    return Figure(mixed.at(part).megabytes, "MB")


def _growth(mixed: Mixed) -> Figure:
    return growth(mixed.usages)


def growth(usages: Sequence[Usage]) -> Figure:
    """How much memory grows in a minute, once caches are filled: the line that fits best.

    With its course for a plot, as `seconds:MB` with blanks between.
    """
    settled = [each for each in usages if each.seconds >= SETTLED_AFTER * usages[-1].seconds]
    if len(settled) < 2:
        return Figure(0.0, "MB/min")
    fit = linear_regression([each.seconds / 60 for each in settled], [each.megabytes for each in settled])
    shown = usages[:: max(1, len(usages) // PLOTTED)]
    course = " ".join(f"{each.seconds:.0f}:{each.megabytes:.1f}" for each in shown)
    return Figure(fit.slope, "MB/min", {"samples": len(settled), "course": course})


def _remarks(found: Mapping[str, Mixed]) -> list[str]:
    total = sum((READS | CHANGES).values())
    weights = ", ".join(f"{weight * 1_000 / total:.0f} {kind}" for kind, weight in (READS | CHANGES).items())
    return [
        (
            f"Shown are p50 / p99 / the longest and how many requests. {CONNECTIONS} connections ask without a pause "
            f"and draw each time what: of 1,000 {weights}. A sync reads {WATCHED} watches; an import brings "
            f"{IMPORTED}, which are then ended one by one."
        ),
        DESCRIPTION,
        *(f"Unexpected {name}: {_unexpected(mixed)}." for name, mixed in found.items() if mixed.unexpected),
    ]


def _unexpected(mixed: Mixed) -> str:
    return ", ".join(
        f"{count} times {status or 'no answer'} to {kind}"
        for kind, outcome in mixed.outcomes.items()
        for status, count in outcome.unexpected.items()
    )
