"""Part `start`: from starting the service over a filled copy to its first answers."""

import time
from urllib.parse import quote

from bench.figures import Figure, Goal, Row, Section, median_figure
from bench.processes import REGISTERWATCH, free_port, running, service_environment, wait_until_answering
from bench.sample import sample_of
from bench.service import device_requests
from bench.setup import Setup, timed

GOAL_SECONDS = 2.0


def measure(setup: Setup) -> Section:
    """Start and stop the service a few times."""
    sample = sample_of(setup)
    targets = [f"/v1/search?q={quote(next(iter(sample.common)))}", device_requests(sample.udis)[0].target]
    with timed("starting the service"):
        times = [_started(setup, targets) for _ in range(setup.rounds)]
    first, both = (median_figure([Figure(each[at], "s") for each in times]) for at in (0, 1))
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


def _started(setup: Setup, targets: list[str]) -> list[float]:
    """Seconds from the start of the process to the 200 of each target, asked one after the other."""
    port, log = free_port(), setup.path("start.log")
    environment = service_environment(setup.sqlite.data_dir, {})
    began, seconds = time.perf_counter(), []
    with running([REGISTERWATCH, "serve", "--port", port], log, environment=environment) as process:
        for target in targets:
            wait_until_answering(process, port, target, log)
            seconds.append(time.perf_counter() - began)
    return seconds
