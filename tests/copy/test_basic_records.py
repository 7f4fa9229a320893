"""Stored Basic UDI-DI records: which of two reads counts, and how far what changed has come."""

from registerwatch.copy.basic_records import StoredBasicRecord
from registerwatch.copy.records import RecordStore
from registerwatch.platform.db.engine import Database
from registerwatch.platform.structs import replace
from registerwatch.register.basic_records import BasicRecord
from registerwatch.register.models import Certificate
from registerwatch.register.observation import ReadContext
from tests.register.builders import a_full_reading, a_udi
from tests.support.harness import ServiceHarness
from tests.watches.steps import tried_at

KEY, NOW = "01EXAMPLE", 1_800_000_000
ONE, OTHER = BasicRecord(device_name="One"), BasicRecord(device_name="Other")
FOUND = (Certificate("Z-1"), Certificate("Z-2"))


async def stored(copy: RecordStore) -> StoredBasicRecord:
    found = await copy.basic_records.stored(KEY)
    assert found is not None
    return found


async def test_another_record_that_was_stored_since_a_request_was_sent_is_kept(database: Database) -> None:
    copy = RecordStore(database)
    since = await copy.revision()
    first = await copy.basic_records.store_record(KEY, ONE, read_at=NOW + 5, since=since)

    late = await copy.basic_records.store_record(KEY, OTHER, read_at=NOW, since=since)
    same = await copy.basic_records.store_record(KEY, ONE, read_at=NOW, since=since)

    assert first is not None
    assert late is None
    assert same is not None
    assert (same.record, same.read_at) == (ONE, NOW + 5), "both saw it, so it was so at the later instant"
    assert (await stored(copy)).changed_revision == first.revision


async def test_certificates_of_a_search_are_the_same_in_any_order(database: Database) -> None:
    copy = RecordStore(database)
    await copy.basic_records.store_record(KEY, ONE, read_at=NOW, since=await copy.revision())
    first = await copy.basic_records.store_search(KEY, FOUND, read_at=NOW, since=await copy.revision())
    since = await copy.revision()
    await copy.basic_records.store_search(KEY, FOUND[::-1], read_at=NOW + 60, since=since)

    late = await copy.basic_records.store_search(KEY, FOUND[:1], read_at=NOW + 30, since=since)

    assert first is not None
    assert late is None
    assert (await stored(copy)).search_changed_revision == first.revision


async def test_a_reading_whose_record_was_replaced_meanwhile_is_not_stored_and_its_watch_is_due(
    harness: ServiceHarness,
) -> None:
    await harness.owner_watching()
    await harness.store(a_full_reading())
    harness.clock.move(60)
    basic = harness.service.records.basic_records
    used = await basic.store_record(KEY, ONE, read_at=harness.now, since=await basic.revision())
    assert used is not None
    reading = replace(a_full_reading(device_name="One"), basic_key=KEY, basic_revision=used.revision)
    await basic.store_record(KEY, OTHER, read_at=harness.now, since=await basic.revision())

    await harness.store(reading)

    [known] = (await harness.service.records.known(reading.device.udi)).values()
    assert known.device.device_name == ""
    assert await tried_at(harness) == [0]


async def test_a_record_that_changed_comes_to_the_devices_under_it_a_few_at_a_time_and_stays_after_a_stop(
    database: Database,
) -> None:
    copy = RecordStore(database)
    readings = [replace(a_full_reading(f"u-{each}", a_udi(each)), basic_key=KEY) for each in range(5)]
    await copy.store(readings, read_at=NOW)
    await copy.basic_records.store_record(KEY, OTHER, read_at=NOW + 60, since=await copy.revision())

    async def propagate() -> bool:
        return await copy.propagate(KEY, source="eudamed", now=NOW + 60, context=ReadContext(), most=2)

    assert await propagate()
    names = [each.device.device_name for at in range(5) for each in (await copy.known(a_udi(at))).values()]
    assert sorted(names) == ["", "", "", "Other", "Other"]
    assert await copy.basic_records.unpropagated(10) == [KEY]
    while await propagate():
        pass
    names = [each.device.device_name for at in range(5) for each in (await copy.known(a_udi(at))).values()]
    assert names == ["Other"] * 5
    assert await copy.basic_records.unpropagated(10) == []
