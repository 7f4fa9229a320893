"""Fixtures that every test can use: both databases, Redis, the service."""

import asyncio
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
import structlog
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from registerwatch.platform import bounded_process
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.migrate import upgrade
from tests.support import postgresql, redis
from tests.support.captures import shared
from tests.support.compiled_statements import compile_statements_once
from tests.support.empty_databases import EmptyDatabases
from tests.support.harness import NewAccount, ServiceHarness, ServiceStarter, built_harness, running_harness
from tests.support.loop_watch import loop_watch
from tests.support.receiver import Receiver, receiver

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RECORDS = shared("records", "devices.jsonl.gz")

EXAMPLES = {"quick": 3, "short": 12, "full": 100}
for form, examples in EXAMPLES.items():
    settings.register_profile(form, max_examples=examples, deadline=None)  # none fails because the machine is busy

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each of hundreds of processes compiles everything anew
sys.dont_write_bytecode = False

gc.freeze()
gc.set_threshold(50_000, 20, 50)  # thousands of services are built and dropped here: looking at them took a sixth of it

compile_statements_once()
plain_lines = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
structlog.configure(processors=[*structlog.get_config()["processors"][:-1], plain_lines])
sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]  # httpx2 looks for it in vain at every request

MEMORY, NEEDED_BYTES = Path("/dev/shm"), 4 << 30
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= NEEDED_BYTES:
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)  # PostgreSQL's files are a quarter of the work there

TOGETHER = (
    "attacks",
    "bench",
    "rest/test_description.py",
    "journeys/test_fleet.py",
    "journeys/test_mcp_clients.py",
    "pages/account/test_access.py",
    "pages/account/test_in_browser.py",
    "pages/test_browser.py",
    "pages/test_every_page.py",
)
"""Tests that share something that takes long to make: of several workers one runs all of them."""

NOT_QUICK = (
    "accounts/test_invariants.py",
    "accounts/test_passkeys.py",
    "accounts/test_password_reset.py",
    "accounts/test_provider_client.py",
    "accounts/test_provider_sign_in.py",
    "accounts/test_validation.py",
    "attacks",
    "bench",
    "commands",
    "journeys",
    "mail/test_mailer.py",
    "mail/test_sessions.py",
    "mcp",
    "notifications/channels/test_chat.py",
    "notifications/feeds/test_pages.py",
    "notifications/test_mails.py",
    "notifications/test_target_secrets.py",
    "pages",
    "recipes",
    "ingest/test_bulk_load.py",
    "ingest/test_certificate_sweep.py",
    "ingest/test_refresh.py",
    "copy/search/test_damaged_index.py",
    "contracts/test_register_shapes.py",
    "files/scan",
    "register/test_device_lists.py",
    "register/test_impossible_values.py",
    "rest",
    "sources/test_budget_parts.py",
    "sources/test_eudamed_checks.py",
    "sources/test_planted_differences.py",
    "sources/test_request_budget.py",
    "standins",
    "files/tables/test_process.py",
    "files/tables/test_reading_workbooks.py",
    "platform/db/test_engine.py",
    "platform/test_bounded_process.py",
    "platform/test_clock.py",
    "watches/test_event_marks.py",
    "watches/test_fair_recheck.py",
    "watches/test_import_file.py",
    "watches/test_news_interleaving.py",
    "watches/test_readers_and_the_budget.py",
    "watches/test_reading_within_the_budget.py",
    "watches/test_recheck_order.py",
    "watches/test_sweep.py",
    "watches/test_sweep_truth.py",
    "watches/test_sync_runs.py",
    "web/test_connections.py",
    "web/test_http_limits.py",
    "web/test_rate_limit_memory.py",
    "web/test_request_framing.py",
    "web/test_security_headers.py",
    "web/test_states_of_knowledge.py",
)
"""What `--quick` does not even import: it starts processes, or goes over the surfaces, which takes long."""
SERVICE = frozenset({"harness", "start_service"})
"""What builds the whole service."""
QUICK_OVER_THE_SERVICE = (
    "accounts/test_sessions.py",
    "notifications/test_delivery.py",
    "watches/test_observe.py",
    "watches/test_sync.py::test_a_sync_reads_every_watch",
)
"""Of tests over the whole service those that `--quick` runs, as their ids begin: signing in, a change, its delivery."""
SERVERS = frozenset({"postgresql_server", "redis_server"})
NIGHTLY_TWINS = (
    "accounts/test_admin.py",
    "accounts/test_audit_pages.py",
    "accounts/test_credentials.py",
    "accounts/test_members.py",
    "accounts/test_new_places.py",
    "accounts/test_notices.py",
    "accounts/test_old_trials.py",
    "accounts/test_passkeys.py",
    "accounts/test_password_reset.py",
    "accounts/test_passwords.py",
    "accounts/test_plans.py",
    "accounts/test_roles.py",
    "accounts/test_second_factors.py::test_a_",
    "accounts/test_validation.py",
    "attacks/",
    "billing/test_cancellation.py",
    "billing/test_checkout.py",
    "billing/test_period_notices.py::test_a_period_that_is_prolonged",
    "billing/test_period_notices.py::test_a_trial_is_said",
    "billing/test_period_notices.py::test_who_has_just_signed_up",
    "commands/",
    "copy/search/test_ties.py",
    "files/lists/test_lists.py",
    "files/lists/test_searches.py::test_searches_of_one_account",
    "files/lists/test_work.py::test_a_file",
    "files/lists/test_work.py::test_files",
    "files/lists/test_work.py::test_hostile",
    "files/lists/test_work.py::test_lines",
    "ingest/test_bulk_load.py::test_a_fill_stores",
    "ingest/test_bulk_load.py::test_a_second_fill",
    "ingest/test_certificate_sweep.py::test_a",
    "ingest/test_daily_load.py",
    "ingest/test_document_version.py",
    "ingest/test_register_checks.py",
    "journeys/",
    "mcp/",
    "notifications/feeds/test_pages.py",
    "notifications/test_channel",
    "notifications/test_chats.py",
    "notifications/test_digests.py::test_a_choice",
    "notifications/test_digests.py::test_people",
    "notifications/test_mails",
    "notifications/test_target_secrets.py",
    "notifications/test_undeliverable.py",
    "notifications/test_webhooks.py",
    "pages/",
    "platform/test_clock.py",
    "register/",
    "rest/test_access.py",
    "rest/test_account.py",
    "rest/test_as_of.py",
    "rest/test_audit.py",
    "rest/test_billing.py",
    "rest/test_certificate",
    "rest/test_channels.py",
    "rest/test_codes.py",
    "rest/test_completeness.py",
    "rest/test_facets.py",
    "rest/test_guessing.py::test_a_",
    "rest/test_guessing.py::test_guesses_of_a_day",
    "rest/test_guessing.py::test_who",
    "rest/test_guessing.py::test_writing",
    "rest/test_history.py",
    "rest/test_idempotency.py::test_answers_of_those",
    "rest/test_idempotency.py::test_the_answers_that",
    "rest/test_list_pages.py::test_a",
    "rest/test_metrics.py",
    "rest/test_reads.py",
    "rest/test_scopes.py",
    "rest/test_sessions.py",
    "rest/test_signup.py",
    "rest/test_system.py",
    "rest/test_watches.py",
    "rest/test_webhooks.py",
    "watches/test_actor_status.py",
    "watches/test_certificates.py",
    "watches/test_delisted_actors.py",
    "watches/test_delisted_records.py",
    "watches/test_details.py",
    "watches/test_doubted_counts.py",
    "watches/test_expiry.py::test_a",
    "watches/test_fair_recheck.py::test_a_watch_that_was_imported_again",
    "watches/test_fair_recheck.py::test_many_new_watches",
    "watches/test_fair_recheck.py::test_many_trials",
    "watches/test_fair_recheck.py::test_trials_that_delete",
    "watches/test_health.py",
    "watches/test_import",
    "watches/test_listed_watches.py",
    "watches/test_observe.py::test_an",
    "watches/test_read_failures.py",
    "watches/test_readers_and_the_budget.py",
    "watches/test_reading_within_the_budget.py",
    "watches/test_records_of_one_device.py",
    "watches/test_scoped_certificates.py",
    "watches/test_shared_records.py",
    "watches/test_sweep.py",
    "watches/test_sweep_confirmation.py",
    "watches/test_sweep_truth.py::test_a_device_whose_records",
    "watches/test_sweep_truth.py::test_a_first_list",
    "watches/test_sweep_truth.py::test_records_of_a_device",
    "watches/test_sweep_truth.py::test_what_was_found",
    "watches/test_sync_of_many.py",
    "watches/test_watch_details.py",
    "watches/test_watched_devices.py::test_a_watch_is_due_where_a_newer",
    "web/",
)
"""What runs over PostgreSQL too with `--nightly` alone, as it begins in the ids of tests: what it asks of a database
others ask of both.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="leave out what needs a process, a server or the service")
    parser.addoption("--nightly", action="store_true", help="the long forms too, and all examples of properties")
    parser.addoption("--attack", action="store_true", help="attack for longer, and judge how long others wait")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "nightly: a long form, which runs with `--nightly` alone")
    is_quick = config.getoption("--quick")
    settings.load_profile("quick" if is_quick else "full" if config.getoption("--nightly") else "short")
    if is_quick:
        sys.addaudithook(_skip_at_a_process)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return (config.getoption("--quick") and _is_under(collection_path, NOT_QUICK)) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not (config.getoption("--nightly") or config.getoption("--attack")):
        is_quick = config.getoption("--quick")
        left = {each for each in items if _is_nightly(each) or (is_quick and not _is_quick(each))}
        config.hook.pytest_deselected(items=left)
        items[:] = [each for each in items if each not in left]


def _is_nightly(item: pytest.Item) -> bool:
    is_twin = _place(item.nodeid).startswith(NIGHTLY_TWINS) and "postgresql" in _parameters(item).values()
    return is_twin or item.get_closest_marker("nightly") is not None


def _is_quick(item: pytest.Item) -> bool:
    assert isinstance(item, pytest.Function)
    is_over_service = not SERVICE.isdisjoint(item.fixturenames)
    return not _needs_a_server(item) and (not is_over_service or _place(item.nodeid).startswith(QUICK_OVER_THE_SERVICE))


def _needs_a_server(item: pytest.Item) -> bool:
    assert isinstance(item, pytest.Function)
    parameters = _parameters(item)
    return parameters.get("database_kind") == "postgresql" or (
        "database_kind" not in parameters and not SERVERS.isdisjoint(item.fixturenames)
    )


def _parameters(item: pytest.Item) -> Mapping[str, object]:
    assert isinstance(item, pytest.Function)
    return item.callspec.params if hasattr(item, "callspec") else {}


def _place(nodeid: str) -> str:
    return nodeid.removeprefix("tests/")


def _is_under(path: Path, places: Iterable[str]) -> bool:
    return any(path.is_relative_to(Path(__file__).parent / each) for each in places)


def _skip_at_a_process(event: str, _arguments: object) -> None:
    if event == "subprocess.Popen" and "PYTEST_CURRENT_TEST" in os.environ:
        pytest.skip("starts a process")


class Together(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Hands out tests one by one, and those that belong together to one worker, before all others."""

    def _split_scope(self, nodeid: str) -> str:
        return next((each for each in TOGETHER if _place(nodeid).startswith(each)), nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Together | None:
    """Ours, unless another `--dist` is asked for. `loadgroup` writes groups into ids, where pytest no longer looks."""
    return Together(config, log) if config.getvalue("dist") == "load" else None


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores, as tests wait for processes and databases; those of `--quick` hardly wait."""
    return len(os.sched_getaffinity(0)) + (0 if config.getoption("--quick") else 1)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    """Asynchronous tests run on asyncio with uvloop, as the service does."""
    return "asyncio", {"use_uvloop": True}


@pytest.fixture(scope="session", autouse=True)
def processes_that_read_files_keep_their_priority() -> Iterator[None]:
    """With a lower one they would hardly run while the tests of other workers use up the machine."""
    with patch.object(bounded_process, "NICENESS", bounded_process.QUICK_NICENESS):
        yield


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[postgresql.Cluster]:
    """A PostgreSQL server for this run."""
    with postgresql.cluster() as server:
        yield server


@pytest.fixture(scope="session")
def postgresql_template(postgresql_server: postgresql.Cluster) -> postgresql.Cluster:
    """The server with a database `template`, which has every migration and is copied for tests."""
    with postgresql_server.connect() as connection:
        connection.execute("CREATE DATABASE template")
    _migrate(postgresql_server.url("template"))
    return postgresql_server


@pytest.fixture(scope="session")
def postgresql_databases(postgresql_template: postgresql.Cluster) -> Iterator[EmptyDatabases]:
    """Databases with every migration, of which each test has one for itself."""
    databases = EmptyDatabases(postgresql_template, "template")
    yield databases
    databases.close()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite database with every migration, copied for each test."""
    path = tmp_path_factory.mktemp("template") / "template.db"
    _migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def database_kind(request: pytest.FixtureRequest) -> str:
    """Tests that touch the database run on both."""
    return str(request.param)


@pytest.fixture
def database_url(database_kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of an empty database at the present schema."""
    if database_kind == "sqlite":
        path = tmp_path / "registerwatch.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    databases: EmptyDatabases = request.getfixturevalue("postgresql_databases")
    with databases.one() as url:
        yield url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """An empty database at the present schema."""
    opened = Database(database_url)
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[redis.RedisServer]:
    """A Redis server for this run."""
    with redis.server() as running:
        yield running


@pytest.fixture
def redis_url(redis_server: redis.RedisServer) -> str:
    """The address of a Redis that holds nothing."""
    redis_server.flush()
    return redis_server.url


@pytest.fixture
def start_service(database_url: str, tmp_path: Path) -> ServiceStarter:
    """Starts the whole service with options of the test: `async with start_service(world=…) as harness`."""
    return partial(running_harness, database_url, tmp_path)


@pytest.fixture
async def harness(database_url: str, tmp_path: Path) -> AsyncIterator[ServiceHarness]:
    """The whole service over stand-ins. Nothing runs in it but what the test asks for."""
    async with built_harness(database_url, tmp_path) as harness:
        yield harness


@pytest.fixture
async def owner(harness: ServiceHarness) -> NewAccount:
    """A new account of the service."""
    return await harness.sign_up()


@pytest.fixture
async def limited(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    """The service with its limits of requests."""
    async with start_service(rate_limits=True) as harness:
        yield harness


@pytest.fixture
async def box() -> AsyncIterator[Receiver]:
    """A server that takes what is posted to it."""
    async with receiver() as box:
        yield box


@pytest.fixture(autouse=True)
def loop_is_not_held() -> Iterator[None]:
    """A request that holds the event loop for long fails its test."""
    yield
    assert (held := loop_watch.taken()) == [], held


@pytest.fixture(scope="session")
def is_nightly(request: pytest.FixtureRequest) -> bool:
    """Whether long forms run."""
    return bool(request.config.getoption("--nightly"))


@pytest.fixture
def real_records() -> Path:
    """The file of real register records; the test is skipped where it is missing."""
    if not RECORDS.exists():
        pytest.skip("the file of real records is not here")
    return RECORDS


def _migrate(url: str) -> None:
    async def run() -> None:
        database = Database(url)
        await upgrade(database)
        await database.close()

    asyncio.run(run())


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Debian's Chromium, for a module without asynchronous tests."""
    from tests.pages.browser_site import chromium  # Playwright takes a moment to load

    with chromium() as launched:
        yield launched
