"""The stand-in behind a real server on a loopback port."""

import threading
from collections.abc import Iterator

import httpx2
import pytest
import uvicorn

from registerwatch_standins.register.app import create_app
from registerwatch_standins.register.faults import Faults
from registerwatch_standins.register.generated import GeneratedWorld

from .conftest import PAGE

SEARCH = "/eudamed/devices/udiDiData"


class Served:
    """A running server, the faults that it shows, and a client of it."""

    def __init__(self, server: uvicorn.Server, faults: Faults, client: httpx2.Client) -> None:
        self.server = server
        self.faults = faults
        self.client = client


@pytest.fixture
def served() -> Iterator[Served]:
    faults = Faults()
    app = create_app(GeneratedWorld(200, 1), faults, changes_per_minute=6000)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    deadline = threading.Event()
    while not server.started and thread.is_alive():
        deadline.wait(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    headers = {"user-agent": "registerwatch-tests"}
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=5) as client:
        yield Served(server, faults, client)
    server.should_exit = True
    thread.join(timeout=10)
    assert not thread.is_alive()


def test_a_served_register_answers_and_changes_by_itself(served: Served) -> None:
    assert served.client.get(SEARCH, params=PAGE).json()["totalElements"] >= 200
    for _ in range(500):
        if served.client.get("/_control/changes").json()["written"] > 0:
            return
    raise AssertionError("nothing changed")


def test_a_dropped_connection_breaks_off_in_the_body(served: Served) -> None:
    served.faults.fail("search", "connection-reset", times=1)
    with pytest.raises(httpx2.RemoteProtocolError):
        served.client.get(SEARCH, params=PAGE)
    assert served.client.get(SEARCH, params=PAGE).status_code == 200


@pytest.mark.parametrize("mode", ["timeout", "stalled-body"])
def test_silence_outlasts_the_clients_patience(served: Served, mode: str) -> None:
    served.faults.fail("search", mode, times=1)  # type: ignore[arg-type]
    with pytest.raises(httpx2.ReadTimeout):
        served.client.get(SEARCH, params=PAGE, timeout=0.1)
    assert served.client.get(SEARCH, params=PAGE).status_code == 200
