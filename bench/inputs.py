"""What is measured on: generated records, a copy filled with them, and what a sample of that copy tells."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.log import timed
from bench.processes import NO_REGISTER, ProcessFailed, Watch, registerwatch, running, service_environment, tail
from bench.sample import Sample, take_sample
from registerwatch_standins.register.writing import write_records


def remove_database(path: Path) -> None:
    """Remove a SQLite database with what an interrupted run may have left beside it: a new one would not open."""
    for each in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        each.unlink(missing_ok=True)


class Filling(msgspec.Struct, frozen=True):
    """How one filling went. The lists have the storing process first, then the indexing one."""

    seconds: float
    peak_bytes: int
    at_peak: list[int]
    computed_seconds: list[float]
    """Seconds of a core that each process used."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A filled copy to serve: the kind of its database, its data folder, its address unless it is in that folder."""

    kind: str
    data_dir: Path
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """A working folder and what is in it for one size and seed. Everything is made when it is missing."""

    folder: Path
    devices: int
    seed: int

    @property
    def data_dir(self) -> Path:
        """The data folder of the filled copy."""
        return self.folder / f"copy-{self.devices}-{self.seed}"

    @property
    def stored(self) -> Stored:
        """The filled copy in SQLite."""
        return Stored("SQLite", self.copy())

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

    def copy(self) -> Path:
        """The data folder of a copy that holds all records, from an earlier run or filled now."""
        if not self._filled.exists():
            self.fill()
        return self.data_dir

    def fill(self) -> Filling:
        """Fill an empty copy by the command that people use, from its start to its end."""
        records = self.records()
        shutil.rmtree(self.data_dir, ignore_errors=True)
        self.data_dir.mkdir(parents=True)
        log = self.path("fill.log")
        command = [registerwatch(), "copy", "fill", "--source", str(records)]
        with timed(f"filling a copy with {self.devices:,} records"):
            started = time.perf_counter()
            with running(command, log, environment=service_environment(self.data_dir, NO_REGISTER)) as process:
                with Watch(process) as watch:
                    code = process.wait()
                seconds = time.perf_counter() - started
        if code != 0:
            raise ProcessFailed(f"Filling ended with {code}:\n{tail(log)}")
        filling = Filling(seconds, watch.peak_bytes, watch.at_peak, watch.computed_seconds)
        self._filled.write_bytes(msgspec.json.encode(filling))
        return filling

    def sample(self) -> Sample:
        """How often words are in the copy's names, and a sample of its devices and actors."""
        path = self.data_dir / "sample.json"
        if not path.exists():
            with timed("counting words"):
                sample = take_sample(self.copy(), self.devices)
            path.write_bytes(msgspec.json.encode(sample))
        return msgspec.json.decode(path.read_bytes(), type=Sample)

    @property
    def _filled(self) -> Path:
        return self.data_dir / "filled.json"
