"""Reading a watched subject from the register, now."""

from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.register.ingest.refresh import Refresher
from registerwatch.register.observation import ReadContext
from registerwatch.register.outcomes import NotFound, ReadFailed
from registerwatch.register.sources.request_budget import RequestPriority
from registerwatch.watches import repository

NOT_REGISTERED = "The register has no such record."
UNCOMPARED = "The register was read, but not the record that answers for this subject; it is read again."
DEFECT = "Reading it met a fault of this service, which is in the log."


class SubjectReader:
    """Reads subjects past every cache. The record store has what is found observed; failures are stored here."""

    def __init__(self, database: Database, clock: Clock, refresher: Refresher) -> None:
        self._database = database
        self._clock = clock
        self._refresher = refresher

    async def read(self, subject: str, priority: RequestPriority, context: ReadContext) -> bool:
        """Whether the register was read, has the subject, and the watches on it were compared.

        While a read goes on another one may be stored. Then it was compared with nothing, and there is a
        second read.
        """
        for _ in range(2):
            began_at = int(self._clock.now())
            reason = await self._read_error(subject, priority, context)
            if reason is not None:
                await self._note_failure(subject, reason)
                return False
            if not await self._is_untried(subject, began_at):
                return True
        await self._note_uncompared(subject, began_at)
        return False

    async def _read_error(self, subject: str, priority: RequestPriority, context: ReadContext) -> str | None:
        """Why nothing was found; None when something was."""
        try:
            result = await self._refresher.refresh(subject, priority=priority, context=context)
        except Exception:  # noqa: BLE001  # the refresher logs it; other subjects are read all the same
            return DEFECT
        if isinstance(result, NotFound):
            return NOT_REGISTERED
        return result.reason if isinstance(result, ReadFailed) else None

    async def _note_failure(self, subject: str, reason: str) -> None:
        async with self._database.transaction() as connection:
            await repository.note_failure(connection, subject, reason, int(self._clock.now()))

    async def _is_untried(self, subject: str, began_at: int) -> bool:
        async with self._database.reading() as connection:
            return await repository.is_untried(connection, subject, began_at)

    async def _note_uncompared(self, subject: str, began_at: int) -> None:
        """What was found need not be the current record of the subject. Then nothing was compared, and without this the
        watch would be read first every time.
        """
        async with self._database.transaction() as connection:
            await repository.note_uncompared(connection, subject, UNCOMPARED, began_at)
