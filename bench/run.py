"""One run: parts over sizes. A part that fails is told and loses its own figures alone."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from bench import (
    accounts,
    cpu,
    databases,
    facets,
    fill,
    lists,
    mixed,
    news,
    pages,
    reads,
    search,
    start,
    tools,
    watching,
    year,
)
from bench.figures import Section
from bench.processes import foreign_seconds
from bench.setup import Setup, say

PARTS = (
    "reads",
    "cpu",
    "search",
    "facets",
    "databases",
    "fill",
    "start",
    "accounts",
    "watching",
    "pages",
    "lists",
    "tools",
)
SHOWN = (
    *PARTS,
    "mixed",
    "news",
    "year",
)  # the last three run only when they are named; the first two in the full report
GROWING = frozenset({"reads", "cpu", "search", "facets", "databases", "fill", "start", "lists", "tools"})
"""Parts whose figures depend on how many devices there are; of several sizes the others take one."""
USUAL_SIZE = 320_000
IN_TURN: Mapping[str, Callable[[Setup], Section]] = {
    module.__name__.rpartition(".")[2]: module.measure
    for module in (
        fill,
        start,
        search,
        facets,
        watching,
        databases,
        reads,
        cpu,
        accounts,
        pages,
        lists,
        tools,
        mixed,
        news,
        year,
    )
}
"""In the order that their inputs need: those from `databases` on bring devices of the copy up to date."""


def measured(setups: Sequence[Setup], parts: Sequence[str]) -> list[Section]:
    """Every part at every size."""
    usual = usual_size([setup.devices for setup in setups])
    found = [
        _section(name, setup)
        for setup in sorted(setups, key=lambda setup: setup.devices)
        for name in IN_TURN
        if name in parts and (name in GROWING or setup.devices == usual)
    ]
    return sorted(found, key=lambda each: (SHOWN.index(each.part), each.devices))


def usual_size(sizes: Sequence[int]) -> int:
    """The size at which parts are measured that need one alone."""
    return max((size for size in sizes if size <= USUAL_SIZE), default=min(sizes))


def _section(name: str, setup: Setup) -> Section:
    began, before = time.monotonic(), foreign_seconds()
    try:
        section = IN_TURN[name](setup)
    except Exception as error:  # noqa: BLE001  # whatever it is, the figures of the other parts are worth having
        say(f"part {name} with {setup.devices:,} records failed: {error!r}")
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        section = Section(name, f"Part `{name}`", [], failure=reason)
    seconds = time.monotonic() - began
    share = max(0.0, foreign_seconds() - before) / seconds / (os.cpu_count() or 1)
    say(f"part {name} with {setup.devices:,} records: {seconds:,.0f} s")
    remark = f"Other processes took {share:.0%} of the machine's cores meanwhile."
    return replace(section, devices=setup.devices, remarks=[*section.remarks, remark])
