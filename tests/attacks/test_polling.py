"""Strangers who poll public records, to find out which of them somebody watches."""

import re
import time
from collections.abc import Sequence

import httpx2
import pytest

from registerwatch.platform.clock import iso_utc
from tests.attacks.service import AttackedService
from tests.mcp.messages import using
from tests.support import processes
from tests.support.processes import until

SETTINGS = {"RECHECK_INTERVAL": "1", "RECHECK_WATCHES_PER_RUN": "15", "SWEEP_INTERVAL": "60"}
DEVICES, WATCHED = 34, 10
CHANGES_EACH_TIME = {"x-request-id", "date", "ratelimit-remaining", "ratelimit-reset"}
OF_BODY = {"etag", "content-length"}
SCOPES = re.compile(r'<td data-label="(?:For this device|What it proves)">.*?</td>|names_devices\\?": ?\w+', re.DOTALL)
"""What scopes say of a device. They are read meanwhile, of one certificate after the other, whether anybody watches
its devices or not.
"""

Kept = tuple[int, dict[str, str], str]
"""Status, headers and body of an answer."""


@pytest.mark.nightly
def test_polling_the_records_of_34_devices_twice_finds_none_of_those_that_are_watched(
    service: AttackedService,
) -> None:
    loaded = processes.run("copy", "fill", "--source", "datalake", env=service.node.env)
    assert loaded.returncode == 0, loaded.stderr
    codes = service.register.choose(DEVICES)
    makers = _read_by_strangers(service, codes)
    key = service.sign_up()
    watched = [*codes[::3][:WATCHED], *makers[:2]]
    for code in watched:
        assert service.request("POST", "/v1/watches", key=key, fields={"subject": code}).status_code == 200
    with service.attacked("strangers who poll records, of which some are watched"):
        before, polled_at = _polled(service, [*codes, *makers]), time.time()

        for _ in service.rounds():
            until(lambda: _was_rechecked(service, key, polled_at), "a recheck of all that is watched")
            synced = service.request("POST", "/v1/sync", key=key, fields={}).json()
            assert (synced["synced"], synced["events"]) == (len(watched), [])

        after = _polled(service, [*codes, *makers])
    assert [code for code, answers in before.items() if after[code] != answers] == []


def _read_by_strangers(service: AttackedService, codes: Sequence[str]) -> list[str]:
    """Have devices and their manufacturers read in full, as visitors do; the manufacturers."""
    makers = []
    for code in codes:
        answer = service.request("GET", f"/v1/refresh?q={code}").json()
        assert answer["refreshed"], answer
        makers.append(answer["device"]["manufacturer_srn"])
    for srn in dict.fromkeys(makers):
        assert service.request("GET", f"/v1/refresh?q={srn}").json()["refreshed"]
        until(lambda: service.request("GET", f"/v1/actors/{srn}").json()["complete"], "the list of its devices")
    until(lambda: service.request("GET", "/health").json()["index"]["lag"] == 0, "the index")
    return list(dict.fromkeys(makers))


def _polled(service: AttackedService, codes: Sequence[str]) -> dict[str, list[Kept]]:
    """What every surface answers about each record."""
    return {code: [_kept(each) for each in _asked(service, code)] for code in codes}


def _asked(service: AttackedService, code: str) -> list[httpx2.Response]:
    is_actor = "-MF-" in code or "-PR-" in code
    kind, page = ("actors", "a") if is_actor else ("devices", "d")
    paths = (f"/v1/{kind}/{code}", f"/v1/{kind}/{code}/history", f"/{page}/{code}", f"/v1/search?q={code}")
    tool = using("get_actor", {"srn": code}) if is_actor else using("get_device", {"udi": code})
    return [
        *(service.request("GET", path) for path in paths),
        service.request("POST", "/mcp", fields=tool),
    ]


def _kept(answer: httpx2.Response) -> Kept:
    assert answer.status_code == 200, answer.text
    text = SCOPES.sub("", answer.text)
    left_out = CHANGES_EACH_TIME if text == answer.text else CHANGES_EACH_TIME | OF_BODY
    headers = {name: value for name, value in answer.headers.items() if name not in left_out}
    return answer.status_code, headers, text


def _was_rechecked(service: AttackedService, key: str, since: float) -> bool:
    """Whether everything that is watched was read in a second that began after an instant."""
    watches = service.request("GET", "/v1/watches", key=key).json()["watches"]
    return all((each["last_sync"] or "") > iso_utc(int(since)) for each in watches)
