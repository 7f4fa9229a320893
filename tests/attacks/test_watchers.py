"""Strangers who make the service read the register all the time, beside somebody who watches."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest

from tests.attacks.service import AttackedService
from tests.support import processes
from tests.support.processes import until

PER_MINUTE = 600
"""Of these the rechecks of the accounts beside the attack use some 100."""
SETTINGS = {
    "REGISTER_REQUESTS_PER_MINUTE": str(PER_MINUTE),
    "RECHECK_INTERVAL": "6",
    "RECHECK_WATCHES_PER_RUN": "2",
    "SYNC_TIME_LIMIT": "10",
}
STRANGERS = 4
BETWEEN_PAGES = 0.02


@pytest.mark.nightly
def test_a_crawler_of_records_that_were_loaded_in_bulk_leaves_watchers_their_part(service: AttackedService) -> None:
    loaded = processes.run("copy", "fill", "--source", "datalake", env=service.node.env)
    assert loaded.returncode == 0, loaded.stderr
    codes = service.register.choose(service.length.times(30, 250))
    service.request("GET", f"/d/{codes[0]}")  # the first page takes longer, whoever asks for it
    before = _last_sync(service)
    with service.attacked("a crawler of every page after a bulk load"):
        for _ in service.rounds():
            for code in codes:
                assert service.request("GET", f"/d/{code}").status_code == 200
                time.sleep(BETWEEN_PAGES)
        _assert_is_read_in_time(service, before)


@pytest.mark.nightly
def test_readers_of_records_that_are_not_stored_leave_watchers_their_part(service: AttackedService) -> None:
    before = _last_sync(service)
    codes = [f"0{number:013d}" for number in range(4_000_000, 4_000_000 + 2 * PER_MINUTE)]
    with service.attacked("strangers who ask for records that are not stored"):
        _ask_as_strangers(service, [f"/v1/devices/{code}" for code in codes])
        _assert_is_read_in_time(service, before)


def _ask_as_strangers(service: AttackedService, paths: list[str]) -> None:
    """Each request comes from an address of its own; who waits for long gives up."""
    with ThreadPoolExecutor(STRANGERS) as threads:
        statuses = set(threads.map(lambda path: service.request("GET", path).status_code, paths))
    assert statuses <= {200, 404, 503}, statuses


def _assert_is_read_in_time(service: AttackedService, before: datetime) -> None:
    """Whoever watches gets what they ask for, and the recheck goes on."""
    synced = service.request("POST", "/v1/sync", key=service.key, fields={}).json()
    assert (synced["synced"], synced["error"]) == (1, None), synced
    until(lambda: _last_sync(service) > before, "a recheck")


def _last_sync(service: AttackedService) -> datetime:
    [watch] = service.request("GET", "/v1/watches", key=service.key).json()["watches"]
    return datetime.fromisoformat(watch["last_sync"])
