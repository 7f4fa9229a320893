"""A file of register records: one JSON object a line, plain or gzipped, read as a stream."""

import gzip
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

from registerwatch.errors import BulkLoadRefused
from registerwatch.register.codes import label
from registerwatch.register.models import ActorReference, Certificate, Completeness, Device, DeviceReading
from registerwatch.register.other_codes import OtherCode, distinct_codes
from registerwatch.sources.fields import key, preferred_name, text
from registerwatch.sources.requests import ignore
from registerwatch.sources.source import RecordBatch
from registerwatch.sources.unread_fields import UnreadFields
from registerwatch.sources.wire import Date, Instant, RecordReader, WireRecord


class FileActor(msgspec.Struct, frozen=True, gc=False):
    """A manufacturer or authorised representative in a line."""

    srn: str | None = None
    name: str | None = None


class FileCertificate(msgspec.Struct, frozen=True, gc=False):
    """A certificate in a line."""

    number: str | None = None
    revision: str | int | None = None
    expiry: Date | None = None
    starting_validity: Date | None = None
    notified_body: str | None = None
    notified_body_name: str | None = None
    type: str | None = None
    status: str | None = None


class FileRecord(WireRecord, frozen=True, gc=False):
    """One line. Every field but the two identifiers may be null."""

    uuid: str
    primary_di: str
    basic_udi: str | None = None
    device_name: str | None = None
    trade_names: dict[str, str] | None = None
    reference: str | None = None
    model: str | None = None
    risk_class: str | None = None
    legislation: str | None = None
    status: str | None = None
    emdn: list[str] | None = None
    sterile: bool | None = None
    latex: bool | None = None
    implantable: bool | None = None
    reusable: bool | None = None
    manufacturer: FileActor | None = None
    authorised_representative: FileActor | None = None
    certificates: list[FileCertificate] | None = None
    version_date: Instant | None = None
    other_codes: list[OtherCode] | msgspec.UnsetType | None = msgspec.UNSET
    """The form in which devices are served."""


NAME = "file"

_reader = RecordReader(FileRecord, "line of a file", keys={"uuid", "primary_di"})

BATCH_LINES = 2_000


class RecordFile:
    """The records of a file. A cursor has the number of lines read, and the file's size and time of change."""

    name = NAME
    lags = True
    is_newest_first = False
    expected_records = None
    expected_seconds = None
    is_whole_register = False

    def __init__(self, path: Path, unread: UnreadFields | None = None) -> None:
        self._path = path.resolve()
        self._unread = unread or UnreadFields()
        self.load_name = f"file:{self._path}"

    async def batches(self, cursor: str = "", received: Callable[[int], None] = ignore) -> AsyncIterator[RecordBatch]:
        """Batches of lines. Another file at the same path is read from its start. Raises `BulkLoadRefused`."""
        if not self._path.is_file():
            raise BulkLoadRefused(f"There is no file {self._path}.")
        stat = self._path.stat()
        state = f"{stat.st_size}.{stat.st_mtime_ns}"
        skip = int(cursor.split()[0]) if cursor.endswith(f" {state}") else 0
        numbered = islice(enumerate(lines(self._path), start=1), skip, None)
        while chunk := list(islice(numbered, BATCH_LINES)):
            records = [record_of_line(line, number, self._path) for number, line in chunk if line.strip()]
            for record in records:
                self._unread.note(_reader.name, record.unread)
            yield RecordBatch([reading_of_record(record) for record in records], f"{chunk[-1][0]} {state}")


def lines(path: Path) -> Iterator[bytes]:
    """The file's lines, unzipped when it is gzipped. Raises `BulkLoadRefused` when it cannot be read to its end."""
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            yield from cast("BinaryIO", gzip.GzipFile(fileobj=file)) if packed else file
    except (OSError, EOFError) as error:
        raise BulkLoadRefused(f"The file {path} cannot be read: {error}") from error


def record_of_line(line: bytes, number: int, path: Path) -> FileRecord:
    """The record in a line. Raises `BulkLoadRefused` with the line's number (from 1) where it is not a record."""
    try:
        record = _reader.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BulkLoadRefused(f"Line {number} of {path} is no register record: {error}") from error
    if not (key(record.uuid) and key(record.primary_di)):
        raise BulkLoadRefused(f"Line {number} of {path} is no register record: it lacks a possible uuid or primary_di")
    return record


def reading_of_record(record: FileRecord) -> DeviceReading:
    """A file's record as a reading of a part of a device; the register may have a newer version."""
    names = record.trade_names or {}
    manufacturer = record.manufacturer or FileActor()
    representative = record.authorised_representative
    device = Device(
        uuid=key(record.uuid),
        udi=key(record.primary_di),
        basic_udi=key(record.basic_udi),
        trade_name=preferred_name(names),
        trade_names=names,
        device_name=text(record.device_name),
        device_model=text(record.model),
        reference=text(record.reference),
        status=label(text(record.status)),
        status_code=text(record.status),
        risk_class=label(text(record.risk_class)),
        risk_class_code=text(record.risk_class),
        legislation=label(text(record.legislation)),
        legislation_code=text(record.legislation),
        emdn=tuple(record.emdn or ()),
        sterile=record.sterile,
        latex=record.latex,
        implantable=record.implantable,
        reusable=record.reusable,
        manufacturer_srn=key(manufacturer.srn),
        manufacturer_name=text(manufacturer.name),
        authorised_representative=(
            ActorReference(text(representative.srn), text(representative.name))
            if representative and text(representative.srn)
            else None
        ),
        certs=_certificates(record.certificates) if record.certificates else (),
        updated=record.version_date,
        other_codes=(
            record.other_codes
            if isinstance(record.other_codes, msgspec.UnsetType)
            else distinct_codes(record.other_codes or (), key(record.primary_di))
        ),
    )
    return DeviceReading(device=device, completeness=Completeness.SOME, source=NAME, lags=True)


def _certificates(entries: Iterable[FileCertificate]) -> tuple[Certificate, ...]:
    return tuple(sorted((_certificate(entry) for entry in entries if text(entry.number)), key=_key))


def _certificate(entry: FileCertificate) -> Certificate:
    return Certificate(
        number=text(entry.number),
        revision=text(entry.revision),
        expiry=entry.expiry,
        valid_from=entry.starting_validity,
        status=label(text(entry.status)),
        status_code=text(entry.status),
        type_code=text(entry.type),
        notified_body=text(entry.notified_body),
        notified_body_name=text(entry.notified_body_name),
    )


def _key(certificate: Certificate) -> tuple[str, str]:
    return certificate.key
