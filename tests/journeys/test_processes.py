"""The product as processes: filled and killed, served, shared, told apart from nonsense."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from registerwatch_standins.register.record_file import write_records
from tests.support import processes
from tests.support.paces import start_fast
from tests.support.processes import answers, environment, free_port, running, until

DEVICES, MANY = 1_500, 12_000
SOME = 1_000


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of made-up records."""
    return _written(tmp_path_factory, DEVICES)


@pytest.fixture(scope="module")
def many_records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of so many that something can happen while they are stored."""
    return _written(tmp_path_factory, MANY)


def _written(tmp_path_factory: pytest.TempPathFactory, devices: int) -> Path:
    path = tmp_path_factory.mktemp("records") / "records.jsonl.gz"
    write_records(path, devices, 5)
    return path


def _copy(database: Path) -> list[tuple[object, ...]]:
    """What the copy says of every record, apart from when it was read and in which order."""
    with sqlite3.connect(database) as connection:
        return connection.execute("SELECT uuid, primary_di, is_current, document FROM devices ORDER BY uuid").fetchall()


def _stored_records(database: Path) -> int:
    try:
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
            row = connection.execute("SELECT max(records) FROM fills").fetchone()
        return int(row[0] or 0)
    except sqlite3.OperationalError:
        return 0


@pytest.mark.nightly
def test_a_fill_that_is_killed_goes_on_where_it_stopped_and_loses_nothing(tmp_path: Path, many_records: Path) -> None:
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    calm = environment(undisturbed, f"sqlite:///{undisturbed / 'copy.db'}")
    done = processes.run("copy", "fill", "--source", many_records, env=calm)
    assert done.returncode == 0, done.stderr
    assert f"{MANY:,} records read" in done.stdout

    env = environment(disturbed, f"sqlite:///{disturbed / 'copy.db'}")
    kills = 0
    for share in (0.1, 0.4, 0.7):
        with running("copy", "fill", "--source", many_records, env=env) as process:
            until(
                lambda: process.poll() is not None or _stored_records(disturbed / "copy.db") >= share * MANY,
                f"{share:.0%} of the records",
            )
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                kills += 1
    assert kills >= 1, "at least once it was killed in the middle"
    finished = processes.run("copy", "fill", "--source", many_records, env=env)

    assert finished.returncode == 0, finished.stderr
    assert _copy(disturbed / "copy.db") == _copy(undisturbed / "copy.db")
    status = processes.run("copy", "status", env=env).stdout
    assert f"{MANY:,} registrations" in status
    assert "0 changes behind" in status


@pytest.mark.nightly
def test_serve_answers_from_a_filled_copy_and_ends_when_asked(tmp_path: Path, records: Path, database_url: str) -> None:
    env = environment(tmp_path, database_url, REGISTER_URL="http://127.0.0.1:9/eudamed")
    assert processes.run("copy", "fill", "--source", records, env=env).returncode == 0
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    with running("serve", "--port", port, env=env) as server:
        until(lambda: answers(f"{base}/health"), "the service")
        found = httpx2.get(f"{base}/v1/search", params={"q": "set"}).json()
        assert found["total"] > 0
        udi = found["results"][0]["udi"]
        device = httpx2.get(f"{base}/v1/devices/{udi}")
        assert device.json()["udi"] == udi
        again = httpx2.get(f"{base}/v1/devices/{udi}", headers={"If-None-Match": device.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        head = httpx2.head(f"{base}/v1/devices/{udi}")
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == device.headers["content-length"]
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) in {0, -signal.SIGTERM}, "it ended by itself, or by the signal after finishing"


def test_a_service_that_is_asked_to_end_says_so_and_serves_on_until_balancers_have_noticed(
    tmp_path: Path, database_url: str
) -> None:
    env = environment(tmp_path, database_url, REGISTER_URL="http://127.0.0.1:9/eudamed", DRAIN_SECONDS="600")
    base = f"http://127.0.0.1:{(port := free_port())}"
    with running("serve", "--port", port, env=env) as server:
        until(lambda: answers(f"{base}/ready"), "the service to be ready")
        server.send_signal(signal.SIGTERM)
        until(lambda: httpx2.get(f"{base}/ready").status_code == 503, "the service to say that it ends")
        assert httpx2.get(f"{base}/live").status_code == 200
        assert httpx2.get(f"{base}/v1/search", params={"q": "set"}).status_code == 200
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) in {0, -signal.SIGTERM}, "the second time it ends at once"


@pytest.mark.nightly
def test_work_tells_its_metrics_where_it_is_given_a_port_and_ends_when_asked(tmp_path: Path, database_url: str) -> None:
    env = environment(tmp_path, database_url, REGISTER_URL="http://127.0.0.1:9/eudamed")
    base = f"http://127.0.0.1:{(port := free_port())}"
    with running("work", "--port", port, env=env) as worker:
        until(lambda: answers(f"{base}/live"), "the worker")
        told = httpx2.get(f"{base}/metrics").text
        assert "registerwatch_deliveries_waiting 0.0" in told
        assert "registerwatch_index_lag" not in told, "it keeps no index"
        assert httpx2.get(f"{base}/v1/search", params={"q": "set"}).status_code == 404
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(20) == 0


@pytest.mark.nightly
def test_a_backup_that_was_made_while_the_service_worked_is_restored_with_its_index(
    tmp_path: Path, many_records: Path
) -> None:
    database, saved = tmp_path / "registerwatch.db", tmp_path / "saved.db"
    env = environment(tmp_path, f"sqlite:///{database}", REGISTER_URL="http://127.0.0.1:9/eudamed")
    base = f"http://127.0.0.1:{(port := free_port())}"
    with (
        running("serve", "--port", port, env=env),
        running("copy", "fill", "--source", many_records, env=env) as filling,
    ):
        until(lambda: _stored_records(database) >= SOME, "some of the records")
        backup = processes.run("backup", saved, env=env)
        assert backup.returncode == 0, backup.stderr
        assert filling.wait(60) == 0
    assert processes.run("backup", "--check", saved, env=env).returncode == 0
    kept = len(_copy(saved))
    assert SOME <= kept <= MANY

    database.unlink()
    for beside in ("-wal", "-shm"):
        database.with_name(database.name + beside).unlink(missing_ok=True)
    saved.rename(database)
    with running("serve", "--port", port, env=env):
        until(lambda: answers(f"{base}/ready"), "the restored service")
        health = httpx2.get(f"{base}/health").json()
        assert (health["copy"]["devices"], health["index"]["lag"]) == (kept, 0)
        assert 0.9 * kept < health["index"]["devices"] <= kept, "the index is one of what was restored"


@pytest.mark.nightly
def test_two_services_on_one_host_share_one_index_and_one_takes_over_from_a_killed_one(
    tmp_path: Path, records: Path, database_url: str
) -> None:
    env = environment(tmp_path, database_url, REGISTER_URL="http://127.0.0.1:9/eudamed")
    ports = free_port(), free_port()
    first_url, second_url = (f"http://127.0.0.1:{port}/health" for port in ports)
    with (
        running("serve", "--port", ports[0], env=env) as first,
        running("serve", "--port", ports[1], env=env),
    ):
        until(lambda: answers(first_url) and answers(second_url), "both services")
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert processes.run("copy", "fill", "--source", records, env=env).returncode == 0
        until(
            lambda: (
                httpx2.get(second_url).json()["index"]["devices"] > DEVICES * 0.9
                and httpx2.get(second_url).json()["index"]["lag"] == 0
            ),
            "the survivor to index what was filled",
        )


@pytest.mark.nightly
def test_the_stand_in_serves_what_a_service_fills_itself_from(tmp_path: Path, database_url: str) -> None:
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    with running("register", "serve", "--devices", 1500, "--port", port, env=environment(tmp_path, database_url)):
        until(lambda: answers(f"{base}/_control/changes"), "the stand-in register")
        settings = {"REGISTER_URL": f"{base}/eudamed", "DATALAKE_URL": f"{base}/datalake"}
        start_fast(database_url)
        env = environment(tmp_path, database_url, REGISTER_REQUESTS_PER_MINUTE="100000", **settings)
        for source in ("datalake", "register"):
            done = processes.run("copy", "fill", "--source", source, env=env)
            assert done.returncode == 0, done.stderr
            assert "1,500 records read" in done.stdout
        assert "1,500 registrations" in processes.run("copy", "status", env=env).stdout


def test_a_process_that_cannot_work_says_what_to_do(tmp_path: Path) -> None:
    done = processes.run("serve", env=environment(tmp_path, "mysql://x"))

    assert done.returncode == 1
    assert "sqlite:// or postgresql://" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.nightly
def test_a_broken_file_is_told_by_line_and_what_came_before_stays(tmp_path: Path) -> None:
    source = tmp_path / "broken.jsonl"
    write_records(source, 3000, 3)
    lines = source.read_bytes().splitlines(keepends=True)
    source.write_bytes(b"".join([*lines[:2500], b'{"uuid": 7}\n', *lines[2500:]]))
    env = environment(tmp_path, f"sqlite:///{tmp_path / 'copy.db'}")

    done = processes.run("copy", "fill", "--source", source, env=env)

    assert done.returncode == 1
    assert "Line 2501" in done.stderr
    assert _stored_records(tmp_path / "copy.db") == 2000
    source.write_bytes(b"".join(lines))
    assert processes.run("copy", "fill", "--source", source, env=env).returncode == 0
    assert len(_copy(tmp_path / "copy.db")) == 3000


def test_the_demonstration_answers_its_first_search(tmp_path: Path) -> None:
    port = free_port()
    env = environment(tmp_path, "")
    with running("demo", "--port", port, "--devices", 1000, env=env):
        until(lambda: answers(f"http://127.0.0.1:{port}/v1/search?q=set"), "the demonstration")
        found = httpx2.get(f"http://127.0.0.1:{port}/v1/search", params={"q": "set"}).json()
        assert found["total"] > 0
        assert "text/html" in httpx2.get(f"http://127.0.0.1:{port}/?q=set").headers["content-type"]
        _buy_a_subscription(f"http://127.0.0.1:{port}/v1")


def _buy_a_subscription(interface: str) -> None:
    """Walk through a checkout of the demonstration, until the account shows it."""
    who = {"email": "you@example.org", "password": "at least 8"}
    key = {"X-API-Key": httpx2.post(f"{interface}/trial", json=who).json()["api_key"]}
    page = httpx2.post(f"{interface}/billing/checkout", json={}, headers=key).json()["url"]
    paid = httpx2.post(page.replace("//localhost:", "//127.0.0.1:"), data={"card": "4242424242424242"})
    assert paid.status_code == 303

    def shows() -> bool:
        account = httpx2.get(f"{interface}/me", headers=key).json()
        return account["subscription"] is not None and account["plan"] == "standard"

    until(shows, "the event of the payment")


def test_importing_all_commands_reads_no_environment_and_opens_nothing() -> None:
    program = "import json, sys; from tests.support.command_words import loaded_commands"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; loaded_commands(); print(json.dumps(sorted(sys.modules)))"],
        env={
            "PATH": "/nowhere",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "REGISTERWATCH_DATABASE_URL": "nonsense",
        },
        capture_output=True,
        text=True,
        check=True,
    )

    assert "registerwatch.app" not in json.loads(done.stdout), "commands load the application only when they serve"
