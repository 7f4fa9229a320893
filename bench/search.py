"""Part `search`: searches by name over HTTP, beside SQLite FTS5 and PostgreSQL over the same rows."""

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import msgspec

from bench.connection import Connection
from bench.figures import Figure, Goal, Row, Section, latencies, median_figure
from bench.inputs import Inputs
from bench.machine import LOAD_CORE, SERVER_CORE, Others, pinned
from bench.peers import fts5, postgresql
from bench.peers.contract import Peer
from bench.processes import ProcessFailed
from bench.progress import say, stage
from bench.questions import Group, Question, groups
from bench.rows import devices_of
from bench.service import serving

PART = "search"
GOAL_MS = 10.0
INDEX_SECONDS = 600.0
"""How long the index may take to follow a copy that changed after it was filled."""
PROBED = 1 / 30
"""Part of a round by which the slowest question of a group is found."""
PEER_ASKED = 1 / 3
"""Part of a round that a peer is asked at most, and"""
PEER_SECONDS = 5.0
"""for so long, but"""
PEER_LEAST = 3
"""times at least."""


@dataclass(frozen=True, slots=True)
class Worst:
    """The question of a group that took our service longest, and how it did."""

    group: Group
    question: Question
    ours: Figure

    def row(self, peers: dict[str, Figure | None]) -> Row:
        """Beside its peers; the goal is for common words."""
        goal = Goal(f"p99 ≤ {GOAL_MS:.0f} ms", float(self.ours.details["p99"]) <= GOAL_MS)
        what = f"{self.group.kind} “{self.question.text}”, {self.question.filters}"
        return Row(what, self.ours, peers, goal if self.group.kind == "common word" else None)


def measure(inputs: Inputs, rounds: int, requests: int) -> Section:
    """Ask our service, `requests` times a round, then load and ask the peers."""
    inputs.copy()
    with Others() as others:
        worst = _ours(inputs, rounds, requests)
    peers: dict[str, list[Figure | None]] = {}
    remarks = [_remark(inputs, rounds, requests), others.remark]
    for name, answers, remark in _peers(inputs, [each.question for each in worst], round(requests * PEER_ASKED)):
        peers[name] = answers
        remarks += [remark] if remark else []
    rows = [each.row({name: answers[at] for name, answers in peers.items()}) for at, each in enumerate(worst)]
    return Section(PART, f"Searches by name in {inputs.census().devices:,} devices, one core", rows, remarks)


def _ours(inputs: Inputs, rounds: int, requests: int) -> list[Worst]:
    all_groups, probes = list(groups(inputs.census())), max(1, round(requests * PROBED))
    with serving(inputs) as port, closing(Connection(port)) as connection, pinned(LOAD_CORE):
        _wait_for_index(connection)
        with stage("finding the slowest question of each kind"):
            slowest = [max(group.questions, key=lambda each: _median(connection, each, probes)) for group in all_groups]
        with stage("searching"):
            taken = [[_round(connection, question, requests) for question in slowest] for _ in range(rounds)]
    return [
        Worst(group, question, median_figure([of_round[at] for of_round in taken]))
        for at, (group, question) in enumerate(zip(all_groups, slowest, strict=True))
    ]


def _wait_for_index(connection: Connection) -> None:
    """Wait until everything in the copy can be found."""
    ends = time.monotonic() + INDEX_SECONDS
    while lag := msgspec.json.decode(connection.get("/health").body)["index"]["lag"]:
        if time.monotonic() > ends:
            raise ProcessFailed(f"The index stayed {lag} changes behind the copy.")
        time.sleep(0.5)


def _median(connection: Connection, question: Question, requests: int) -> float:
    return median(_times(connection, question, requests)[0])


def _round(connection: Connection, question: Question, requests: int) -> Figure:
    times, total = _times(connection, question, requests)
    return latencies(times, total=total)


def _times(connection: Connection, question: Question, requests: int) -> tuple[list[float], int]:
    """Seconds from sending each request to having its whole answer, and the total that the last one tells."""
    times, target = [], question.target
    body = b""
    with _no_collection():
        for _ in range(requests):
            began = time.perf_counter()
            answer = connection.get(target)
            times.append(time.perf_counter() - began)
            body = answer.body
            if answer.status != 200:
                raise ProcessFailed(f"{target} was answered with {answer.status}: {body[:500]!r}")
    return times, int(msgspec.json.decode(body)["total"])


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage collection of the measuring process within a measured time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _peers(inputs: Inputs, questions: Sequence[Question], most: int) -> Iterator[tuple[str, list[Figure | None], str]]:
    """Each peer's name, its answers to the questions, and how it was set up."""
    yield _fts5(inputs, questions, most)
    if not postgresql.is_installed():
        say("PostgreSQL is not installed; it is left out")
        return
    with ExitStack() as stack:
        sockets = stack.enter_context(postgresql.server())
        with stage("loading and indexing in PostgreSQL"):
            began = time.monotonic()
            size = postgresql.load(sockets, devices_of(inputs.data_dir))
            built = _built(began, size)
        for peer in (postgresql.Trigrams(sockets), postgresql.FullText(sockets)):
            stack.enter_context(closing(peer))
            with pinned(LOAD_CORE):
                answers = _asked(peer, questions, most)
            yield peer.name, answers, f"{postgresql.description()} {built}" if peer.name.endswith("trgm") else ""


def _fts5(inputs: Inputs, questions: Sequence[Question], most: int) -> tuple[str, list[Figure | None], str]:
    path = inputs.path("fts5.db")
    path.unlink(missing_ok=True)
    with closing(fts5.Fts5(path)) as peer:
        with stage("loading SQLite FTS5"):
            began = time.monotonic()
            peer.load(devices_of(inputs.data_dir))
            built = _built(began, path.stat().st_size)
        with pinned(SERVER_CORE):
            answers = _asked(peer, questions, most)
    path.unlink()
    return peer.name, answers, f"{fts5.DESCRIPTION} {built}"


def _built(began: float, size: int) -> str:
    return f"Loaded and indexed in {time.monotonic() - began:,.0f} s, {size / 1e6:,.0f} MB."


def _asked(peer: Peer, questions: Sequence[Question], most: int) -> list[Figure | None]:
    with stage(f"searching by {peer.name}"):
        return [_answered(peer, question, most) for question in questions]


def _answered(peer: Peer, question: Question, most: int) -> Figure | None:
    total = peer.search(question)  # once before it counts
    if total is None:
        return None
    times: list[float] = []
    ends = time.perf_counter() + PEER_SECONDS
    while len(times) < PEER_LEAST or (len(times) < most and time.perf_counter() < ends):
        began = time.perf_counter()
        peer.search(question)
        times.append(time.perf_counter() - began)
    return latencies(times, total=total)


def _remark(inputs: Inputs, rounds: int, requests: int) -> str:
    commonest: dict[str, Any] = dict(list(inputs.census().common.items())[:5])
    words = ", ".join(f"{word} ({count:,})" for word, count in commonest.items())
    return (
        f"Shown are p50 / p99 / the longest, and how many devices were found. Ours: over HTTP, one connection, the "
        f"server on one core, {requests} requests a round, median of {rounds} rounds; 8 rows, the exact total. "
        f"Of each kind the slowest question was looked for (over the ten most frequent words, every status, every "
        f"risk class) and is shown. The most frequent words are {words}. A peer answers with the top 8 and the count, "
        f"at most {round(requests * PEER_ASKED)} times or for {PEER_SECONDS:.0f} s; ratios compare p50."
    )
