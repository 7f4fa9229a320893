"""Part `facets`: searches that count what results have, and searches with more filters, beside the plain search."""

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from urllib.parse import quote

from bench.figures import Figure, Row, Section, latencies
from bench.load import Client
from bench.processes import LOAD_CORE, SERVER_CORE, Server, computed_seconds, pinned
from bench.questions import Sample, sample_of
from bench.search import wait_for_index
from bench.service import served
from bench.setup import Setup

PLAIN = "the plain search"
REQUESTS = 1 / 3  # of those that other searches get in a round: the slowest of these take a hundred times as long
MIN_REQUESTS = 20
VARIANTS: Mapping[str, str] = {
    "with `facets=country`": "&facets=country",
    "with `facets=all`": "&facets=all",
    "with `sterile=yes`": "&sterile=yes",
    "with `sterile=yes&country=DE&facets=all`": "&sterile=yes&country=DE&facets=all",
}


def measure(setup: Setup) -> Section:
    """Ask for each search as it is and in every variant, in turn."""
    sample = sample_of(setup)
    with served(setup, {}) as service, closing(Client(service.port)) as client, pinned(LOAD_CORE):
        wait_for_index(client)
        rows = [row for what, target in _targets(sample).items() for row in _rows(setup, service, client, what, target)]
    remark = (
        f"Shown are p50 / p99 / the longest over one connection, and CPU time of the process, on core {SERVER_CORE};"
        f" {_requests(setup)} requests a round, median of {setup.rounds} rounds. Devices are counted that were found."
    )
    return Section("facets", "Facets and filters beside the plain search, one core", rows, [remark])


def _targets(sample: Sample) -> Mapping[str, str]:
    word, rare, srn = next(iter(sample.common)), sample.rare[0], sample.srns[0]
    return {
        "common word": f"/v1/search?q={quote(word)}",
        "common word on the market": f"/v1/search?q={quote(word)}&status=on",
        "rare word": f"/v1/search?q={quote(rare)}",
        "manufacturer": f"/v1/search?q={quote(srn)}",
        "all devices on the market": "/v1/search?status=on",
    }


def _rows(setup: Setup, service: Server, client: Client, what: str, target: str) -> Iterator[Row]:
    for variant, added in VARIANTS.items():
        takes = {
            "ours": partial(_timed, service, client, target + added, _requests(setup)),
            PLAIN: partial(_timed, service, client, target, _requests(setup)),
        }
        row = setup.row(f"{what}, {variant}", takes)
        yield row
        both = [each for each in (row.ours, *row.peers.values()) if each]
        cost, plain = (Figure(float(each.details["cpu_ms"]), "CPU ms") for each in both)
        yield Row(f"{what}, {variant}: cost of a request", cost, {PLAIN: plain})


def _timed(service: Server, client: Client, target: str, requests: int) -> Figure:
    total, times = int(client.json(target)["total"]), list[float]()
    before = computed_seconds(service.pid)
    for _ in range(requests):
        began = time.perf_counter()
        client.json(target)
        times.append(time.perf_counter() - began)
    figure = latencies(times, total=total)
    cost = (computed_seconds(service.pid) - before) * 1e3 / requests
    return replace(figure, details={**figure.details, "cpu_ms": cost})


def _requests(setup: Setup) -> int:
    return max(MIN_REQUESTS, round(setup.requests * REQUESTS))
