"""Fixtures of commands: a terminal whose environment says nothing yet but where the data is."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from anyio.from_thread import start_blocking_portal

from registerwatch.settings import Settings
from registerwatch_standins.register.app import create_app as create_register
from registerwatch_standins.register.faults import Faults
from registerwatch_standins.register.generated import GeneratedWorld
from tests.commands.steps import Operator
from tests.support.servers import serving
from tests.support.terminal import Terminal


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Terminal:
    """Where commands are typed; settings of whoever runs the tests are not there."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"REGISTERWATCH_{name.upper()}", raising=False)
    monkeypatch.setenv("REGISTERWATCH_DATA_DIR", str(tmp_path))
    return Terminal(monkeypatch, capsys)


@pytest.fixture
def operator(monkeypatch: pytest.MonkeyPatch, terminal: Terminal, database_url: str, tmp_path: Path) -> Operator:
    """Who types commands about the accounts of one service."""
    monkeypatch.setenv("REGISTERWATCH_DATABASE_URL", database_url)
    return Operator(terminal, database_url, tmp_path)


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
