"""Noticing that the register answers differently than before: every day, and whenever its build changes.

What was found is stored for all processes, so that no list is stored from while a check that it relies on has failed.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import structlog

from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.register.ingest import check_repository as repository
from registerwatch.register.ingest.check_rules import (
    CheckedList,
    KnownChecks,
    RegisterCheck,
    after,
    due_checks,
    is_new_build,
    is_news,
    outcomes_of,
    problem_of,
)
from registerwatch.register.sources.checks import CheckName, Looked, Outcome, SourceChecks, Unanswered

log = structlog.get_logger(__name__)


class ListingChecks(Protocol):
    """Tells whoever reads a list whether the register still answers in the way that the list relies on."""

    async def problem(self, listing: CheckedList) -> str | None:
        """Why nothing of a list may be stored now; None where no check speaks against it. Ask before each walk."""


class RegisterChecks:
    """The checks of all sources, for all processes that share the database."""

    def __init__(self, database: Database, clock: Clock, sources: Sequence[SourceChecks]) -> None:
        self._database = database
        self._clock = clock
        self._sources = sources
        self.names = frozenset[CheckName]().union(*(source.names for source in sources))
        """What is looked at."""

    async def all(self) -> KnownChecks:
        """What is known of every check that was ever made."""
        async with self._database.reading() as connection:
            return await repository.all_checks(connection)

    async def problem(self, listing: CheckedList) -> str | None:
        """Why nothing of a list may be stored now; None where no check speaks against it."""
        return problem_of(listing, await self.all())

    async def run_where_due(self) -> Collection[CheckName]:
        """Look at what is due, and at everything where the register has a new build; what was due."""
        known = await self.all()
        due = due_checks(known, self.names, int(self._clock.now()))
        if due:
            await self._look(due, known)
        return due

    async def run(self) -> KnownChecks:
        """Look at everything now; what is known after that."""
        await self._look(self.names, await self.all())
        return await self.all()

    async def _look(self, due: Collection[CheckName], known: KnownChecks) -> None:
        async with self._database.reading() as connection:
            stored = await repository.sample(connection)
        for source in self._sources:
            own = source.names.intersection(due)
            if own:
                looked = await _looked(source, own, known, stored.certified)
                await self._store(outcomes_of(looked, stored.codes, known))

    async def _store(self, outcomes: Mapping[CheckName, Outcome]) -> None:
        """Store what was found, beside what another process may have stored meanwhile, and log what is new."""
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            known = await repository.all_checks(connection)
            before = {name: known.get(name, RegisterCheck(name)) for name in outcomes}
            checks = {name: after(before[name], outcome, now) for name, outcome in outcomes.items()}
            for check in checks.values():
                await repository.store_check(connection, check)
        silent = [name.value for name, check in checks.items() if check.unanswered_since == now]
        if silent:
            log.info(
                "checks of the register were not answered",
                checks=len(silent),
                reason=checks[CheckName(silent[0])].reason,
            )
        for name, check in checks.items():
            _log_news(before[name], check)


async def _looked(source: SourceChecks, due: frozenset[CheckName], known: KnownChecks, certified: str) -> Looked:
    """Look at what is due of a source; at nothing more where it does not tell its build, which is asked first."""
    if CheckName.BUILD not in due:
        return await source.look(due, certified)
    build = (await source.look({CheckName.BUILD})).outcomes[CheckName.BUILD]
    if isinstance(build, Unanswered):
        return Looked(dict.fromkeys(due, build))
    rest = source.names if is_new_build(known, build) else due
    looked = await source.look(rest - {CheckName.BUILD}, certified)
    looked.outcomes[CheckName.BUILD] = build
    return looked


def _log_news(before: RegisterCheck, check: RegisterCheck) -> None:
    if check.unanswered_since is not None:
        return
    if check.is_ok is False and (before.is_ok is not False or before.found != check.found):
        log.warning("the register answers differently than before", check=check.name.value, found=check.found)
    elif check.is_ok and before.is_ok is False:
        log.warning("the register answers as before again", check=check.name.value)
    elif before.checked_at is not None and is_news(before, check):
        log.warning("the register has changed", check=check.name.value, found=check.found, before=before.found)
