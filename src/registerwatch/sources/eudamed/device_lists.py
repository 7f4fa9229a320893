"""Lists EUDAMED's devices: those of one manufacturer, 300 rows a page, and the records of one UDI-DI as rows.

A row shows a part of a record. Every row must carry the requested value, so that nothing is taken from an answer whose
filter was ignored.
"""

from collections.abc import Callable
from hashlib import blake2b

import structlog

from registerwatch.register.models import DeviceReading
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.eudamed import convert, wire
from registerwatch.sources.eudamed.guards import EMPTY_PAGE, IGNORED_FILTER, MAX_ROWS, check_page, check_rows
from registerwatch.sources.eudamed.register_read import DEVICES, RegisterInterface, RegisterRead, sized
from registerwatch.sources.request_budget import SlotWait
from registerwatch.sources.rows import UnreadRow, check_needed, check_some_read
from registerwatch.sources.source import ListPage

log = structlog.get_logger(__name__)

Page = wire.Page[wire.DeviceRow]

PAGE_SIZE = 300
ROWS_OF_UDI = 25


class EudamedDeviceLists:
    """Pages of the device search."""

    name = convert.NAME

    def __init__(self, interface: RegisterInterface, *, page_size: int = PAGE_SIZE) -> None:
        self._interface = interface
        self.page_size = page_size

    async def page(
        self,
        srn: str,
        number: int,
        *,
        priority: RequestPriority = RequestPriority.SWEEP,
        slot_wait: SlotWait | None = None,
    ) -> ListPage[DeviceReading]:
        """A page (0-based) of a manufacturer's devices. Raises `RegisterFailure`."""
        size, first = self.page_size, number * self.page_size

        def check(page: Page) -> None:
            if page.total_elements > MAX_ROWS:
                raise RegisterFailure(IGNORED_FILTER)
            if not page.sent and page.total_elements > first:
                raise RegisterFailure(EMPTY_PAGE, transient=True, throttled=True)
            if page.sent and page.total_elements < first + page.sent:
                raise RegisterFailure("The register's answer contradicts itself (more rows than its total).")

        params = {"page": str(number), **sized(size)}
        read = RegisterRead(self._interface, priority, slot_wait)
        answer = await self._search(read, "srn", srn, params, wire.devices_of_manufacturer, check)
        if not number:  # the last rows of a list may be odd ones
            check_some_read(answer.content, answer.unread)
        check_needed(answer.content, wire.NEEDED_OF_ROW)
        self._check_rows(answer, "srn", lambda row: row.manufacturer_srn == srn)
        readings = [convert.reading_of_row(row) for row in answer.content]
        is_last = first + size >= answer.total_elements
        return ListPage(readings, answer.total_elements, is_last, frozenset(map(_digest, answer.unread)))

    async def records(self, udi: str) -> list[DeviceReading]:
        """The rows of every record of a UDI-DI. Raises `RegisterFailure`."""

        def check(page: Page) -> None:
            check_page(page, matches=None)
            if page.total_elements > page.sent:
                raise RegisterFailure("The register broke off the list of this device's records.", transient=True)

        read = RegisterRead(self._interface, RequestPriority.SWEEP)
        params = {"page": "0", **sized(ROWS_OF_UDI)}
        answer = await self._search(read, "primaryDi", udi, params, wire.device_rows, check)
        check_some_read(answer.content, answer.unread)
        self._check_rows(answer, "primaryDi", lambda row: row.primary_di == udi)
        return [convert.reading_of_row(row) for row in {row.uuid: row for row in answer.content}.values()]

    async def _search(
        self,
        read: RegisterRead,
        name: str,
        value: str,
        params: dict[str, str],
        reader: wire.PageReader[wire.DeviceRow],
        check: Callable[[Page], None],
    ) -> Page:
        """One answer of a search by a filter that a control probe has proven."""
        proofs, now = self._interface.proofs, self._interface.clock.monotonic()
        if proofs.is_refuted(name, now):
            raise RegisterFailure(IGNORED_FILTER)
        try:
            await read.prove(name, DEVICES, {"page": "0", **sized(ROWS_OF_UDI)})
        except RegisterFailure as failure:
            if failure.reason == IGNORED_FILTER:
                log.warning("the register ignores a filter, nothing is listed by it", filter=name, path=DEVICES)
                proofs.refute(name, now)
            raise
        try:
            return await read.ask(DEVICES, {name: value, **params}, reader, check=check)
        except RegisterFailure as failure:
            self._doubt(name, failure)
            raise

    def _check_rows(self, page: Page, name: str, matches: Callable[[wire.DeviceRow], bool]) -> None:
        """Check that each row has the requested value: the filter was not ignored. Raises `RegisterFailure`."""
        try:
            check_rows(page.content, matches)
        except RegisterFailure as failure:
            self._doubt(name, failure)
            raise

    def _doubt(self, name: str, failure: RegisterFailure) -> None:
        """Have a filter probed before its next use, where an answer cannot come from a working filter."""
        if failure.reason == IGNORED_FILTER:
            log.warning("the register answered with records that were not asked for", filter=name, path=DEVICES)
            self._interface.proofs.doubt(name)


def _digest(unread: UnreadRow) -> int:
    """Identifies a row, in every process alike."""
    return int.from_bytes(blake2b(bytes(unread.content), digest_size=8).digest())
