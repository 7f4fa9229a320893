"""One run of the bench at a tiny size, which the tests of this room share."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.inputs import Inputs

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
