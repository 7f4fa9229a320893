"""The whole bench at a tiny size, without looking at how quick anything is: every part has its table."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psutil
import pytest
import typer
from bench.__main__ import bench
from bench.accounts import timed_reads
from bench.bare import serving
from bench.figures import Figure, Row, Section
from bench.load import Client, Request, post, rate
from bench.mixed import WEIGHTS, growth
from bench.postgresql import binaries, cluster
from bench.processes import SERVER_CORE, ProcessFailed, Usage, answering
from bench.questions import taken
from bench.service import customer, served
from bench.setup import Setup
from typer.testing import CliRunner

pytestmark = pytest.mark.skipif(binaries() is None, reason="PostgreSQL is not installed")
ROOT = Path(__file__).parents[2]


def by_name(section: Section) -> dict[str, Row]:
    assert not section.failure
    return {row.what: row for row in section.rows}


def ended_well(*arguments: str, timeout: int = 240) -> str:
    """What the command prints."""
    command = [sys.executable, "-m", "bench", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.nightly
def test_every_part_has_a_table_in_which_everything_was_measured(sections: dict[str, Section]) -> None:
    assert {name: section.failure for name, section in sections.items() if section.failure} == {}
    rows = {
        "reads": 6,
        "cpu": 18,
        "search": 13,
        "facets": 40,
        "databases": 16,
        "fill": 2,
        "start": 1,
        "accounts": 5,
        "watching": 5,
        "pages": 60,
        "lists": 13,
        "tools": 2,
    }
    counts = {name: len(section.rows) for name, section in sections.items() if name not in ("mixed", "news")}
    assert counts == rows
    assert sections["news"].rows, "in an hour something changes"
    assert {kind for kind, weight in WEIGHTS.items() if weight > 200} <= by_name(sections["mixed"]).keys()
    for name, section in sections.items():
        if name != "mixed":
            measured = [row for row in section.rows if "growth" not in row.what]
            assert all(row.ours.value > 0 for row in measured), name
            assert all(figure.value > 0 for row in measured for figure in row.peers.values() if figure), name


@pytest.mark.nightly
def test_ours_stands_beside_the_same_peers_as_ever(sections: dict[str, Section]) -> None:
    peers = {name: {peer for row in section.rows for peer in row.peers} for name, section in sections.items()}
    assert peers["reads"] == {"bare ASGI app"}
    assert peers["cpu"] == {"bare ASGI app", "python"}
    assert peers["facets"] == {"the plain search"}
    assert peers["databases"] == {"on SQLite"}
    assert peers["tools"] == {"the same over REST"}
    assert peers["search"] == {"ours on PostgreSQL", "SQLite FTS5", "PostgreSQL tsvector, pg_trgm"}


@pytest.mark.nightly
def test_everyone_who_counts_words_finds_as_many_devices(sections: dict[str, Section]) -> None:
    for row in sections["search"].rows:
        peers = ("ours on PostgreSQL", "SQLite FTS5")
        found = {peer: figure.total for peer in peers if (figure := row.peers[peer]) is not None}
        assert set(found.values()) == {row.ours.total}, (row.what, found)
    assert int(sections["search"].rows[0].ours.total) > 15


def test_words_are_counted_while_somebody_else_reads_the_copy(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "copy.db", isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("CREATE TABLE devices (id INTEGER PRIMARY KEY, primary_di, is_current, document)")
        other.execute("INSERT INTO devices VALUES (1, '0401', 1, '{\"trade_name\": \"Screw\"}')")
        other.execute("BEGIN")
        other.execute("SELECT * FROM devices").fetchall()
        sample = taken(tmp_path / "fts5.db", tmp_path / "copy.db")
    assert (sample.udis, sample.common) == (["0401"], {"screw": 1})


@pytest.mark.nightly
def test_what_a_request_costs_is_known_of_both_databases(sections: dict[str, Section]) -> None:
    cost = by_name(sections["databases"])["device, 200: cost of a request"]
    assert all(figure is not None and 0 < figure.value < 100 for figure in (cost.ours, cost.peers["on SQLite"]))


@pytest.mark.nightly
def test_what_a_request_costs_is_told_with_its_spread_beside_the_bare_application(sections: dict[str, Section]) -> None:
    rows = [row for row in sections["cpu"].rows if row.ours.unit == "CPU µs"]
    assert {"device, 200", "`/live`", "`/v1/events`", "search that finds nothing"} <= {row.what for row in rows}
    for row in rows:
        assert float(row.ours.details["least"]) <= row.ours.value <= float(row.ours.details["most"]), row.what
        assert row.peers["bare ASGI app"] is not None, row.what


@pytest.mark.nightly
def test_everything_at_once_is_answered_on_both_databases(sections: dict[str, Section]) -> None:
    rows = by_name(sections["mixed"])
    wrong = rows["unexpected answers"]
    assert (wrong.ours.value, wrong.peers) == (0, {"on PostgreSQL": Figure(0, "answers")}), sections["mixed"].remarks
    assert rows["all requests"].ours.value > 10
    assert min(row.ours.value for what, row in rows.items() if what.startswith("memory of the service")) > 30


@pytest.mark.nightly
def test_the_measured_account_is_deleted_when_its_block_is_interrupted(setup: Setup) -> None:
    with served(setup, {}) as service, closing(Client(service.port)) as client:
        with pytest.raises(KeyboardInterrupt), customer(service.port) as company:
            shown = client.expect(Request("/v1/me", company.by_key)).body
            raise KeyboardInterrupt
        assert client.ask(Request("/v1/me", company.by_key)).status == 401
    assert (shown.count(b'"role"'), shown.count(b'"label"')) >= (5, 5)


@pytest.mark.nightly
def test_reads_beside_logins_are_as_many_as_without_and_a_failed_login_is_no_login(setup: Setup) -> None:
    wrong = post("/v1/login", {"email": "nobody@example.org", "password": "not theirs"})
    with served(setup, {}) as service, customer(service.port) as company:
        reads = [Request("/health")]
        during, quiet = (timed_reads(service.port, reads, logins, 0.1) for logins in (company.logins, []))
        with pytest.raises(ProcessFailed, match="/v1/login was answered with 401"):
            timed_reads(service.port, reads, [wrong], 0.1)
    assert during.details["samples"] == quiet.details["samples"] == 20
    assert float(during.details["logins_per_second"]) > 0
    assert quiet.details["logins_per_second"] == 0


@pytest.mark.nightly
def test_failed_requests_are_said_instead_of_counted(setup: Setup) -> None:
    with served(setup, {}) as service, pytest.raises(ProcessFailed, match="requests failed"):
        rate(service.port, [Request("/missing")], 1)


@pytest.mark.nightly
def test_whatever_was_started_ends_with_the_block(setup: Setup) -> None:
    ports: list[int] = []
    with pytest.raises(KeyboardInterrupt), serving(setup, SERVER_CORE) as server:
        ports.append(server.port)
        raise KeyboardInterrupt
    with pytest.raises(ConnectionRefusedError):
        Client(ports[0]).ask(Request("/"))


def test_a_process_that_ends_early_is_quoted(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no such thing'); raise SystemExit(3)"]
    with pytest.raises(ProcessFailed, match="no such thing"), answering(command, tmp_path / "log", "/"):
        pass


@pytest.mark.nightly
def test_a_server_that_a_killed_run_left_behind_makes_room_for_the_next(setup: Setup) -> None:
    program = (
        "import os; from pathlib import Path; from bench.postgresql import cluster; from bench.setup import Setup\n"
        f"with cluster(Setup(Path({str(setup.folder)!r}), 100, 3)) as running:\n"
        "    print(running.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = int(done.stdout)
    with cluster(Setup(setup.folder, 100, 3)) as found:
        assert not psutil.pid_exists(left) or psutil.Process(left).status() == psutil.STATUS_ZOMBIE
        assert os.sched_getaffinity(found.pid) == {SERVER_CORE}
    assert not psutil.pid_exists(found.pid)


@pytest.mark.parametrize(("sizes", "slope"), [(range(1, 61), 60), ([min(each, 10) for each in range(60)], 0)])
def test_growth_is_the_slope_of_memory_after_the_beginning(sizes: list[int], slope: float) -> None:
    usages = [Usage(float(second), size, 40) for second, size in enumerate(sizes, 1)]
    assert growth(usages).value == pytest.approx(slope)


@pytest.mark.nightly
def test_the_command_prints_tables_and_writes_a_report_that_can_be_written_anew(setup: Setup) -> None:
    docs, anew = setup.folder / "docs", setup.folder / "anew"
    size = ["--devices", str(setup.devices), "--rounds", "1", "--workdir", str(setup.folder)]
    assert "### Starting over a filled copy" in ended_well("--only", "start", *size, "--report", "--docs", str(docs))
    ended_well("--from", str(docs / "plots" / "figures.json"), "--docs", str(anew))
    written = (anew / "performance.md").read_text(encoding="utf-8")
    assert "| until a search and a device" in written
    assert written == (docs / "performance.md").read_text(encoding="utf-8")


@pytest.mark.nightly
def test_a_simulated_year_is_judged_and_told(setup: Setup) -> None:
    shown = ended_well("--only", "year", "--devices", "100", "--watches", "20", "--days", "6")
    assert "### 6 simulated days with 20 watches on two nodes, seed 1" in shown
    assert "all that were to be told, none twice, none besides." in shown


def test_an_unknown_part_is_refused() -> None:
    command = typer.Typer()
    command.command()(bench)
    done = CliRunner().invoke(command, ["--only", "reads,tea"])
    assert done.exit_code == 2
    assert "Parts are reads, cpu, search, facets, databases," in done.stderr


def test_the_bench_imports_nothing_of_the_tests() -> None:
    for path in (ROOT / "bench").rglob("*.py"):
        assert not re.search(r"^\s*(from|import) tests\b", path.read_text(encoding="utf-8"), re.MULTILINE), path
