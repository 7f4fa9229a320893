"""Listing devices of EUDAMED: those of one manufacturer, 300 rows a page, and the records of one UDI-DI as rows.

A row shows a part of a record. Every row must carry what was asked for, so that nothing is taken from an answer whose
filter was ignored.
"""

from collections.abc import Callable
from hashlib import blake2b

import msgspec
import structlog

from registerwatch.register.models import DeviceReading
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.register.sources.budget_parts import RequestPriority
from registerwatch.register.sources.eudamed import mapping, wire
from registerwatch.register.sources.eudamed.guards import (
    EMPTY_PAGE,
    IGNORED_FILTER,
    MAX_ROWS,
    check_page,
    check_rows,
)
from registerwatch.register.sources.eudamed.register_read import (
    DEVICES,
    RegisterInterface,
    RegisterRead,
    device_row,
    is_keyed,
    listing,
    sized,
)
from registerwatch.register.sources.fields import key
from registerwatch.register.sources.rows import UnreadRow, divided, no_row_read
from registerwatch.register.sources.source import ListPage

log = structlog.get_logger(__name__)

Page = wire.Page[msgspec.Raw]


class _NamedRow(msgspec.Struct, frozen=True, rename="camel"):
    """What tells a row that cannot be read from others."""

    uuid: str
    primary_di: str
    manufacturer_srn: str


_named_row = msgspec.json.Decoder(_NamedRow)

PAGE_SIZE = 300
ROWS_OF_UDI = 25


class EudamedDeviceListing:
    """Pages of the device search."""

    name = mapping.NAME

    def __init__(self, interface: RegisterInterface, *, page_size: int = PAGE_SIZE) -> None:
        self._interface = interface
        self.page_size = page_size

    async def page(self, srn: str, number: int) -> ListPage[DeviceReading]:
        """A page of the devices of a manufacturer, the first one is 0. Raises `RegisterFailure`."""
        size, first = self.page_size, number * self.page_size

        def check(page: Page) -> None:
            if page.total_elements > MAX_ROWS:
                raise RegisterFailure(IGNORED_FILTER)
            if not page.content and page.total_elements > first:
                raise RegisterFailure(EMPTY_PAGE, transient=True, throttled=True)
            if page.content and page.total_elements < first + len(page.content):
                raise RegisterFailure("The register's answer contradicts itself (more rows than its total).")

        answer = await self._search("srn", srn, {"page": str(number), **sized(size)}, check)
        listed = f"devices of {srn}, page {number}"
        rows, unread = self._rows(answer, "srn", listed, lambda row: row.manufacturer_srn == srn, needs_one=not number)
        named = {row.uuid: row.primary_di for each in unread if (row := _named(each)) and row.manufacturer_srn == srn}
        unnamed = frozenset(_digest(each) for each in unread if (row := _named(each)) is None or row.uuid not in named)
        readings = [mapping.reading_of_row(row) for row in rows]
        is_last = first + size >= answer.total_elements
        return ListPage(readings, answer.total_elements, is_last, unnamed, named)

    async def records(self, udi: str) -> list[DeviceReading]:
        """The rows of every record of a UDI-DI. Raises `RegisterFailure`."""

        def check(page: Page) -> None:
            check_page(page, matches=None)
            if page.total_elements > len(page.content):
                raise RegisterFailure("The register broke off the list of this device's records.", transient=True)

        answer = await self._search("primaryDi", udi, {"page": "0", **sized(ROWS_OF_UDI)}, check)
        rows, _ = self._rows(answer, "primaryDi", f"records of {udi}", lambda row: row.primary_di == udi)
        return [mapping.reading_of_row(row) for row in {row.uuid: row for row in rows}.values()]

    async def _search(self, name: str, value: str, params: dict[str, str], check: Callable[[Page], None]) -> Page:
        """One answer of a search by a filter that a control probe has proven."""
        proofs, now = self._interface.proofs, self._interface.clock.monotonic()
        if proofs.is_refuted(name, now):
            raise RegisterFailure(IGNORED_FILTER)
        read = RegisterRead(self._interface, RequestPriority.SWEEP)
        try:
            await read.prove(name, DEVICES, {"page": "0", **sized(ROWS_OF_UDI)})
        except RegisterFailure as failure:
            if failure.reason == IGNORED_FILTER:
                log.warning("the register ignores a filter, nothing is listed by it", filter=name, path=DEVICES)
                proofs.refute(name, now)
            raise
        try:
            return await read.ask(DEVICES, {name: value, **params}, listing, check=check)
        except RegisterFailure as failure:
            self._doubt(name, failure)
            raise

    def _rows(
        self,
        answer: Page,
        name: str,
        listed: str,
        matches: Callable[[wire.DeviceRow], bool],
        *,
        needs_one: bool = True,
    ) -> tuple[list[wire.DeviceRow], list[UnreadRow]]:
        """The rows that can be read, and the others. Each has to carry what was asked for, else the filter was ignored.

        Where no row can be read it is the answer that is wrong, but for the last rows of a list.
        """
        rows, unread = divided(answer.content, device_row, is_keyed, listed=listed)
        if needs_one and unread and not rows:
            raise no_row_read(unread)
        try:
            check_rows(rows, matches)
        except RegisterFailure as failure:
            self._doubt(name, failure)
            raise
        return rows, unread

    def _doubt(self, name: str, failure: RegisterFailure) -> None:
        """Have a filter probed before it is used again, where an answer cannot be one of a filter that filters."""
        if failure.reason == IGNORED_FILTER:
            log.warning("the register answered with records that were not asked for", filter=name, path=DEVICES)
            self._interface.proofs.doubt(name)


def _named(unread: UnreadRow) -> _NamedRow | None:
    """The record that a row is of, where that can be read."""
    try:
        row = _named_row.decode(unread.content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    is_key = key(row.uuid) == row.uuid and key(row.primary_di) == row.primary_di
    return row if is_key and row.uuid and row.primary_di else None


def _digest(unread: UnreadRow) -> int:
    """Tells a row from others, the same in every process."""
    return int.from_bytes(blake2b(bytes(unread.content), digest_size=8).digest())
