"""The services that are attacked: one on each database for all attacks of a module."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.service import FULL, SHORT, AttackedService, Length, attacked_service
from tests.support import postgresql

effects = pytest.StashKey[list[str]]()

WITHOUT_REQUESTS = {
    "test_nobody_else_on_the_machine_may_read_the_data",
    "test_the_database_holds_no_secret_of_a_webhook_in_clear",
}
"""Attacks on what lies on the disk."""


@pytest.fixture(scope="session")
def length(request: pytest.FixtureRequest) -> Length:
    """How long attacks go on: `make attack` asks for the full form."""
    return FULL if request.config.getoption("--attack") else SHORT


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def any_database_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An empty database of each kind at the present schema, for all tests of a module."""
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("attacked") / "registerwatch.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    server: postgresql.Cluster = request.getfixturevalue("postgresql_template")
    with server.new_database("template") as url:
        yield url


@pytest.fixture(scope="module")
def service_settings(request: pytest.FixtureRequest) -> dict[str, str]:
    """Settings that the attacks of a module need: its `SETTINGS`."""
    return getattr(request.module, "SETTINGS", {})


@pytest.fixture(scope="module")
def service(
    any_database_url: str,
    length: Length,
    service_settings: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[AttackedService]:
    """A running service. What the attacks did to others is told at the end of the run."""
    folder: Path = tmp_path_factory.mktemp("service")
    with attacked_service(folder, any_database_url, length, **service_settings) as made:
        yield made
        told = request.config.stash.setdefault(effects, [])
        kind = any_database_url.partition(":")[0]
        told.extend(f"{kind}: {each}" for each in made.effects)


@pytest.fixture(autouse=True)
def others_were_asked_for(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every attack on a service tells how others fared."""
    if "service" not in request.fixturenames:
        yield
        return
    service: AttackedService = request.getfixturevalue("service")
    before = service.attacks
    yield
    assert isinstance(request.node, pytest.Function)
    assert (service.attacks > before) != (request.node.originalname in WITHOUT_REQUESTS)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """What was measured, where it was."""
    if config.getoption("--attack"):
        told: list[str] = config.stash.get(effects, [])
        terminalreporter.write_line("\n".join(told))
