"""Who comes, imports and deletes all the time, beside somebody who watches in peace."""

import time
from datetime import datetime

import pytest

from tests.attacks.service import AttackedService
from tests.support.processes import until

SETTINGS = {"RECHECK_INTERVAL": "1", "RECHECK_WATCHES_PER_RUN": "3"}
IMPORTED = 25
TRIALS = 4
"""More than a recheck reads subjects."""
READS = 3
"""Of the watch of somebody else, at different times. The short form ends with them, on a busy machine too."""


@pytest.mark.nightly
def test_who_imports_again_and_again_delays_nobody_else(service: AttackedService) -> None:
    codes = service.register.choose(IMPORTED + 1)[1:]
    keys = [service.sign_up() for _ in range(TRIALS)]
    seen = {_last_sync(service)}
    with service.attacked("trials that delete and import 25 codes again and again"):
        ends = time.monotonic() + service.length.times(20, 10)
        while time.monotonic() < ends and (service.length.is_timed or len(seen) < READS):
            for key in keys:
                _import_anew(service, key, codes)
            seen.add(_last_sync(service))
        assert len(seen) >= READS, "the watch of somebody else was read no more"
    until(lambda: _last_sync(service) > max(seen), "the next read")


def _import_anew(service: AttackedService, key: str, codes: list[str]) -> None:
    for watch in service.request("GET", "/v1/watches", key=key).json()["watches"]:
        service.request("DELETE", f"/v1/watches/{watch['id']}", key=key)
    answer = service.request("POST", "/v1/import", key=key, fields={"csv": "\n".join(codes)})
    assert answer.status_code == 200, answer.text


def _last_sync(service: AttackedService) -> datetime:
    [watch] = service.request("GET", "/v1/watches", key=service.key).json()["watches"]
    return datetime.fromisoformat(watch["last_sync"])
