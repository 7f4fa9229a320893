"""`python -m bench`: measures the service side by side with what people would use instead.

It is a report: nothing fails because a figure is low. Everything is measured in one run on one machine over generated
records, so figures of one run can be compared with one another, and with nothing else. The parts:

`fill`    `registerwatch copy fill --source FILE` as a process of its own, from its start to its end, copy and index
          together. Memory is the resident memory of its processes, summed, sampled every 0.2 s. Beside it a loop
          that reads the same lines, parses them and inserts them into one SQLite table.
`start`   From the start of `registerwatch serve` over the filled copy to the first 200 of a search and of a device.
`search`  Searches by name over HTTP, one connection, the server on one core. The most frequent words are counted in
          the generated data; of each kind of question the slowest is looked for and shown, with p50, p99 and the
          longest. Beside it SQLite FTS5 and PostgreSQL over the same rows, asked in process over their drivers.
`reads`   Requests per second of devices, 304s, actors and health, the service on one core, the load on the other.
          Beside each a bare ASGI application under the same server and settings that answers the same bytes. The
          register is the generated stand-in: devices are read from it first, so that nothing goes on behind.
`watching`  One changed record among 1, 1,000 and 100,000 watches; 10,000 among three times as many watches as records;
            signed deliveries a second to a local receiver, beside httpx2 posting the same bodies.
`accounts`  An account as its programs and people read it, beside a bare ASGI application; logins, beside passwords
          compared in a plain loop; steady reads of devices while many sign in at once, beside the same without them.
`tools`   Devices and searches by the tool endpoint, beside the routes of the same service that say the same.
`year`    Only when it is named: a simulated year of watching in which everything fails that can, judged event by event.
"""

import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench import accounts, fill, machine, reads, report, search, start, tools, watching, year
from bench.figures import Section
from bench.inputs import Inputs
from bench.manner import Manner
from bench.processes import ProcessFailed
from bench.progress import say

PARTS = ("reads", "search", "fill", "start", "accounts", "watching", "tools")
LONG = ("year",)
"""Parts that run only when they are named."""
DOCUMENT = Path(__file__).parents[1] / "docs" / "performance.md"


def bench(
    devices: Annotated[
        int, typer.Option(help="Generated records; the full register has 3,200,000.", min=100)
    ] = 320_000,
    only: Annotated[str, typer.Option(help="Parts to measure, separated by commas.")] = ",".join(PARTS),
    seed: Annotated[int, typer.Option(help="Another seed makes other records.")] = 1,
    rounds: Annotated[int, typer.Option(help="Rounds of each measurement; medians are shown.", min=1)] = 3,
    seconds: Annotated[int, typer.Option(help="Length of a round of reads or logins.", min=1)] = 5,
    requests: Annotated[int, typer.Option(help="Requests of a round of one search.", min=10)] = 300,
    watches: Annotated[int, typer.Option(help="Watches of the simulated year.", min=10)] = year.WATCHES,
    days: Annotated[int, typer.Option(help="Days of the simulated year.", min=1)] = year.DAYS,
    patience: Annotated[
        float, typer.Option(help="Seconds for waiting until other processes are calm, for repeating what they disturb.")
    ] = 0,
    workdir: Annotated[
        Path | None, typer.Option(help="Folder that keeps records and copy for the next run; else a temporary one.")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="File for the figures as JSON.")] = None,
    write_docs: Annotated[bool, typer.Option(help="Write the figures into docs/performance.md.")] = False,
) -> None:
    """Measure, print tables. Long parts say on standard error what goes on."""
    parts = _parts(only)
    with _folder(workdir) as folder, _told_when_interrupted():
        inputs = Inputs(folder, devices, seed)
        sections = _measure(inputs, parts, Manner(rounds, seconds, requests, patience, watches, days))
    conditions = [machine.description(), f"Data: {devices:,} generated records, seed {seed}."]
    report.show(sections, conditions, Console(width=None if sys.stdout.isatty() else 200))
    if json:
        json.write_text(report.as_json(sections, conditions), encoding="utf-8")
    if write_docs:
        report.write_into(DOCUMENT, report.as_markdown(sections, conditions))


@contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    """The working folder, which goes away at the end unless it was named."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="registerwatch-bench-") as folder:
        yield Path(folder)


@contextmanager
def _told_when_interrupted() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        say("interrupted; everything that was started has ended")
        raise


def _measure(inputs: Inputs, parts: list[str], manner: Manner) -> list[Section]:
    """Measure the parts in the order that their inputs need, give them in the order of `PARTS`."""
    in_turn = (fill, start, search, watching, reads, accounts, tools)  # the last three bring devices up to date
    measured = {part.PART: part.measure(inputs, manner) for part in (*in_turn, year) if part.PART in parts}
    return [measured[part] for part in parts]


def _parts(only: str) -> list[str]:
    wanted = {part.strip() for part in only.split(",") if part.strip()}
    known = (*PARTS, *LONG)
    if wanted.difference(known) or not wanted:
        raise typer.BadParameter(f"Parts are {', '.join(known)}.", param_hint="--only")
    return [part for part in known if part in wanted]


def main() -> None:
    """Run; whatever was started ends with us, also when we are told to end."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        typer.run(bench)
    except ProcessFailed as error:
        say(str(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
