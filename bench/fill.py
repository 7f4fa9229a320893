"""Part `fill`: filling a copy from a file, beside a loop that does nothing but parse and insert."""

import sys
from collections.abc import Sequence

from bench.figures import Figure, Goal, Row, Section, median_figure
from bench.processes import Usage, tail
from bench.setup import Setup, remove_database, timed

PEER = "bare loop: parse, insert"
GOAL_RATE = 20_000
GOAL_MEGABYTES = 400
REPEATED_UP_TO = 400_000  # records up to which a filling is short enough to be repeated


def measure(setup: Setup) -> Section:
    """Fill, and run the bare loop, in turn. The last copy stays for the other parts."""
    setup.records()
    rounds = range(setup.rounds if setup.devices <= REPEATED_UP_TO else 1)
    runs = [(_bare_loop(setup), setup.fill(setup.sqlite)) for _ in rounds]
    (bare, bare_memory), (rate, memory) = (_figures(setup.devices, each) for each in zip(*runs, strict=True))
    is_quick = Goal(f"≥ {GOAL_RATE:,} records/s", rate.value >= GOAL_RATE)
    is_small = Goal(f"< {GOAL_MEGABYTES} MB", memory.value < GOAL_MEGABYTES)
    rows = [
        Row("copy and index together, until the command ends", rate, {PEER: bare}, is_quick),
        Row("resident memory, summed over its processes, at its peak", memory, {PEER: bare_memory}, is_small),
    ]
    title = f"Filling a copy from a file of {setup.devices:,} records"
    return Section("fill", title, rows, _remarks(setup, runs[-1][1][1]), heading="Filling a copy from a file")


def _bare_loop(setup: Setup) -> tuple[float, list[Usage]]:
    database = setup.path("bare.db")
    remove_database(database)
    with timed(f"parsing and inserting {setup.devices:,} records in a bare loop"):
        _, usages = setup.run([sys.executable, "-m", "bench.bareload", setup.records(), database], "bare.log")
    remove_database(database)
    return float(tail(setup.path("bare.log")).splitlines()[-1]), usages


def _peak(usages: Sequence[Usage]) -> list[float]:
    """Megabytes of each process at the moment of the most memory."""
    return [size / 1e6 for size in max(usages, key=lambda usage: usage.megabytes).sizes]


def _figures(devices: int, runs: Sequence[tuple[float, list[Usage]]]) -> tuple[Figure, Figure]:
    """Records per second, and the memory of the run that had most."""
    rate = median_figure([Figure(devices / seconds, "records/s", {"seconds": seconds}) for seconds, _ in runs])
    sizes = max((_peak(usages) for _, usages in runs), key=sum)
    return rate, Figure(sum(sizes), "MB", {f"process_{n}": size for n, size in enumerate(sizes, 1)})


def _remarks(setup: Setup, usages: Sequence[Usage]) -> list[str]:
    folder = setup.sqlite.data_dir
    index = sum(file.stat().st_size for file in (folder / "index").rglob("*") if file.is_file())
    files = [setup.records().stat().st_size, (folder / "registerwatch.db").stat().st_size, index]
    sizes = "The file has {:,.0f} MB, the database {:,.0f} MB, the index {:,.0f} MB."
    shares = " + ".join(f"{size:.0f}" for size in _peak(usages))
    last = {pid: seconds for usage in usages for pid, seconds in usage.computed.items()}
    computed = " and ".join(f"{seconds:.0f} s" for seconds in last.values())
    return [
        sizes.format(*(size / 1e6 for size in files)),
        f"Of storing and indexing: {computed} of a core, {shares} MB at the peak of their memory.",
    ]
