"""A process that has just started keeps nobody waiting while it loads what a request needs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MAX_MODULES = 10
"""A few small ones take a millisecond."""


@pytest.mark.nightly
def test_no_first_request_loads_a_library_while_all_others_wait(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.web.first_requests", str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    loaded: dict[str, list[str]] = json.loads(done.stdout)
    assert len(loaded) > 50
    assert {request: modules for request, modules in loaded.items() if len(modules) > MAX_MODULES} == {}
