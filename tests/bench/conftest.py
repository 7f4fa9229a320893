"""One run of the bench at a tiny size, which the tests of this room share."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.inputs import Inputs

DEVICES = 400


@pytest.fixture(scope="session")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder."""
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="session")
def inputs(workdir: Path) -> Inputs:
    """What the run measures on."""
    return Inputs(workdir, DEVICES, seed=1)


@pytest.fixture(scope="session")
def sections(workdir: Path) -> dict[str, Any]:
    """What a run of the bench tells as JSON, by part."""
    told = workdir / "figures.json"
    size = ["--devices", str(DEVICES), "--rounds", "1", "--requests", "10", "--seconds", "1"]
    command = [sys.executable, "-m", "bench", *size, "--only", "fill,start,search,accounts"]
    command += ["--workdir", str(workdir), "--json", str(told)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert "Filling a copy" in done.stdout
    return {section["part"]: section for section in json.loads(told.read_text())["sections"]}
