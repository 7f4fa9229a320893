"""The whole bench at a tiny size: every part gives its rows, and everyone finds the same."""

import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from bench.capture import Captured, write
from bench.connection import Connection, Request
from bench.inputs import Inputs
from bench.load import generator, rate, read_requests, write_requests
from bench.pairs import SubjectReader
from bench.pounding import pound
from bench.processes import ProcessFailed, free_port, running, wait_until_answering
from bench.service import serving
from bench.settings import Settings


def test_the_copy_is_kept_for_the_next_run(inputs: Inputs) -> None:
    before = inputs.records().stat().st_mtime, (inputs.copy() / "filled.json").stat().st_mtime
    assert (inputs.records().stat().st_mtime, (inputs.copy() / "filled.json").stat().st_mtime) == before
    assert 0 < inputs.sample().devices <= inputs.devices


def test_reads_are_measured_beside_an_application_that_answers_the_same(inputs: Inputs) -> None:
    with serving(inputs) as port:
        pair = SubjectReader(inputs, Settings(rounds=1, seconds=1)).pair("devices", port, [Request("/health")])
    assert pair.ours.value > 0
    assert pair.bare.value > 0


def test_an_unknown_part_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--only", "reads,tea"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Parts are reads, search, databases, fill" in done.stderr


ANSWER = Captured("/a", 200, [(b"content-length", b"5"), (b"etag", b'"1"')], b"hello")
SAME = Captured("/b", 304, [(b"etag", b'"1"')], b"")


def bare(tmp_path: Path, port: int) -> list[str]:
    """The command of a bare application with two answers."""
    write([ANSWER, SAME], tmp_path / "answers")
    return [sys.executable, "-m", "bench.bare", str(tmp_path / "answers"), str(port)]


@pytest.mark.anyio
async def test_the_benchs_own_load_generator_counts_whole_answers(tmp_path: Path) -> None:
    port = free_port()
    with running(bare(tmp_path, port), tmp_path / "log") as process:
        wait_until_answering(process, port, "/a", tmp_path / "log").close()
        connection = Connection(port)
        assert connection.get("/a").body == b"hello"
        assert connection.ask(Request("/b", {"If-None-Match": '"1"'})).status == 304
        connection.close()
        requests = [f"GET /{path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() for path in "ab"]
        outcome = await pound(port, requests, seconds=0.2, connections=2)
    assert outcome["requests"] > 2
    assert outcome["failures"] == 0
    assert 0 < outcome["p50"] <= outcome["p99"] <= outcome["max"]


def test_without_wrk_the_benchs_own_load_generator_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    port = free_port()
    with running(bare(tmp_path, port), tmp_path / "log") as process:
        wait_until_answering(process, port, "/a", tmp_path / "log").close()
        figure = rate(port, write_requests([Request("/a")], tmp_path / "requests"), seconds=1)
    assert figure.value > 0
    assert generator() != "wrk"


def test_a_file_of_requests_has_them_as_they_are_sent(tmp_path: Path) -> None:
    asked = [Request("/a", {"X-API-Key": "rw_1"}), Request("/b", body=b'{"email":"a\r\n\r\nb"}')]
    read, posted = read_requests(write_requests(asked, tmp_path / "requests"))
    assert read == b"GET /a HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: rw_1\r\n\r\n"
    assert posted.startswith(b"POST /b HTTP/1.1\r\n")
    assert b"\r\nContent-Length: 18\r\n" in posted
    assert posted.endswith(b'\r\n\r\n{"email":"a\r\n\r\nb"}')


@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
def test_failed_requests_are_told_instead_of_counted(tmp_path: Path) -> None:
    port = free_port()
    with running(bare(tmp_path, port), tmp_path / "log") as process:
        wait_until_answering(process, port, "/a", tmp_path / "log").close()
        requests = write_requests([Request("/missing")], tmp_path / "requests")
        with pytest.raises(ProcessFailed, match="failed"):
            rate(port, requests, seconds=1)


def test_whatever_was_started_ends_with_the_block(tmp_path: Path) -> None:
    port = free_port()
    started: list[psutil.Popen] = []

    def interrupted() -> None:
        with running(bare(tmp_path, port), tmp_path / "log") as process:
            wait_until_answering(process, port, "/a", tmp_path / "log").close()
            started.append(process)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not psutil.pid_exists(started[0].pid)
    with pytest.raises(ConnectionRefusedError):
        Connection(port)


def test_a_process_that_ends_early_is_told_with_its_last_words(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no such thing'); raise SystemExit(3)"]
    log = tmp_path / "log"
    with running(command, log) as process, pytest.raises(ProcessFailed, match="no such thing"):
        wait_until_answering(process, free_port(), "/", log)
