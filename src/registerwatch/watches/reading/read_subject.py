"""Reading one watched subject from the register now."""

from collections.abc import Mapping, Sequence

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.models import Account
from registerwatch.accounts.plans import PlanName
from registerwatch.copy.records import RecordStore
from registerwatch.ingest.listed_reads import ListedReads
from registerwatch.ingest.refresh import ReadLimits, Refresher
from registerwatch.ingest.subject_reads import RefreshResult
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.register.observation import ReadContext
from registerwatch.register.outcomes import NotFound, ReadFailed
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.requester_queue import Requester
from registerwatch.sources.source import ListedRecords
from registerwatch.watches import repository
from registerwatch.watches.models import NOT_REGISTERED
from registerwatch.watches.reading import read_failures
from registerwatch.watches.reading.baselines import delisted_watches
from registerwatch.watches.reading.read_order import Family, ReadGroup

UNCOMPARED = "The register was read, but not the record that answers for this subject; it is read again."
DEFECT = "Reading it met a fault of this service, which is in the log."


class SubjectRead(msgspec.Struct, frozen=True):
    """The result of a read: found and compared, not found, or not asked for, for the reason `unasked`."""

    is_found: bool = False
    unasked: str = ""


class SubjectReader:
    """Reads subjects past every cache. The record store notifies observers of results; failures are stored here."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        copy: RecordStore,
        refresher: Refresher,
        lists: ListedReads | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._copy = copy
        self._refresher = refresher
        self._lists = lists

    async def families(self, subjects: Sequence[str]) -> Mapping[str, Family]:
        """Manufacturer and Basic UDI-DI of watched devices, for the order in which they are read."""
        async with self._database.reading() as connection:
            return await repository.families(connection, subjects)

    async def listed(
        self, group: ReadGroup, priority: RequestPriority, limits: ReadLimits
    ) -> Mapping[str, ListedRecords]:
        """The records of a group's devices that the list of their manufacturer's devices proves."""
        if self._lists is None:
            return {}
        return await self._lists.records(
            group.manufacturer_srn, [*group.subjects, *group.later], priority=priority, slot_wait=limits.slot_wait()
        )

    def limits(
        self, start_until: float | None = None, account: Account | None = None, *, max_shared_age: float = 0.0
    ) -> ReadLimits:
        """Limits that accept only reads that begin from now on. Reads wait for the request budget until `start_until`,
        for `account`. They share Basic UDI-DI records that other reads bring from now on, or have brought within
        `max_shared_age` seconds.
        """
        requester = None if account is None else Requester(account.id, is_trial=account.plan.name is PlanName.TRIAL)
        return ReadLimits(self._refresher.reads_begun, start_until, requester, max_shared_age)

    async def propagate_rest(self) -> None:
        """Update devices from Basic UDI-DI records whose reader was stopped before it did that."""
        await self._refresher.propagate_rest()

    async def read(
        self,
        subject: str,
        priority: RequestPriority,
        context: ReadContext,
        limits: ReadLimits | None = None,
        listed: ListedRecords | None = None,
    ) -> SubjectRead:
        """Read a subject, and note a failure at its watches. A subject that was not asked for leaves no note.

        A UDI-DI is not searched if its records were `listed` a moment ago. If another read is stored meanwhile, this
        one is compared with nothing, and the subject is read a second time.
        """
        limits = limits or self.limits()
        for _ in range(2):
            began_at = int(self._clock.now())
            result = await self._result(subject, priority, context, limits, listed)
            listed = None
            if isinstance(result, ReadFailed) and not result.is_asked:
                return SubjectRead(unasked=result.reason)
            reason = _error(result)
            if reason is not None:
                await self._note_failure(subject, reason)
                return SubjectRead()
            if not await self._is_untried(subject, began_at):
                return SubjectRead(is_found=True)
        await self._note_uncompared(subject, began_at)
        return SubjectRead()

    async def _result(
        self,
        subject: str,
        priority: RequestPriority,
        context: ReadContext,
        limits: ReadLimits,
        listed: ListedRecords | None,
    ) -> RefreshResult:
        try:
            return await self._refresher.refresh(
                subject, priority=priority, context=context, limits=limits, listed=listed
            )
        except Exception:  # noqa: BLE001  # the refresher logs it; other subjects are read all the same
            return ReadFailed(DEFECT)

    async def _note_failure(self, subject: str, reason: str) -> None:
        async with self._database.transaction() as connection:
            now = int(self._clock.now())
            await self.store_delisted(connection, subject)
            failed = await repository.note_failure(connection, subject, reason, now)
            await read_failures.note(connection, failed, reason, now)

    async def store_delisted(self, connection: AsyncConnection, subject: str) -> None:
        """Give watches of a device that is no longer listed, and that have no baseline, what the copy has, and note
        since when it is gone.
        """
        ids = await repository.without_baseline(connection, subject, int(self._clock.now()))
        delisted = await delisted_watches(connection, self._copy, [subject]) if ids else {}
        for new in delisted.values():
            await repository.set_baseline(connection, ids, new)
            if new.failing_since is not None:
                await read_failures.note_denials(connection, dict.fromkeys(ids, new.failing_since))

    async def _is_untried(self, subject: str, began_at: int) -> bool:
        async with self._database.reading() as connection:
            return await repository.is_untried(connection, subject, began_at)

    async def _note_uncompared(self, subject: str, began_at: int) -> None:
        """Note that the record found is not the subject's current one, so nothing was compared. Without this note the
        watch would be read first every time.
        """
        async with self._database.transaction() as connection:
            failed = await repository.note_uncompared(connection, subject, UNCOMPARED, began_at)
            await read_failures.note(connection, failed, UNCOMPARED, began_at)


def _error(result: RefreshResult) -> str | None:
    """Why nothing was found; None if something was."""
    if isinstance(result, NotFound):
        return NOT_REGISTERED
    return result.reason if isinstance(result, ReadFailed) else None
