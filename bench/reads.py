"""Part `reads`: requests per second of the hot reads, beside a bare ASGI application that answers the same bytes."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from urllib.parse import quote

from bench import capture
from bench.connection import Connection, Request
from bench.figures import Figure, Goal, Row, Section, median_figure
from bench.inputs import Inputs
from bench.load import rate, write_requests
from bench.log import timed
from bench.pairs import PEER, Pair, SubjectReader
from bench.peers import datasette
from bench.peers.tables import fts5_file
from bench.service import UNPACED, bring_up_to_date, device_requests, serving, stand_in_register
from bench.settings import Settings

PART = "reads"
GOAL_RATIO = 0.5
READ_DEVICES = 2_000


def measure(inputs: Inputs, settings: Settings) -> Section:
    """Read devices, 304s, actors and health, over a copy whose register is the generated stand-in."""
    inputs.copy()
    sample = inputs.sample()
    known, behind = sample.udis[:READ_DEVICES], sample.udis[READ_DEVICES:]
    reading = SubjectReader(inputs, settings)
    rows: list[Row] = []
    with stand_in_register(inputs) as register:
        with serving(inputs, register, REGISTER_REQUESTS_PER_MINUTE=UNPACED) as port:
            rows += _at_rest(reading, port, known, sample.srns)
        with serving(inputs, register) as port:
            waiting = reading.pair("devices while refreshes wait", port, device_requests(behind or known))
            rows.append(_row("device, 200, never read in full yet: 200 refreshes wait behind readers' backs", waiting))
    other = _datasette(inputs, settings, known)
    rows[0] = replace(rows[0], peers={**rows[0].peers, datasette.NAME: other})
    different = f"{min(READ_DEVICES, inputs.devices):,} different UDI-DIs from all over the copy."
    remarks = [f"{reading.remark()} {different}", datasette.READS, settings.remark()]
    return Section(PART, "Reads over HTTP, one core", rows, remarks)


def _datasette(inputs: Inputs, settings: Settings, udis: Sequence[str]) -> Figure:
    """The same devices as Datasette's JSON."""
    path, _ = fts5_file(inputs)
    sent = write_requests(datasette.device_requests(udis), inputs.path("datasette.bin"))
    with timed("reading devices from Datasette"), datasette.serving(path, inputs.path("datasette.log")) as port:
        return median_figure(
            [settings.noted(lambda: rate(port, sent, seconds=settings.seconds)) for _ in range(settings.rounds)]
        )


def _at_rest(reading: SubjectReader, port: int, udis: Sequence[str], srns: Sequence[str]) -> list[Row]:
    """Rows over devices and actors that were read from the register, so that nothing goes on behind."""
    with closing(Connection(port)) as connection:
        bring_up_to_date(connection, [*udis, *srns])
        known = capture.capture(connection, device_requests(udis))
    unchanged = [Request(answer.target, {"If-None-Match": answer.answered_tag}) for answer in known]
    devices = reading.pair("devices", port, device_requests(udis))
    same = reading.pair("devices that did not change", port, unchanged)
    alone = reading.pair("devices over one connection", port, device_requests(udis), connections=1)
    actors = reading.pair("actors", port, [Request(f"/v1/actors/{quote(srn, safe='')}") for srn in srns])
    health = reading.pair("health", port, [Request("/health")])
    faster = same.ours.value > devices.ours.value
    return [
        _row("device, 200", devices, Goal(f"ratio ≥ {GOAL_RATIO}", devices.ratio >= GOAL_RATIO)),
        _row("device, 304 by `If-None-Match`", same, Goal("more than with 200", faster)),
        _row("device, 200, one connection", alone),
        _row("actor with its first 20 devices", actors),
        _row("`/health`", health),
    ]


def _row(what: str, pair: Pair, goal: Goal | None = None) -> Row:
    return Row(what, pair.ours, {PEER: pair.bare}, goal)
