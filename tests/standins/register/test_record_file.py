"""Files of records: written from a generated world, read back as a world that answers alike."""

from pathlib import Path
from typing import Any

import pytest

from registerwatch_standins.register.file_world import FileWorld
from registerwatch_standins.register.filters import CertificateFilter, DeviceFilter
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.record_file import write_records
from registerwatch_standins.register.records import Registration
from registerwatch_standins.register.world import World

_NOT_IN_A_FILE = """
status_date certificates version_number latest_version last_updated single_use max_reuses storage warnings
clinical_sizes markets legacy_twin special_type sscp basic_version registered
"""
NOT_IN_A_FILE = set(_NOT_IN_A_FILE.split())
FIELDS = set(Registration.__struct_fields__) - NOT_IN_A_FILE


def found(world: World, **wanted: Any) -> set[str]:
    """The uuids of the registrations that pass."""
    return {record.uuid for record in world.search(DeviceFilter(**wanted), 0, 1000)[1]}


def certificates(world: World, srn: str) -> set[tuple[str, str | None, tuple[str, ...]]]:
    """What the certificate search lists for a manufacturer's devices; a file has no other certificates."""
    rows = world.search_certificates(CertificateFilter(actor_srn=srn), 0, 100)[1]
    covering = [row for row in rows if row.basic_udis]
    return {(row.certificate.number, row.certificate.revision, tuple(sorted(row.basic_udis))) for row in covering}


@pytest.mark.parametrize("name", ["records.jsonl", "records.jsonl.gz"])
def test_a_written_world_reads_back_as_the_generated_one(tmp_path: Path, name: str) -> None:
    write_records(tmp_path / name, 500, 6)
    filed, generated = FileWorld(tmp_path / name), GeneratedWorld(500, 6)
    assert filed.count == 500
    for record in generated.newest(0, 500):
        back, srn = filed.by_uuid(record.uuid), record.manufacturer.srn
        assert back is not None
        assert [getattr(back, field) for field in FIELDS] == [getattr(record, field) for field in FIELDS]
        assert [each.number for each in back.certificates] == [each.number for each in record.certificates]
        assert found(filed, primary_di=record.primary_di) == found(generated, primary_di=record.primary_di)
        assert found(filed, srn=srn) == found(generated, srn=srn)
        if record.basic_udi:
            assert found(filed, basic_udi=record.basic_udi) == found(generated, basic_udi=record.basic_udi)
        if record.authorised_representative:
            assert record.uuid in found(filed, srn=record.authorised_representative.srn)
        assert certificates(filed, srn) == certificates(generated, srn)
        actor = filed.actor(srn)
        assert actor is not None
        assert actor.name == record.manufacturer.name
    dates = [record.version_date for record in filed.newest(0, 500)]
    assert dates == sorted(dates, reverse=True)


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        write_records(tmp_path / name, 2500, 6)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


def test_progress_is_told_up_to_the_end_and_a_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    write_records(tmp_path / "records.jsonl", 4100, 6, lambda done, total: told.append((done, total)))
    assert told == [(2000, 4100), (4000, 4100), (4100, 4100)]

    def stop(done: int, total: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        write_records(tmp_path / "other.jsonl", 4100, 6, stop)
    assert not (tmp_path / "other.jsonl").exists()


def test_a_uuid_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    write_records(path, 10, 6)
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(ValueError, match="twice"):
        FileWorld(path)
