"""The report of `register check`: lines for people, JSON for programs, an exit status."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from registerwatch import __version__
from registerwatch.platform.clock import iso_utc
from registerwatch.sources.checks.assumptions import ASSUMPTIONS
from registerwatch.sources.checks.names import CheckName
from registerwatch.sources.checks.outcomes import Outcome, Unanswered

HOLDS, DIFFERS, UNANSWERED = 0, 1, 2
"""Exit statuses: everything holds; something differs; nothing differs, but something could not be checked."""
_STATES = {HOLDS: "holds", DIFFERS: "differs", UNANSWERED: "could not look"}
_STYLES = {HOLDS: "green", DIFFERS: "bold red", UNANSWERED: "yellow"}


class CheckReport(msgspec.Struct, frozen=True):
    """The results of all checks. `began_at` is in unix seconds."""

    outcomes: Mapping[CheckName, Outcome]
    addresses: Mapping[str, str]
    began_at: int
    seconds: float
    requests: int

    @property
    def exit_status(self) -> int:
        """The exit status of the command."""
        states = {state_of(each) for each in self.outcomes.values()}
        return DIFFERS if DIFFERS in states else UNANSWERED if UNANSWERED in states else HOLDS


def state_of(outcome: Outcome) -> int:
    """Which of the three statuses an outcome has. A value that this release was not verified with differs."""
    if isinstance(outcome, Unanswered):
        return UNANSWERED
    return HOLDS if outcome.is_ok and not outcome.note else DIFFERS


def seen(outcome: Outcome) -> str:
    """What was seen, or why nothing was seen."""
    if isinstance(outcome, Unanswered):
        return outcome.reason
    return f"{outcome.found}. {outcome.note}" if outcome.note else outcome.found


def print_report(report: CheckReport, *, as_json: bool) -> None:
    """Print the report on standard output, for people or for programs."""
    if as_json:
        typer.echo(json.dumps(as_object(report), ensure_ascii=False, indent=1))
        return
    _print_table(report)
    typer.echo(verdict(report))


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
    """Print what holds, what could not be checked, and last, next to the prompt, what differs.

    Assumptions that could not be checked for the same reason are one line; a difference is printed with its meaning.
    """
    console = Console(highlight=False)
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column("result", no_wrap=True)
    table.add_column("what", ratio=1)
    for names, outcome in _grouped(sorted(_ordered(report), key=lambda each: _ORDER.index(state_of(each[1])))):
        state = state_of(outcome)
        description = _description(names, outcome)
        if console.is_terminal:
            table.add_row(Text(_STATES[state], style=_STYLES[state]), description)
        else:
            console.print(Text(f"{_STATES[state]:<16}").append_text(description), soft_wrap=True)
    if console.is_terminal:
        console.print(table)


_ORDER = (HOLDS, UNANSWERED, DIFFERS)


def _grouped(outcomes: Sequence[tuple[CheckName, Outcome]]) -> list[tuple[list[CheckName], Outcome]]:
    """The outcomes with their checks; those that could not be checked for the same reason are one."""
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
        text.append(f"\n  What it means: {ASSUMPTIONS[names[0]].if_differs}")
    return text


def verdict(report: CheckReport) -> str:
    """The last lines: how many hold, differ, could not be checked, and what to do."""
    states = [state_of(each) for each in report.outcomes.values()]
    counts = f"{states.count(HOLDS)} hold, {states.count(DIFFERS)} differ, {states.count(UNANSWERED)} not looked at"
    taken = f"{report.requests} answers in {report.seconds:.0f} s"
    ending = NOTHING if HOLDS not in states and DIFFERS not in states else _ADVICE[report.exit_status]
    return "\n".join([f"{counts}; {taken}. {ending}", *_advice(report)])


NOTHING = "Nothing could be looked at."
_ADVICE = {
    HOLDS: "The register answers as this release relies on.",
    DIFFERS: "What each difference means is said above.",
    UNANSWERED: "Nothing that was looked at differs.",
}
_CAUSES = {
    "DNS": "A name was not found: look at this machine's network and DNS, and at REGISTERWATCH_REGISTER_URL and"
    " REGISTERWATCH_DATALAKE_URL. Behind a proxy, set HTTPS_PROXY.",
    "could not be reached": "Look at this machine's network and firewall, and at REGISTERWATCH_REGISTER_URL and"
    " REGISTERWATCH_DATALAKE_URL. Behind a proxy, set HTTPS_PROXY.",
    "Web Filter": "EUDAMED shuts out the addresses of some data centres: let this machine reach it by another network,"
    " or by a proxy there (HTTPS_PROXY).",
    "throttling": "The register wants fewer requests: wait for some minutes, and lower"
    " REGISTERWATCH_REGISTER_REQUESTS_PER_MINUTE.",
}
"""What to do if no answer came, by words of the reason; the first that fits."""


def _advice(report: CheckReport) -> list[str]:
    reasons = {each.reason for each in report.outcomes.values() if isinstance(each, Unanswered)}
    found = (next((advice for word, advice in _CAUSES.items() if word in reason), "") for reason in sorted(reasons))
    return list(dict.fromkeys(advice for advice in found if advice))


def summary(report: CheckReport) -> str:
    """The report in Markdown."""
    lines = [
        f"| {name.value} | {_STATES[state_of(outcome)]} | {seen(outcome).replace('|', '/')} |"
        for name, outcome in _ordered(report)
    ]
    return "\n".join(["## What was found", "", "| assumption | result | seen |", "|---|---|---|", *lines, ""])
