"""Part `start`: from starting the service over a filled copy to its first answers."""

import time
from urllib.parse import quote

from bench.figures import Figure, Goal, Row, Section, median_figure
from bench.inputs import Inputs
from bench.log import timed
from bench.processes import (
    NO_REGISTER,
    free_port,
    registerwatch,
    running,
    service_environment,
    wait_until_answering,
)
from bench.settings import Settings

PART = "start"
GOAL_SECONDS = 2.0


def measure(inputs: Inputs, settings: Settings) -> Section:
    """Start and stop the service a few times."""
    data_dir, sample = inputs.copy(), inputs.sample()
    device = f"/v1/devices/{quote(sample.udis[0], safe='')}"
    search = f"/v1/search?q={quote(next(iter(sample.common)))}"
    with timed("starting the service"):
        times = [settings.noted(lambda: _start(inputs, [search, device])) for _ in range(settings.rounds)]
    both = median_figure([Figure(max(each), "s") for each in times])
    first = median_figure([Figure(each[0], "s") for each in times])
    database = (data_dir / "registerwatch.db").stat().st_size
    return Section(
        PART,
        f"Starting over a copy of {inputs.devices:,} records",
        [
            Row("until a search of the commonest word is answered", first),
            Row(
                "until a search and a device are answered",
                both,
                goal=Goal(f"< {GOAL_SECONDS:.0f} s", both.value < GOAL_SECONDS),
            ),
        ],
        [
            (
                f"From the start of the process, Python and its modules included; median of {settings.rounds}. The "
                f"database ({database / 1e6:,.0f} MB) was read before: the system may have parts of it in memory."
            ),
            settings.remark(),
        ],
        heading="Starting over a filled copy",
    )


def _start(inputs: Inputs, targets: list[str]) -> list[float]:
    """Seconds from the start of the process to the 200 of each target, asked one after the other."""
    port, log = free_port(), inputs.path("start.log")
    environment = service_environment(inputs.data_dir, NO_REGISTER)
    started = time.perf_counter()
    with running([registerwatch(), "serve", "--port", str(port)], log, environment=environment) as process:
        seconds = []
        for target in targets:
            wait_until_answering(process, port, target, log).close()
            seconds.append(time.perf_counter() - started)
    return seconds
