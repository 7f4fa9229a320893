"""What the register's answers hold, beyond their shapes, to which `tests/contracts` holds them."""

from datetime import datetime

from registerwatch_standins.register.records import OtherCode
from registerwatch_standins.register.wire.basic_records import basic_udi_record

from .conftest import Register

_FILLED = """
basicUdi primaryDi uuid ulid basicUdiDiDataUlid riskClass tradeName manufacturerName manufacturerSrn manufacturerStatus
deviceStatusType reference latestVersion versionNumber basicUdiDataVersionNumber containerPackageCount
"""
FILLED = set(_FILLED.split())


async def test_all_of_a_search_row_that_the_register_does_not_send_is_null(register: Register) -> None:
    page = await register.search(size=300, pageSize=300)
    for row in page["content"]:
        assert {key for key, value in row.items() if value is not None} <= FILLED


async def test_devices_of_one_basic_udi_di_have_one_record_whose_ulid_their_rows_name(register: Register) -> None:
    world = register.world
    record = next(each for each in world.newest(0, 700) if each.basic_udi)
    rows = (await register.search(basicUdi=record.basic_udi))["content"]
    records = [await register.record("/devices/basicUdiData/udiDiData", row["uuid"]) for row in rows]
    assert len(rows) > 1
    assert all(each == records[0] for each in records)
    assert {row["basicUdiDiDataUlid"] for row in rows} == {records[0]["ulid"]}


async def test_a_legacy_device_has_a_record_by_its_own_code_and_a_row_without_one(register: Register) -> None:
    record = next(each for each in register.world.newest(0, 700) if each.legislation == "mdd")
    [row, *_] = (await register.search(primaryDi=record.primary_di))["content"]
    basic = await register.record("/devices/basicUdiData/udiDiData", record.uuid)
    assert basic["basicUdi"]["code"] == f"B-{record.primary_di}"
    assert basic["legislation"] == {"code": "refdata.applicable-legislation.mdd", "legacyDirective": True}
    assert (basic["implantable"], basic["active"], basic["measuringFunction"], basic["device"]) == (None,) * 4
    assert row["basicUdi"] is None or row["uuid"] != record.uuid


async def test_packages_are_a_tree_around_the_device(register: Register) -> None:
    record = register.world.newest(0, 1)[0]
    box = OtherCode("14000000000003", "container_package", 10)
    register.world.change(
        record.uuid, other_codes=(box, OtherCode("24000000000000", "container_package", 4, contains=box.code))
    )
    item = (await register.record("/devices/udiDiData", record.uuid))["containedItem"]
    assert item["itemIdentifier"]["code"] == record.primary_di
    [inner] = item["containedItems"]
    [outer] = inner["containedItems"]
    assert [(each["itemIdentifier"]["code"], each["numberOfItems"]) for each in (inner, outer)] == [
        (box.code, 10),
        ("24000000000000", 4),
    ]


async def test_a_timestamp_has_as_many_digits_of_a_fraction_as_it_needs(register: Register) -> None:
    digits = set()
    for record in register.world.newest(0, 700):
        moment = basic_udi_record(record, None, None)["lastUpdated"]
        digits.add(len(moment.partition(".")[2]))
        assert not moment.endswith((".", "Z"))
        assert datetime.fromisoformat(moment) == datetime.fromisoformat(record.last_updated)
    assert digits == {0, 1, 2, 3}


async def test_a_ulid_tells_when_a_registration_was_made(register: Register) -> None:
    rows = (await register.search(size=300, pageSize=300))["content"]
    assert [row["ulid"][:10] for row in rows] == sorted((row["ulid"][:10] for row in rows), reverse=True)
