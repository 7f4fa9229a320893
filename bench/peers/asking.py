"""Asking the peers the questions that our service was asked."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass

from bench.cluster import Cluster, described_settings
from bench.figures import Figure, latencies
from bench.inputs import Inputs
from bench.log import say, timed
from bench.machine import LOAD_CORE, SERVER_CORE, pinned
from bench.peers import datasette, fts5, postgresql
from bench.peers.contract import UNCOUNTED, Peer
from bench.peers.tables import fts5_file, full_text_table, trigram_index
from bench.questions import ApiRequest
from bench.settings import Settings

ASKED = 1 / 3
"""Part of a round that a peer is asked at most, and"""
ASKED_SECONDS = 5.0
"""for so long, but"""
ASKED_LEAST = 3
"""times at least, or once where asking once takes longer than that."""


@dataclass(frozen=True, slots=True)
class Answers:
    """A peer's figures, one for each question or None where it cannot answer it; how it was set up."""

    peer: str
    figures: Sequence[Figure | None]
    remark: str


def ask_peers(
    inputs: Inputs, questions: Sequence[ApiRequest], settings: Settings, cluster: Cluster | None
) -> Iterator[Answers]:
    """The answers of every peer that is installed."""
    yield from _datasette(inputs, questions, settings)
    yield _fts5(inputs, questions, settings)
    if cluster is not None:
        yield from _postgresql(inputs, questions, settings, cluster)


def _datasette(inputs: Inputs, questions: Sequence[ApiRequest], settings: Settings) -> Iterator[Answers]:
    path, _ = fts5_file(inputs)
    with datasette.serving(path, inputs.path("datasette.log")) as port, pinned(LOAD_CORE):
        for counts in (True, False):
            with closing(datasette.Datasette(port, counts=counts)) as peer:
                figures = _asked(peer, questions, settings)
            yield Answers(peer.name, figures, datasette.DESCRIPTION if counts else datasette.WITHOUT_COUNT)


def _fts5(inputs: Inputs, questions: Sequence[ApiRequest], settings: Settings) -> Answers:
    path, built = fts5_file(inputs)
    with closing(fts5.Fts5(path)) as peer, pinned(SERVER_CORE):
        figures = _asked(peer, questions, settings)
    return Answers(peer.name, figures, f"{fts5.DESCRIPTION} {built.remark}")


def _postgresql(
    inputs: Inputs, questions: Sequence[ApiRequest], settings: Settings, cluster: Cluster
) -> Iterator[Answers]:
    built = full_text_table(inputs, cluster)
    with ExitStack() as stack:
        if inputs.devices <= settings.trigrams_up_to:
            indexed = trigram_index(inputs, cluster)
            trigrams = stack.enter_context(closing(postgresql.Trigrams(cluster)))
            with pinned(LOAD_CORE):
                figures = _asked(trigrams, questions, settings)
            remark = f"{postgresql.TRIGRAMS} Settings: {described_settings()}. {indexed.remark}"
            yield Answers(trigrams.name, figures, remark)
        else:
            say(f"pg_trgm is left out above {settings.trigrams_up_to:,} records")
        full_text = stack.enter_context(closing(postgresql.FullText(cluster)))
        with pinned(LOAD_CORE):
            figures = _asked(full_text, questions, settings)
        yield Answers(full_text.name, figures, f"{postgresql.FULL_TEXT} {built.remark}")


def _asked(peer: Peer, questions: Sequence[ApiRequest], settings: Settings) -> list[Figure | None]:
    with timed(f"searching by {peer.name}"):
        return [_answered(peer, question, settings) for question in questions]


def _answered(peer: Peer, question: ApiRequest, settings: Settings) -> Figure | None:
    began = time.perf_counter()
    total = peer.search(question)  # once before it counts
    least = ASKED_LEAST if time.perf_counter() - began < ASKED_SECONDS else 1
    if total is None:
        return None
    times = settings.noted(lambda: _times(peer, question, least, round(settings.requests * ASKED)))
    return latencies(times, **({} if total == UNCOUNTED else {"total": total}))


def _times(peer: Peer, question: ApiRequest, least: int, most: int) -> list[float]:
    times: list[float] = []
    ends = time.perf_counter() + ASKED_SECONDS
    while len(times) < least or (len(times) < most and time.perf_counter() < ends):
        began = time.perf_counter()
        peer.search(question)
        times.append(time.perf_counter() - began)
    return times
