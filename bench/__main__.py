"""`python -m bench`: the command. README.md in this folder says what each part measures, and how."""

import gc
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from bench import report
from bench.figures import Report
from bench.processes import description
from bench.run import PARTS, SHOWN, USUAL_SIZE, measured
from bench.setup import Setup

DOCS = Path(__file__).parents[1] / "docs"
REPORTED_SIZES = "16000,320000,3200000"


def bench(
    sizes: Annotated[str, Option("--sizes", "--devices", help="Generated records; sizes, separated by commas.")] = "",
    only: Annotated[str, Option(help="Parts to measure, separated by commas.")] = "",
    seed: Annotated[int, Option(help="Another seed makes other records.")] = 1,
    rounds: Annotated[int, Option(help="Rounds of each measurement; medians are shown.", min=1)] = 3,
    seconds: Annotated[int, Option(help="Length of a round of reads or logins.", min=1)] = 5,
    requests: Annotated[int, Option(help="Requests of a round of one search.", min=10)] = 300,
    minutes: Annotated[float, Option(help="Minutes of mixed load on each database.", min=0.1)] = 3.0,
    watches: Annotated[int, Option(help="Watches of the simulated year.", min=10)] = 1_000,
    days: Annotated[int, Option(help="Days of the simulated year.", min=1)] = 365,
    workdir: Annotated[Path | None, Option(help="Folder that keeps records and copies for the next run.")] = None,
    write: Annotated[
        bool, Option("--report", help="Three sizes, `mixed` and `news` too, written into --docs.")
    ] = False,
    source: Annotated[Path | None, Option("--from", help="Measure nothing: write the report of these figures.")] = None,
    docs: Annotated[Path, Option(help="Folder of the documentation.")] = DOCS,
) -> None:
    """Measure, print tables. Long parts say on standard error what goes on."""
    if source is not None:
        report.write(report.from_json(source.read_bytes()), docs)
        return
    chosen = _sizes(sizes or (REPORTED_SIZES if write else str(USUAL_SIZE)))
    parts = _parts(only or ",".join([*PARTS, *(["mixed", "news"] if write else [])]))
    how = (seed, rounds, seconds, requests, minutes, watches, days)
    with ExitStack() as stack:
        folder = workdir or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="registerwatch-bench-")))
        folder.mkdir(parents=True, exist_ok=True)
        setups = [Setup(folder.resolve(), size, *how) for size in chosen]
        data = f"Data: generated records, seed {seed}; {' / '.join(f'{size:,}' for size in chosen)} of them."
        found = Report([description(), data], measured(setups, parts))
    print(report.as_markdown(found))
    if write:
        report.write(found, docs)
    if any(each.failure for each in found.measured):
        sys.exit(1)


def _sizes(text: str) -> list[int]:
    sizes = {int(part) for part in text.replace("_", "").split(",") if part.strip().isdecimal()}
    if not sizes or min(sizes) < 100 or len(sizes) < len(text.split(",")):
        raise typer.BadParameter("Sizes are different whole numbers from 100 on.", param_hint="--sizes")
    return sorted(sizes)


def _parts(only: str) -> list[str]:
    wanted = {part.strip() for part in only.split(",") if part.strip()}
    if wanted.difference(SHOWN) or not wanted:
        raise typer.BadParameter(f"Parts are {', '.join(SHOWN)}.", param_hint="--only")
    return [part for part in SHOWN if part in wanted]


def main() -> None:
    """Run; whatever was started ends with us, also when we are told to end."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    gc.disable()  # looking for garbage would take its time from what is measured
    typer.run(bench)


if __name__ == "__main__":
    main()
