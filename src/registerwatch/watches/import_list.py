"""Importing watches from a list: one identifier a line, in the first cell.

Nothing is read from the register within the request: the baseline is what the copy has, where that is fresh, else the
first successful read, by the next recheck or whoever reads the subject before.
"""

import csv
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.models import Caller
from registerwatch.accounts.repository import locked
from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.errors import InvalidInput
from registerwatch.register.observation import Observation
from registerwatch.register.store.records import RecordStore
from registerwatch.watches import repository
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.snapshot import encoded, label_of, snapshot_of
from registerwatch.watches.subjects import subject as subject_of

MAX_LINES = 500
MAX_ERRORS = 5
MAX_LINE_LENGTH = 2_000
HEADERS = frozenset({"udi", "srn", "udi-di", "subject", "identifier"})

_SEPARATORS_AS_COMMAS = str.maketrans(";\t", ",,")
"""A line may have any of three separators, and a reader of `csv` knows one. No identifier holds any of them."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import brought."""

    added: Annotated[int, Meta(description="New watches.", examples=[120])]
    skipped: Annotated[int, Meta(description="Lines whose subject was watched already.", examples=[3])]
    errors: Annotated[
        Sequence[str],
        Meta(
            description="At most five lines that could not be used, and why.",
            examples=[["Line 3: “...” is no identifier."]],
        ),
    ]


class ImportService:
    """Adds many watches at once. `fresh_for` is for how many seconds a stored read is as good as one now."""

    def __init__(self, database: Database, clock: Clock, copy: RecordStore, *, fresh_for: float) -> None:
        self._database = database
        self._clock = clock
        self._copy = copy
        self._fresh_for = fresh_for

    async def add_all(self, caller: Caller, text: str) -> ImportResult:
        """Add what is not watched yet, until the cap is reached; what was added stays. Raises `InvalidInput`."""
        lines = identifiers(text)
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            await locked(connection, caller.account.id)
            present = await repository.subjects(connection, caller.account.id)
            sorted_out = _sorted_out(lines, present, caller.account.plan.watches)
            await repository.add(connection, caller.account.id, await self._watches(connection, sorted_out.new), now)
        return ImportResult(len(sorted_out.new), sorted_out.skipped, _first(sorted_out.errors))

    async def _watches(self, connection: AsyncConnection, subjects: Sequence[str]) -> list[NewWatch]:
        """What is added, with its baseline where the copy has a fresh one."""
        since = int(self._clock.now() - self._fresh_for)
        baselines = {
            observation.subject: _with_baseline(observation, read_at)
            for observation, read_at in await self._copy.fresh(connection, subjects, since=since)
        }
        return [baselines.get(subject) or NewWatch(subject) for subject in subjects]


@dataclass(frozen=True, slots=True)
class _SortedOut:
    """Lines of a list: subjects to add, how many are watched already, what is wrong with others."""

    new: Sequence[str]
    skipped: int
    errors: Sequence[str]


def _sorted_out(lines: Sequence[tuple[int, str]], present: Collection[str], cap: int) -> _SortedOut:
    new: dict[str, None] = {}
    skipped, errors = 0, []
    for number, cell in lines:
        try:
            subject = subject_of(cell)
        except InvalidInput as error:
            errors.append(f"Line {number}: {error}")
            continue
        if subject in present or subject in new:
            skipped += 1
        elif len(present) + len(new) >= cap:
            errors.append(f"Line {number}: the plan allows {cap:,} watches; the rest was left.")
            break
        else:
            new[subject] = None
    return _SortedOut(list(new), skipped, errors)


def _first(errors: Sequence[str]) -> Sequence[str]:
    """The first errors and the last one, which tells where the list was left."""
    return errors if len(errors) <= MAX_ERRORS else [*errors[: MAX_ERRORS - 1], errors[-1]]


def _with_baseline(observation: Observation, read_at: int) -> NewWatch:
    snapshot = snapshot_of(observation)
    return NewWatch(observation.subject, label_of(snapshot, observation.subject), encoded(snapshot), read_at)


def identifiers(text: str) -> list[tuple[int, str]]:
    """The first cell of every line that has one, with the line's number; headers are left out.

    Raises `InvalidInput` for more than 500 such lines, and for what is no list of lines at all.
    """
    found: list[tuple[int, str]] = []
    for number, line in enumerate(_lines(text.removeprefix("\ufeff")), start=1):
        cell = _first_cell(line)
        if not cell or cell.lower() in HEADERS:
            continue
        found.append((number, cell))
        if len(found) > MAX_LINES:
            raise InvalidInput(f"The list has more than {MAX_LINES} lines; nothing was added. Send it in parts.")
    return found


def _lines(text: str) -> Iterator[str]:
    if "\0" in text:
        raise InvalidInput("The list is not CSV: it holds a NUL character. Nothing was added.")
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if len(line) > MAX_LINE_LENGTH:
            raise InvalidInput(
                f"The list is not CSV: a line has more than {MAX_LINE_LENGTH:,} characters. Nothing was added."
            )
        yield line


def _first_cell(line: str) -> str:
    """The first cell of a line, without quotes around it; a quote that never ends is part of the cell."""
    line = line.translate(_SEPARATORS_AS_COMMAS).strip()
    cell = next(csv.reader([f"{line}\n"]))[0] if line else ""
    return (line.partition(",")[0] if "\n" in cell else cell).strip()
