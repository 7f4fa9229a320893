"""Part `search`: searches by name over HTTP, beside SQLite FTS5 and PostgreSQL over the same rows."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial

from bench.figures import Figure, Goal, Row, Section, median_figure
from bench.load import Client
from bench.peers import ASKED, ASKED_SECONDS, ask_peers, timed_search
from bench.postgresql import cluster_if_installed
from bench.processes import LOAD_CORE, ProcessFailed, pinned
from bench.questions import Question, Sample, groups, sample_of
from bench.service import served
from bench.setup import Setup, Stored, timed

GOAL_MS = 5.0
INDEX_SECONDS = 600.0  # how long the index may take to follow a copy that changed after it was filled
PROBED = 1 / 30  # part of a round by which the slowest question of a group is found


def measure(setup: Setup) -> Section:
    """Ask our service, then load and ask the peers."""
    sample, remarks = sample_of(setup), [_remark(setup, sample_of(setup))]
    questions, ours = _asked(setup, setup.copy(), list(groups(sample)))
    beside: dict[str, Sequence[Figure | None]] = {}
    with cluster_if_installed(setup) as running:
        if running is not None:
            _, beside["ours on PostgreSQL"] = _asked(setup, running.copy(setup), [[each] for each in questions])
        for peer, figures, remark in ask_peers(setup, sample, questions, running):
            beside[peer] = figures
            remarks.append(remark)
    rows = [
        _row(question, ours[at], {peer: figures[at] for peer, figures in beside.items()})
        for at, question in enumerate(questions)
    ]
    return Section("search", "Searches by name, one core", rows, remarks)


def _asked(setup: Setup, stored: Stored, asked: Sequence[Sequence[Question]]) -> tuple[list[Question], list[Figure]]:
    """The slowest question of each group, and how long it takes."""
    with served(setup, {}, stored=stored) as service, closing(Client(service.port)) as client, pinned(LOAD_CORE):
        wait_for_index(client)
        took = partial(timed_search, lambda question: int(client.json(question.target)["total"]))
        probes = round(setup.requests * PROBED)
        with timed(f"finding the slowest question of each kind on {stored.kind}"):
            slowest = [max(group, key=lambda each: took(each, probes).value) for group in asked]
        with timed(f"searching on {stored.kind}"):
            rounds = [[took(each, setup.requests) for each in slowest] for _ in range(setup.rounds)]
    return slowest, [median_figure(figures) for figures in zip(*rounds, strict=True)]


def wait_for_index(client: Client) -> None:
    """Wait until the index has all of the copy. Raises `ProcessFailed`."""
    ends = time.monotonic() + INDEX_SECONDS
    while lag := client.json("/health")["index"]["lag"]:
        if time.monotonic() > ends:
            raise ProcessFailed(f"The index stayed {lag} changes behind the copy.")
        time.sleep(0.5)


def _row(question: Question, ours: Figure, peers: dict[str, Figure | None]) -> Row:
    """The slowest question of a group, which the details name; the goal is for common words."""
    goal = Goal(f"p99 ≤ {GOAL_MS:.0f} ms", float(ours.details["p99"]) <= GOAL_MS)
    ours = replace(ours, details={**ours.details, "target": question.target})
    what = f"{question.kind}, {question.filtering}"
    return Row(what, ours, peers, goal if question.kind == "common word" else None)


def _remark(setup: Setup, sample: Sample) -> str:
    words = ", ".join(f"{word} ({count:,})" for word, count in list(sample.common.items())[:5])
    return (
        "Shown are p50 / p99 / the longest of the slowest question of each kind, and how many devices were found. "
        f"{setup.requests} requests a round, median of {setup.rounds} rounds; peers are asked at most "
        f"{round(setup.requests * ASKED)} times or for {ASKED_SECONDS:.0f} s. The most frequent words of "
        f"{sample.devices:,} devices are {words}."
    )
