"""`registerwatch register check`: checking that the register answers as this release expects."""

import asyncio
import time
from collections.abc import Collection, Mapping
from pathlib import Path

import httpx2
import typer
from rich.console import Console
from rich.text import Text

from registerwatch import __version__
from registerwatch.bootstrap import Service, build_service
from registerwatch.commands.display.check_report import CheckReport, print_report, summary
from registerwatch.commands.display.request_display import LookDisplay, shown
from registerwatch.platform.db.migrate import upgrade
from registerwatch.platform.disk import make_folder
from registerwatch.settings import Settings
from registerwatch.sources.checks.assumptions import ASSUMPTIONS
from registerwatch.sources.checks.data_lake_assumptions import DATA_LAKE
from registerwatch.sources.checks.names import CheckName
from registerwatch.sources.checks.outcomes import CheckResult, Outcome, Unanswered
from registerwatch.sources.checks.recorded_answers import Recording
from registerwatch.sources.request_observer import RequestObserver, Retry
from registerwatch.sources.requests import is_web_page

LAKE_NAMES = frozenset(each.name for each in DATA_LAKE)
EUDAMED_NAMES = frozenset(CheckName) - LAKE_NAMES


async def look(service: Service, folder: Path | None) -> CheckReport:
    """Run all checks, shown on standard error; answers are stored in `folder`. Raises `InvalidInput`."""
    settings = service.settings
    addresses = {"EUDAMED": settings.register_url.rstrip("/"), "Data Lake": settings.datalake_url.rstrip("/")}
    if folder is None:
        return await _look(service, addresses, None)
    recording, found = Recording(folder, addresses), "The look was broken off.\n"
    recording.open()
    try:
        report = await _look(service, addresses, recording)
        found = summary(report)
    finally:
        recording.close(__version__, found)
    return report


async def _look_once(settings: Settings, folder: Path | None) -> CheckReport:
    make_folder(settings.data_dir)
    service = build_service(settings)
    try:
        await upgrade(service.database)
        return await look(service, folder)
    finally:
        await service.close()


async def _look(service: Service, addresses: Mapping[str, str], recording: Recording | None) -> CheckReport:
    console = Console(stderr=True, highlight=False)
    expected = sum(each.requests for each in ASSUMPTIONS.values())
    paces = service.settings.register_requests_per_minute, service.settings.datalake_requests_per_minute
    for (name, address), pace in zip(addresses.items(), paces, strict=True):
        console.print(Text(f"{name}: {address}, at most {pace:,} requests a minute"), soft_wrap=True)
    console.print(f"About {expected} requests follow; a page of the Data Lake can take a minute.", soft_wrap=True)
    display = LookDisplay(console, expected)
    observer = _Recorder(display, recording, service)
    service.observe_requests(observer)
    began_at, began = int(service.clock.now()), time.monotonic()
    with shown(display, console):
        outcomes = await service.register_checks.run(lambda name: display.looks_at(ASSUMPTIONS[name].title))
    seconds = time.monotonic() - began
    judged = {
        **_usable(outcomes, EUDAMED_NAMES, observer.is_usable(addresses["EUDAMED"]), "REGISTERWATCH_REGISTER_URL"),
        **_usable(outcomes, LAKE_NAMES, observer.is_usable(addresses["Data Lake"]), "REGISTERWATCH_DATALAKE_URL"),
    }
    return CheckReport(judged, addresses, began_at, seconds, observer.answers)


def _usable(
    outcomes: Mapping[CheckName, Outcome], names: Collection[CheckName], is_usable: bool, setting: str
) -> dict[CheckName, Outcome]:
    """The outcomes of a source. If it refused every request, its address is wrong and nothing was checked."""
    own = {name: outcome for name, outcome in outcomes.items() if name in names}
    if is_usable:
        return own
    refused = next((each.found for each in own.values() if isinstance(each, CheckResult) and not each.is_ok), None)
    if refused is None:
        return own
    return dict.fromkeys(own, Unanswered(f"No answer could be used: {refused} Is {setting} right?"))


class _Recorder:
    """Shows requests, counts and stores their answers."""

    def __init__(self, shows: RequestObserver, recording: Recording | None, service: Service) -> None:
        self._shows, self._recording, self._clock = shows, recording, service.clock
        self.answers = 0
        self._usable: list[str] = []

    def is_usable(self, base: str) -> bool:
        """Whether a source answered any request with JSON."""
        return any(url.startswith(base) for url in self._usable)

    def asks(self, url: str) -> None:
        """Show a request."""
        self._shows.asks(url)

    def answered(self, url: str, params: Mapping[str, str], response: httpx2.Response) -> None:
        """Count and store an answer."""
        self.answers += 1
        if response.status_code == 200 and not is_web_page(response):
            self._usable.append(url)
        if self._recording is not None:
            self._recording.keep(url, params, response, int(self._clock.now()))
        self._shows.answered(url, params, response)

    def failed(self, retry: Retry) -> None:
        """Show a failure."""
        self._shows.failed(retry)


def run(settings: Settings, *, as_json: bool, folder: Path | None) -> int:
    """Check, and print the report. The exit status."""
    report = asyncio.run(_look_once(settings, folder))
    print_report(report, as_json=as_json)
    if folder is not None:
        typer.echo(f"What came is in {folder}, without personal data; {folder / 'INDEX.md'} lists it.", err=True)
    return report.exit_status
