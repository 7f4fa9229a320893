"""Importing watches from a list: one identifier a line, in the first cell.

Nothing is read from the register within the request: the baseline is what the copy has, where that is fresh, else the
first successful read, by the next recheck or whoever reads the subject before. What the copy knows of certificates is
part of it; where not all of them were read, that read completes it.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from msgspec import Meta
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.models import Caller
from registerwatch.accounts.repository import locked
from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.errors import InvalidInput
from registerwatch.register.identifiers import as_registered, why_none
from registerwatch.register.observation import ActorObservation, Observation
from registerwatch.register.store.records import RecordStore
from registerwatch.watches import repository
from registerwatch.watches.import_text import identifiers
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.snapshot import encoded, label_of, snapshot_of
from registerwatch.watches.subjects import subject as subject_of

MAX_ERRORS = 5
MAX_SHOWN = 120
"""Characters of a line that are repeated in the answer."""

LineFate = Literal["added", "skipped", "error", "left"]


@dataclass(frozen=True, slots=True)
class ImportedLine:
    """One line of a list."""

    line: Annotated[int, Meta(description="Its number, from 1.", examples=[2])]
    subject: Annotated[str, Meta(description="What is watched, or what the line says.", examples=["04012345678901"])]
    fate: Annotated[
        LineFate,
        Meta(
            description="`skipped`: watched already. `error`: no identifier. `left`: the plan allows no more watches.",
            examples=["added"],
        ),
    ]
    error: Annotated[
        str | None,
        Meta(
            description="Why the line was not used, null when it was.",
            examples=["this has no digit, so it is no identifier."],
        ),
    ] = None


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
    lines: Annotated[Sequence[ImportedLine], Meta(description="Every line that holds something, in order.")] = field(
        default=(), compare=False
    )
    dry_run: Annotated[
        bool, Meta(description="Whether nothing was added: the answer tells what would be.", examples=[False])
    ] = False


class ImportService:
    """Adds many watches at once. `fresh_for` is for how many seconds a stored read is as good as one now."""

    def __init__(self, database: Database, clock: Clock, copy: RecordStore, *, fresh_for: float) -> None:
        self._database = database
        self._clock = clock
        self._copy = copy
        self._fresh_for = fresh_for

    async def add_all(self, caller: Caller, text: str, *, dry_run: bool = False) -> ImportResult:
        """Add what is not watched yet, until the cap is reached; what was added stays. Raises `InvalidInput`.

        With `dry_run` nothing is added: the result tells what would be.
        """
        cells = identifiers(text)
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            present = await repository.subjects(connection, caller.account.id)
            doubtful = [each for each in map(_subject_or_none, cells) if each is not None and why_none(each)]
            known = present | await self._copy.listed(connection, doubtful)
            lines = _sorted_out(cells, present, known, caller.account.plan.watches)
            new = [line.subject for line in lines if line.fate == "added"]
            if not dry_run:
                await repository.add(connection, caller.account.id, await self._watches(connection, new), now)
        return _result(lines, dry_run=dry_run)

    async def _watches(self, connection: AsyncConnection, subjects: Sequence[str]) -> list[NewWatch]:
        """What is added, with its baseline where the copy has a fresh one."""
        since = int(self._clock.now() - self._fresh_for)
        baselines = {
            observation.subject: _with_baseline(observation, read_at)
            for observation, read_at in await self._copy.fresh(connection, subjects, since=since)
        }
        return [baselines.get(subject) or NewWatch(subject) for subject in subjects]


def _sorted_out(
    cells: Sequence[tuple[int, str]], present: Collection[str], known: Collection[str], cap: int
) -> list[ImportedLine]:
    """What becomes of each line. What is watched or in the copy (`known`) is an identifier whatever its form."""
    lines: list[ImportedLine] = []
    new: set[str] = set()
    is_full = False
    for number, cell in cells:
        line = _line_of(number, cell, known)
        if line.fate == "added":
            is_watched = line.subject in present or line.subject in new
            is_full = is_full or (not is_watched and len(present) + len(new) >= cap)
            if is_full:
                line = replace(line, fate="left", error=_cap_error(cap))
            elif is_watched:
                line = replace(line, fate="skipped")
            else:
                new.add(line.subject)
        lines.append(line)
    return lines


def _line_of(number: int, cell: str, known: Collection[str]) -> ImportedLine:
    """A line that can be added, or is an error."""
    try:
        written = subject_of(cell)
    except InvalidInput as error:
        return ImportedLine(number, _shown(cell), "error", str(error))
    subject = written if written in known else as_registered(written)
    problem = None if subject in known else why_none(subject)
    return ImportedLine(number, subject, "added" if problem is None else "error", problem)


def _shown(cell: str) -> str:
    """The beginning of a cell, without half signs, which no answer can hold."""
    return cell[:MAX_SHOWN].encode("utf-8", "replace").decode()


def _subject_or_none(cell: tuple[int, str]) -> str | None:
    try:
        return as_registered(subject_of(cell[1]))
    except InvalidInput:
        return None


def _cap_error(cap: int) -> str:
    return f"the plan allows {cap:,} watches; the rest was left."


def _result(lines: Sequence[ImportedLine], *, dry_run: bool) -> ImportResult:
    fates = Counter(line.fate for line in lines)
    left = next((line for line in lines if line.fate == "left"), None)
    told = [line for line in lines if line.fate == "error" and (left is None or line.line < left.line)]
    errors = [f"Line {line.line}: {line.error}" for line in (*told, *([left] if left else []))]
    return ImportResult(fates["added"], fates["skipped"], _first(errors), lines, dry_run)


def _first(errors: Sequence[str]) -> Sequence[str]:
    """The first errors and the last one, which tells where the list was left."""
    return errors if len(errors) <= MAX_ERRORS else [*errors[: MAX_ERRORS - 1], errors[-1]]


def _with_baseline(observation: Observation, read_at: int) -> NewWatch:
    """A watch with what the copy knows. It counts as read where that is complete; else the first full read completes
    the baseline.
    """
    snapshot, subject = snapshot_of(observation), observation.subject
    is_complete = isinstance(observation, ActorObservation) or snapshot.has_all_certs
    return NewWatch(subject, label_of(snapshot, subject), encoded(snapshot), read_at if is_complete else None)
