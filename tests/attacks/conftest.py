"""The services that are attacked: one on each database for all attacks of a module, in the short form of several."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

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
def any_database_kind(request: pytest.FixtureRequest) -> str:
    """Attacks go on over both."""
    return str(request.param)


@pytest.fixture(scope="module")
def service_settings(request: pytest.FixtureRequest) -> dict[str, str]:
    """Settings that the attacks of a module need: its `SETTINGS`."""
    return getattr(request.module, "SETTINGS", {})


@pytest.fixture(scope="package")
def started(
    length: Length, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Callable[..., AbstractContextManager[AttackedService]]]:
    """Starts a service over a kind of database with these settings. In the short form it goes on until the end of all
    attacks, and is given to the next module that asks for the same.
    """
    running: dict[object, AttackedService] = {}
    with ExitStack() as left:

        @contextmanager
        def start(kind: str, **settings: str) -> Iterator[AttackedService]:
            key = kind, *settings.items()
            with ExitStack() as own:
                if key not in running:
                    parts = own if length.is_timed else left
                    url = parts.enter_context(_empty_database(kind, tmp_path_factory, request))
                    folder = tmp_path_factory.mktemp("service")
                    running[key] = parts.enter_context(attacked_service(folder, url, length, **settings))
                yield running[key]
                if length.is_timed:
                    del running[key]

        yield start


@contextmanager
def _empty_database(
    kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[str]:
    if kind == "sqlite":
        path = tmp_path_factory.mktemp("attacked") / "registerwatch.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    server: postgresql.Cluster = request.getfixturevalue("postgresql_template")
    with server.new_database("template") as url:
        yield url


@pytest.fixture(scope="module")
def service(
    any_database_kind: str,
    started: Callable[..., AbstractContextManager[AttackedService]],
    service_settings: dict[str, str],
    request: pytest.FixtureRequest,
) -> Iterator[AttackedService]:
    """A running service. What the attacks did to others is told at the end of the run."""
    with started(any_database_kind, **service_settings) as made:
        made.attacks = 0
        yield made
        told = request.config.stash.setdefault(effects, [])
        told.extend(f"{any_database_kind}: {each}" for each in made.effects)
        made.effects.clear()


@pytest.fixture(scope="module")
def any_database_url(service: AttackedService) -> str:
    """The address of the service's database."""
    return service.node.env["REGISTERWATCH_DATABASE_URL"]


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
