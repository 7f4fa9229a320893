"""The progress bar of long commands, on standard error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

Advance = Callable[[int, int | None], None]
"""Called with how many are done, and the total if it is known."""

ShowNote = Callable[[str, int | None, int | None], None]
"""Called with a note, and where that is news with how many are done and the total."""


@contextmanager
def bar(unit: str, total: int | None = None) -> Iterator[Advance]:
    """A bar with the count, the rate in units a second, the time. Shown only where standard error is a terminal."""
    with noted_bar(unit, total) as show:
        yield lambda done, of: show("", done, of)


@contextmanager
def noted_bar(unit: str, total: int | None = None) -> Iterator[ShowNote]:
    """The same with a note behind it."""
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TaskProgressColumn(show_speed=True),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(unit, total=total, note="")

        def show(note: str, done: int | None, of: int | None) -> None:
            progress.update(task, completed=done, total=of if of is not None else total, note=note)

        yield show
