"""The progress bar of long commands, on standard error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

Advance = Callable[[int, int | None], None]
"""A function that gets how many are done, and the total if it is known."""

ShowNote = Callable[[str, int | None, int | None], None]
"""A function that gets a note and, if they changed, how many are done and the total."""


class _WaitColumn(ProgressColumn):
    """Shows what the command waits for."""

    def __init__(self, waiting: Callable[[], str]) -> None:
        super().__init__()
        self._waiting = waiting

    def render(self, task: Task) -> Text:
        return Text(self._waiting())


@contextmanager
def bar(unit: str, total: int | None = None) -> Iterator[Advance]:
    """A bar with the count, the rate in units a second, the time. Shown only if standard error is a terminal."""
    with noted_bar(unit, total) as show:
        yield lambda done, of: show("", done, of)


@contextmanager
def noted_bar(unit: str, total: int | None = None, waiting: Callable[[], str] = lambda: "") -> Iterator[ShowNote]:
    """A bar as of `bar`, followed by a note and what the command waits for."""
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TaskProgressColumn(show_speed=True),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"),
        _WaitColumn(waiting),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(unit, total=total, note="")

        def show(note: str, done: int | None, of: int | None) -> None:
            progress.update(task, completed=done, total=of if of is not None else total, note=note)

        yield show
