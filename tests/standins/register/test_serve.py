"""The stand-in behind a real server on a loopback port."""

import httpx2
import pytest
import uvicorn

from registerwatch_standins.register.app import create_app
from registerwatch_standins.register.faults import Faults, Mode
from registerwatch_standins.register.generated import GeneratedWorld
from tests.support.servers import serving

from .conftest import HEADERS, PAGE

SEARCH = "/eudamed/devices/udiDiData"
BREAKS: list[tuple[Mode, type[Exception]]] = [
    ("timeout", httpx2.ReadTimeout),
    ("stalled-body", httpx2.ReadTimeout),
    ("connection-reset", httpx2.RemoteProtocolError),
]


async def test_a_served_register_answers_changes_by_itself_and_breaks_off_as_it_is_told() -> None:
    faults = Faults()
    app = create_app(GeneratedWorld(200, 1), faults, changes_per_minute=6000)
    async with (
        serving(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical")) as port,
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=HEADERS, timeout=5) as client,
    ):
        for mode, error in BREAKS:
            faults.fail("search", mode, times=1)
            with pytest.raises(error):
                await client.get(SEARCH, params=PAGE, timeout=0.1 if error is httpx2.ReadTimeout else 5)
            assert (await client.get(SEARCH, params=PAGE)).json()["totalElements"] >= 200
        for _ in range(500):
            if (await client.get("/_control/changes")).json()["written"] > 0:
                return
    raise AssertionError("nothing changed")
