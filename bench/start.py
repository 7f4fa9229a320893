"""Part `start`: from starting the service over a filled copy to its first answers."""

import time
from contextlib import closing
from urllib.parse import quote

from bench.figures import Figure, Goal, Row, Section, median_figure
from bench.load import Client, device_requests
from bench.questions import Sample, sample_of
from bench.service import served
from bench.setup import Setup, timed

GOAL_SECONDS = 2.0


def measure(setup: Setup) -> Section:
    """Start and stop the service a few times."""
    sample = sample_of(setup)
    with timed("starting the service"):
        times = [_started(setup, sample) for _ in range(setup.rounds)]
    first, both = (median_figure([Figure(each, "s") for each in seconds]) for seconds in zip(*times, strict=True))
    goal = Goal(f"< {GOAL_SECONDS:.0f} s", both.value < GOAL_SECONDS)
    rows = [
        Row("until a search of the commonest word is answered", first),
        Row("until a search and a device are answered", both, goal=goal),
    ]
    megabytes = (setup.sqlite.data_dir / "registerwatch.db").stat().st_size / 1e6
    remark = (
        f"From the start of the process, Python and its modules included; median of {setup.rounds}. The database "
        f"({megabytes:,.0f} MB) was read before: the system may have parts of it in memory."
    )
    title = f"Starting over a copy of {setup.devices:,} records"
    return Section("start", title, rows, [remark], "Starting over a filled copy")


def _started(setup: Setup, sample: Sample) -> tuple[float, float]:
    """Seconds from the start of the process to the 200 of a search, then of a device."""
    began, search = time.perf_counter(), f"/v1/search?q={quote(next(iter(sample.common)))}"
    with served(setup, {}, cores=(), target=search) as service, closing(Client(service.port)) as client:
        searched = time.perf_counter() - began
        client.expect(device_requests(sample.udis)[0])
        return searched, time.perf_counter() - began
