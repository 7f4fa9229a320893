"""`registerwatch register check`: looking whether the register answers as this release relies on."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from registerwatch import __version__
from registerwatch.bootstrap import Service, build_service
from registerwatch.clock import iso_utc
from registerwatch.commands.request_display import LookDisplay, shown
from registerwatch.db.disk import make_folder
from registerwatch.db.migrate import upgrade
from registerwatch.register.sources.checks.assumptions import ASSUMPTIONS
from registerwatch.register.sources.checks.names import CheckName
from registerwatch.register.sources.checks.outcomes import Outcome, Unanswered
from registerwatch.register.sources.checks.recording import Recording
from registerwatch.register.sources.requests import ApiRequest, RequestObserver, Retry
from registerwatch.settings import Settings

HOLDS, DIFFERS, UNANSWERED = 0, 1, 2
"""Exit statuses: everything holds; something differs; nothing differs, and something could not be looked at."""
_STATES = {HOLDS: "holds", DIFFERS: "differs", UNANSWERED: "could not look"}
_STYLES = {HOLDS: "green", DIFFERS: "bold red", UNANSWERED: "yellow"}


class CheckReport(msgspec.Struct, frozen=True):
    """What a look found. `began_at` is in unix seconds."""

    outcomes: Mapping[CheckName, Outcome]
    addresses: Mapping[str, str]
    began_at: int
    seconds: float
    requests: int

    @property
    def exit_status(self) -> int:
        """How the command ends."""
        states = {state_of(each) for each in self.outcomes.values()}
        return DIFFERS if DIFFERS in states else UNANSWERED if UNANSWERED in states else HOLDS


def state_of(outcome: Outcome) -> int:
    """Which of the three it is. What is another value than this release was verified with differs."""
    if isinstance(outcome, Unanswered):
        return UNANSWERED
    return HOLDS if outcome.is_ok and not outcome.note else DIFFERS


def seen(outcome: Outcome) -> str:
    """What was seen, or why nothing was."""
    if isinstance(outcome, Unanswered):
        return outcome.reason
    return f"{outcome.found}. {outcome.note}" if outcome.note else outcome.found


async def look(settings: Settings, folder: Path | None) -> CheckReport:
    """Look at everything, shown on standard error; answers are kept in `folder`. Raises `InvalidInput`."""
    addresses = {"EUDAMED": settings.register_url.rstrip("/"), "Data Lake": settings.datalake_url.rstrip("/")}
    recording = None if folder is None else Recording(folder, addresses)
    if recording is not None:
        recording.open()
    make_folder(settings.data_dir)
    service = build_service(settings)
    try:
        await upgrade(service.database)
        report = await _look(service, addresses, recording)
    finally:
        await service.close()
    if recording is not None:
        recording.close(__version__, _summary(report))
    return report


async def _look(service: Service, addresses: Mapping[str, str], recording: Recording | None) -> CheckReport:
    console = Console(stderr=True, highlight=False)
    expected = sum(each.requests for each in ASSUMPTIONS.values())
    pace = service.settings.register_requests_per_minute
    for name, address in addresses.items():
        console.print(Text(f"{name}: {address}"), soft_wrap=True)
    console.print(f"About {expected} requests, at most {pace} a minute.")
    display = LookDisplay(console, expected)
    observer = _Recorder(display, recording, service)
    service.register_requests.observer = observer
    began_at, began = int(service.clock.now()), time.monotonic()
    with shown(display, console):
        outcomes = await service.register_checks.run(lambda name: display.looks_at(ASSUMPTIONS[name].title))
    return CheckReport(outcomes, addresses, began_at, time.monotonic() - began, observer.answers)


class _Recorder:
    """Shows requests, counts and keeps their answers."""

    def __init__(self, shows: RequestObserver, recording: Recording | None, service: Service) -> None:
        self._shows, self._recording, self._clock = shows, recording, service.clock
        self.answers = 0

    def asks(self, request: ApiRequest[Any]) -> None:
        """Show it."""
        self._shows.asks(request)

    def answered(self, request: ApiRequest[Any], response: httpx2.Response) -> None:
        """Count and keep it."""
        self.answers += 1
        if self._recording is not None:
            self._recording.keep(request, response, int(self._clock.now()))
        self._shows.answered(request, response)

    def failed(self, retry: Retry) -> None:
        """Show it."""
        self._shows.failed(retry)


def run(settings: Settings, *, as_json: bool, folder: Path | None) -> int:
    """Look, and print what was found; the exit status."""
    report = asyncio.run(look(settings, folder))
    if as_json:
        typer.echo(json.dumps(as_object(report), ensure_ascii=False, indent=1))
    else:
        _print_table(report)
        typer.echo(verdict(report))
    if folder is not None:
        typer.echo(f"What came is in {folder}, without personal data; {folder / 'INDEX.md'} lists it.", err=True)
    return report.exit_status


def as_object(report: CheckReport) -> dict[str, Any]:
    """The report for programs."""
    return {
        "result": _STATES[report.exit_status].replace(" ", "_"),
        "exit_status": report.exit_status,
        "at": iso_utc(report.began_at),
        "version": __version__,
        "addresses": dict(report.addresses),
        "requests": report.requests,
        "seconds": round(report.seconds, 1),
        "checks": [
            {
                "name": name.value,
                "title": ASSUMPTIONS[name].title,
                "relied_on": ASSUMPTIONS[name].relied_on,
                "described_in": ASSUMPTIONS[name].source,
                "result": _STATES[state_of(outcome)].replace(" ", "_"),
                "seen": seen(outcome),
                "meaning": ASSUMPTIONS[name].if_differs if state_of(outcome) == DIFFERS else "",
            }
            for name, outcome in _ordered(report)
        ],
    }


def _ordered(report: CheckReport) -> list[tuple[CheckName, Outcome]]:
    return [(name, report.outcomes[name]) for name in CheckName if name in report.outcomes]


def _print_table(report: CheckReport) -> None:
    """A line for each assumption; those that could not be looked at for one reason are one line, those that differ say
    what that means.
    """
    console = Console(highlight=False)
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column("result", no_wrap=True)
    table.add_column("what", ratio=1)
    for names, outcome in _grouped(_ordered(report)):
        state = state_of(outcome)
        table.add_row(Text(_STATES[state], style=_STYLES[state]), _description(names, outcome))
    console.print(table)


def _grouped(outcomes: Sequence[tuple[CheckName, Outcome]]) -> list[tuple[list[CheckName], Outcome]]:
    """The outcomes with their checks: several in a row that could not be looked at for one reason are one."""
    groups: list[tuple[list[CheckName], Outcome]] = []
    for name, outcome in outcomes:
        if groups and isinstance(outcome, Unanswered) and groups[-1][1] == outcome:
            groups[-1][0].append(name)
        else:
            groups.append(([name], outcome))
    return groups


def _description(names: Sequence[CheckName], outcome: Outcome) -> Text:
    title = ASSUMPTIONS[names[0]].title if len(names) == 1 else f"{len(names)} assumptions"
    text = Text(title)
    if said := seen(outcome):
        text.append(f": {said}")
    if state_of(outcome) == DIFFERS:
        text.append(f"\n  Relied on ({names[0].value}): {ASSUMPTIONS[names[0]].relied_on}", style="dim")
        text.append(f"\n  Meaning: {ASSUMPTIONS[names[0]].if_differs}")
    return text


def verdict(report: CheckReport) -> str:
    """The last line: how many hold, differ, could not be looked at, and what to do."""
    states = [state_of(each) for each in report.outcomes.values()]
    counts = f"{states.count(HOLDS)} hold, {states.count(DIFFERS)} differ, {states.count(UNANSWERED)} not looked at"
    taken = f"{report.requests} answers in {report.seconds:.0f} s"
    return f"{counts}; {taken}. {_ADVICE[report.exit_status]}"


_ADVICE = {
    HOLDS: "The register answers as this release relies on.",
    DIFFERS: "The lines above say what each difference means.",
    UNANSWERED: "Nothing that was looked at differs; try again when the register answers.",
}


def _summary(report: CheckReport) -> str:
    """What was found, in Markdown."""
    lines = [
        f"| {name.value} | {_STATES[state_of(outcome)]} | {seen(outcome).replace('|', '/')} |"
        for name, outcome in _ordered(report)
    ]
    return "\n".join(["## What was found", "", "| assumption | result | seen |", "|---|---|---|", *lines, ""])
