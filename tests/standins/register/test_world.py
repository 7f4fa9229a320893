"""Changes over a world, the change log, and what a change moves."""

from datetime import timedelta

import pytest

from registerwatch.platform.structs import replace
from registerwatch_standins.register.filters import ActorFilter, CertificateFilter, DeviceFilter
from registerwatch_standins.register.records import Certificate, Registration
from registerwatch_standins.register.world import World

from .conftest import Clock


def with_certificates(world: World, listed_in: str) -> Registration:
    """A registration with a certificate that is listed in this place."""
    for record in world.newest(0, world.count):
        if any(each.listed_in == listed_in for each in record.certificates):
            return record
    raise AssertionError(f"no registration has a certificate of the {listed_in}")


def test_a_change_is_seen_by_every_way_of_reading(world: World) -> None:
    record = world.newest(40, 1)[0]
    world.change(record.uuid, reference="NEW-1")
    ways = [
        world.by_uuid(record.uuid),
        world.newest(40, 1)[0],
        *(each for each in world.by_primary_di(record.primary_di) if each.uuid == record.uuid),
    ]
    assert len(ways) == 3
    assert {each.reference for each in ways if each} == {"NEW-1"}


def test_a_change_makes_a_new_version_at_the_present_time(world: World, clock: Clock) -> None:
    record = world.newest(0, 1)[0]
    after = world.change(record.uuid, status="no-longer-on-the-market", status_date="2026-10-01")
    assert after.version_number == record.version_number + 1
    assert (after.version_date, after.last_updated) == ("2026-10-01T12:00:00.000", record.last_updated)
    written = [(change.field, change.old, change.new) for change in world.change_log]
    assert ("status", record.status, "no-longer-on-the-market") in written
    assert ("version_number", record.version_number, record.version_number + 1) in written
    assert {change.time for change in world.change_log} == {"2026-10-01T12:00:00.000"}


def test_a_change_of_certificates_moves_nothing_but_the_last_update(world: World) -> None:
    record = with_certificates(world, "basic-udi-record")
    changed = tuple(replace(each, expiry="2031-01-01") for each in record.certificates)
    after = world.change(record.uuid, certificates=changed)
    assert after == replace(record, certificates=changed, last_updated="2026-10-01T12:00:00.000")
    assert [(change.field, change.new) for change in world.change_log] == [("certificates", changed)]


def test_what_a_basic_udi_record_says_changes_for_all_registrations_under_it(world: World, clock: Clock) -> None:
    record = next(each for each in world.newest(0, world.count) if each.basic_udi)
    assert record.basic_udi
    siblings = world.by_basic_udi(record.basic_udi)
    assert len(siblings) > 1
    listed = with_certificates(world, "basic-udi-record").certificates[0]
    world.change(record.uuid, device_name="NAME")
    clock.advance(minutes=5)
    world.change(record.uuid, certificates=(listed, *record.certificates))
    after = world.by_basic_udi(record.basic_udi)
    assert {(each.device_name, each.basic_version) for each in after} == {("NAME", record.basic_version + 1)}
    assert {each.last_updated for each in after} == {"2026-10-01T12:05:00.000"}
    assert all(listed in each.certificates for each in after)
    versions = {each.uuid: each.version_number for each in siblings}
    assert {each.uuid for each in after if each.version_number != versions[each.uuid]} == {record.uuid}
    changed = {(change.uuid, change.field) for change in world.change_log if change.field != "version_number"}
    assert changed == {(each.uuid, field) for each in siblings for field in ("device_name", "certificates")}
    sibling = next(each for each in siblings if each.uuid != record.uuid)
    assert world.as_of(sibling, clock.now - timedelta(minutes=1)) == replace(
        sibling, device_name="NAME", basic_version=record.basic_version + 1, last_updated="2026-10-01T12:00:00.000"
    )


def test_a_new_version_can_be_forbidden_and_forced(world: World) -> None:
    record = world.newest(0, 1)[0]
    assert world.change(record.uuid, new_version=False, reference=record.reference) is not None
    assert world.change_log.written == 0, "what does not change is not written"
    assert world.change(record.uuid, new_version=False, reference="A").version_number == record.version_number
    assert [change.new for change in world.change_log.since(0)] == ["A"]
    assert world.change(record.uuid, new_version=True).version_number == record.version_number + 1


@pytest.mark.parametrize("field", ["uuid", "primary_di", "basic_udi", "manufacturer"])
def test_a_registration_keeps_what_identifies_it(world: World, field: str) -> None:
    with pytest.raises(ValueError, match=field):
        world.change(world.newest(0, 1)[0].uuid, **{field: "other"})  # type: ignore[arg-type]


def test_an_unknown_uuid_or_field_is_refused(world: World) -> None:
    with pytest.raises(KeyError):
        world.change("no-such-uuid", reference="A")
    with pytest.raises(TypeError):
        world.change(world.newest(0, 1)[0].uuid, colour="red")


def test_a_listed_certificate_changes_for_all_that_share_it(world: World) -> None:
    record = with_certificates(world, "certificate-search")
    certificate = record.certificates[0]
    sharing = [each for each in world.newest(0, world.count) if certificate in each.certificates]
    withdrawn = replace(certificate, status="withdrawn")
    world.change(record.uuid, certificates=(withdrawn, *record.certificates[1:]))
    now = [world.by_uuid(each.uuid) for each in sharing]
    assert len(now) > 1
    assert all(each and withdrawn in each.certificates for each in now)
    rows = world.search_certificates(CertificateFilter(number=certificate.number), 0, 10)[1]
    assert [row.certificate for row in rows] == [withdrawn]


def test_a_listed_certificate_can_be_renumbered_and_added_and_taken_out(world: World) -> None:
    record = with_certificates(world, "certificate-search")
    first = record.certificates[0]
    mine = CertificateFilter(actor_srn=record.manufacturer.srn)
    before = world.search_certificates(mine, 0, 50)[0]
    second = replace(first, number="NEW 1")
    world.change(record.uuid, certificates=(replace(first, number="RENUMBERED"), second, *record.certificates[1:]))
    numbers = [row.certificate.number for row in world.search_certificates(mine, 0, 50)[1]]
    assert len(numbers) == before + 1
    assert {"NEW 1", "RENUMBERED"} <= set(numbers)
    assert first.number not in numbers
    world.change(record.uuid, certificates=())
    left = world.search_certificates(mine, 0, 50)[0]
    assert left == before - len(record.certificates)
    world.change(record.uuid, certificates=(second,))
    assert world.search_certificates(mine, 0, 50)[0] == left + 1


def test_a_certificate_of_the_basic_udi_di_record_is_no_row_of_the_search(world: World) -> None:
    record = with_certificates(world, "basic-udi-record")
    total = world.search_certificates(CertificateFilter(), 0, 1)[0]
    added = Certificate("CE 9", None, None, None, None, "0123", "Body", "MDD_V", "issued", "basic-udi-record")
    world.change(record.uuid, certificates=(*record.certificates, added))
    assert world.search_certificates(CertificateFilter(), 0, 1)[0] == total
    assert [change.field for change in world.change_log] == ["certificates"]


def test_a_manufacturers_status_changes_for_all_its_devices(world: World) -> None:
    srn = world.newest(0, 1)[0].manufacturer.srn
    world.change_actor(srn, status="inactive", name="Renamed GmbH")
    total, records = world.search(DeviceFilter(srn=srn), 0, 1000)
    assert total == len(records) > 1
    assert {(each.manufacturer.status, each.manufacturer.name) for each in records} == {("inactive", "Renamed GmbH")}
    assert [(change.field, change.srn) for change in world.change_log] == [("status", srn), ("name", srn)]
    assert world.search_actors(ActorFilter(srn), 0, 5)[1][0].name == "Renamed GmbH"


def test_a_new_registration_comes_first_and_is_found_by_all_its_identifiers(world: World) -> None:
    before = world.count
    template = next(record for record in world.newest(0, 100) if record.basic_udi)
    new = replace(template, uuid="99999999-9999-4999-8999-999999999999", reference="FIRST")
    world.register(new)
    assert world.count == before + 1
    assert world.newest(0, 2) == [new, world.newest(1, 1)[0]]
    assert world.oldest(before, 5) == [new]
    assert new in world.by_primary_di(new.primary_di)
    assert new in world.by_basic_udi(new.basic_udi or "")
    assert new in world.search(DeviceFilter(srn=new.manufacturer.srn), 0, 1)[1]
    assert [change.field for change in world.change_log] == ["registration"]
    with pytest.raises(ValueError, match="taken"):
        world.register(new)
    assert world.change(new.uuid, reference="SECOND") in world.newest(0, 1)


def test_the_past_can_be_asked_for(world: World, clock: Clock) -> None:
    record = world.newest(3, 1)[0]
    morning = clock.now
    clock.advance(hours=2)
    after = world.change(record.uuid, reference="NOON")
    assert world.as_of(after, morning) == record
    assert world.as_of(after, clock.now) == after
    new = world.register(replace(record, uuid="99999999-9999-4999-8999-999999999999"))
    assert world.as_of(new, morning) is None


def test_pages_of_a_search_join_without_gap_or_overlap(world: World) -> None:
    for wanted in (DeviceFilter(), DeviceFilter(srn=busiest(world))):
        total, everything = world.search(wanted, 0, 10_000)
        pages = [record for start in range(0, total, 7) for record in world.search(wanted, start, 7)[1]]
        assert len(everything) == total > 20
        assert pages == everything


def busiest(world: World) -> str:
    """The SRN of the manufacturer with the most devices."""
    srns = [record.manufacturer.srn for record in world.newest(0, world.count)]
    return max(set(srns), key=srns.count)


def test_a_registration_that_is_taken_out_leaves_those_beside_it(world: World) -> None:
    record = world.newest(0, 1)[0]
    first, second = (replace(record, uuid=f"{digit * 8}-0000-4000-8000-000000000000") for digit in "12")
    count = world.count
    world.register(first)
    world.register(second)
    world.change(second.uuid, reference="KEPT")
    world.remove(first.uuid)
    assert world.count == count + 1
    assert world.by_uuid(first.uuid) is None
    assert [each.uuid for each in world.by_primary_di(record.primary_di)] == [second.uuid, record.uuid]
    found = world.by_uuid(second.uuid)
    assert found is not None
    assert found.reference == "KEPT"


def test_a_detail_can_stay_behind_its_registration(world: World) -> None:
    record = world.newest(0, 1)[0]
    world.hold_detail(record.uuid)
    after = world.change(record.uuid, reference="NEW-1")
    assert world.detail(record.uuid) == record
    assert world.by_uuid(record.uuid) == after
    world.release_details()
    assert world.detail(record.uuid) == after
