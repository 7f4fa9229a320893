"""Drift: random changes, each in the change log and each seen by who asks."""

from random import Random
from typing import Any

from registerwatch_standins.register.changes import Change
from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.identifiers import is_gtin14
from registerwatch_standins.register.random_changes import make_random_changes
from registerwatch_standins.register.records import OF_BASIC_UDI
from registerwatch_standins.register.world import World

from .conftest import Clock


def test_the_same_generator_makes_the_same_changes(clock: Clock) -> None:
    one, other = GeneratedWorld(300, 4, clock=clock), GeneratedWorld(300, 4, clock=clock)
    assert make_random_changes(one, Random(9), 200) == make_random_changes(other, Random(9), 200)
    assert one.newest(0, one.count) == other.newest(0, other.count)


def test_all_kinds_of_change_come(world: World) -> None:
    changes = make_random_changes(world, Random(1), 600)
    fields = {change.field for change in changes}
    assert {"status", "status_date", "trade_names", "risk_class", "reference", "version_number"} <= fields
    assert {"registration", "certificates"} <= fields
    assert {"certificate", "certificate_status", "certificate_revision", "application"} <= fields
    certificates: list[tuple[Any, Any]] = [(each.old, each.new) for each in changes if each.field == "certificates"]
    assert any(len(old) < len(new) for old, new in certificates)
    pairs = [pair for old, new in certificates for pair in zip(old, new, strict=False)]
    for field in ("status", "expiry"):
        assert any(getattr(before, field) != getattr(after, field) for before, after in pairs)
    assert any(change.primary_di is None and change.field == "status" for change in changes)


def test_the_change_log_and_the_world_say_the_same(world: World) -> None:
    latest: dict[tuple[str, str], Change] = {}
    for change in make_random_changes(world, Random(2), 400):
        if change.primary_di and change.field not in ("registration", "certificates"):
            latest[change.uuid, change.field] = change
    assert len(latest) > 100
    for (uuid, field), change in latest.items():
        record = world.by_uuid(uuid)
        assert record is not None
        assert getattr(record, field) == change.new


def test_a_field_vanishes_and_comes_back_as_it_was(world: World) -> None:
    changes = make_random_changes(world, Random(5), 500)
    vanished = [change for change in changes if change.old and change.new in (None, ())]
    returned = [change for change in changes if change.old in (None, ()) and change.new]
    pairs = [
        (gone, back)
        for gone in vanished
        for back in returned
        if (gone.uuid, gone.field, gone.old) == (back.uuid, back.field, back.new)
    ]
    assert pairs


def test_new_registrations_come_first_with_valid_udi_dis(world: World) -> None:
    before = world.count
    new = [change for change in make_random_changes(world, Random(6), 200) if change.field == "registration"]
    assert world.count == before + len(new) > before
    assert {record.uuid for record in world.newest(0, len(new))} == {change.uuid for change in new}
    records = [world.by_uuid(change.uuid) for change in new]
    assert all(record and (record.issuing_agency != "gs1" or is_gtin14(record.primary_di)) for record in records)


def test_random_changes_can_be_kept_to_some_devices(world: World) -> None:
    chosen = world.newest(10, 3)
    changes = make_random_changes(world, Random(7), 80, [chosen[0].uuid, chosen[1].primary_di])
    allowed = {record.uuid for each in chosen[:2] for record in world.by_primary_di(each.primary_di)}
    own = [each for each in changes if each.primary_di and each.field not in {*OF_BASIC_UDI, "certificates"}]
    devices = {change.uuid for change in own if change.field != "registration"}
    assert devices <= allowed | {change.uuid for change in changes if change.field == "registration"}
    assert {change.srn for change in changes} <= {each.manufacturer.srn for each in chosen[:2]}


def test_random_changes_of_certificates_are_seen_by_who_searches_them(world: World) -> None:
    changes = make_random_changes(world, Random(3), 400)
    rows = {row.uuid: row for row in world.search_certificates(CertificateFilter(), 0, 1000)[1]}
    statuses = {each.uuid: each.new for each in changes if each.field == "certificate_status" and each.uuid in rows}
    assert {uuid: rows[uuid].certificate.status for uuid in statuses} == statuses != {}
    refused = [each.uuid for each in changes if each.field == "application"]
    assert [each.uuid for each in world.refusals(0, len(refused))[1]] == refused[::-1] != []
    listed = [each.uuid for each in changes if each.field == "certificate" and each.old is None]
    assert len(set(listed)) > 5
    for record in world.newest(0, 700):
        keys = [(each.number, each.revision) for each in record.certificates if each.listed_in == "certificate-search"]
        names = {(row.certificate.number, row.certificate.revision) for row in rows.values()}
        assert set(keys) <= names
