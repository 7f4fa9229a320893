"""Loading the peers with the rows of a copy and asking them the questions."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass

from bench.figures import Figure, latencies
from bench.inputs import Inputs
from bench.machine import LOAD_CORE, SERVER_CORE, pinned
from bench.manner import Manner
from bench.peers import fts5, postgresql
from bench.peers.contract import Peer
from bench.progress import say, stage
from bench.questions import Question
from bench.rows import devices_of

ASKED = 1 / 3
"""Part of a round that a peer is asked at most, and"""
ASKED_SECONDS = 5.0
"""for so long, but"""
ASKED_LEAST = 3
"""times at least."""


@dataclass(frozen=True, slots=True)
class Answers:
    """A peer's figures, one for each question or None where it cannot answer it; how it was set up."""

    peer: str
    figures: Sequence[Figure | None]
    remark: str


def ask_peers(inputs: Inputs, questions: Sequence[Question], manner: Manner) -> Iterator[Answers]:
    """The answers of every peer that is installed."""
    yield _fts5(inputs, questions, manner)
    if postgresql.is_installed():
        yield from _postgresql(inputs, questions, manner)
    else:
        say("PostgreSQL is not installed; it is left out")


def _fts5(inputs: Inputs, questions: Sequence[Question], manner: Manner) -> Answers:
    path = inputs.path("fts5.db")
    path.unlink(missing_ok=True)
    with closing(fts5.Fts5(path)) as peer:
        with stage("loading SQLite FTS5"):
            began = time.monotonic()
            peer.load(devices_of(inputs.data_dir))
            built = _built(began, path.stat().st_size)
        with pinned(SERVER_CORE):
            figures = _asked(peer, questions, manner)
    path.unlink()
    return Answers(peer.name, figures, f"{fts5.DESCRIPTION} {built}")


def _postgresql(inputs: Inputs, questions: Sequence[Question], manner: Manner) -> Iterator[Answers]:
    with ExitStack() as stack:
        sockets = stack.enter_context(postgresql.server())
        with stage("loading and indexing in PostgreSQL"):
            began = time.monotonic()
            size = postgresql.load(sockets, devices_of(inputs.data_dir))
            built = _built(began, size)
        stack.enter_context(pinned(LOAD_CORE))
        trigrams = stack.enter_context(closing(postgresql.Trigrams(sockets)))
        yield Answers(trigrams.name, _asked(trigrams, questions, manner), f"{postgresql.description()} {built}")
        full_text = stack.enter_context(closing(postgresql.FullText(sockets)))
        yield Answers(full_text.name, _asked(full_text, questions, manner), postgresql.FULL_TEXT)


def _built(began: float, size: int) -> str:
    return f"Loaded and indexed in {time.monotonic() - began:,.0f} s, {size / 1e6:,.0f} MB."


def _asked(peer: Peer, questions: Sequence[Question], manner: Manner) -> list[Figure | None]:
    with stage(f"searching by {peer.name}"):
        return [_answered(peer, question, manner) for question in questions]


def _answered(peer: Peer, question: Question, manner: Manner) -> Figure | None:
    total = peer.search(question)  # once before it counts
    if total is None:
        return None
    times = manner.undisturbed(lambda: _times(peer, question, round(manner.requests * ASKED)))
    return latencies(times, total=total)


def _times(peer: Peer, question: Question, most: int) -> list[float]:
    times: list[float] = []
    ends = time.perf_counter() + ASKED_SECONDS
    while len(times) < ASKED_LEAST or (len(times) < most and time.perf_counter() < ends):
        began = time.perf_counter()
        peer.search(question)
        times.append(time.perf_counter() - began)
    return times
