"""Part `search`: searches by name over HTTP, beside SQLite FTS5 and PostgreSQL over the same rows."""

import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from statistics import median

import msgspec

from bench.cluster import cluster, is_installed
from bench.connection import Connection
from bench.figures import Figure, Goal, Row, Section, latencies, median_figure
from bench.inputs import Inputs, Stored
from bench.log import say, timed
from bench.machine import LOAD_CORE, pinned
from bench.peers.asking import ASKED, ASKED_SECONDS, ask_peers
from bench.postgresql_copy import postgresql_copy
from bench.processes import ProcessFailed
from bench.questions import COMMONEST, ApiRequest, Group, groups
from bench.service import served, serving
from bench.settings import Settings, no_collection

PART = "search"
ON_POSTGRESQL = "ours on PostgreSQL"
GOAL_MS = 10.0
INDEX_SECONDS = 600.0
"""How long the index may take to follow a copy that changed after it was filled."""
PROBED = 1 / 30
"""Part of a round by which the slowest question of a group is found."""


@dataclass(frozen=True, slots=True)
class Worst:
    """The question of a group that took our service longest, and how it did."""

    group: Group
    question: ApiRequest
    ours: Figure

    def row(self, peers: dict[str, Figure | None]) -> Row:
        """Beside its peers; the goal is for common words."""
        goal = Goal(f"p99 ≤ {GOAL_MS:.0f} ms", float(self.ours.details["p99"]) <= GOAL_MS)
        what = f"{self.group.kind} “{self.question.text}”, {self.question.filters}"
        same = f"{self.group.kind}, {self.group.filtering}"
        return Row(what, self.ours, peers, goal if self.group.kind == "common word" else None, same)


def measure(inputs: Inputs, settings: Settings) -> Section:
    """Ask our service, then load and ask the peers."""
    inputs.copy()
    worst = _ours(inputs, settings)
    questions = [each.question for each in worst]
    beside: list[dict[str, Figure | None]] = [{} for _ in worst]
    with ExitStack() as stack:
        running = stack.enter_context(cluster(inputs)) if is_installed() else None
        if running is None:
            say("PostgreSQL is not installed; it is left out")
        else:
            other = _on(inputs, postgresql_copy(inputs, running), questions, settings)
            beside = [{ON_POSTGRESQL: figure} for figure in other]
        answers = list(ask_peers(inputs, questions, settings, running))
    rows = [
        each.row({**beside[at], **{answer.peer: answer.figures[at] for answer in answers}})
        for at, each in enumerate(worst)
    ]
    remarks = [_remark(inputs, settings), *(answer.remark for answer in answers), settings.remark()]
    title = f"Searches by name in {inputs.sample().devices:,} devices, one core"
    return Section(PART, title, rows, remarks, "Searches by name, one core")


def _ours(inputs: Inputs, settings: Settings) -> list[Worst]:
    all_groups = list(groups(inputs.sample()))
    with serving(inputs) as port, closing(Connection(port)) as connection, pinned(LOAD_CORE):
        _wait_for_index(connection)
        with timed("finding the slowest question of each kind"):
            slowest = [_slowest(connection, group, max(1, round(settings.requests * PROBED))) for group in all_groups]
        with timed("searching"):
            figures = _figures(connection, slowest, settings)
    return [Worst(*each) for each in zip(all_groups, slowest, figures, strict=True)]


def _on(inputs: Inputs, stored: Stored, questions: Sequence[ApiRequest], settings: Settings) -> list[Figure]:
    """Our service over another copy of the same rows."""
    with served(inputs, stored=stored) as service, closing(Connection(service.port)) as connection, pinned(LOAD_CORE):
        _wait_for_index(connection)
        with timed(f"searching on {stored.kind}"):
            for question in questions:
                connection.get(question.target)  # once before it counts
            return _figures(connection, questions, settings)


def _figures(connection: Connection, questions: Sequence[ApiRequest], settings: Settings) -> list[Figure]:
    taken = [[_round(connection, question, settings) for question in questions] for _ in range(settings.rounds)]
    return [median_figure(rounds) for rounds in zip(*taken, strict=True)]


def _wait_for_index(connection: Connection) -> None:
    """Wait until everything in the copy can be found."""
    ends = time.monotonic() + INDEX_SECONDS
    while lag := msgspec.json.decode(connection.get("/health").body)["index"]["lag"]:
        if time.monotonic() > ends:
            raise ProcessFailed(f"The index stayed {lag} changes behind the copy.")
        time.sleep(0.5)


def _slowest(connection: Connection, group: Group, requests: int) -> ApiRequest:
    return max(group.questions, key=lambda question: median(_times(connection, question, requests)[0]))


def _round(connection: Connection, question: ApiRequest, settings: Settings) -> Figure:
    times, total = settings.noted(lambda: _times(connection, question, settings.requests))
    return latencies(times, total=total)


def _times(connection: Connection, question: ApiRequest, requests: int) -> tuple[list[float], int]:
    """Seconds from sending each request to having its whole answer, and the total that the last one tells."""
    times, target = [], question.target
    body = b""
    with no_collection():
        for _ in range(requests):
            began = time.perf_counter()
            answer = connection.get(target)
            times.append(time.perf_counter() - began)
            body = answer.body
            if answer.status != 200:
                raise ProcessFailed(f"{target} was answered with {answer.status}: {body[:500]!r}")
    return times, int(msgspec.json.decode(body)["total"])


def _remark(inputs: Inputs, settings: Settings) -> str:
    asked = round(settings.requests * ASKED)
    commonest = dict(list(inputs.sample().common.items())[:5])
    words = ", ".join(f"{word} ({count:,})" for word, count in commonest.items())
    return (
        f"Shown are p50 / p99 / the longest, and how many devices were found. Ours: over HTTP, one connection, the "
        f"server on one core, {settings.requests} requests a round, median of {settings.rounds} rounds; 8 rows, the "
        f"exact total. Of each kind the slowest question was looked for (over the {COMMONEST} most frequent words, "
        f"every status, every risk class) and is shown. The most frequent words are {words}. Ours on "
        f"PostgreSQL: the same questions, service and database together on the server's core. A peer answers with the "
        f"top 8 and the count, at most {asked} times or for {ASKED_SECONDS:.0f} s; ratios compare p50."
    )
