"""Writing a generated world into a file of records, as a stream."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from registerwatch_standins.register.generated import GeneratedArchive
from registerwatch_standins.register.records import Certificate, Party, Registration

Progress = Callable[[int, int], None]
_CHUNK = 2000
_RISK, _LEGISLATION, _STATUS = (
    "refdata.risk-class.",
    "refdata.applicable-legislation.",
    "refdata.device-model-status.",
)


class Line(Struct, frozen=True):
    """A line of the file, in the order of its keys."""

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
    manufacturer: dict[str, str]
    authorised_representative: dict[str, str] | None
    certificates: list[dict[str, str | None]]
    version_date: str


def write_records(path: Path | str, devices: int, seed: int, progress: Progress | None = None) -> int:
    """Write a generated world, the oldest registration first; gzipped where the name ends in `.gz`.

    Returns the bytes written.

    `progress(done, total)` is called every 2,000 records. The file appears under its name when it is whole.
    Memory does not grow with the number of devices.
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
    """A file to write to.

    Gzip without name and time, so that the same records make the same bytes; the fastest level.
    """
    with path.open("wb") as file:
        if not gzipped:
            yield file
            return
        with gzip.GzipFile("", "wb", zlib.Z_BEST_SPEED, file, mtime=0) as packed:
            yield packed


def _line(record: Registration) -> Line:
    return Line(
        record.uuid,
        record.primary_di,
        record.basic_udi,
        record.device_name,
        record.trade_names,
        record.reference,
        record.model,
        _RISK + record.risk_class,
        _LEGISLATION + record.legislation,
        _STATUS + record.status,
        record.emdn,
        _party(record.manufacturer),
        _party(record.authorised_representative) if record.authorised_representative else None,
        [_certificate(each) for each in record.certificates],
        record.version_date,
    )


def _party(party: Party) -> dict[str, str]:
    return {"srn": party.srn, "name": party.name}


def _certificate(certificate: Certificate) -> dict[str, str | None]:
    return {
        "number": certificate.number,
        "revision": certificate.revision,
        "expiry": certificate.expiry,
        "starting_validity": certificate.starting_validity,
        "notified_body": certificate.notified_body,
        "notified_body_name": certificate.notified_body_name,
        "type": certificate.type,
    }
