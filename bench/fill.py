"""Part `fill`: filling a copy from a file, beside a loop that does nothing but parse and insert."""

import sys
from pathlib import Path

from bench.figures import Figure, Goal, Row, Section, median_figure
from bench.inputs import Filling, Inputs, remove_database
from bench.log import timed
from bench.processes import ProcessFailed, Watch, running, tail
from bench.settings import Settings

PART = "fill"
PEER = "bare loop: parse, insert"
GOAL_RATE = 20_000
GOAL_MEGABYTES = 400
REPEATED_UP_TO = 400_000
"""Records up to which a filling is short enough to be repeated."""


def measure(inputs: Inputs, settings: Settings) -> Section:
    """Fill, and run the bare loop, in turn. The last copy stays for the other parts."""
    records = inputs.records()
    ours: list[Filling] = []
    bare: list[tuple[Figure, int]] = []
    for _ in range(settings.rounds if inputs.devices <= REPEATED_UP_TO else 1):
        bare.append(settings.noted(lambda: _bare_loop(inputs, records)))
        ours.append(settings.noted(inputs.fill))
    rate = median_figure([_rate(inputs.devices, filling.seconds) for filling in ours])
    peak = max(ours, key=lambda filling: filling.peak_bytes)
    memory = Figure(peak.peak_bytes / 1e6, "MB", {f"process_{n}": size / 1e6 for n, size in enumerate(peak.at_peak, 1)})
    return Section(
        PART,
        f"Filling a copy from a file of {inputs.devices:,} records",
        [
            Row(
                "copy and index together, until the command ends",
                rate,
                {PEER: median_figure([figure for figure, _ in bare])},
                Goal(f"≥ {GOAL_RATE:,} records/s", rate.value >= GOAL_RATE),
            ),
            Row(
                "resident memory, summed over its processes, at its peak",
                memory,
                {PEER: Figure(max(size for _, size in bare) / 1e6, "MB")},
                Goal(f"< {GOAL_MEGABYTES} MB", memory.value < GOAL_MEGABYTES),
            ),
        ],
        [*_remarks(inputs, records, peak), settings.remark()],
        heading="Filling a copy from a file",
    )


def _bare_loop(inputs: Inputs, records: Path) -> tuple[Figure, int]:
    """The rate of the bare loop, and the bytes of memory that it had at its peak."""
    database, log = inputs.path("bare.db"), inputs.path("bare.log")
    remove_database(database)
    command = [sys.executable, "-m", "bench.bareload", str(records), str(database)]
    with (
        timed(f"parsing and inserting {inputs.devices:,} records in a bare loop"),
        running(command, log) as process,
        Watch(process) as watch,
    ):
        code = process.wait()
    remove_database(database)
    if code != 0:
        raise ProcessFailed(f"The bare loop ended with {code}:\n{tail(log)}")
    seconds = float(log.read_text().splitlines()[-1])
    return _rate(inputs.devices, seconds), watch.peak_bytes


def _rate(records: int, seconds: float) -> Figure:
    return Figure(records / seconds, "records/s", {"seconds": seconds})


def _remarks(inputs: Inputs, records: Path, filling: Filling) -> list[str]:
    index = sum(file.stat().st_size for file in (inputs.data_dir / "index").rglob("*") if file.is_file())
    database = (inputs.data_dir / "registerwatch.db").stat().st_size
    shares = " + ".join(f"{size / 1e6:.0f}" for size in filling.at_peak)
    computed = " and ".join(f"{seconds:.0f} s" for seconds in filling.computed_seconds)
    return [
        (
            f"The file has {records.stat().st_size / 1e6:,.0f} MB, the database {database / 1e6:,.0f} MB, "
            f"the index {index / 1e6:,.0f} MB."
        ),
        f"Of storing and indexing: {computed} of a core, {shares} MB at the peak of their memory.",
        "The bare loop needs one core and has no index, no merging, no second process: it is a limit, not a rival.",
    ]
