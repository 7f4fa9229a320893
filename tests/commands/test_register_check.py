"""`registerwatch register check`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from anyio.from_thread import start_blocking_portal
from starlette.applications import Starlette

from registerwatch.register.sources.checks.names import CheckName
from registerwatch_standins.register.app import create_app as create_register
from registerwatch_standins.register.drift import Difference
from registerwatch_standins.register.generated import GeneratedWorld
from tests.support.servers import serving
from tests.support.terminal import Terminal


@pytest.fixture
def register(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Iterator[Starlette]:
    """A stand-in register that commands can reach."""
    app = create_register(GeneratedWorld(120, seed=7, certificates=9))
    config = uvicorn.Config(app, port=0, log_config=None, access_log=False)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(config)) as port:
        monkeypatch.setenv("REGISTERWATCH_REGISTER_URL", f"http://127.0.0.1:{port}/eudamed")
        monkeypatch.setenv("REGISTERWATCH_DATALAKE_URL", f"http://127.0.0.1:{port}/datalake")
        monkeypatch.setenv("REGISTERWATCH_REGISTER_REQUESTS_PER_MINUTE", "10000")
        monkeypatch.setenv("REGISTERWATCH_CONTACT", "operator@acme.example")
        yield app


def test_a_register_as_it_was_measured_holds_and_ends_with_0(terminal: Terminal, register: Starlette) -> None:
    ended = terminal.types("register", "check")

    assert ended.code == 0, ended
    assert "holds           It names its build: 2.27.3" in ended.out
    assert f"{len(CheckName)} hold, 0 differ, 0 not looked at" in ended.out
    assert "EUDAMED: http://127.0.0.1" in ended.err


def test_what_differs_comes_last_with_what_it_means_and_ends_with_1(terminal: Terminal, register: Starlette) -> None:
    register.state.drift.differences = {Difference.SAFETY_NOTICES_ON}
    ended = terminal.types("register", "check")

    assert ended.code == 1, ended
    lines = ended.out.splitlines()
    [at] = [at for at, line in enumerate(lines) if line.startswith("differs")]
    assert "ffVigFsn is on (it was off): EUDAMED publishes field safety notices now" in lines[at]
    assert lines[at + 1].startswith("  Relied on (flags): `/configurationParameters` names the known flags")
    assert lines[at + 2].startswith("  What it means: A flag that is on now means that EUDAMED publishes something new")
    assert lines[at + 3].startswith("71 hold, 1 differ, 0 not looked at")


def test_json_is_all_that_goes_to_standard_output(terminal: Terminal, register: Starlette) -> None:
    register.state.drift.differences = {Difference.NEW_BUILD}
    ended = terminal.types("register", "check", "--json")

    report = json.loads(ended.out)
    assert (ended.code, report["result"], report["exit_status"]) == (1, "differs", 1)
    by_name = {each["name"]: each for each in report["checks"]}
    assert set(by_name) == {name.value for name in CheckName}
    assert by_name["build"]["seen"] == "2.28.0. This release was verified with 2.27.3 and 2.27.5."
    assert {each["result"] for each in report["checks"] if each["name"] != "build"} == {"holds"}


def test_a_recording_has_every_answer_and_nothing_of_persons(
    terminal: Terminal, register: Starlette, tmp_path: Path
) -> None:
    folder = tmp_path / "recording"
    ended = terminal.types("register", "check", "--record", str(folder))

    files = sorted(each.name for each in folder.iterdir() if each.suffix == ".json")
    index = (folder / "INDEX.md").read_text()
    kept = "".join((folder / name).read_text() for name in files)
    assert ended.code == 0, ended
    assert len(files) == len(register.state.log.requests)
    assert all(f"`{name}`" in index for name in files)
    assert "EUDAMED `/devices/udiDiData?page=0&pageSize=300&size=300&iso2Code=en&languageIso2Code=en`" in index
    assert "electronicMail" in index, "what was taken out is named"
    assert "@" not in kept.replace("$@", "")
    assert json.loads((folder / files[0]).read_text())["buildVersion"] == "2.27.3"
    assert "| build | holds | 2.27.3 |" in index


def test_a_folder_with_anything_in_it_is_refused_before_anything_is_asked(
    terminal: Terminal, register: Starlette, tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("keep me")

    ended = terminal.types("register", "check", "--record", str(tmp_path))

    assert ended.code == 2
    assert "is not empty; name a folder that is new or empty" in ended.err
    assert len(register.state.log.requests) == 0
