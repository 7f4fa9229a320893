"""Writing a generated world into a file."""

import gzip
import json
from pathlib import Path

import pytest

from registerwatch_standins.register.file_world import FileWorld
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.record_file import write_records


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        write_records(tmp_path / name, 2500, 6)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


@pytest.mark.parametrize("name", ["records.jsonl", "records.jsonl.gz"])
def test_a_written_world_reads_back_as_the_generated_one(tmp_path: Path, name: str) -> None:
    write_records(tmp_path / name, 500, 6)
    filed, generated = FileWorld(tmp_path / name), GeneratedWorld(500, 6)
    assert filed.count == 500
    for record in generated.newest(0, 500):
        back = filed.by_uuid(record.uuid)
        assert back is not None
        for field in (
            "primary_di",
            "basic_udi",
            "issuing_agency",
            "trade_names",
            "risk_class",
            "emdn",
            "version_date",
        ):
            assert getattr(back, field) == getattr(record, field)
        assert [each.number for each in back.certificates] == [each.number for each in record.certificates]


def test_lines_have_the_keys_of_the_format_in_its_order(tmp_path: Path) -> None:
    write_records(tmp_path / "records.jsonl.gz", 30, 6)
    with gzip.open(tmp_path / "records.jsonl.gz", "rt", encoding="utf-8") as lines:
        first = json.loads(next(lines))
    assert " ".join(first) == (
        "uuid primary_di basic_udi device_name trade_names reference model risk_class legislation status "
        "emdn manufacturer authorised_representative certificates version_date"
    )
    assert first["risk_class"].startswith("refdata.risk-class.")


def test_progress_is_told_up_to_the_end(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    write_records(tmp_path / "records.jsonl", 4100, 6, lambda done, total: told.append((done, total)))
    assert told == [(2000, 4100), (4000, 4100), (4100, 4100)]


def test_a_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        write_records(tmp_path / "records.jsonl", 4100, 6, stop)
    assert not (tmp_path / "records.jsonl").exists()
