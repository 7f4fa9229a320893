"""What is measured on, generated records and copies filled with them, and how: the settings of a run."""

import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.figures import Figure, Goal, Row, median_figure
from bench.load import CONNECTIONS
from bench.processes import REGISTERWATCH, ProcessFailed, running, service_environment, tail, watched
from registerwatch_standins.register.record_file import write_records

_started = time.monotonic()


def say(message: str) -> None:
    """One line on standard error, with the seconds since the start."""
    print(f"[{time.monotonic() - _started:6.1f} s] {message}", file=sys.stderr, flush=True)


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Say that something begins, and how long it took."""
    say(f"{what} …")
    began = time.monotonic()
    yield
    say(f"{what}: {time.monotonic() - began:.1f} s")


@dataclass(frozen=True, slots=True)
class Stored:
    """A copy to serve: the kind of its database, its data folder, the settings of a service over it."""

    kind: str
    data_dir: Path
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def mark(self) -> Path:
        """A file that is there when the copy was filled to its end."""
        return self.data_dir / "filled"


@dataclass(frozen=True, slots=True)
class Setup:
    """A working folder with inputs of one size and seed, which are made when they are missing; how to measure."""

    folder: Path
    devices: int
    seed: int = 1
    rounds: int = 3
    seconds: float = 5  # length of a round of reads or logins
    requests: int = 300  # requests of a round of one search
    minutes: float = 3.0  # minutes of mixed load on each database
    watches: int = 1_000  # watches of the simulated year
    days: int = 365  # days of the simulated year

    @property
    def sqlite(self) -> Stored:
        """The copy in SQLite, filled or not."""
        return Stored("SQLite", self.folder / f"copy-{self.devices}-{self.seed}")

    @property
    def load_remark(self) -> str:
        """How requests per second are measured, in a sentence."""
        return (
            f"Shown are requests/s and p50 / p99 under that load. Load: wrk, {CONNECTIONS} kept-alive connections "
            f"unless told otherwise, no pipelining, {self.seconds:g} s a round, median of {self.rounds} rounds, ours"
            " and what is beside it in turn on the same core, the load on the other one."
        )

    def path(self, name: str) -> Path:
        """A file of this size and seed in the working folder."""
        return self.folder / f"{self.devices}-{self.seed}-{name}"

    def records(self) -> Path:
        """The file of generated records."""
        path = self.path("records.jsonl")
        if not path.exists():
            with timed(f"generating {self.devices:,} records"):
                write_records(path, self.devices, self.seed)
        return path

    def copy(self) -> Stored:
        """A copy in SQLite that holds all records, from an earlier run or filled now."""
        if not self.sqlite.mark.exists():
            self.fill(self.sqlite)
        return self.sqlite

    def fill(self, stored: Stored) -> Figure:
        """Records per second of filling an empty copy by the command that people use, with its memory."""
        records = self.records()
        shutil.rmtree(stored.data_dir, ignore_errors=True)
        stored.data_dir.mkdir(parents=True)
        command = [REGISTERWATCH, "copy", "fill", "--source", records]
        environment = service_environment(stored.data_dir, stored.settings)
        with timed(f"filling a copy in {stored.kind} with {self.devices:,} records"):
            seconds, megabytes = self.run(command, "fill.log", environment)
        stored.mark.touch()
        return Figure(self.devices / seconds, "records/s", {"seconds": seconds, "megabytes": megabytes})

    def run(
        self, command: Sequence[object], log: str, environment: Mapping[str, str] | None = None
    ) -> tuple[float, float]:
        """Seconds of a process from its start to its end, its memory at the peak. Raises `ProcessFailed`."""
        started = time.perf_counter()
        with running(command, self.path(log), environment=environment) as process, watched(process) as usages:
            code = process.wait()
            seconds = time.perf_counter() - started
        if code != 0:
            raise ProcessFailed(f"{command[1:3]} ended with {code}:\n{tail(self.path(log))}")
        return seconds, max((each.megabytes for each in usages), default=0.0)

    def row(self, what: str, takes: Mapping[str, Callable[[], Figure]], min_ratio: float | None = None) -> Row:
        """The median figures of ours, which is the first of `takes`, and of its peers, taken in turn in every round."""
        with timed(what):
            rounds = [[take() for take in takes.values()] for _ in range(self.rounds)]
        ours, *peers = (median_figure(figures) for figures in zip(*rounds, strict=True))
        goal = Goal(f"ratio ≥ {min_ratio}", ours.value / peers[0].value >= min_ratio) if min_ratio else None
        return Row(what, ours, dict(zip(list(takes)[1:], peers, strict=True)), goal)


def remove_database(path: Path) -> None:
    """Remove a SQLite database with what an interrupted run may have left beside it: a new one would not open."""
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
