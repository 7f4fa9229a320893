"""A file of records: plain and gzipped, whole and damaged."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from registerwatch.errors import BulkLoadRefused
from registerwatch.register.models import Completeness, DeviceReading
from registerwatch.sources.record_file import lines, reading_of_record, record_of_line
from registerwatch_standins.register.generated import GeneratedArchive
from registerwatch_standins.register.record_file import write_records

HERE = Path("records.jsonl")


def reading_of_line(line: bytes, number: int, path: Path) -> DeviceReading:
    return reading_of_record(record_of_line(line, number, path))


def a_line(**fields: Any) -> bytes:
    return json.dumps({"uuid": "u-1", "primary_di": "04099999999992", **fields}).encode()


@pytest.mark.parametrize("name", ["records.jsonl", "records.jsonl.gz"])
def test_every_line_becomes_a_device_whether_the_file_is_gzipped_or_not(tmp_path: Path, name: str) -> None:
    write_records(tmp_path / name, 300, 7)
    archive = GeneratedArchive(300, 7)

    readings = [reading_of_line(line, number, HERE) for number, line in enumerate(lines(tmp_path / name), 1)]

    assert len(readings) == 300
    for rank, reading in enumerate(readings):
        record, device = archive.registration(archive.oldest(rank)), reading.device
        assert (device.uuid, device.udi, device.basic_udi) == (record.uuid, record.primary_di, record.basic_udi or "")
        assert device.status_code.endswith(record.status)
        assert {each.number for each in device.certs} == {each.number for each in record.certificates}
        assert device.updated
        assert (reading.completeness, reading.lags) == (Completeness.SOME, True), "a file is older than the register"


def test_a_file_is_known_to_be_gzipped_by_its_content_and_not_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_bytes(gzip.compress(a_line() + b"\n"))

    assert [line.strip() for line in lines(tmp_path / "records.jsonl")] == [a_line()]


@pytest.mark.parametrize("name", ["records.jsonl", "records.jsonl.gz"])
def test_an_empty_file_has_no_lines(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"") if name.endswith(".gz") else b"")

    assert list(lines(tmp_path / name)) == []


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"uuid": "u-1"}',
        b'{"uuid": 1, "primary_di": "x"}',
        b"\xff\xfe",
        b'{"uuid": "u-1", "primary_di": "x"} {}',
    ],
)
def test_a_broken_line_is_refused_by_its_number_and_file(line: bytes) -> None:
    with pytest.raises(BulkLoadRefused, match=r"^Line 17 of records\.jsonl is no register record: "):
        reading_of_line(line, 17, HERE)


def test_a_line_that_nests_without_end_is_refused_by_its_number() -> None:
    line = b'{"uuid": "u-1", "primary_di": "x", "more": ' + b"[" * 5_000 + b"]" * 5_000 + b"}"

    with pytest.raises(BulkLoadRefused, match="Line 17"):
        reading_of_line(line, 17, HERE)


@pytest.mark.parametrize("fields", [{"uuid": ""}, {"primary_di": ""}, {"uuid": " "}, {"primary_di": " "}])
def test_a_line_with_an_empty_identifier_is_refused_by_its_number(fields: dict[str, str]) -> None:
    with pytest.raises(BulkLoadRefused, match="Line 17"):
        reading_of_line(a_line(**fields), 17, HERE)


def test_a_gzipped_file_that_breaks_off_is_refused_after_the_lines_that_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl.gz"
    write_records(path, 2_500, 7)
    path.write_bytes(path.read_bytes()[:-2_000])
    read: list[bytes] = []

    with pytest.raises(BulkLoadRefused, match="cannot be read"):
        read.extend(lines(path))

    assert len(read) > 100


def test_a_gzipped_file_that_is_damaged_inside_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl.gz"
    write_records(path, 2_500, 7)
    damaged = bytearray(path.read_bytes())
    for place in range(20_000, 20_040):
        damaged[place] ^= 0xFF
    path.write_bytes(damaged)

    with pytest.raises(BulkLoadRefused, match="cannot be read"):
        list(lines(path))


def test_a_file_that_is_not_there_or_is_a_folder_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(BulkLoadRefused, match="cannot be read"):
            list(lines(path))


def test_gaps_say_nothing_and_texts_are_trimmed() -> None:
    gaps = {
        "basic_udi": None,
        "trade_names": None,
        "manufacturer": None,
        "authorised_representative": {"srn": None, "name": "nobody"},
        "certificates": [{"number": " "}, {"number": " Z-1 ", "revision": None, "expiry": "2030-01-01"}],
        "version_date": "soon",
    }

    device = reading_of_line(a_line(**gaps, reference=" R-1 "), 1, HERE).device

    assert (device.basic_udi, device.trade_name, device.manufacturer_srn) == ("", "", "")
    assert device.authorised_representative is None
    assert [(each.number, each.revision, each.expiry) for each in device.certs] == [("Z-1", "", "2030-01-01")]
    assert (device.updated, device.reference) == (None, "R-1")


def test_every_real_record_can_be_read(real_records: Path) -> None:
    udis = set()
    for number, line in enumerate(lines(real_records), 1):
        device = reading_of_line(line, number, real_records).device
        assert device.uuid
        assert device.status
        assert device.risk_class
        udis.add(device.udi)

    assert number == 16_308
    assert len(udis) < number, "some UDI-DIs have several records"
