"""Importing watches from a list: one identifier a line, in the first cell.

Nothing is read from the register within the request. The baseline is what the copy has, if that is fresh or no longer
listed, else the first successful read, by the next recheck or earlier. The baseline includes the certificates in the
copy; if not all of them were read, that first read completes it.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.models import Caller
from registerwatch.accounts.repository import locked
from registerwatch.copy.names import StoredName, stored_names
from registerwatch.copy.records import RecordStore
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.register.outcomes import NotFound, ReadFailed
from registerwatch.watches import repository
from registerwatch.watches.imports.code_process import CodeReader
from registerwatch.watches.imports.import_plan import (
    NOT_LOOKED,
    ImportPlan,
    KnownSubject,
    PlannedFate,
    ReadLine,
    plan_lines,
)
from registerwatch.watches.imports.import_table import ListLine
from registerwatch.watches.imports.import_text import identifiers
from registerwatch.watches.news.news_cursors import begin_added
from registerwatch.watches.reading.baselines import delisted_watches, watch_with_baseline
from registerwatch.watches.reading.read_failures import denied, note_denials
from registerwatch.watches.reading.watched_devices import in_doubt
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.tags import add_tags

MAX_ERRORS = 5

LineFate = Literal["added", "skipped", "error", "left"]
FATES: Mapping[PlannedFate, LineFate] = {
    "new": "added",
    "watched": "skipped",
    "twice": "skipped",
    "left": "left",
    "invalid": "error",
}
"""The names of fates in the REST answer."""


class ImportedLine(msgspec.Struct, frozen=True):
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


Remembered = Callable[[str], NotFound | ReadFailed | None]
"""The result of a subject's last read, if that was lately and found nothing."""


class ImportService:
    """Adds many watches at once. A stored read counts as fresh for `fresh_for` seconds."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        copy: RecordStore,
        *,
        fresh_for: float,
        codes: CodeReader,
        remembered: Remembered = lambda _subject: None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._copy = copy
        self._fresh_for = fresh_for
        self._codes = codes
        self._remembered = remembered

    async def add_all(self, caller: Caller, text: str, *, dry_run: bool = False) -> ImportResult:
        """Add what is not watched yet, until the cap is reached; what was added stays. With `dry_run` nothing is added:
        the result says what would be.

        Raises `InvalidInput`; `Overloaded` if too many lists are being read; and `RateLimited` if the account has used
        its share of the processor.
        """
        lines = await self._read(caller, await asyncio.to_thread(_lines_of, text))
        if dry_run:
            async with self._database.reading() as connection:
                return _result(await self._planned(connection, caller, lines), dry_run=True)
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            plan = await self._planned(connection, caller, lines)
            await self._add(connection, caller, plan)
        return _result(plan, dry_run=False)

    async def plan(self, caller: Caller, lines: Sequence[ListLine]) -> ImportPlan:
        """Plan the import of a list, with what the copy knows of each line. Nothing is added. Raises as `add_all`."""
        read = await self._read(caller, lines)
        async with self._database.reading() as connection:
            plan = await self._planned(connection, caller, read)
            return plan.with_known(await self._known(connection, caller, plan))

    async def add_list(
        self, caller: Caller, lines: Sequence[ListLine], tags: Collection[str] = (), *, tags_watched: bool = False
    ) -> ImportPlan:
        """Add what is not watched yet, with these tags; returns what became of each line. With `tags_watched` the
        watches that were there before get the tags too.

        Raises as `add_all`, and `PeriodEnded`, and `CapReached` where the account would have too many tags; then
        nothing is added.
        """
        caller.account.require_active(self._clock.now())
        account_id = caller.account.id
        read = await self._read(caller, lines)
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            plan = await self._planned(connection, caller, read)
            await self._add(connection, caller, plan)
            if tags:
                lines_of_tag = plan.of("new", "watched") if tags_watched else plan.of("new")
                tagged = await repository.ids_of(connection, account_id, [line.subject for line in lines_of_tag])
                await add_tags(connection, account_id, list(tagged.values()), tags)
            return plan.with_known(await self._known(connection, caller, plan))

    async def _read(self, caller: Caller, lines: Sequence[ListLine]) -> list[ReadLine]:
        cells = [line.cell for line in lines]
        codes = await self._codes.read(cells, caller.account.id, caller.network)
        return [ReadLine.of(line, read) for line, read in zip(lines, codes, strict=True)]

    async def _planned(self, connection: AsyncConnection, caller: Caller, lines: Sequence[ReadLine]) -> ImportPlan:
        present = await repository.subjects(connection, caller.account.id)
        known = await self._copy.listed(connection, _once(each for line in lines for each in line.doubtful))
        coded = await self._copy.coded(connection, _once(each for line in lines for each in line.possible_udis))
        cap = caller.account.plan.watches
        return ImportPlan(plan_lines(lines, present, known, cap, coded), len(present), cap)

    async def _add(self, connection: AsyncConnection, caller: Caller, plan: ImportPlan) -> None:
        new = await self._watches(connection, [line.subject for line in plan.of("new")])
        now = int(self._clock.now())
        await repository.add(connection, caller.account.id, new, now)
        denied_at = {watch.subject: watch.failing_since for watch in new if watch.failing_since is not None}
        doubted = await in_doubt(connection, new, now=now)
        ids = await repository.ids_of(connection, caller.account.id, [*denied_at, *doubted])
        await note_denials(connection, {ids[subject]: at for subject, at in denied_at.items()})
        await repository.make_due(connection, [ids[subject] for subject in doubted])
        await begin_added(connection, caller.account.id, [watch.subject for watch in new], now)

    async def _known(self, connection: AsyncConnection, caller: Caller, plan: ImportPlan) -> dict[str, KnownSubject]:
        """What the copy, else a watch of the account, says of each subject of a plan."""
        subjects = list({line.subject for line in plan.lines if line.fate != "invalid"})
        stored = await stored_names(connection, subjects)
        known = {each: self._known_subject(each, stored.get(each)) for each in subjects}
        unread = [each for each, of in known.items() if of is NOT_LOOKED]
        of_watches = await denied(connection, caller.account.id, unread)
        return known | {each: KnownSubject("unknown", is_of_watch=True, as_of=at) for each, at in of_watches.items()}

    def _known_subject(self, subject: str, stored: StoredName | None) -> KnownSubject:
        if stored is not None:
            return KnownSubject("listed" if stored.is_listed else "delisted", stored.name, stored.manufacturer)
        return KnownSubject("unknown") if isinstance(self._remembered(subject), NotFound) else NOT_LOOKED

    async def _watches(self, connection: AsyncConnection, subjects: Sequence[str]) -> list[NewWatch]:
        """The watches to add: with a baseline if the copy has a fresh read or one that is no longer listed, else with
        the name in the copy.
        """
        since = int(self._clock.now() - self._fresh_for)
        baselines = {
            observation.subject: watch_with_baseline(observation, read_at)
            for observation, read_at in await self._copy.fresh(connection, subjects, since=since)
        }
        baselines |= await delisted_watches(connection, self._copy, subjects)
        stored = await stored_names(connection, [each for each in subjects if each not in baselines])
        unread = {
            subject: NewWatch(subject, known.name, manufacturer_srn=known.manufacturer_srn, basic_udi=known.basic_udi)
            for subject, known in stored.items()
        }
        return [baselines.get(each) or unread.get(each) or NewWatch(each) for each in subjects]


def _lines_of(text: str) -> list[ListLine]:
    return [ListLine(*each) for each in identifiers(text)]


def _once(subjects: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(subjects))


def _result(plan: ImportPlan, *, dry_run: bool) -> ImportResult:
    """The plan as the REST answer."""
    lines = [ImportedLine(each.number, each.subject, FATES[each.fate], each.reason or None) for each in plan.lines]
    left = next((line for line in lines if line.fate == "left"), None)
    wrong = [line for line in lines if line.fate == "error" and (left is None or line.line < left.line)]
    errors = [f"Line {line.line}: {line.error}" for line in (*wrong, *([left] if left else []))]
    counts = plan.counts
    return ImportResult(counts["new"], counts["watched"] + counts["twice"], _first(errors), lines, dry_run)


def _first(errors: Sequence[str]) -> Sequence[str]:
    """The first errors and the last one, which says at which line the import stopped."""
    return errors if len(errors) <= MAX_ERRORS else [*errors[: MAX_ERRORS - 1], errors[-1]]
