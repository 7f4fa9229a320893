"""`registerwatch watches …` at a terminal."""

import pytest
import uvicorn
from anyio.from_thread import start_blocking_portal

from registerwatch_standins.register.app import create_app
from registerwatch_standins.register.generated import GeneratedWorld
from tests.commands.steps import Operator
from tests.support.servers import serving
from tests.support.terminal import Terminal


@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_a_sweep_says_what_it_did(terminal: Terminal, operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    register = uvicorn.Config(create_app(GeneratedWorld(120, seed=7)), host="127.0.0.1", port=0, log_config=None)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(register)) as port:
        monkeypatch.setenv("REGISTERWATCH_REGISTER_URL", f"http://127.0.0.1:{port}/eudamed")
        said = terminal.types("watches", "sweep")

    devices, certificates = said.out.splitlines()
    assert said.code == 0
    assert devices.startswith("0 manufacturers, 0 lists read: 0 watched subjects differed, 0 changes of what ")
    assert certificates.endswith("certificates listed, 0 changes of them.")
