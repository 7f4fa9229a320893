"""Part `start`: from starting the service over a filled copy to its first answers."""

import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from urllib.parse import quote

from bench.figures import Figure, Goal, Section
from bench.load import Client, device_requests
from bench.questions import Sample, sample_of
from bench.service import served
from bench.setup import Setup

GOAL_SECONDS = 1.0


def measure(setup: Setup) -> Section:
    """Start and stop the service a few times."""
    row = setup.row("until a search and a device are answered", {"ours": partial(_started, setup, sample_of(setup))})
    row = replace(row, goal=Goal(f"< {GOAL_SECONDS:.0f} s", row.ours.value < GOAL_SECONDS))
    megabytes = (setup.sqlite.data_dir / "registerwatch.db").stat().st_size / 1e6
    remark = (
        f"From the start of the process, Python and its modules included; median of {setup.rounds}. The database "
        f"({megabytes:,.0f} MB) was read before: the system may have parts of it in memory."
    )
    return Section("start", "Starting over a filled copy", [row], [remark])


def _started(setup: Setup, sample: Sample) -> Figure:
    """Seconds from the start of the process to the 200 of a device, after that of a search of the commonest word."""
    began, search = time.perf_counter(), f"/v1/search?q={quote(next(iter(sample.common)))}"
    with served(setup, {}, cores=(), target=search) as service, closing(Client(service.port)) as client:
        client.expect(device_requests(sample.udis)[0])
        return Figure(time.perf_counter() - began, "s")
