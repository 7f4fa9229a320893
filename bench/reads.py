"""Part `reads`: requests per second of the hot reads, beside a bare ASGI application that answers the same bytes."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from bench import capture
from bench.connection import Connection
from bench.figures import Figure, Goal, Row, Section, median_figure
from bench.inputs import Inputs
from bench.load import CONNECTIONS, generator, rate, write_targets
from bench.machine import SERVER_CORE
from bench.manner import Manner
from bench.processes import free_port, running, wait_until_answering
from bench.progress import say, stage
from bench.service import serving, stand_in_register

PART = "reads"
PEER = "bare ASGI app"
GOAL_RATIO = 0.5
READ_DEVICES = 2_000
UNPACED = "1000000"
"""Requests per minute to the stand-in register: as many as it answers."""

Requests = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Pair:
    """What was measured of one kind of read."""

    ours: Figure
    bare: Figure

    def row(self, what: str, goal: Goal | None = None) -> Row:
        return Row(what, self.ours, {PEER: self.bare}, goal)

    @property
    def ratio(self) -> float:
        return self.ours.value / self.bare.value


@dataclass(frozen=True, slots=True)
class Reading:
    """How reads are measured, and over what."""

    inputs: Inputs
    manner: Manner

    def pair(self, what: str, port: int, requests: Requests, connections: int = CONNECTIONS) -> Pair:
        """Our service and a bare application in turn, both on the server's core."""
        asking = Connection(port)
        answers = capture.capture(asking, requests)
        asking.close()
        kept, targets = self.inputs.path("answers.msgpack"), self.inputs.path("targets.txt")
        capture.write(answers, kept)
        write_targets([(answer.target, answer.tag) for answer in answers], targets)
        with stage(f"reading {what}"), _bare(kept, answers[0].target, self.inputs.path("bare-app.log")) as other:
            seconds = self.manner.seconds

            def both() -> tuple[Figure, Figure]:
                ours, bare = (rate(each, targets, seconds=seconds, connections=connections) for each in (port, other))
                return ours, bare

            rounds = [self.manner.undisturbed(both) for _ in range(self.manner.rounds)]
        return Pair(median_figure([ours for ours, _ in rounds]), median_figure([bare for _, bare in rounds]))


def measure(inputs: Inputs, manner: Manner) -> Section:
    """Read devices, 304s, actors and health, over a copy whose register is the generated stand-in."""
    inputs.copy()
    census = inputs.census()
    known, behind = census.udis[:READ_DEVICES], census.udis[READ_DEVICES:]
    reading = Reading(inputs, manner)
    rows: list[Row] = []
    with stand_in_register(inputs) as register:
        with serving(inputs, register, REGISTER_REQUESTS_PER_MINUTE=UNPACED) as port:
            rows += _at_rest(reading, port, known, census.srns)
        with serving(inputs, register) as port:
            waiting = reading.pair("devices while refreshes wait", port, _devices(behind or known))
            rows.append(waiting.row("device, 200, never read in full yet: 200 refreshes wait behind readers' backs"))
    return Section(PART, "Reads over HTTP, one core", rows, [_remark(inputs, manner), manner.remark()])


def _at_rest(reading: Reading, port: int, udis: Sequence[str], srns: Sequence[str]) -> list[Row]:
    """Rows over devices and actors that were read from the register, so that nothing goes on behind."""
    connection = Connection(port)
    _refresh(connection, [*udis, *srns])
    tags = [(answer.target, answer.answered_tag) for answer in capture.capture(connection, _devices(udis))]
    connection.close()
    devices = reading.pair("devices", port, _devices(udis))
    same = reading.pair("devices that did not change", port, tags)
    alone = reading.pair("devices over one connection", port, _devices(udis), connections=1)
    actors = reading.pair("actors", port, [(f"/v1/actors/{quote(srn, safe='')}", "") for srn in srns])
    health = reading.pair("health", port, [("/health", "")])
    faster = same.ours.value > devices.ours.value
    return [
        devices.row("device, 200", Goal(f"ratio ≥ {GOAL_RATIO}", devices.ratio >= GOAL_RATIO)),
        same.row("device, 304 by `If-None-Match`", Goal("more than with 200", faster)),
        alone.row("device, 200, one connection"),
        actors.row("actor with its first 20 devices"),
        health.row("`/health`"),
    ]


def _devices(udis: Sequence[str]) -> list[tuple[str, str]]:
    return [(f"/v1/devices/{quote(udi, safe='')}", "") for udi in udis]


def _refresh(connection: Connection, codes: Sequence[str]) -> None:
    with stage(f"reading {len(codes):,} devices and actors from the stand-in register"):
        answers = [connection.get(f"/v1/refresh?q={quote(code, safe='')}") for code in codes]
    failed = sum(answer.status != 200 or b'"refreshed":true' not in answer.body for answer in answers)
    if failed:
        say(f"{failed} of them could not be read; they are measured as they are")


@contextmanager
def _bare(answers: Path, target: str, log: Path) -> Iterator[int]:
    """The bare application on the same core; gives its port."""
    port = free_port()
    command = [sys.executable, "-m", "bench.bare", str(answers), str(port)]
    with running(command, log, core=SERVER_CORE) as process:
        # A captured 304 is answered to everybody, so «answering» is any answer here.
        wait_until_answering(process, port, target, log, statuses=(200, 304)).close()
        yield port


def _remark(inputs: Inputs, manner: Manner) -> str:
    return (
        f"Shown are requests/s and p50 / p99 under that load. Load: {generator()}, {CONNECTIONS} kept-alive "
        f"connections unless told otherwise, no pipelining, {manner.seconds} s a round, median of {manner.rounds} "
        "rounds, ours and the bare application in turn on the same core, the load on the other one. "
        f"{min(READ_DEVICES, inputs.devices):,} different UDI-DIs from all over the copy."
    )
