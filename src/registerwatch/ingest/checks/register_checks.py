"""Notices that the register answers differently than before: every day, and whenever its build changes.

Results are stored for all processes, so that no list is stored while a check that it relies on has failed.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import structlog

from registerwatch.ingest.checks import check_repository as repository
from registerwatch.ingest.checks.check_rules import (
    CheckedList,
    KnownChecks,
    RegisterCheck,
    after,
    due_checks,
    is_new_build,
    is_news,
    known_before,
    problem_of,
)
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.sources.checks.assumptions import ASSUMPTIONS
from registerwatch.sources.checks.names import CheckName
from registerwatch.sources.checks.outcomes import KnownBefore, Outcome, Unanswered
from registerwatch.sources.checks.source_checks import LookWatch, SourceChecks, unwatched

log = structlog.get_logger(__name__)


class ListingChecks(Protocol):
    """Says whether the register still answers in the way that a list relies on."""

    async def problem(self, listing: CheckedList) -> str | None:
        """Why nothing of a list may be stored now; None where no check forbids it. Ask before each walk."""


class RegisterChecks:
    """The checks of all sources, for all processes that share the database. `daily` are those of the background."""

    def __init__(
        self, database: Database, clock: Clock, sources: Sequence[SourceChecks], daily: frozenset[CheckName]
    ) -> None:
        self._database = database
        self._clock = clock
        self._sources = sources
        self.names = daily
        """The daily checks."""

    async def all(self) -> KnownChecks:
        """The state of every check that ever ran."""
        async with self._database.reading() as connection:
            return await repository.all_checks(connection)

    async def problem(self, listing: CheckedList) -> str | None:
        """Why nothing of a list may be stored now; None where no check forbids it."""
        return problem_of(listing, await self.all())

    async def run_where_due(self) -> Collection[CheckName]:
        """Run the checks that are due, or all where the register has a new build. Returns the due ones."""
        known = await self.all()
        due = due_checks(known, self.names, int(self._clock.now()))
        if due:
            before = await self._before(known)
            for source in self._sources:
                if own := source.names & due:
                    await self._store(await self._looked(source, own, known, before), is_logged=True)
        return due

    async def run(self, watch: LookWatch = unwatched) -> Mapping[CheckName, Outcome]:
        """Run every check now, daily or not; the outcomes. Those of daily ones are stored."""
        before = await self._before(await self.all())
        found: dict[CheckName, Outcome] = {}
        for source in self._sources:
            outcomes = await source.look(source.names, before, watch)
            await self._store(outcomes, is_logged=False)
            found |= outcomes
        return found

    async def _before(self, known: KnownChecks) -> KnownBefore:
        async with self._database.reading() as connection:
            stored = await repository.sample(connection)
        return known_before(known, stored.codes, stored.certified)

    async def _looked(
        self, source: SourceChecks, due: frozenset[CheckName], known: KnownChecks, before: KnownBefore
    ) -> Mapping[CheckName, Outcome]:
        """Run the due checks of a source; all its daily ones where it has another build than before."""
        if CheckName.BUILD not in due:
            return await source.look(due, before)
        first = await source.look({CheckName.BUILD}, before)
        build = first[CheckName.BUILD]
        if isinstance(build, Unanswered):
            return dict.fromkeys(due, build)
        rest = source.names & self.names if is_new_build(known, build) else due
        return {**await source.look(rest - {CheckName.BUILD}, before), **first}

    async def _store(self, outcomes: Mapping[CheckName, Outcome], *, is_logged: bool) -> None:
        """Store outcomes of daily checks, beside those that another process may have stored meanwhile."""
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            known = await repository.all_checks(connection)
            before = {name: known.get(name, RegisterCheck(name)) for name in outcomes if name in self.names}
            checks = {name: after(each, outcomes[name], now) for name, each in before.items()}
            for check in checks.values():
                await repository.store_check(connection, check)
        if is_logged:
            _log_silence([check for check in checks.values() if check.unanswered_since == now])
            for name, check in checks.items():
                _log_news(before[name], check)


def _log_silence(silent: Sequence[RegisterCheck]) -> None:
    if silent:
        log.info("checks of the register were not answered", checks=len(silent), reason=silent[0].reason)


def _log_news(before: RegisterCheck, check: RegisterCheck) -> None:
    """Log a result that differs from the last one, and what it means."""
    if check.unanswered_since is not None:
        return
    meaning = ASSUMPTIONS[check.name].if_differs
    if check.is_ok is False and (before.is_ok is not False or before.found != check.found):
        log.warning(
            "the register answers differently than before", check=check.name.value, found=check.found, meaning=meaning
        )
    elif check.is_ok and before.is_ok is False:
        log.warning("the register answers as before again", check=check.name.value)
    elif before.checked_at is not None and is_news(before, check):
        log.warning("the register has changed", check=check.name.value, found=check.found, before=before.found)
