"""`registerwatch register check`."""

from collections.abc import Iterator

import pytest
import uvicorn
from anyio.from_thread import start_blocking_portal

from registerwatch_standins.register.app import create_app as create_register
from registerwatch_standins.register.faults import Faults
from registerwatch_standins.register.generated import GeneratedWorld
from tests.support.servers import serving
from tests.support.terminal import Terminal


@pytest.fixture
def faults(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Iterator[Faults]:
    """Of a stand-in register that commands can reach."""
    faults = Faults()
    config = uvicorn.Config(
        create_register(GeneratedWorld(120, seed=7, certificates=9), faults), port=0, log_config=None, access_log=False
    )
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(config)) as port:
        monkeypatch.setenv("REGISTERWATCH_REGISTER_URL", f"http://127.0.0.1:{port}/eudamed")
        monkeypatch.setenv("REGISTERWATCH_CONTACT", "operator@acme.example")
        yield faults


def test_a_check_prints_what_it_found_and_ends_with_1_where_something_has_changed(
    terminal: Terminal, faults: Faults
) -> None:
    fine = terminal.types("register", "check")
    faults.fail("search", "json-of-renamed-fields", names=("riskClass",))
    changed = terminal.types("register", "check")

    assert (fine.code, changed.code) == (0, 1), fine
    assert "fine        build                      3.21.0" in fine.out
    assert "changed     shape device row           Missing: riskClass." in changed.out
