"""Reads one device by UDI-DI: from the copy at once, from the register where the copy has none."""

from typing import Annotated, Literal

import msgspec

from registerwatch.copy.documents.documents import DocumentReader, StoredDocument, seconds_behind
from registerwatch.ingest.refresh import DROPPED, NO_LONGER_LISTED, BeforeRead, ClientOf, Refresher
from registerwatch.lookup.code_service import coded_device
from registerwatch.platform.clock import Clock, is_recent, iso_utc
from registerwatch.register.identifiers import kind
from registerwatch.register.models import Device, Listed, field_doc
from registerwatch.register.outcomes import NotFound, ReadFailed

MAX_UDI_LENGTH = 50
MAX_WAIT_SECONDS = 3
"""The longest wait of a client for the rest of a partly stored record."""
RETRY_SECONDS = 900
"""Time after which a record without readable certificates is read again."""
RETRY_SECONDS_OF_WAITING = 60
"""The same for a client that waits for it."""


Part = Literal["certificates", "dates", "names"]
"""A part of a record that a bulk load does not bring; `names` are trade names in other languages."""


class DeviceAnswer(msgspec.Struct, frozen=True, gc=False):
    """A device as it is served: its JSON, and a tag that changes when the JSON's meaning does."""

    stored: StoredDocument
    problem: str | None = None
    """Why the last refresh failed, if it did; the body says it too."""

    @property
    def in_full(self) -> bool:
        """Whether every part of it was read from the register itself."""
        return self.stored.in_full

    @property
    def is_listed(self) -> bool:
        """Whether the register listed it at the last read."""
        return self.stored.delisted_at is None

    @property
    def tag(self) -> bytes:
        """The `ETag`."""
        return b'W/"%d.%d%s"' % (self.stored.revision, self.stored.read_at, b"" if self.problem is None else b".e")

    @property
    def body(self) -> bytes:
        """The JSON: the stored document with the fields about its reading."""
        return b'%s,"read_at":"%s",%s,"error":%s%s}' % (
            self.stored.document[:-1],
            iso_utc(self.stored.read_at).encode(),
            _knowledge(self.stored),
            b"null" if self.problem is None else msgspec.json.encode(self.problem),
            b"" if self.is_listed else b',"listed":false',
        )


class ServedDevice(Device, frozen=True, kw_only=True, gc=False):
    """One device, as the register has it: the stored document with the time of its last reading."""

    read_at: Annotated[
        str,
        field_doc(
            "As of when this is at least, UTC: the instant before the first request of the read that is shown. Reads"
            " for who watches the device that brought nothing new are not told, so it may have been read since.",
            "2026-11-21T03:38:00Z",
            form="date-time",
        ),
    ]
    certs_read_at: Annotated[
        str | None,
        field_doc(
            "The same of `certs`: earlier than `read_at` where the last read could not bring them, null when they were"
            " never read in full.",
            "2026-11-21T03:38:00Z",
            form="date-time",
        ),
    ]
    basic_read_at: Annotated[
        str | None,
        field_doc(
            "The same of what the Basic UDI-DI record tells: legislation, device name and model, authorised"
            " representative, the certificates that it lists, and whether it is implantable or reusable. Devices under"
            " one Basic UDI-DI share that record, so it may have been read for another one, before `read_at`. Null"
            " when it was never read. At least, as `read_at`.",
            "2026-11-21T03:38:00Z",
            form="date-time",
        ),
    ] = None
    complete: Annotated[
        bool,
        field_doc(
            "Whether every part of the record was read. Until then the parts that `missing` names may be empty only"
            " because nobody has read them. The record is being read, or waits in line for that; where it does"
            " not, `error` says why. `Prefer: wait=3` waits for it.",
            True,
        ),
    ]
    missing: Annotated[
        list[Part],
        field_doc(
            "Parts that were never read: `certificates`, `dates` (`status_date`, `updated`), `names` (trade names in"
            " other languages, and searches for them). Empty when `complete`.",
            [],
        ),
    ]
    error: Annotated[
        str | None,
        field_doc(
            "Why the last attempt to refresh it failed or was not made, null when it went well.",
            "The register could not be read.",
        ),
    ] = None
    listed: Listed = msgspec.UNSET


class NoDevice(msgspec.Struct, frozen=True):
    """There is no device to show. `reason` says whether the register has none or could not be read."""

    udi: str
    reason: str
    is_unreadable: bool = False


class DeviceService:
    """Devices of one copy. `fresh_for` is in seconds."""

    def __init__(self, documents: DocumentReader, refresher: Refresher, clock: Clock, fresh_for: float) -> None:
        self._documents = documents
        self._refresher = refresher
        self._clock = clock
        self._fresh_for = fresh_for

    async def stored(
        self, udi: str, *, retry_seconds: float = RETRY_SECONDS, client: ClientOf | None = None
    ) -> DeviceAnswer | None:
        """The stored device, None for none. An old record is refreshed in the background, as is one with a missing part
        that was not requested within `retry_seconds`.
        """
        if not (udi.isascii() and udi.isprintable()):
            return None
        stored = await self._documents.device(udi)
        if stored is None:
            return None
        is_dropped = self._is_due(stored, retry_seconds) and not self._refresher.refresh_in_background(udi, client)
        return self._answer(udi, stored, is_dropped=is_dropped)

    async def read(
        self,
        udi: str,
        *,
        before_read: BeforeRead | None = None,
        client: ClientOf | None = None,
        wait_seconds: float = 0,
    ) -> DeviceAnswer | NoDevice:
        """The stored device with this UDI-DI, else the one with this other code, such as that of a package; else the
        device in the register. Takes a bounded time.

        The rest of a partly stored device is waited for, `wait_seconds` at most. Raises `AmbiguousCode` where several
        devices have the other code.
        """
        retry_seconds = RETRY_SECONDS_OF_WAITING if wait_seconds else RETRY_SECONDS
        answer = await self.stored(udi, retry_seconds=retry_seconds, client=client)
        if answer is not None and wait_seconds and not answer.in_full:
            await self._refresher.settle(udi, wait_seconds)
            answer = await self.stored(udi, client=client)
        if answer is not None:
            return answer
        if not could_be_udi(udi):
            return NoDevice(udi, "This is no UDI-DI, so no device can have it.")
        coded = await coded_device(self._documents, (udi,))
        if coded is not None:
            return await self.read(coded.udi, before_read=before_read, client=client, wait_seconds=wait_seconds)
        failure = await self._refresher.read_through(udi, before_read, client)
        stored = None if failure else await self._documents.device(udi)
        return self._answer(udi, stored) if stored else _no_device(udi, failure)

    async def known(self, udi: str) -> DeviceAnswer | None:
        """The stored device, None for none. It is not refreshed: that would show others when its watchers look."""
        stored = await self._documents.device(udi)
        return None if stored is None else self._answer(udi, stored)

    async def last_known(self, udi: str, *, client: ClientOf | None = None) -> DeviceAnswer | NoDevice:
        """The stored device, or why the last read brought nothing. The register is not asked."""
        return await self.stored(udi, client=client) or _no_device(udi, self._refresher.remembered(udi))

    def has_old_certificates(self, stored: StoredDocument) -> bool:
        """Whether the last reads brought the record without its certificates, which were read before."""
        return seconds_behind(stored.certs_read_at, stored.read_at) > self._fresh_for

    def _is_due(self, stored: StoredDocument, retry_seconds: float) -> bool:
        """Whether a record is to be read again: it is old, or a part of it is."""
        now = self._clock.now()
        asked_at = max(stored.read_at, stored.delisted_at or 0)
        if not stored.has_detail or not is_recent(asked_at, now, self._fresh_for):
            return True
        has_certificates = stored.certs_read_at is not None and is_recent(stored.certs_read_at, now, self._fresh_for)
        return not has_certificates and not is_recent(asked_at, now, retry_seconds)

    def _answer(self, udi: str, stored: StoredDocument, *, is_dropped: bool = False) -> DeviceAnswer:
        problem = NO_LONGER_LISTED if stored.delisted_at is not None else self._refresher.failure(udi)
        if problem is None and is_dropped:
            problem = DROPPED
        return DeviceAnswer(stored, problem)


def _knowledge(stored: StoredDocument) -> bytes:
    """The fields that say how much of the record was read, in JSON."""
    has_certificates = stored.certs_read_at is not None
    return b'"certs_read_at":%s,"basic_read_at":%s,"complete":%s,"missing":%s' % (
        _instant(stored.certs_read_at),
        _instant(stored.basic_read_at),
        b"true" if stored.has_detail and has_certificates else b"false",
        _MISSING[stored.has_detail, has_certificates],
    )


def _instant(unix_seconds: int | None) -> bytes:
    return b"null" if unix_seconds is None else b'"%s"' % iso_utc(unix_seconds).encode()


_OF_DETAIL: list[Part] = ["dates", "names"]
_MISSING = {
    (True, True): b"[]",
    (True, False): msgspec.json.encode(["certificates"]),
    (False, True): msgspec.json.encode(_OF_DETAIL),
    (False, False): msgspec.json.encode(["certificates", *_OF_DETAIL]),
}
"""Missing parts in JSON, by whether the detail and the certificates are there."""

NOT_REGISTERED = "The register has no device with this UDI-DI."
UNREADABLE = "This device is not in the copy, and the register could not be read."


def _no_device(udi: str, outcome: NotFound | ReadFailed | None) -> NoDevice:
    if isinstance(outcome, ReadFailed):
        return NoDevice(udi, f"{UNREADABLE} {outcome.reason}", is_unreadable=True)
    return NoDevice(udi, NOT_REGISTERED)


def could_be_udi(identifier: str) -> bool:
    """Whether the register can find anything for this identifier."""
    return (
        identifier.isascii()
        and identifier.isprintable()
        and len(identifier) <= MAX_UDI_LENGTH
        and kind(identifier) == "udi"
    )
