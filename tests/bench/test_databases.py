"""The copy in PostgreSQL, and the parts that are measured on both databases."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import psutil
import pytest
from bench.cluster import cluster
from bench.connection import Connection
from bench.inputs import Inputs
from bench.machine import SERVER_CORE
from bench.postgresql_copy import postgresql_copy
from bench.service import device_requests, served, serving
from bench.settings import Settings

from bench import databases
from tests.support.postgresql import binaries

pytestmark = pytest.mark.skipif(binaries() is None, reason="PostgreSQL is not installed")
PLACES = 30


@pytest.fixture(scope="module")
def small(workdir: Path) -> Inputs:
    """A copy of their own, which these tests change."""
    return Inputs(workdir, 300, seed=3)


@pytest.fixture(autouse=True)
def _few_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read little from the stand-in register before measuring."""
    monkeypatch.setattr(databases, "READ_DEVICES", PLACES)
    monkeypatch.setattr(databases, "READ_ACTORS", 3)


def test_both_copies_answer_the_same(small: Inputs) -> None:
    udis = small.sample().udis[:PLACES]
    targets = [*(each.target for each in device_requests(udis)), "/v1/search?q=a", f"/v1/search?q={udis[0]}"]
    with cluster(small) as running:
        stored = postgresql_copy(small, running)
        with (
            served(small, stored=stored) as other,
            serving(small) as port,
            closing(Connection(port)) as sqlite,
            closing(Connection(other.port)) as postgresql,
        ):
            for target in targets:
                assert _told(sqlite, target) == _told(postgresql, target)


def _told(connection: Connection, target: str) -> object:
    answer = connection.get(target)
    assert answer.status == 200, target
    return msgspec.json.decode(answer.body)


def test_the_copy_is_copied_again_when_it_was_filled_again(small: Inputs) -> None:
    with cluster(small) as running:
        before = (postgresql_copy(small, running).data_dir / "copied").read_text(encoding="utf-8")
        assert (postgresql_copy(small, running).data_dir / "copied").read_text(encoding="utf-8") == before
        small.fill()
        assert (postgresql_copy(small, running).data_dir / "copied").read_text(encoding="utf-8") != before


def test_a_server_that_a_killed_run_left_behind_makes_room_for_the_next(small: Inputs) -> None:
    program = (
        "import os, sys; from pathlib import Path; from bench.cluster import cluster; from bench.inputs import Inputs\n"
        f"with cluster(Inputs(Path({str(small.folder)!r}), {small.devices}, {small.seed})) as running:\n"
        "    print(running.postmaster, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = int(done.stdout)
    assert _serves(left)
    with cluster(small) as running:
        assert not _serves(left)
        assert os.sched_getaffinity(running.postmaster) == {SERVER_CORE}
        last = running.postmaster
    assert not _serves(last)


def _serves(postmaster: int) -> bool:
    """Whether the process is there and has not ended: nobody may have noticed yet that it has."""
    try:
        return psutil.Process(postmaster).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_what_a_request_costs_is_told_of_both_databases(small: Inputs) -> None:
    section = databases.measure(small, Settings(rounds=1, seconds=1))
    rows = {row.what: row for row in section.rows}
    for what in ("device, 200", "search, common words"):
        cost, times = rows[f"{what}: cost of a request"], rows[f"{what}: cost on PostgreSQL / cost on SQLite"]
        beside = cost.peers[databases.PEER]
        assert beside is not None
        assert 0 < beside.value < 100
        assert 0 < cost.ours.value < 100
        assert times.ours.value == pytest.approx(cost.ours.value / beside.value)
        assert times.goal is not None
