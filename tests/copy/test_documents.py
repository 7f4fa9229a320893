"""Quick reads of the copy: SQLite and PostgreSQL give the same answers."""

import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from registerwatch.copy.documents.documents import DocumentReader
from registerwatch.copy.documents.open_documents import open_documents
from registerwatch.copy.records import RecordStore
from registerwatch.errors import DatabaseUnavailable
from registerwatch.platform.db.engine import Database
from registerwatch.register.models import Actor, DeviceReading, document
from tests.register.builders import FEW, a_device, a_full_reading, a_row, readings

NOW = 1_800_000_000
UDIS = ("04012345678901", "E4947660611", "Ünïcode/+ 1", "'; DROP TABLE devices; --")


@dataclass(frozen=True, slots=True)
class Kept:
    """One database: its copy and its quick reads."""

    database: Database
    copy: RecordStore
    documents: DocumentReader


@pytest.fixture
def database_kind() -> str:
    """The fixture's database is PostgreSQL; the SQLite one stands beside it."""
    return "postgresql"


@pytest.fixture
async def both(database_url: str, sqlite_template: Path, tmp_path: Path) -> AsyncIterator[tuple[Kept, Kept]]:
    """An empty copy on SQLite and one on PostgreSQL."""
    path = tmp_path / "other.db"
    shutil.copyfile(sqlite_template, path)
    kept = []
    for address in (f"sqlite:///{path}", database_url):
        database = Database(address)
        kept.append(Kept(database, RecordStore(database), open_documents(address)))
    yield kept[0], kept[1]
    for each in kept:
        await each.documents.close()
        await each.database.close()


@FEW
@given(
    st.lists(
        st.tuples(st.sampled_from(["u-1", "u-2", "u-3"]), st.sampled_from(UDIS)).flatmap(lambda key: readings(*key)),
        max_size=6,
    ),
    st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=10),
)
async def test_both_databases_answer_alike_whatever_is_stored(
    both: tuple[Kept, Kept], told: list[DeviceReading], name: str
) -> None:
    answers = []
    for kept in both:
        await _emptied(kept.database)
        for reading in told:
            await kept.copy.store([reading], read_at=NOW)
        await kept.copy.store_actor(
            Actor(srn="DE-MF-000000001", name=name, device_total=3), read_at=NOW, source="eudamed"
        )
        documents, rows = kept.documents, await kept.documents.changed_since(0, 100)
        places = {row.id: place for place, row in enumerate(sorted(rows, key=lambda row: row.id))}
        ids = [row.id for row in rows]
        answers.append(
            {
                "devices": [await documents.device(udi) for udi in (*UDIS, "nobody's")],
                "devices at once": await documents.devices([*UDIS, "nobody's", UDIS[0]]),
                "actors": [await documents.actor(srn) for srn in ("DE-MF-000000001", "DE-MF-9", "")],
                "changes": [(places[row.id], row.revision, row.is_current, row.udi, row.document) for row in rows],
                "some": [row.revision for row in await documents.changed_since(1, 2)],
                "none": await documents.changed_since(10_000, 100),
                "rows": await documents.rows(ids),
                "backwards": await documents.rows(ids[::-1]),
                "twice": await documents.rows(ids[:1] * 2),
                "gone": await documents.rows([-1, *ids[:1], 10**9]),
                "revision": (await documents.revision())[1],
            }
        )

    assert answers[0] == answers[1]
    assert answers[0]["backwards"] == answers[0]["rows"][::-1]  # type: ignore[index]  # a list


async def test_a_device_is_answered_by_its_current_record_with_its_age(both: tuple[Kept, Kept]) -> None:
    for kept in both:
        await kept.copy.store([a_row("u-2", version=2)], read_at=NOW)
        thin = await kept.documents.device(a_device().udi)
        await kept.copy.store([a_full_reading("u-1", version=3)], read_at=NOW + 5)
        full = await kept.documents.device(a_device().udi)

        assert thin is not None
        assert full is not None
        assert (thin.read_at, thin.in_full, thin.document) == (NOW, False, document(a_device("u-2", version=2)))
        assert (full.read_at, full.in_full, full.document) == (NOW + 5, True, document(a_device("u-1", version=3)))
        assert full.revision > thin.revision


async def test_what_is_stored_meanwhile_is_read_at_once(both: tuple[Kept, Kept]) -> None:
    for kept in both:
        assert await kept.documents.device(a_device().udi) is None
        await kept.copy.store([a_row()], read_at=NOW)

        assert await kept.documents.device(a_device().udi) is not None


async def test_a_copy_is_told_from_another_by_its_identity(both: tuple[Kept, Kept]) -> None:
    identities = {(await kept.documents.revision())[0] for kept in both}

    assert len(identities) == 2
    for kept in both:
        assert (await kept.documents.revision())[0] == (await kept.copy.state()).copy_id


async def test_reads_can_be_closed_twice_and_before_the_first_one(both: tuple[Kept, Kept]) -> None:
    for kept in both:
        await kept.documents.close()
        await kept.documents.close()


async def test_a_database_that_is_not_there_is_unavailable_and_no_empty_copy(tmp_path: Path) -> None:
    missing = open_documents(f"sqlite:///{tmp_path / 'missing.db'}")
    with pytest.raises(DatabaseUnavailable):
        await missing.device("04012345678901")

    (tmp_path / "text.db").write_text("this is no database, " * 100)
    with pytest.raises(DatabaseUnavailable):
        await open_documents(f"sqlite:///{tmp_path / 'text.db'}").revision()


@pytest.mark.parametrize("name", ["a folder", "a?b", "a#b", "100%", "ä"])
async def test_a_sqlite_file_is_found_whatever_its_folder_is_called(
    sqlite_template: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    shutil.copyfile(sqlite_template, folder / "registerwatch.db")
    address = f"sqlite:///{folder / 'registerwatch.db'}"
    database, documents = Database(address), open_documents(address)

    await RecordStore(database).store([a_row()], read_at=NOW)

    assert await documents.device(a_device().udi) is not None
    await documents.close()
    await database.close()


async def _emptied(database: Database) -> None:
    async with database.transaction() as connection:
        for statement in (
            "DELETE FROM devices",
            "DELETE FROM actors",
            "UPDATE copy_state SET revision = 0, devices = 0",
        ):
            await connection.execute(text(statement))
