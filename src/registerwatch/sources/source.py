"""Interfaces of the sources of records, and the values that they return.

A source is a module or package beside this one that `bootstrap.py` builds. It reads single subjects
(`SubjectSource`), lists all its records (`BulkSource`) or those of one manufacturer (`DeviceListing`), or does several.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Generic, Literal, Protocol, TypeVar

import msgspec

from registerwatch.register.basic_records import BasicRecord, SharedRecord, SharedSearch
from registerwatch.register.certificates import NotifiedBody, ReadCertificate, Refusal, RegisteredCertificate
from registerwatch.register.models import Actor, Certificate, Device, DeviceReading
from registerwatch.register.outcomes import Found, NotFound, ReadFailed
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.request_budget import SlotWait
from registerwatch.sources.requester_queue import Requester

Row = TypeVar("Row")

CertificateSearch = Literal["unknown", "read", "ignored"]
"""Whether certificates are read that only a search lists: `unknown` before the first control probe, `ignored` while the
register ignores the filter.
"""


class KnownRecord(msgspec.Struct, frozen=True):
    """A stored record, so that a read can leave out what is stored.

    `detail_version` is the version whose detail is stored, None when a read has to bring the detail.
    `searched_revision` is the revision of the copy at which its certificate search was stored, 0 without one.
    `basic_read_at` is the instant of its Basic UDI-DI record, None where none was read; `basic_shown_at` and
    `certs_shown_at` are the public instants of that record and of the certificates.
    """

    device: Device
    detail_version: int | None
    searched_revision: int = 0
    basic_read_at: int | None = None
    basic_shown_at: int | None = None
    certs_shown_at: int | None = None


class ListedRecords(msgspec.Struct, frozen=True):
    """Every record of a UDI-DI as a list has just shown them, so that they are not searched.

    `read_at` is the instant before the first request of the list (unix seconds), `revision` that of the copy then.
    """

    rows: Sequence[DeviceReading]
    read_at: int
    revision: int


class ActorReading(msgspec.Struct, frozen=True):
    """An actor and its newest device rows, the first page of its list. Rows name the manufacturer, so an authorised
    representative has none.
    """

    actor: Actor
    rows: list[DeviceReading] = msgspec.field(default_factory=list)


class RecordBatch(msgspec.Struct, frozen=True):
    """One step of a bulk source: records, and the cursor of the next step, `""` after the last one.

    `total` is the number of all device records, where the source gives it.
    """

    readings: list[DeviceReading]
    cursor: str
    total: int | None = None
    actors: list[Actor] = msgspec.field(default_factory=list)


class ListPage(msgspec.Struct, Generic[Row], frozen=True):
    """A page of a list that is read from end to end: its readable rows, and the source's total.

    `named` are rows that cannot be read except for their keys: by uuid, a device's UDI-DI, or the id of a certificate
    or refusal. `unreadable` identifies the other rows, so that one that comes twice counts once.
    """

    rows: list[Row]
    total: int
    is_last: bool
    unreadable: frozenset[int] = frozenset()
    named: Mapping[str, str] = msgspec.field(default_factory=dict)


class SharedReads(Protocol):
    """Basic UDI-DI records that reads share: a read may use those of others, and others those that it brings.

    Keys are those of `DeviceReading.basic_key`.
    """

    async def record(self, key: str, ask: Callable[[], Awaitable[BasicRecord]]) -> SharedRecord:
        """The record with this key; `ask` requests it where no other read has brought a usable one."""

    async def search(
        self, key: str, ask: Callable[[], Awaitable[tuple[Certificate, ...] | None]]
    ) -> SharedSearch | None:
        """The certificates that the search for its Basic UDI-DI finds, shared likewise; None where `ask` gives None."""


class UnsharedReads:
    """A read that shares nothing with others."""

    async def record(self, key: str, ask: Callable[[], Awaitable[BasicRecord]]) -> SharedRecord:
        """The requested record."""
        return SharedRecord(await ask())

    async def search(
        self, key: str, ask: Callable[[], Awaitable[tuple[Certificate, ...] | None]]
    ) -> SharedSearch | None:
        """The requested certificates."""
        found = await ask()
        return None if found is None else SharedSearch(found)


class RegisterSource(Protocol):
    """Reads records from somewhere."""

    @property
    def name(self) -> str:
        """Its name in the column `source` of stored records, such as `eudamed`."""


class SubjectSource(RegisterSource, Protocol):
    """A source that is asked for one device or actor. A source that cannot be read is a result, not an error."""

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
        """Every record of a UDI-DI, the current one first and read in full.

        `known` are the stored records of the same UDI-DI, by uuid, `shared` what reads share of Basic UDI-DI records,
        `listed` its records where a list has shown them, so that they are not searched. `slot_wait` is how long to
        wait for the request budget, where that is longer than a read may take.
        """

    async def read_actor(
        self,
        srn: str,
        *,
        priority: RequestPriority = RequestPriority.WATCH,
        slot_wait: SlotWait | None = None,
    ) -> Found[ActorReading] | NotFound | ReadFailed:
        """An actor, the count of its registrations and its newest device rows."""


class BulkSource(RegisterSource, Protocol):
    """A source that lists all its records, in batches."""

    @property
    def load_name(self) -> str:
        """Its name in `copy fill --source` and in the table `fills`, such as `datalake`."""

    @property
    def lags(self) -> bool:
        """Whether its records may be older than what EUDAMED showed a moment ago."""

    @property
    def is_newest_first(self) -> bool:
        """Whether the newest records come first, so that a load can end at the first known ones."""

    @property
    def expected_records(self) -> int | None:
        """The approximate number of its device records, where it gives no total."""

    @property
    def is_whole_register(self) -> bool:
        """Whether it lists every device of the register, so that a complete load leaves none out."""

    @property
    def expected_seconds(self) -> tuple[int, int] | None:
        """The least and the most seconds that 1,000 records take, where that is long."""

    def batches(self, cursor: str, received: Callable[[int], None]) -> AsyncIterator[RecordBatch]:
        """Batches from a cursor on, from the start for `""`. Raises `RegisterFailure` or `BulkLoadRefused`.

        `received` is called with the number of bytes of a batch while it comes.
        """


class CertificateSource(Protocol):
    """A source that lists all certificates. Each method raises `RegisterFailure`.

    Pages count from 0 and may shift while a list is read. `until` ends a request, by the clock that only goes forward.
    """

    async def certificates(self, page: int, *, until: float | None = None) -> ListPage[RegisteredCertificate]:
        """A page of all certificates."""

    async def refusals(self, page: int, *, until: float | None = None) -> ListPage[Refusal]:
        """A page of all refused applications."""

    async def notified_bodies(self, *, until: float | None = None) -> list[NotifiedBody]:
        """All notified bodies."""

    async def record(
        self, uuid: str, *, priority: RequestPriority = RequestPriority.SWEEP, until: float | None = None
    ) -> ReadCertificate:
        """The scopes of the certificate with this uuid."""


class DocumentSource(Protocol):
    """A source that has the documents of certificates."""

    async def document(self, uuid: str, *, requester: Requester | None = None) -> bytes:
        """The content of a document, which is a PDF of a bounded size. Raises `RegisterFailure`."""


class DeviceListing(RegisterSource, Protocol):
    """A source that lists the devices of one manufacturer, and the records of one UDI-DI, as rows with a part of each.

    A list whose filter is ignored is a failure: nothing of it can be used.
    """

    @property
    def page_size(self) -> int:
        """The number of rows of a page but the last."""

    async def page(
        self,
        srn: str,
        number: int,
        *,
        priority: RequestPriority = RequestPriority.SWEEP,
        slot_wait: SlotWait | None = None,
    ) -> ListPage[DeviceReading]:
        """A page (0-based) of a manufacturer's devices. Raises `RegisterFailure`.

        `slot_wait` is how long to wait for the request budget, where that differs from the time of a read.
        """

    async def records(self, udi: str) -> list[DeviceReading]:
        """The rows of every record of a UDI-DI, none where it is not registered. Raises `RegisterFailure`."""
