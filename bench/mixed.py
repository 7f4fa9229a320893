"""Part `mixed`: everything at once at the machine's capacity, on both databases; errors, waits, memory over time."""

import http.client
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from random import Random
from statistics import linear_regression
from urllib.parse import urlsplit

import msgspec
import psutil

from bench.bare import serving
from bench.figures import Figure, Goal, Row, Section, latencies
from bench.load import (
    CONNECTIONS,
    Client,
    Request,
    actor_requests,
    device_requests,
    post,
    tool_call,
    unchanged_requests,
)
from bench.postgresql import DESCRIPTION, cluster_if_installed
from bench.processes import ALL_BUT_LOAD, LOAD_CORE, Usage, computed_seconds, pinned, watched
from bench.questions import Question, Sample, sample_of
from bench.service import Customer, bring_up_to_date, customer, served, stand_in_register
from bench.setup import Setup, Stored, timed

ON_SQLITE = "on SQLite"
ON_POSTGRESQL = "on PostgreSQL"
UNEXPECTED = "unexpected answers"
GROWTH = "growth of memory after the first 20 %"
WATCHERS = 3  # accounts that sync; one more imports
WATCHED = 25  # watches of each account that syncs
IMPORTED = 20
LISTS = 20
READ_DEVICES = 1_000
READ_ACTORS = 100
MAX_GROWTH = 1.0  # MB a minute from which on memory is not flat
SETTLED_AFTER = 0.2  # part of the time from which on the growth of memory counts: before, caches fill
PLOTTED = 60  # points of the plot of memory
SETTINGS = {"TRIAL_WATCH_CAP": "10000", "WEBHOOKS_ALLOW_PRIVATE": "on"}
SECONDS_BETWEEN_CHANGES = 1.0
TIMEOUT_SECONDS = 120.0  # within which everything is answered; later counts as unexpected
PAUSE_SECONDS = 0.2  # after an answer that should not be
WEIGHTS = {
    "device read": 430,
    "device, unchanged": 250,
    "search": 120,
    "actor read": 50,
    "tool call": 80,
    "account": 20,
    "list of watches": 30,
    "login": 5,
    "sync": 3,
    "import": 2,
}
"""Of the kinds of requests. An import is followed by a look at the list and by ending each of its watches."""
STOP = "stop watching"
EXPECTED = {"device, unchanged": (200, 304)}  # besides 200: a device that changed meanwhile is answered in full


@dataclass(slots=True)
class Load:
    """What is asked on one database, and how it went."""

    port: int
    requests: Mapping[str, Sequence[Request]]  # by kind, in the names of `WEIGHTS`
    importer: Customer
    seconds: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in sorted([*WEIGHTS, STOP])})
    unexpected: Counter[str] = field(default_factory=Counter)
    usages: Sequence[Usage] = ()
    computed: float = 0.0  # seconds of a core that service and database used

    def ask_until(self, ends: float, random: Random) -> None:
        """Ask over one connection until the time is over."""
        with closing(Client(self.port, TIMEOUT_SECONDS)) as client:
            while time.perf_counter() < ends:
                kind = random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
                self._ask(client, kind, random.choice(self.requests[kind]))
                if kind == "import":
                    self._end_watches(client)

    def _end_watches(self, client: Client) -> None:
        """Look at the list, stop watching all of it: the account is as before."""
        found = self._ask(client, "list of watches", Request("/v1/watches", self.importer.by_key))
        for watch in msgspec.json.decode(found)["watches"] if found else []:
            self._ask(client, STOP, Request(f"/v1/watches/{watch['id']}", self.importer.by_key, method="DELETE"))

    def _ask(self, client: Client, kind: str, request: Request) -> bytes:
        """The body of the answer; empty where it is not what it should be."""
        began, answer = time.perf_counter(), None
        try:
            answer = client.ask(request)
        except (OSError, http.client.HTTPException):
            client.close()  # it connects anew by itself
        self.seconds[kind].append(time.perf_counter() - began)
        if answer and answer.status in EXPECTED.get(kind, (200,)):
            return answer.body
        self.unexpected[f"{answer.status if answer else 'no answer'} to {kind}"] += 1
        time.sleep(PAUSE_SECONDS)
        return b""


def _change_until(ends: float, register_port: int, codes: Sequence[str]) -> None:
    request = post("/_control/random-changes", {"n": 2, "among": codes})
    with closing(Client(register_port)) as register:
        while time.perf_counter() < ends:
            register.expect(request)
            time.sleep(SECONDS_BETWEEN_CHANGES)


def measure(setup: Setup) -> Section:
    """Mix on SQLite, then on PostgreSQL."""
    found = {ON_SQLITE: _mixed(setup, setup.copy())}
    with cluster_if_installed(setup) as database:
        if database is not None:
            found[ON_POSTGRESQL] = _mixed(setup, database.copy(setup), [database.pid])
    title = f"Mixed load for {setup.minutes:g} minutes on each database"
    return Section("mixed", title, _rows(found), _remarks(found), ours=ON_SQLITE)


def _mixed(setup: Setup, stored: Stored, pids: Sequence[int] = ()) -> Load:
    """Watched are the last devices of the sample, so that other parts read devices which no mixed load changes."""
    sample = sample_of(setup)
    codes = sample.udis[-WATCHED * WATCHERS :]
    with ExitStack() as stack:
        register = stack.enter_context(stand_in_register(setup, [LOAD_CORE]))
        receiver = stack.enter_context(serving(setup, LOAD_CORE))
        service = stack.enter_context(served(setup, register | SETTINGS, stored=stored, cores=ALL_BUT_LOAD))
        *watchers, importer = (stack.enter_context(customer(service.port)) for _ in range(WATCHERS + 1))
        load = Load(service.port, _requests(sample, service.port, watchers, importer), importer)
        _watch(service.port, watchers, codes, f"http://127.0.0.1:{receiver.port}/")
        pids = [service.pid, *pids]
        before = sum(map(computed_seconds, pids))
        with timed(f"mixing on {stored.kind}"), watched(psutil.Process(service.pid), 1) as load.usages:
            _run(setup, load, urlsplit(register["REGISTER_URL"]).port or 0, codes)
        load.computed = sum(map(computed_seconds, pids)) - before
    return load


def _run(setup: Setup, load: Load, register_port: int, codes: Sequence[str]) -> None:
    """Ask until the time is over, while the register changes what is watched."""
    ends = time.perf_counter() + setup.minutes * 60
    with pinned(LOAD_CORE), ThreadPoolExecutor(CONNECTIONS + 1) as threads:
        begun = [threads.submit(load.ask_until, ends, Random(f"{setup.seed} {each}")) for each in range(CONNECTIONS)]
        begun.append(threads.submit(_change_until, ends, register_port, codes))
    for each in begun:
        each.result()


def _requests(
    sample: Sample, port: int, watchers: Sequence[Customer], importer: Customer
) -> dict[str, Sequence[Request]]:
    udis, srns, company = sample.udis[:READ_DEVICES], sample.srns[:READ_ACTORS], watchers[0]
    bring_up_to_date(port, [*udis, *srns])
    devices = device_requests(udis)
    words = [*list(sample.common)[:40], *sample.rare[:40], *srns[:20]]
    others = sample.udis[READ_DEVICES : -WATCHED * WATCHERS] or sample.udis
    lists = [others[start : start + IMPORTED] for start in range(0, min(len(others), IMPORTED * LISTS), IMPORTED)]
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
        "login": [login for each in (*watchers, importer) for login in each.logins],
        "sync": [each.post("/v1/sync") for each in watchers],
        "import": [importer.post("/v1/import", csv="\n".join(each)) for each in lists],
    }


def _watch(port: int, watchers: Sequence[Customer], codes: Sequence[str], receiver: str) -> None:
    """Watches and webhooks of those who sync, each with its own part of what is watched."""
    with closing(Client(port, TIMEOUT_SECONDS)) as client, timed("watching"):
        for number, each in enumerate(watchers):
            client.expect(each.post("/v1/import", csv="\n".join(codes[number::WATCHERS])))
            client.expect(each.post("/v1/webhooks", url=receiver))
            client.expect(each.post("/v1/sync"))


def _rows(found: Mapping[str, Load]) -> list[Row]:
    """Each kind of request, then what was unexpected, then memory and files."""
    figures = {name: _figures(load) for name, load in found.items()}
    is_expected = not any(load.unexpected for load in found.values())
    is_flat = all(each[GROWTH].value <= MAX_GROWTH for each in figures.values())
    goals = {UNEXPECTED: Goal("none", is_expected), GROWTH: Goal(f"≤ {MAX_GROWTH:g} MB/min", is_flat)}
    ours = figures.pop(ON_SQLITE)
    return [
        Row(what, figure, {name: each.get(what) for name, each in figures.items()}, goals.get(what))
        for what, figure in ours.items()
    ]


def _figures(load: Load) -> dict[str, Figure]:
    def at(part: float) -> Usage:
        return load.usages[max(0, round(len(load.usages) * part) - 1)]

    total = sum(map(len, load.seconds.values()))
    memory = {f"{part:.0%}": Figure(at(part).megabytes, "MB") for part in (0.2, 0.4, 0.6, 0.8, 1.0)}
    return {
        **{kind: latencies(times, requests=len(times)) for kind, times in load.seconds.items() if times},
        UNEXPECTED: Figure(load.unexpected.total(), "answers"),
        "all requests": Figure(total, "answers"),
        "cost of a request, all kinds together": Figure(load.computed * 1e3 / total, "CPU ms"),
        **{f"memory of the service after {part} of the time": figure for part, figure in memory.items()},
        GROWTH: growth(load.usages),
        "open files after 20 % of the time": Figure(at(0.2).files, "files"),
        "open files at the end": Figure(at(1.0).files, "files"),
    }


def growth(usages: Sequence[Usage]) -> Figure:
    """How much memory grows in a minute, once caches are filled: the line that fits best.

    With its course for a plot, as `seconds:MB` with blanks between.
    """
    settled = [each for each in usages if each.seconds >= SETTLED_AFTER * usages[-1].seconds]
    fit = linear_regression([each.seconds / 60 for each in settled], [each.megabytes for each in settled])
    shown = usages[:: max(1, len(usages) // PLOTTED)]
    course = " ".join(f"{each.seconds:.0f}:{each.megabytes:.1f}" for each in shown)
    return Figure(fit.slope, "MB/min", {"samples": len(settled), "course": course})


def _remarks(found: Mapping[str, Load]) -> list[str]:
    shares = ", ".join(f"{weight * 1_000 / sum(WEIGHTS.values()):.0f} {kind}" for kind, weight in WEIGHTS.items())
    shown = (
        f"Shown are p50 / p99 / the longest and how many requests. {CONNECTIONS} connections ask without a pause and "
        f"draw each time what: of 1,000 {shares}. A sync reads {WATCHED} watches; an import brings {IMPORTED}, which "
        "are then ended one by one."
    )
    unexpected = [f"Unexpected {name}: {dict(load.unexpected)}." for name, load in found.items() if load.unexpected]
    return [shown, DESCRIPTION, *unexpected]
