"""Part `watching`: what a changed record costs among many watches, and deliveries beside a bare posting loop."""

import subprocess
import sys
from statistics import median

from bench.fanout import Scene, Stored, run_many_changes, run_one_change
from bench.figures import Figure, Goal, Row, Section, latencies
from bench.inputs import Inputs
from bench.log import timed
from bench.machine import LOAD_CORE, SERVER_CORE, pinned
from bench.processes import ProcessFailed, free_port, running
from bench.settings import Settings

PART = "watching"
PEER = "beside it"
OTHER_WATCHES = (1, 1_000, 100_000)
ONE_CHANGE_REPEATS = 50
CHANGES = 10_000
SECONDS_FOR_CHANGES = 30
WATCHES_FOR_EACH_DEVICE = 3
MAX_DEVICES = 320_000
"""Devices that are watched at most: with three times as many watches, so many take minutes to set up."""
"""A million watches at the usual 320,000 records."""
DELIVERIES_A_ROUND = 4_000
GOAL_RATIO = 0.6
STORING = (
    "Storing is in process, on SQLite: the copy, snapshots, events and deliveries in one transaction for each page of "
    "300 records."
)
DELIVERING = (
    "Deliveries: ours are claimed, signed, posted and their ends stored; beside it httpx2 posts the same bodies with "
    "as many at once; the receiver is on the other core."
)


def measure(inputs: Inputs, settings: Settings) -> Section:
    """Store changed records of watched devices, then deliver to a local receiver."""
    rows = [*_one_change(inputs, settings), _many_changes(inputs, settings), _deliveries(inputs, settings)]
    remarks = [
        STORING,
        DELIVERING,
        settings.remark(),
    ]
    return Section(PART, "Watching and delivering", rows, remarks)


def _one_change(inputs: Inputs, settings: Settings) -> list[Row]:
    rows: list[Row] = []
    first: Figure | None = None
    for watches in OTHER_WATCHES:
        if watches > 10 * inputs.devices:
            continue
        with timed(f"storing one changed record among {watches:,} watches"), pinned(SERVER_CORE):
            seconds = settings.noted(
                lambda watches=watches: run_one_change(inputs.path("fanout.db"), watches, ONE_CHANGE_REPEATS)  # type: ignore[misc]
            )
        figure = latencies(seconds)
        rows.append(Row(f"one changed record, {watches:,} watches, one of them on it", figure, {PEER: first}))
        first = first or figure
    return rows


def _many_changes(inputs: Inputs, settings: Settings) -> Row:
    devices = min(MAX_DEVICES, inputs.devices)
    watches = devices * WATCHES_FOR_EACH_DEVICE
    changes = min(CHANGES, devices)
    scene = Scene(max(WATCHES_FOR_EACH_DEVICE, watches // 1_000), watches, devices)
    with timed(f"storing {changes:,} changed records among {watches:,} watches"), pinned(SERVER_CORE):
        stored: Stored = settings.noted(lambda: run_many_changes(inputs.path("fanout.db"), scene, changes))
    figure = Figure(stored.seconds, "s", {"events": stored.events, "deliveries": stored.deliveries})
    what = (
        f"{changes:,} changed records among {watches:,} watches: {stored.events:,} events stored, "
        f"{stored.deliveries:,} deliveries queued"
    )
    return Row(what, figure, {}, Goal(f"< {SECONDS_FOR_CHANGES} s", stored.seconds < SECONDS_FOR_CHANGES))


def _deliveries(inputs: Inputs, settings: Settings) -> Row:
    count = min(DELIVERIES_A_ROUND, inputs.devices)
    port = free_port()
    with (
        timed(f"delivering {count:,} times to a local receiver"),
        running([sys.executable, "-m", "bench.receiver", str(port)], inputs.path("receiver.log"), cores=(LOAD_CORE,)),
    ):

        def both() -> tuple[float, float]:
            database = str(inputs.path("deliveries.db"))
            return _posted("ours", port, count, database), _posted("bare", port, count)

        rounds = [settings.noted(both) for _ in range(settings.rounds)]
    ours, bare = (Figure(count / median(seconds), "deliveries/s") for seconds in zip(*rounds, strict=True))
    ratio = ours.value / bare.value
    what = "signed deliveries to a local receiver, one core"
    return Row(what, ours, {PEER: bare}, Goal(f"ratio ≥ {GOAL_RATIO}", ratio >= GOAL_RATIO))


def _posted(kind: str, port: int, count: int, *more: str) -> float:
    command = [sys.executable, "-m", "bench.posting", kind, str(port), str(count), *more]
    with pinned(SERVER_CORE):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ProcessFailed(f"Posting failed:\n{done.stdout}{done.stderr}"[-2000:])
    return float(done.stdout.split()[-1])
