"""Files of records: one JSON object a line, plain or gzipped."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import IO, Any

import msgspec

from registerwatch_standins.register.generated import GeneratedArchive
from registerwatch_standins.register.records import IssuingAgency, Party, Registration

Progress = Callable[[int, int], None]
_CHUNK = 2000
_LINE = """
uuid primary_di basic_udi device_name trade_names reference model risk_class legislation status emdn manufacturer
authorised_representative certificates version_date sterile latex implantable reusable
"""
_KEYS = _LINE.split()
_CERTIFICATE_KEYS = ("number", "revision", "expiry", "starting_validity", "notified_body", "notified_body_name", "type")
_values, _certificate_values = attrgetter(*_KEYS), attrgetter(*_CERTIFICATE_KEYS)
_CODES = {
    "risk_class": "refdata.risk-class.",
    "legislation": "refdata.applicable-legislation.",
    "status": "refdata.device-model-status.",
}
"""What the codes in a line begin with."""


def read_records(path: Path) -> Iterator[Registration]:
    """The registrations of a file, gzipped (`.gz`) or plain.

    Raises `OSError`, or `KeyError` or `msgspec.ValidationError` for a line of another form.
    """
    decoder = msgspec.json.Decoder(dict[str, Any])
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
        for line in lines:
            if line.strip():
                yield _registration(decoder.decode(line))


def write_records(path: Path | str, devices: int, seed: int, progress: Progress | None = None) -> None:
    """Write a generated world, the oldest registration first; gzipped where the name ends in `.gz`.

    `progress(done, total)` is called every 2,000 records. The file appears under its name when it is whole. Memory does
    not grow with the number of devices.
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


@contextmanager
def _opened(path: Path, *, gzipped: bool) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """A file to write to. Gzip without name and time: the same records make the same bytes."""
    with path.open("wb") as file:
        if not gzipped:
            yield file
            return
        with gzip.GzipFile("", "wb", zlib.Z_BEST_SPEED, file, mtime=0) as packed:
            yield packed


def _line(record: Registration) -> dict[str, Any]:
    line = dict(zip(_KEYS, _values(record), strict=True))
    line |= {key: prefix + line[key] for key, prefix in _CODES.items()}
    line["manufacturer"] = _party(record.manufacturer)
    line["authorised_representative"] = record.authorised_representative and _party(record.authorised_representative)
    line["certificates"] = [
        dict(zip(_CERTIFICATE_KEYS, _certificate_values(each), strict=True)) for each in record.certificates
    ]
    return line


def _party(party: Party) -> dict[str, str]:
    return {"srn": party.srn, "name": party.name}


def _registration(line: dict[str, Any]) -> Registration:
    """The registration of a line; what a line does not say is taken from its version date."""
    fields = line | {key: line[key].removeprefix(prefix) for key, prefix in _CODES.items()}
    made_up = {
        "issuing_agency": _issuing_agency(line["primary_di"]),
        "status_date": line["version_date"][:10],
        "certificates": [_certificate(each) for each in line["certificates"]],
        "version_number": 1,
        "latest_version": True,
        "last_updated": line["version_date"],
        "registered": line["version_date"],
    }
    return msgspec.convert(fields | made_up, Registration)


def _certificate(fields: dict[str, Any]) -> dict[str, Any]:
    regulation = fields["type"].startswith(("MDR_", "IVDR_"))
    listed_in = "certificate-search" if regulation else "basic-udi-record"
    return fields | {"issue_date": fields["starting_validity"], "status": "issued", "listed_in": listed_in}


def _issuing_agency(primary_di: str) -> IssuingAgency:
    """Which agency's rules a UDI-DI follows, by its form."""
    if primary_di.isdigit():
        return "gs1"
    return "iccbba" if len(primary_di) == 16 and primary_di[1:5].isdigit() else "hibcc"
