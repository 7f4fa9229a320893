"""A fill of the Data Lake as it was measured: slow, throttled and killed, and every record stored as it was sent.

`FILL_DEVICES=100000` fills that many.
"""

import os
import signal
import sqlite3
import subprocess
from pathlib import Path

import httpx2
import pytest

from registerwatch.register.models import Device, from_document
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.records import Registration
from tests.support import processes
from tests.support.paces import start_fast
from tests.support.processes import answers, environment, free_port, running, until

DEVICES = int(os.environ.get("FILL_DEVICES", "4000"))
KILLED_AT = min(DEVICES // 2, 10_000)
FILL_SECONDS = 60 + DEVICES / 200
SEED = 11
ODD_VERSION = 10**12
"""A version that no register has: the field is unknown for these records, and everything else of them is stored."""


def stored(database: Path) -> dict[str, Device]:
    with sqlite3.connect(database) as connection:
        return {uuid: from_document(text) for uuid, text in connection.execute("SELECT uuid, document FROM devices")}


def count(database: Path, statement: str) -> int:
    try:
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
            return int(connection.execute(statement).fetchone()[0] or 0)
    except sqlite3.OperationalError:
        return 0


def told(record: Registration) -> dict[str, object]:
    """What the Data Lake has of a registration, in the words of what is served."""
    return {
        "udi": record.primary_di,
        "basic_udi": record.basic_udi or "",
        "reference": record.reference or "",
        "device_model": record.model or "",
        "device_name": record.device_name or "",
        "status_code": f"refdata.device-model-status.{record.status}",
        "risk_class_code": f"refdata.risk-class.{record.risk_class}",
        "legislation_code": f"refdata.applicable-legislation.{record.legislation}",
        "emdn": record.emdn,
        "manufacturer_srn": record.manufacturer.srn,
        "manufacturer_name": record.manufacturer.name,
        "sterile": record.sterile,
        "latex": record.latex,
        "version": record.version_number,
    }


@pytest.mark.nightly
def test_a_slow_throttled_and_killed_fill_stores_every_record_as_it_was_sent_and_counts_what_it_cannot_read(
    tmp_path: Path,
) -> None:
    database = tmp_path / "copy.db"
    base = f"http://127.0.0.1:{(port := free_port())}"
    address = f"sqlite:///{database}"
    serving = ("register", "serve", "--devices", DEVICES, "--seed", SEED, "--port", port)
    with running(*serving, env=environment(tmp_path / "register", address)):
        until(lambda: answers(f"{base}/_control/changes"), "the stand-in register")
        odd = [each["uuid"] for each in httpx2.get(f"{base}/_control/sample", params={"n": 3}).json()["records"]]
        for uuid in odd:
            httpx2.post(f"{base}/_control/change", json={"uuid": uuid, "fields": {"version_number": ODD_VERSION}})
        for fault in (
            {"kind": "datalake", "mode": "slow-body", "seconds": 3, "times": 1},
            {"kind": "datalake", "mode": "throttled-429", "retry_after": 1, "skip": 2, "times": 1},
        ):
            assert httpx2.post(f"{base}/_control/faults", json=fault).status_code == 200
        start_fast(address)
        env = environment(
            tmp_path,
            address,
            REGISTER_URL=f"{base}/eudamed",
            DATALAKE_URL=f"{base}/datalake",
            DATALAKE_REQUESTS_PER_MINUTE="100000",
        )
        with running("copy", "fill", env=env) as process:
            records = "SELECT max(records) FROM fills"
            until(lambda: process.poll() is not None or count(database, records) >= KILLED_AT, "some of the records")
            process.send_signal(signal.SIGKILL)
        before = count(database, records)
        done = subprocess.run(
            processes.command("copy", "fill"),
            env=env,
            capture_output=True,
            text=True,
            timeout=FILL_SECONDS,
            check=False,
        )

    assert 0 < before < DEVICES, "it was killed in the middle"
    assert done.returncode == 0, done.stderr
    assert f"{DEVICES:,} records read" in done.stdout
    assert "hours are left" in done.stderr
    unread = "SELECT sum(records) FROM unread_fields WHERE field = 'VERSION_NUMBER'"
    assert "VERSION_NUMBER of Data Lake device: " in done.stdout, "one of them came after the kill"
    assert count(database, unread) == len(odd), "each record counts once, also where the fill was killed"
    assert count(database, "SELECT count(*) FROM unread_fields") == 1
    found = stored(database)
    for record in GeneratedWorld(DEVICES, SEED).oldest(0, DEVICES):
        expected = told(record) | ({"version": None} if record.uuid in odd else {})
        device = found.pop(record.uuid)
        assert {name: getattr(device, name) for name in expected} == expected
    assert found == {}
