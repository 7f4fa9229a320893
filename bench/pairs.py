"""Requests per second of our service beside a bare ASGI application that answers the same bytes, in turn."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import capture
from bench.connection import Connection, Request
from bench.figures import Figure, median_figure
from bench.inputs import Inputs
from bench.load import CONNECTIONS, generator, rate, write_requests
from bench.log import timed
from bench.machine import SERVER_CORE
from bench.processes import free_port, running, wait_until_answering
from bench.settings import Settings

PEER = "bare ASGI app"


@dataclass(frozen=True, slots=True)
class Pair:
    """What was measured of one kind of request."""

    ours: Figure
    bare: Figure

    @property
    def ratio(self) -> float:
        return self.ours.value / self.bare.value


@dataclass(frozen=True, slots=True)
class SubjectReader:
    """How pairs are measured, and over what."""

    inputs: Inputs
    settings: Settings

    def pair(self, what: str, port: int, requests: Sequence[Request], connections: int = CONNECTIONS) -> Pair:
        """Our service and a bare application in turn, both on the server's core."""
        with closing(Connection(port)) as asking:
            answers = capture.capture(asking, requests)
        kept, sent = self.inputs.path("answers.msgpack"), self.inputs.path("requests.bin")
        capture.write(answers, kept)
        write_requests(requests, sent)
        with timed(f"reading {what}"), _bare(kept, answers[0].target, self.inputs.path("bare-app.log")) as other:
            seconds = self.settings.seconds

            def both() -> tuple[Figure, Figure]:
                ours, bare = (rate(each, sent, seconds=seconds, connections=connections) for each in (port, other))
                return ours, bare

            rounds = [self.settings.noted(both) for _ in range(self.settings.rounds)]
        return Pair(median_figure([ours for ours, _ in rounds]), median_figure([bare for _, bare in rounds]))

    def remark(self) -> str:
        """How a pair is measured, in sentences."""
        return (
            f"Shown are requests/s and p50 / p99 under that load. Load: {generator()}, {CONNECTIONS} kept-alive "
            f"connections unless told otherwise, no pipelining, {self.settings.seconds} s a round, median of "
            f"{self.settings.rounds} rounds, ours and the bare application in turn on the same core, the load on the "
            "other one."
        )


@contextmanager
def _bare(answers: Path, target: str, log: Path) -> Iterator[int]:
    """The bare application on the same core; gives its port."""
    port = free_port()
    command = [sys.executable, "-m", "bench.bare", str(answers), str(port)]
    with running(command, log, cores=[SERVER_CORE]) as process:
        # A captured 304 is answered to everybody, so «answering» is any answer here.
        wait_until_answering(process, port, target, log, statuses=(200, 304)).close()
        yield port
