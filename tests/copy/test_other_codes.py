"""Other codes of devices in the copy: exactly those of the stored documents lead to a device, and nothing more is
written than changes.
"""

from collections.abc import AsyncIterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from registerwatch.copy.documents.documents import MAX_CODED, DocumentReader
from registerwatch.copy.documents.open_documents import open_documents
from registerwatch.copy.history.history import HistoryKind
from registerwatch.copy.history.history_reader import HistoryReader
from registerwatch.copy.records import RecordStore
from registerwatch.platform.db.engine import Database
from registerwatch.platform.structs import replace
from registerwatch.register.models import Completeness, DeviceReading, from_document
from registerwatch.register.other_codes import OtherCode
from tests.register.builders import FEW, UDI, a_full_reading, a_row, a_udi, readings
from tests.support.statements import counted_statements

NOW = 1_800_000_000
OTHER_UDI, CARTON, PALLET = a_udi(1), "14099999999999", "24099999999996"
OF_TEN = OtherCode(CARTON, "container_package", quantity=10, contains=UDI)
MDR, MDD = "refdata.applicable-legislation.mdr", "refdata.applicable-legislation.mdd"


@pytest.fixture
async def documents(database_url: str) -> AsyncIterator[DocumentReader]:
    opened = open_documents(database_url)
    yield opened
    await opened.close()


async def coded(documents: DocumentReader, *codes: str) -> list[str]:
    return [each.udi for each in await documents.coded(codes)]


async def stored_codes(database: Database) -> set[tuple[str, str, str]]:
    async with database.reading() as connection:
        rows = await connection.execute(text("SELECT code, primary_di, uuid FROM device_codes"))
        return {(row.code, row.primary_di, row.uuid) for row in rows}


async def codes_of_documents(database: Database) -> set[tuple[str, str, str]]:
    async with database.reading() as connection:
        found = [from_document(row.document) for row in await connection.execute(text("SELECT document FROM devices"))]
    return {(code.code, each.udi, each.uuid) for each in found for code in each.other_codes or ()}


batches = st.lists(
    st.lists(
        st.sampled_from(["u-1", "u-2", "u-3"]).flatmap(lambda uuid: readings(uuid, UDI if uuid < "u-3" else OTHER_UDI)),
        min_size=1,
        max_size=3,
        unique_by=lambda reading: reading.device.uuid,
    ),
    min_size=1,
    max_size=6,
)


@FEW
@given(batches, st.booleans())
async def test_after_any_reads_the_codes_are_those_of_the_stored_documents(
    database: Database, batches: list[list[DeviceReading]], lists_all: bool
) -> None:
    async with database.transaction() as connection:
        for table in ("devices", "device_codes"):
            await connection.execute(text(f"DELETE FROM {table}"))
    copy = RecordStore(database)

    for batch in batches:
        await copy.store(batch, read_at=NOW, lists_all=lists_all)

        assert await stored_codes(database) == await codes_of_documents(database)


async def test_a_code_leads_to_its_device_until_a_read_takes_it_away(
    database: Database, documents: DocumentReader
) -> None:
    copy = RecordStore(database)
    await copy.store([a_full_reading(other_codes=(OF_TEN, OtherCode(PALLET, "container_package")))], read_at=NOW)

    [found] = await documents.coded([CARTON])
    assert (found.code, found.udi, found.is_listed, found.meanings) == (CARTON, UDI, True, (OF_TEN,))
    assert await coded(documents, UDI, "") == []

    await copy.store([a_full_reading(other_codes=(OF_TEN,))], read_at=NOW + 1)
    assert await coded(documents, CARTON, PALLET) == [UDI]

    await copy.store([a_full_reading()], read_at=NOW + 2)
    assert await coded(documents, CARTON, PALLET) == []


async def test_a_code_that_is_two_things_to_a_device_tells_both(database: Database, documents: DocumentReader) -> None:
    both = (OtherCode(CARTON, "unit_of_use"), OtherCode(CARTON, "direct_marking"))
    await RecordStore(database).store([a_full_reading(other_codes=both)], read_at=NOW)

    [found] = await documents.coded([CARTON])

    assert found.meanings == both


async def test_only_the_record_that_answers_for_its_udi_di_is_led_to(
    database: Database, documents: DocumentReader
) -> None:
    copy = RecordStore(database)
    await copy.store([a_full_reading("u-1", legislation_code=MDD, other_codes=(OF_TEN,))], read_at=NOW)
    await copy.store([a_full_reading("u-2", legislation_code=MDR)], read_at=NOW)

    assert await coded(documents, CARTON) == []


async def test_a_delisted_device_is_told_as_such_and_gives_way_to_a_listed_one(
    database: Database, documents: DocumentReader
) -> None:
    copy = RecordStore(database)
    await copy.store([a_full_reading(other_codes=(OF_TEN,))], read_at=NOW)
    await copy.delist(UDI, read_at=NOW + 1, since=await copy.revision())
    assert [each.is_listed for each in await documents.coded([CARTON])] == [False]

    async def owners() -> dict[str, tuple[str, ...]]:
        async with database.reading() as connection:
            return await copy.coded(connection, [CARTON, PALLET])

    assert await owners() == {CARTON: (UDI,)}
    await copy.store([a_full_reading("u-2", OTHER_UDI, other_codes=(OF_TEN,))], read_at=NOW + 2)
    assert await owners() == {CARTON: (OTHER_UDI,)}
    await copy.store([a_full_reading("u-3", a_udi(2), other_codes=(OF_TEN,))], read_at=NOW + 3)
    assert await owners() == {CARTON: tuple(sorted((OTHER_UDI, a_udi(2))))}
    await copy.store([a_full_reading("u-4", CARTON)], read_at=NOW + 4)
    assert await owners() == {}, "it is the UDI-DI of a device of its own"


async def test_of_a_code_that_hundreds_of_devices_share_a_bounded_number_is_looked_at(
    database: Database, documents: DocumentReader
) -> None:
    rows = [a_row(f"u-{number}", a_udi(number), other_codes=(OF_TEN,)) for number in range(MAX_CODED + 50)]
    await RecordStore(database).store(rows, read_at=NOW)

    assert len(await coded(documents, CARTON)) == MAX_CODED


async def test_records_without_other_codes_write_no_codes(database: Database) -> None:
    copy = RecordStore(database)

    async def written(*batch: DeviceReading) -> int:
        with counted_statements() as statements:
            await copy.store(batch, read_at=NOW)
        return sum("device_codes" in each for each in statements)

    assert await written(*(a_row(f"u-{number}", a_udi(number)) for number in range(3))) == 0
    several = [a_row(f"v-{number}", a_udi(number + 10), other_codes=(OF_TEN,)) for number in range(3)]
    assert await written(*several) == 1, "those of many records at once"
    assert await written(a_row("v-0", a_udi(10), other_codes=(OF_TEN,), trade_name="Beta")) == 0, "they are the same"


async def test_codes_that_are_read_for_the_first_time_are_no_change_and_other_ones_are(database: Database) -> None:
    copy, reader = RecordStore(database), HistoryReader(database)
    await copy.store([a_full_reading()], read_at=NOW)
    await copy.store([a_full_reading(other_codes=(OF_TEN,))], read_at=NOW + 1)
    await copy.store([a_full_reading(other_codes=(replace(OF_TEN, quantity=12),))], read_at=NOW + 2)
    await copy.store([a_full_reading()], read_at=NOW + 3)

    history = await reader.device(UDI)
    shown = [([each.field for each in change.changes], [*change.first_read]) for change in history.changes]
    assert shown == [(["other_codes"], []), (["other_codes"], []), ([], ["other_codes"])]
    then = history.as_of(NOW + 1)
    assert then.states["u-1"]["other_codes"] == [msgspec.to_builtins(OF_TEN)]
    assert "other_codes" not in history.as_of(NOW).states["u-1"]
    assert len(await reader.changes(HistoryKind.DEVICE, UDI)) == 3


async def test_a_load_after_the_upgrade_writes_nothing_for_devices_without_codes(database: Database) -> None:
    copy = RecordStore(database)
    rows = [a_row(other_codes=()), a_full_reading("u-2", OTHER_UDI)]
    await copy.store(rows[:1], read_at=NOW)
    await copy.store(rows[1:], read_at=NOW)
    async with database.transaction() as connection:
        await connection.execute(text("UPDATE devices SET document_version = 2"))
    before = await copy.revision()

    again = [replace(each, completeness=Completeness.SOME, detail_version=None) for each in rows]
    assert await copy.store(again[:1], read_at=NOW + 1) == []
    assert await copy.store(again[1:], read_at=NOW + 1) == []

    assert await copy.revision() == before
