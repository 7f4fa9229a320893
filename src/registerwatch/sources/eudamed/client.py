"""Reads EUDAMED: a device by UDI-DI, an actor by SRN, all registrations from the newest on.

Each read has one of three results: found, not found, could not be read. A device takes the search, the detail and the
Basic UDI-DI record; the detail is left out when its version is already stored.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial

import msgspec
import structlog

from registerwatch.platform.clock import Clock
from registerwatch.platform.structs import replace
from registerwatch.register.basic_records import BasicRecord, SharedRecord, SharedSearch
from registerwatch.register.identifiers import is_actor_of_devices
from registerwatch.register.models import Certificate, Device, DeviceReading, precedence_of
from registerwatch.register.outcomes import Found, NotFound, ReadFailed, RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.eudamed import convert, wire
from registerwatch.sources.eudamed.certificates import unconfirmed
from registerwatch.sources.eudamed.guards import EMPTY_PAGE, EUDAMED_DI, check_basic_record, check_page, check_rows
from registerwatch.sources.eudamed.register_read import DEVICES, RegisterInterface, RegisterRead, sized
from registerwatch.sources.request_budget import SlotWait
from registerwatch.sources.requests import RegisterHttpClient, ignore
from registerwatch.sources.rows import check_all_read, check_needed, check_some_read
from registerwatch.sources.source import (
    ActorReading,
    CertificateSearch,
    KnownRecord,
    ListedRecords,
    RecordBatch,
    SharedReads,
    UnsharedReads,
)

log = structlog.get_logger(__name__)

PAGE_SIZE = 300
COUNT_PAGE_SIZE = 20
"""Rows that are requested where only the total is needed."""
CERTIFICATE_PAGE_SIZE = 100
MAX_TWINS = 8
BASIC_UDI = "basicUdi"
"""The filter of the certificate search, not proven on the real register."""
EOS_COST = 2
"""The register tolerates half as many actor searches as device searches a minute."""


class EudamedClient:
    """Reads the register at `base_url` through one paced sender of requests. A bulk cursor is a page number."""

    name = convert.NAME
    load_name = "register"
    lags = False
    is_newest_first = True
    expected_records = None
    expected_seconds = None
    is_whole_register = True

    def __init__(
        self, requests: RegisterHttpClient, base_url: str, clock: Clock, *, page_size: int = PAGE_SIZE
    ) -> None:
        self.interface = RegisterInterface(requests, base_url.rstrip("/"), clock)
        self.page_size = page_size
        """Rows of a page of an actor's devices."""

    @property
    def certificate_search(self) -> CertificateSearch:
        """Whether the certificate search can be used for one Basic UDI-DI, by the last control probe."""
        heeds_filter = self.interface.proofs.last.get(BASIC_UDI)
        return "unknown" if heeds_filter is None else "read" if heeds_filter else "ignored"

    async def read_device(
        self,
        udi: str,
        *,
        known: Mapping[str, KnownRecord] | None = None,
        shared: SharedReads | None = None,
        listed: ListedRecords | None = None,
        priority: RequestPriority = RequestPriority.WATCH,
        slot_wait: SlotWait | None = None,
    ) -> Found[list[DeviceReading]] | NotFound | ReadFailed:
        """Every record of a UDI-DI that the register lists, the current one first and read in full.

        `known` are the stored records of the same UDI-DI, by uuid. Without `shared` the read shares nothing with
        others.
        """
        read = _Read(self, priority, known or {}, slot_wait, shared)
        try:
            readings = await read.device(udi, listed)
        except RegisterFailure as failure:
            return ReadFailed(failure.reason, is_asked=read.has_begun)
        return Found(readings) if readings else NotFound()

    async def read_actor(
        self,
        srn: str,
        *,
        priority: RequestPriority = RequestPriority.WATCH,
        slot_wait: SlotWait | None = None,
    ) -> Found[ActorReading] | NotFound | ReadFailed:
        """An actor, the count of its registrations and its newest device rows."""
        read = _Read(self, priority, {}, slot_wait)
        try:
            reading = await read.actor(srn)
        except RegisterFailure as failure:
            return ReadFailed(failure.reason, is_asked=read.has_begun)
        return Found(reading) if reading else NotFound()

    async def batches(self, cursor: str = "", received: Callable[[int], None] = ignore) -> AsyncIterator[RecordBatch]:
        """The whole register, newest registrations first, 300 rows a page. Raises `RegisterFailure`.

        New registrations push older ones to later pages meanwhile, so a row can come twice.
        """
        number, is_last = int(cursor or 0), False
        while not is_last:
            page = await self._newest(number, received)
            number += 1
            # Unreadable rows count too: the number of rows that the register sent shows the last page.
            is_full = page.last is False or page.sent == PAGE_SIZE
            is_last = not is_full or number * PAGE_SIZE >= page.total_elements
            readings = [convert.reading_of_row(row) for row in page.content]
            yield RecordBatch(readings, "" if is_last else str(number), page.total_elements)

    async def _newest(self, page: int, received: Callable[[int], None]) -> wire.Page[wire.DeviceRow]:
        """A page (0-based) of the whole register."""
        read = _Read(self, RequestPriority.BULK_LOAD, {})
        params = {"page": str(page), **sized(PAGE_SIZE)}

        def check(answer: wire.Page[wire.DeviceRow]) -> None:
            if not answer.sent and answer.total_elements > page * PAGE_SIZE:
                raise RegisterFailure(EMPTY_PAGE, transient=True, throttled=True)
            shown = page * PAGE_SIZE + answer.sent if answer.sent else page
            if answer.total_elements < shown:
                raise RegisterFailure("The register's answer contradicts itself (fewer records than it showed).")
            check_some_read(answer.content, answer.unread)
            check_needed(answer.content, wire.NEEDED_OF_ROW)

        return await read.ask(DEVICES, params, wire.device_rows, check=check, received=received)


class _Searched(msgspec.Struct, frozen=True):
    """The result of a certificate search, None when it could not be read; unproven while its filter does not filter."""

    found: SharedSearch | None
    is_proven: bool = True


class _Read(RegisterRead):
    """A read of one subject, with what is known of it before."""

    def __init__(
        self,
        client: EudamedClient,
        priority: RequestPriority,
        known: Mapping[str, KnownRecord],
        slot_wait: SlotWait | None = None,
        shared: SharedReads | None = None,
    ) -> None:
        super().__init__(client.interface, priority, slot_wait)
        self._known = known
        self._page_size = client.page_size
        self._shared = shared or UnsharedReads()

    async def device(self, udi: str, shown: ListedRecords | None = None) -> list[DeviceReading]:
        if shown is not None:
            listed = list(shown.rows)
        else:
            listed = [convert.reading_of_row(row) for row in await self._rows_by_di(udi)]
        if not listed:
            return []
        if not all(wire.RECORD_KEY.fullmatch(row.device.uuid) for row in listed):
            raise RegisterFailure("The register's answer has an unexpected form (a record's key that is none).")
        basics: dict[str, SharedRecord] = {}
        if len(listed) > 1:
            listed = [await self._with_legislation(row, basics) for row in listed]
        current = min(listed, key=lambda reading: precedence_of(reading).rank)
        full = await self._in_full(current, basics.get(current.device.uuid))
        return [full, *(reading for reading in listed if reading is not current)]

    async def actor(self, srn: str) -> ActorReading | None:
        rows = await self._rows_by_srn(srn)
        if not rows:
            return None
        row = min(rows, key=lambda row: (row.latest_version is False, -(row.version_number or 0)))
        devices = await self._devices_of(srn)
        readings = self._first_readings(srn, devices) if is_actor_of_devices(srn) else []
        status_code = await self._actor_status(row, readings)
        actor = convert.actor_of(row, status_code=status_code, device_total=devices.total_elements)
        return ActorReading(actor, readings)

    async def _actor_status(self, row: wire.ActorRow, readings: Sequence[DeviceReading]) -> str:
        """The status of an actor: from its row, else from its devices' rows, else from its own record.

        Empty where the register has no record of it or one of an unknown form. Raises `RegisterFailure` where the
        record may be readable a moment later.
        """
        codes = (convert.code(row.actor_status), *(each.device.manufacturer_status_code for each in readings))
        status_code = next((code for code in codes if code), "")
        if status_code or not wire.RECORD_KEY.fullmatch(row.uuid or ""):
            return status_code

        def is_of_row(answer: wire.ActorInformation) -> None:
            record = answer.actor_data_public_view
            if record is None or record.uuid != row.uuid:
                raise RegisterFailure("The register answered with another actor's record; nothing of it was used.")

        try:
            answer = await self.record(f"/actors/{row.uuid}/publicInformation", wire.actor_information, is_of_row)
        except RegisterFailure as failure:
            if failure.transient:
                raise
            log.info("status of an actor could not be read", srn=row.srn, reason=failure.reason)
            return ""
        record = answer.actor_data_public_view
        return convert.code(record.actor_status) if record else ""

    async def _devices_of(self, srn: str) -> wire.Page[wire.DeviceRow]:
        params = {"page": "0", **sized(self._page_size if is_actor_of_devices(srn) else COUNT_PAGE_SIZE)}
        await self.prove("srn", DEVICES, params)
        return await self.ask(
            DEVICES,
            {"srn": srn, **params},
            wire.devices_of_manufacturer,
            check=lambda page: check_page(page, matches=None),
        )

    def _first_readings(self, srn: str, page: wire.Page[wire.DeviceRow]) -> list[DeviceReading]:
        """Readings of the rows of a manufacturer's devices. Every row has to name this manufacturer."""
        check_some_read(page.content, page.unread)
        check_rows(page.content, lambda row: row.manufacturer_srn == srn)
        return [convert.reading_of_row(row) for row in page.content]

    async def _rows_by_di(self, udi: str) -> list[wire.DeviceRow]:
        params = {"page": "0", **sized(25)}
        await self.prove("primaryDi", DEVICES, params)
        page = await self.ask(
            DEVICES,
            {"primaryDi": udi, **params},
            wire.device_rows,
            check=lambda page: check_page(page, matches=lambda row: row.primary_di == udi),
        )
        check_all_read(page.unread)
        if page.total_elements > page.sent:
            raise RegisterFailure("The register broke off the list of this device's records.", transient=True)
        return list({row.uuid: row for row in page.content}.values())

    async def _rows_by_srn(self, srn: str) -> list[wire.ActorRow]:
        params = {"page": "0", **sized(25)}
        await self.prove("eos srn", "/eos", params, parameter="srn", cost=EOS_COST)
        page = await self.ask(
            "/eos",
            {"srn": srn, **params},
            wire.actor_rows,
            check=lambda page: check_page(page, matches=lambda row: srn in (row.srn, row.eudamed_identifier)),
            cost=EOS_COST,
        )
        check_all_read(page.unread)
        return page.content

    async def _with_legislation(self, row: DeviceReading, basics: dict[str, SharedRecord]) -> DeviceReading:
        """A twin's row with its legislation, which rows lack and which decides among twins."""
        uuid = row.device.uuid
        known = self._known.get(uuid)
        if known and known.device.legislation_code and known.device.version == row.device.version:
            legislation, legislation_code = known.device.legislation, known.device.legislation_code
        else:
            if len(basics) >= MAX_TWINS:
                raise RegisterFailure(
                    "The register lists too many records under this one UDI-DI to tell which one counts."
                )
            basics[uuid] = await self._basic_record(row)
            record = basics[uuid].record
            legislation, legislation_code = record.legislation, record.legislation_code
        device = replace(row.device, legislation=legislation, legislation_code=legislation_code)
        return replace(row, device=device)

    async def _in_full(self, row: DeviceReading, basic: SharedRecord | None) -> DeviceReading:
        known, version = self._known.get(row.device.uuid), row.device.version
        has_detail = known is not None and version is not None and known.detail_version == version
        if known is not None and not convert.has_date_of_status(known.device, row.device):
            has_detail = False
        detail = None if has_detail else await self._detail(row.device)
        basic = basic or await self._basic_record(row)
        searched = await self._certificates(row, basic.record.basic_udi or row.device.basic_udi)
        last = None if searched.is_proven else self._last_searched(row, basic.record.basic_udi or row.device.basic_udi)
        return convert.reading_of_device(
            row,
            detail,
            basic,
            searched.found,
            known.device if known else None,
            kept=unconfirmed(last.device.certs, self._clock.now()) if last else (),
            kept_revision=last.searched_revision if last else 0,
            searched=searched.is_proven,
        )

    def _last_searched(self, row: DeviceReading, basic_udi: str) -> KnownRecord | None:
        """The record of this UDI-DI and Basic UDI-DI with the latest certificate search, preferably this one."""
        alike = [each for each in self._known.values() if each.device.basic_udi == basic_udi]
        return max(alike, key=lambda each: (each.searched_revision, each.device.uuid == row.device.uuid), default=None)

    async def _detail(self, row: Device) -> wire.DeviceDetail:
        def is_of_row(detail: wire.DeviceDetail) -> None:
            di = detail.primary_di.code if detail.primary_di else None
            if detail.uuid != row.uuid or (di is not None and di != row.udi):
                raise RegisterFailure("The register answered with another device's detail; nothing of it was used.")

        return await self.record(f"/devices/udiDiData/{row.uuid}", wire.device_detail, is_of_row)

    async def _basic_record(self, row: DeviceReading) -> SharedRecord:
        """A device's Basic UDI-DI record, shared with other reads where the row names its key."""

        async def ask() -> BasicRecord:
            self._end_wait(began_at)
            path = f"/devices/basicUdiData/udiDiData/{row.device.uuid}"
            check = partial(check_basic_record, row)
            return convert.record_of(await self.record(path, wire.basic_udi_record, check))

        began_at = self._clock.monotonic()
        return await self._shared.record(row.basic_key, ask) if row.basic_key else SharedRecord(await ask())

    async def _certificates(self, row: DeviceReading, basic_udi: str) -> _Searched:
        """The certificate search for a Basic UDI-DI, shared with other reads."""
        is_proven = True

        async def ask() -> tuple[Certificate, ...] | None:
            nonlocal is_proven
            self._end_wait(began_at)
            rows, is_proven = await self._searched(basic_udi, row.device.manufacturer_srn)
            return None if rows is None else tuple(convert.certificate_rows(rows))

        if basic_udi in ("", EUDAMED_DI + row.device.udi):  # certificates under a directive are in the record alone
            return _Searched(SharedSearch(()))
        began_at = self._clock.monotonic()
        shared = self._shared if row.basic_key else UnsharedReads()
        found = await shared.search(row.basic_key, ask)
        return _Searched(found if is_proven else SharedSearch(()), is_proven)

    def _end_wait(self, began_at: float) -> None:
        """Exclude the wait for another read of the same record from this read's time."""
        self._slot_wait.waited += self._clock.monotonic() - began_at

    async def _searched(self, basic_udi: str, srn: str) -> tuple[list[wire.CertificateRow] | None, bool]:
        """The rows of the certificate search, None where it could not be read; whether its filter filters.

        Rows name the manufacturer, so they are checked.
        """
        path, params = "/certificates/search/", {"page": "0", **sized(CERTIFICATE_PAGE_SIZE)}

        def check(page: wire.Page[wire.CertificateRow]) -> None:
            check_page(page, matches=lambda each: each.actor_srn is None or each.actor_srn == srn)
            check_all_read(page.unread)
            if any(convert.has_lost_certificate(each.unread, at="") for each in page.content):
                raise RegisterFailure(
                    "The register's answer has an unexpected form (a certificate that cannot be read)."
                )
            if page.total_elements > page.sent:
                raise RegisterFailure("The register names more certificates of this device than it can be asked for.")

        try:
            if not await self.is_proven(BASIC_UDI, path, params):
                return None, False
            page = await self.ask(path, {BASIC_UDI: basic_udi, **params}, wire.certificate_rows, check=check)
        except RegisterFailure as failure:
            log.info("certificate search could not be read", basic_udi=basic_udi, reason=failure.reason)
            if failure.is_asked and not failure.transient:  # the filter may have ceased to filter
                self._proofs.doubt(BASIC_UDI)
            return None, True
        return page.content, True
