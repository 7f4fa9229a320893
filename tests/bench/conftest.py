"""One run of the bench at a tiny size, which the tests of this room share."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.figures import Section
from bench.inputs import Inputs
from bench.report import from_json

DEVICES = 400


@pytest.fixture(scope="session")
def workdir() -> Iterator[Path]:
    """A working folder that PostgreSQL's user reaches: pytest's own are closed to everybody else."""
    with tempfile.TemporaryDirectory(prefix="registerwatch-bench-") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def inputs(workdir: Path) -> Inputs:
    """What the run measures on."""
    return Inputs(workdir, DEVICES, seed=1)


@pytest.fixture(scope="session")
def sections(workdir: Path) -> dict[str, Section]:
    """What a run of the bench tells as JSON, by part."""
    told = workdir / "figures.json"
    size = ["--sizes", str(DEVICES), "--rounds", "1", "--requests", "10", "--seconds", "1"]
    command = [sys.executable, "-m", "bench", *size, "--only", "fill,start"]
    command += ["--workdir", str(workdir), "--json", str(told)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert "Filling a copy" in done.stdout
    return {each.section.part: each.section for each in from_json(told.read_bytes()).measured}
