"""The world over a file of records."""

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from registerwatch_standins.register.file_world import FileWorld
from registerwatch_standins.register.filters import CertificateFilter, DeviceFilter
from registerwatch_standins.register.identifiers import is_basic_udi, is_gtin14

REAL_RECORDS = Path(__file__).parents[4] / "shared" / "records" / "devices.jsonl.gz"


def line(**differences: Any) -> dict[str, Any]:
    """A line of a file of records, but for these differences."""
    return {
        "uuid": "11111111-1111-4111-8111-111111111111",
        "primary_di": "04012345000016",
        "basic_udi": "4012345TESTQ7",
        "device_name": "Test device",
        "trade_names": {"en": "Test screw", "de": "Testschraube"},
        "reference": "REF-1",
        "model": None,
        "risk_class": "refdata.risk-class.class-iib",
        "legislation": "refdata.applicable-legislation.mdr",
        "status": "refdata.device-model-status.on-the-market",
        "emdn": ["P091203"],
        "manufacturer": {"srn": "DE-MF-000000901", "name": "Muster GmbH"},
        "authorised_representative": None,
        "certificates": [],
        "version_date": "2025-01-02T10:11:12.131",
        **differences,
    }


def certificate(**differences: Any) -> dict[str, Any]:
    """A certificate in a file of records, but for these differences."""
    return {
        "number": "G10 1",
        "revision": None,
        "expiry": "2029-01-01",
        "starting_validity": "2024-01-02",
        "notified_body": "0123",
        "notified_body_name": "Body",
        "type": "MDR_QUALITY_MANAGEMENT_SYSTEM",
        **differences,
    }


LINES = [
    line(certificates=[certificate()]),
    line(
        uuid="22222222-2222-4222-8222-222222222222",
        basic_udi=None,
        device_name=None,
        legislation="refdata.applicable-legislation.mdd",
        version_date="2023-01-02T10:11:12.131",
        certificates=[certificate(number="CE 1", type="MDD_II_EX_4", starting_validity=None)],
        authorised_representative={"srn": "IE-AR-000000902", "name": "Representative Ltd"},
    ),
    line(
        uuid="33333333-3333-4333-8333-333333333333",
        primary_di="E4947660611",
        trade_names=None,
        version_date="2026-01-02T10:11:12.131",
        certificates=[certificate()],
    ),
]


@pytest.fixture(params=["records.jsonl", "records.jsonl.gz"])
def filed(request: pytest.FixtureRequest, tmp_path: Path) -> FileWorld:
    path: Path = tmp_path / request.param
    content = "\n".join(json.dumps(each) for each in LINES) + "\n"
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    return FileWorld(path)


def test_records_come_by_version_date_with_what_the_line_says(filed: FileWorld) -> None:
    records = filed.newest(0, 10)
    assert [record.uuid[0] for record in records] == ["3", "1", "2"]
    assert [record.issuing_agency for record in records] == ["hibcc", "gs1", "gs1"]
    assert (records[2].basic_udi, records[2].legislation, records[2].criterion) == (None, "mdd", "LEGACY")
    assert {record.uuid[0] for record in filed.by_primary_di("04012345000016")} == {"1", "2"}


def test_manufacturer_and_representative_find_their_devices(filed: FileWorld) -> None:
    assert filed.search(DeviceFilter(srn="DE-MF-000000901"), 0, 10)[0] == 3
    assert filed.search(DeviceFilter(srn="IE-AR-000000902"), 0, 10)[0] == 1


def test_a_certificate_under_a_regulation_is_listed_once_with_all_that_it_covers(filed: FileWorld) -> None:
    total, rows = filed.search_certificates(CertificateFilter(actor_srn="DE-MF-000000901"), 0, 10)
    assert (total, rows[0].certificate.number) == (1, "G10 1")
    assert filed.search_certificates(CertificateFilter(basic_udi="4012345TESTQ7"), 0, 10)[0] == 1
    assert filed.search_certificates(CertificateFilter(number="CE 1"), 0, 10)[0] == 0


def test_an_actor_is_found_by_srn_and_by_uuid(filed: FileWorld) -> None:
    actor = filed.actor("DE-MF-000000901")
    assert actor is not None
    assert (actor.name, actor.country) == ("Muster GmbH", "DE")
    assert filed.actor_by_uuid(actor.uuid) == actor


def test_a_uuid_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.jsonl"
    path.write_text(json.dumps(LINES[0]) + "\n" + json.dumps(LINES[0]), encoding="utf-8")
    with pytest.raises(ValueError, match="twice"):
        FileWorld(path)


def test_a_line_of_another_form_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text('{"uuid": "x"}\n', encoding="utf-8")
    with pytest.raises(msgspec.ValidationError):
        FileWorld(path)


@pytest.mark.skipif(not REAL_RECORDS.exists(), reason="the file of real records is not here")
def test_the_real_records_make_a_world() -> None:
    world = FileWorld(REAL_RECORDS)
    records = world.newest(0, world.count)
    assert world.count == 16_308
    assert all(is_gtin14(record.primary_di) for record in records)
    assert all(is_basic_udi(record.basic_udi) for record in records if record.basic_udi)
    assert sum(len(world.by_primary_di(record.primary_di)) == 2 for record in records) == 2 * 295
