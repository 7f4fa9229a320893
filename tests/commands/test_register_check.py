"""`registerwatch register check`."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.applications import Starlette

from registerwatch.bootstrap import Service, build_service
from registerwatch.commands.display.check_report import CheckReport, print_report
from registerwatch.commands.register_check import look
from registerwatch.platform.db.migrate import upgrade
from registerwatch.settings import Settings
from registerwatch.sources.checks.names import CheckName
from registerwatch_standins.register.app import create_app as create_register
from registerwatch_standins.register.drift import Difference
from registerwatch_standins.register.faults import Faults
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.transport import InProcessTransport
from tests.support.fakes import SteppedClock
from tests.support.terminal import Terminal


@pytest.fixture(scope="module")
def world() -> GeneratedWorld:
    return GeneratedWorld(120, seed=7, certificates=9)


@pytest.fixture
def faults() -> Faults:
    """Of the stand-in register."""
    return Faults()


@pytest.fixture
def register(world: GeneratedWorld, faults: Faults) -> Starlette:
    """The stand-in register that is looked at."""
    return create_register(world, faults)


@pytest.fixture
async def service(register: Starlette, tmp_path: Path) -> AsyncIterator[Service]:
    """A service over it, whose waits take no time."""
    settings = Settings(
        data_dir=tmp_path / "data",
        register_url="http://register.test/eudamed",
        datalake_url="http://lake.test/datalake",
        register_requests_per_minute=100_000,
        datalake_requests_per_minute=100_000,
    )
    settings.data_dir.mkdir()
    built = build_service(settings, clock=SteppedClock(), transport=InProcessTransport(register), start_pace=100_000)
    await upgrade(built.database)
    yield built
    await built.close()


def printed(report: CheckReport, capsys: pytest.CaptureFixture[str], *, as_json: bool = False) -> str:
    capsys.readouterr()
    print_report(report, as_json=as_json)
    return capsys.readouterr().out


async def test_a_register_as_it_was_measured_holds_and_ends_with_0(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    report = await look(service, None)

    said = capsys.readouterr().err
    assert "EUDAMED: http://register.test/eudamed, at most 100,000 requests a minute" in said
    assert report.exit_status == 0
    out = printed(report, capsys)
    assert "holds           It names its build: 2.27.3" in out
    assert f"{len(CheckName)} hold, 0 differ, 0 not looked at" in out


async def test_what_differs_comes_last_with_what_it_means_and_ends_with_1(
    service: Service, register: Starlette, capsys: pytest.CaptureFixture[str]
) -> None:
    register.state.drift.differences = {Difference.SAFETY_NOTICES_ON}
    report = await look(service, None)

    assert report.exit_status == 1
    lines = printed(report, capsys).splitlines()
    [at] = [at for at, line in enumerate(lines) if line.startswith("differs")]
    assert "ffVigFsn is on (it was off): EUDAMED publishes field safety notices now" in lines[at]
    assert lines[at + 1].startswith("  Relied on (flags): `/configurationParameters` names the known flags")
    assert lines[at + 2].startswith("  What it means: A flag that is on now means that EUDAMED publishes something new")
    assert lines[at + 3].startswith(f"{len(CheckName) - 1} hold, 1 differ, 0 not looked at")


async def test_json_is_one_object_with_every_check(
    service: Service, register: Starlette, capsys: pytest.CaptureFixture[str]
) -> None:
    register.state.drift.differences = {Difference.NEW_BUILD}
    report = json.loads(printed(await look(service, None), capsys, as_json=True))

    assert (report["result"], report["exit_status"]) == ("differs", 1)
    by_name = {each["name"]: each for each in report["checks"]}
    assert set(by_name) == {name.value for name in CheckName}
    assert by_name["build"]["seen"] == "2.28.0. This release was verified with 2.27.3 and 2.27.5."
    assert {each["result"] for each in report["checks"] if each["name"] != "build"} == {"holds"}


async def test_a_register_that_does_not_answer_is_two_lines_with_what_to_do_and_ends_with_2(
    service: Service, faults: Faults, capsys: pytest.CaptureFixture[str]
) -> None:
    faults.fail("any", "http-503")
    report = await look(service, None)

    said = capsys.readouterr().err
    assert (
        "The register (register.test) has a fault of its own (status 503); trying again in 2 s, 3 tries left." in said
    )
    assert report.exit_status == 2
    lines = printed(report, capsys).splitlines()
    assert lines[0].endswith("assumptions: The register (register.test) has a fault of its own (status 503).")
    assert lines[-1].startswith(f"0 hold, 0 differ, {len(CheckName)} not looked at")
    assert lines[-1].endswith("Nothing could be looked at.")
    assert len(lines) <= 4


async def test_an_address_that_refuses_everything_is_asked_about_and_is_no_difference(
    service: Service, faults: Faults, capsys: pytest.CaptureFixture[str]
) -> None:
    faults.fail("datalake", "http-400")
    report = await look(service, None)

    assert report.exit_status == 2
    [line] = [line for line in printed(report, capsys).splitlines() if line.startswith("could not look")]
    assert "No answer could be used: The register (lake.test) refused the request (status 400)." in line
    assert line.endswith("Is REGISTERWATCH_DATALAKE_URL right?")


async def test_a_recording_has_every_answer_and_nothing_of_persons(
    service: Service, register: Starlette, tmp_path: Path
) -> None:
    folder = tmp_path / "recording"
    report = await look(service, folder)

    files = sorted(each.name for each in folder.iterdir() if each.suffix == ".json")
    index = (folder / "INDEX.md").read_text()
    kept = "".join((folder / name).read_text() for name in files)
    assert report.exit_status == 0
    assert len(files) == len(register.state.log.requests)
    assert all(f"`{name}`" in index for name in files)
    assert "EUDAMED `/devices/udiDiData?page=0&pageSize=300&size=300&iso2Code=en&languageIso2Code=en`" in index
    assert "electronicMail" in index, "what was taken out is named"
    assert "@" not in kept
    assert json.loads((folder / files[0]).read_text())["buildVersion"] == "2.27.3"
    assert "| build | holds | 2.27.3 |" in index


def test_a_folder_with_anything_in_it_is_refused_before_anything_is_asked(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep me")

    ended = terminal.types("register", "check", "--record", str(tmp_path))

    assert ended.code == 2
    assert "is not empty; name a folder that is new or empty" in ended.err
