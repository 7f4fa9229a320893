"""Reads stored documents without an ORM: one prepared statement, the stored bytes returned unchanged.

Only a document of an older version is decoded, to be given the fields that it lacks.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from registerwatch.register.models import Actor
from registerwatch.register.other_codes import OtherCode, by_kind


def seconds_behind(certs_read_at: int | None, read_at: int) -> int:
    """How much older a device's certificates are than its record, 0 where they are not or were never read.

    Parts that devices share can be read before the record, but are fresh then. Certificates that are older than that
    are kept from an earlier read, since the last one could not bring them.
    """
    return 0 if certs_read_at is None else max(read_at - certs_read_at, 0)


class StoredDocument(msgspec.Struct, frozen=True, gc=False):
    """A device's document as stored, with the number of its last change and its last reading (unix seconds)."""

    document: bytes
    revision: int
    read_at: int
    has_detail: bool
    """Whether the detail of its version was read, the only source of dates and of names in other languages."""
    certs_read_at: int | None
    """When all its certificates were last read; None when they never were."""
    delisted_at: int | None = None
    """The first read in which the register no longer listed it, None while it does."""
    basic_read_at: int | None = None
    """When its Basic UDI-DI record was last read, for any device under it; None for never."""

    @property
    def in_full(self) -> bool:
        """Whether every part of it was read from the register itself."""
        return self.has_detail and self.certs_read_at is not None


class StoredActor(msgspec.Struct, frozen=True):
    """An actor as stored, with its last reading (unix seconds)."""

    actor: Actor
    read_at: int
    doubted_at: int | None
    """Since when the register's answer that it has no devices is doubted."""
    delisted_at: int | None = None
    """The first read in which the register no longer had it, None while it has."""


class ChangedRow(msgspec.Struct, frozen=True, gc=False):
    """A changed row, for a reader of the copy's revisions. Its document is as stored, of any version."""

    id: int
    revision: int
    is_current: bool
    udi: str
    document: bytes
    is_listed: bool = True


class UnindexedRow(msgspec.Struct, frozen=True):
    """A current record that was changed after a revision; without its document where that does not name an SRN."""

    udi: str
    is_listed: bool
    document: bytes | None


class CodedDevice(msgspec.Struct, frozen=True):
    """A device that has a code as another one than its UDI-DI: as a package, a direct marking and the like."""

    code: str
    udi: str
    document: bytes
    is_listed: bool

    @property
    def meanings(self) -> tuple[OtherCode, ...]:
        """The code's meanings for the device."""
        return by_kind(_other_codes.decode(self.document).other_codes, self.code)


def listed_or_all(found: Sequence[CodedDevice]) -> list[CodedDevice]:
    """Each device once. Devices that are no longer listed are left out where there are others."""
    distinct = {each.udi: each for each in found}.values()
    return [each for each in distinct if each.is_listed] or list(distinct)


class _OtherCodes(msgspec.Struct, frozen=True):
    """The part of a document that says what a code is."""

    other_codes: tuple[OtherCode, ...] = ()


_other_codes = msgspec.json.Decoder(_OtherCodes)

MAX_CODED = 100
"""Devices with the same code that are read; only an invalid code is shared by more."""


class DocumentReader(Protocol):
    """Reads of the copy that must be quick."""

    async def device(self, udi: str) -> StoredDocument | None:
        """The current record of a UDI-DI. SQLite answers without a switch of tasks."""

    async def devices(self, udis: Sequence[str]) -> dict[str, StoredDocument]:
        """The current records of some UDI-DIs, in one statement, by UDI-DI."""

    async def coded(self, codes: Sequence[str]) -> list[CodedDevice]:
        """The devices with one of these as another code, by UDI-DI; also where it is the UDI-DI of another device."""

    async def rows(self, ids: Sequence[int]) -> list[bytes]:
        """The documents of the rows with these ids, in this order, without those that are gone or delisted."""

    async def actor(self, srn: str) -> StoredActor | None:
        """An actor by SRN."""

    async def changed_since(self, revision: int, limit: int) -> list[ChangedRow]:
        """Rows whose last change is later than `revision`, in the order of changes, at most `limit`."""

    async def unindexed(self, srn: str, revision: int, limit: int) -> list[UnindexedRow]:
        """Current records whose last change is later than `revision`, at most `limit`, the last changed ones first.

        Those that name this SRN come with their document.
        """

    async def revision(self) -> tuple[str, int]:
        """The identity of the copy and the number of its last change."""

    async def close(self) -> None:
        """Close the connections."""


DEVICES = (
    "SELECT primary_di, document, document_version, revision, read_at,"
    " COALESCE(detail_version = version_number, FALSE), certs_read_at,"
    " delisted_at, basic_read_at"
    " FROM devices WHERE primary_di {} AND is_current"
)
DEVICE = DEVICES.replace("primary_di, ", "", 1).replace("{}", "= {}")
CODED = (
    "SELECT c.code, d.primary_di, d.document, d.document_version, d.delisted_at IS NULL"
    " FROM (SELECT code, primary_di, uuid FROM device_codes WHERE code = {} LIMIT {}) AS c"
    " JOIN devices d ON d.primary_di = c.primary_di AND d.uuid = c.uuid AND d.is_current ORDER BY d.primary_di"
)
ROWS = "SELECT id, document, document_version FROM devices WHERE id {} AND delisted_at IS NULL"
ACTOR = (
    "SELECT srn, name, country, status_code, device_total, complete, read_at, doubted_at, delisted_at"
    " FROM actors WHERE srn = {}"
)
CHANGED = (
    "SELECT id, revision, is_current, primary_di, document, delisted_at IS NULL"
    " FROM devices WHERE revision > {} ORDER BY revision LIMIT {}"
)
UNINDEXED = (
    "SELECT primary_di, delisted_at IS NULL, CASE WHEN {0} THEN document END, document_version"
    " FROM devices WHERE revision > {1} AND is_current ORDER BY revision DESC LIMIT {2}"
)
REVISION = "SELECT copy_id, revision FROM copy_state WHERE id = 1"


def stored_actor(row: Sequence[Any]) -> StoredActor:
    """An actor from its columns, in the order of `ACTOR`."""
    srn, name, country, status_code, device_total, complete, read_at, doubted_at, delisted_at = row
    actor = Actor(
        srn=srn,
        name=name,
        country=country,
        status_code=status_code,
        device_total=device_total,
        complete=bool(complete),
    )
    return StoredActor(actor, read_at, doubted_at, delisted_at)
