"""Files of records: one JSON object a line, plain or gzipped."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from registerwatch_standins.register.generated import GeneratedArchive
from registerwatch_standins.register.identifiers import is_gtin14
from registerwatch_standins.register.records import Certificate, IssuingAgency, Party, Registration

Progress = Callable[[int, int], None]
_CHUNK = 2000
_RISK, _LEGISLATION, _STATUS = "refdata.risk-class.", "refdata.applicable-legislation.", "refdata.device-model-status."


class PartyField(Struct):
    """An actor in a line."""

    srn: str
    name: str


class CertificateField(Struct):
    """A certificate in a line."""

    number: str
    revision: str | None
    expiry: str | None
    starting_validity: str | None
    notified_body: str
    notified_body_name: str
    type: str


class Line(Struct):
    """A line of the file, in the order of its keys. Codes carry their `refdata.…` prefix."""

    uuid: str
    primary_di: str
    basic_udi: str | None
    device_name: str | None
    trade_names: dict[str, str] | None
    reference: str | None
    model: str | None
    risk_class: str
    legislation: str
    status: str
    emdn: tuple[str, ...]
    manufacturer: PartyField
    authorised_representative: PartyField | None
    certificates: tuple[CertificateField, ...]
    version_date: str


def read_records(path: Path) -> Iterator[Registration]:
    """The registrations of a file, gzipped (`.gz`) or plain.

    Raises `OSError`, or `msgspec.ValidationError` for a line of another form.
    """
    decoder = msgspec.json.Decoder(Line)
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
        for line in lines:
            if line.strip():
                yield _registration(decoder.decode(line))


def write_records(path: Path | str, devices: int, seed: int, progress: Progress | None = None) -> int:
    """Write a generated world, the oldest registration first; gzipped where the name ends in `.gz`.

    Returns the bytes written. `progress(done, total)` is called every 2,000 records. The file appears under its name
    when it is whole. Memory does not grow with the number of devices.
    """
    target = Path(path)
    archive = GeneratedArchive(devices, seed)
    encode = msgspec.json.Encoder().encode_lines
    part = target.with_name(target.name + ".part")
    with _opened(part, gzipped=target.suffix == ".gz") as stream:
        for start in range(0, devices, _CHUNK):
            end = min(start + _CHUNK, devices)
            stream.write(encode([_line(archive.registration(archive.oldest(rank))) for rank in range(start, end)]))
            if progress:
                progress(end, devices)
    part.replace(target)
    return target.stat().st_size


@contextmanager
def _opened(path: Path, *, gzipped: bool) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """A file to write to. Gzip without name and time: the same records make the same bytes."""
    with path.open("wb") as file:
        if not gzipped:
            yield file
            return
        with gzip.GzipFile("", "wb", zlib.Z_BEST_SPEED, file, mtime=0) as packed:
            yield packed


def _line(record: Registration) -> Line:
    line = msgspec.convert(record, Line, from_attributes=True)
    line.risk_class = _RISK + record.risk_class
    line.legislation = _LEGISLATION + record.legislation
    line.status = _STATUS + record.status
    return line


def _registration(line: Line) -> Registration:
    """The registration of a line; what a line does not say is taken from its version date."""
    fields: dict[str, Any] = asdict(line) | {
        "issuing_agency": _issuing_agency(line.primary_di),
        "risk_class": line.risk_class.removeprefix(_RISK),
        "legislation": line.legislation.removeprefix(_LEGISLATION),
        "status": line.status.removeprefix(_STATUS),
        "status_date": line.version_date[:10],
        "manufacturer": _party(line.manufacturer),
        "authorised_representative": _party(line.authorised_representative) if line.authorised_representative else None,
        "certificates": tuple(_certificate(each) for each in line.certificates),
        "last_updated": line.version_date,
    }
    return Registration(**fields, version_number=1, latest_version=True)


def _party(field: PartyField) -> Party:
    return Party(field.srn, field.name)


def _certificate(field: CertificateField) -> Certificate:
    regulation = field.type.startswith(("MDR_", "IVDR_"))
    return Certificate(
        **asdict(field),
        issue_date=field.starting_validity,
        status="issued",
        listed_in="certificate-search" if regulation else "basic-udi-record",
    )


def _issuing_agency(primary_di: str) -> IssuingAgency:
    """Which agency's rules a UDI-DI follows, by its form."""
    if is_gtin14(primary_di) or primary_di.isdigit():
        return "gs1"
    return "iccbba" if len(primary_di) == 16 and primary_di[1:5].isdigit() else "hibcc"
