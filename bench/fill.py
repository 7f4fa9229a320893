"""Part `fill`: filling a copy from a file, beside a loop that does nothing but parse and insert."""

import sys
from dataclasses import replace
from functools import partial

from bench.figures import Figure, Goal, Row, Section
from bench.setup import Setup, remove_database

PEER = "bare loop: parse, insert"
GOAL_RATE = 25_000
GOAL_MEGABYTES = 400
REPEATED_UP_TO = 400_000  # records up to which a filling is short enough to be repeated


def measure(setup: Setup) -> Section:
    """Fill, and run the bare loop, in turn. The last copy stays for the other parts."""
    file = setup.records()
    repeated = setup if setup.devices <= REPEATED_UP_TO else replace(setup, rounds=1)
    takes = {"ours": partial(setup.fill, setup.sqlite), PEER: partial(_bare_loop, setup)}
    rates = repeated.row("copy and index together, until the command ends", takes)
    ours, bare = (Figure(float(each.details["megabytes"]), "MB") for each in (rates.ours, rates.peers[PEER]) if each)
    is_quick = Goal(f"≥ {GOAL_RATE:,} records/s", rates.ours.value >= GOAL_RATE)
    is_small = Goal(f"< {GOAL_MEGABYTES} MB", ours.value < GOAL_MEGABYTES)
    memory = Row("resident memory, summed over its processes, at its peak", ours, {PEER: bare}, is_small)
    folder = setup.sqlite.data_dir
    index = sum(each.stat().st_size for each in (folder / "index").rglob("*") if each.is_file())
    sizes = [file.stat().st_size, (folder / "registerwatch.db").stat().st_size, index]
    remark = "The file has {:,.0f} MB, the database {:,.0f} MB, the index {:,.0f} MB."
    remarks = [remark.format(*(size / 1e6 for size in sizes))]
    return Section("fill", "Filling a copy from a file", [replace(rates, goal=is_quick), memory], remarks)


def _bare_loop(setup: Setup) -> Figure:
    database = setup.path("bare.db")
    remove_database(database)
    seconds, megabytes = setup.run([sys.executable, "-m", "bench.bareload", setup.records(), database], "bare.log")
    remove_database(database)
    return Figure(setup.devices / seconds, "records/s", {"seconds": seconds, "megabytes": megabytes})
