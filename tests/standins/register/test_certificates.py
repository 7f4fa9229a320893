"""Certificates as such: listed, changed, doubled and taken out, and what registrations say of them."""

from collections import Counter
from random import Random

import pytest

from registerwatch.platform.structs import replace
from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.generated import GeneratedArchive, GeneratedWorld
from registerwatch_standins.register.random_changes import make_random_changes
from registerwatch_standins.register.records import (
    MEASURED_STATUSES,
    Certificate,
    CertificateListing,
    Registration,
)
from registerwatch_standins.register.world import World

from .conftest import Clock


def everything(world: World) -> list[CertificateListing]:
    """All rows of the certificate search."""
    return world.search_certificates(CertificateFilter(), 0, 100_000)[1]


def held(world: World, record: Registration) -> list[Certificate]:
    """The certificates of a registration that are rows of the search."""
    now = world.by_uuid(record.uuid)
    assert now is not None
    return [each for each in now.certificates if each.listed_in == "certificate-search"]


def covered_row(world: World) -> tuple[CertificateListing, list[Registration]]:
    """A row that covers devices, and these."""
    row = next(each for each in everything(world) if each.basic_udis)
    return row, [record for code in row.basic_udis for record in world.by_basic_udi(code)]


def test_a_listed_certificate_comes_first_and_devices_that_it_covers_have_it(world: World) -> None:
    record = next(each for each in world.newest(0, 700) if each.basic_udi and not each.certificates)
    before = world.search_certificates(CertificateFilter(), 0, 1)[0]
    row = world.list_certificate(record.manufacturer.srn, number="Z-1", basic_udis=(record.basic_udi or "",))
    assert world.search_certificates(CertificateFilter(), 0, 1) == (before + 1, [row])
    assert world.search_certificates(CertificateFilter(basic_udi=record.basic_udi), 0, 5) == (1, [row])
    assert world.certificate(row.uuid) == row
    assert held(world, record) == [row.certificate]
    assert world.scope(row) == (record.basic_udi,)
    assert [(each.field, each.old, each.new) for each in world.change_log] == [("certificate", None, row.certificate)]
    with pytest.raises(KeyError):
        world.list_certificate("DE-MF-999999999")


def test_a_change_of_a_certificate_makes_a_version_and_holds_for_its_devices(world: World) -> None:
    row, records = covered_row(world)
    after = world.change_certificate(row.uuid, status="suspended", expiry=None)
    assert (after.uuid, after.ulid, after.version_number) == (row.uuid, row.ulid, row.version_number + 1)
    assert all(after.certificate in held(world, record) for record in records)
    assert row.certificate not in held(world, records[0])
    written = [(change.uuid, change.primary_di, change.field, change.new) for change in world.change_log]
    assert written == [
        (row.uuid, None, "certificate_status", "suspended"),
        (row.uuid, None, "certificate_expiry", None),
    ]
    assert world.change_certificate(row.uuid, status="suspended") == after, "nothing differs"


def test_a_change_through_a_device_is_a_change_of_the_certificate(world: World) -> None:
    row, records = covered_row(world)
    renumbered = replace(row.certificate, revision="R9")
    rest = [each for each in records[0].certificates if each != row.certificate]
    world.change(records[0].uuid, certificates=(renumbered, *rest))
    after = world.certificate(row.uuid)
    assert after is not None
    assert (after.certificate, after.version_number) == (renumbered, row.version_number + 1)
    assert [each.field for each in world.change_log] == ["certificates", "certificate_revision"]


def test_a_certificate_that_goes_is_gone_everywhere(world: World) -> None:
    row, records = covered_row(world)
    world.unlist_certificate(row.uuid)
    assert world.certificate(row.uuid) is None
    assert row.ulid not in {each.ulid for each in everything(world)}
    assert all(row.certificate not in held(world, record) for record in records)
    with pytest.raises(KeyError):
        world.unlist_certificate(row.uuid)
    world.change(records[0].uuid, certificates=(*held(world, records[0]), row.certificate))
    assert world.search_certificates(CertificateFilter(number=row.certificate.number), 0, 5)[0] == 1, "it is back"


def test_of_twins_one_can_change_and_one_can_go(world: World) -> None:
    row, records = covered_row(world)
    twin = world.twin_certificate(row.uuid)
    assert (twin.certificate, twin.basic_udis) == (row.certificate, row.basic_udis)
    assert {twin.uuid, twin.ulid}.isdisjoint({row.uuid, row.ulid})
    world.change_certificate(twin.uuid, status="withdrawn")
    assert held(world, records[0]) == held(world, records[-1]) == list(records[0].certificates)
    assert world.certificate(row.uuid) == row
    world.unlist_certificate(twin.uuid)
    assert row.certificate in held(world, records[0])


@pytest.mark.parametrize("stays", [False, True])
def test_a_version_can_come_under_another_uuid(world: World, *, stays: bool) -> None:
    row, _ = covered_row(world)
    total = len(everything(world))
    world.certificate_versions = "new-uuid-beside-old" if stays else "new-uuid"
    after = world.change_certificate(row.uuid, status="restricted")
    assert after.uuid != row.uuid
    assert after.ulid == row.ulid
    rows = [each for each in everything(world) if each.ulid == row.ulid]
    old = replace(row, latest_version=False)
    assert rows == ([after, old] if stays else [after])
    assert world.certificate(row.uuid) == (old if stays else None)
    assert len(everything(world)) == total + stays
    with pytest.raises(KeyError):
        world.change_certificate(row.uuid, status="issued")
    assert world.change_certificate(after.uuid, status="issued").version_number == row.version_number + 2


def test_a_refusal_comes_first(world: World) -> None:
    srn = everything(world)[0].manufacturer.srn
    before, archived = world.refusals(0, 50)
    refused = world.refuse_application(srn, reference="APP-1")
    assert world.refusals(0, 50) == (before + 1, [refused, *archived])
    assert refused.refused_on == "2026-10-01"
    assert [(change.field, change.new) for change in world.change_log] == [("application", refused)]


def test_the_past_of_certificates_and_actors_can_be_asked_for(world: World, clock: Clock) -> None:
    row, _ = covered_row(world)
    srn, morning = row.manufacturer.srn, clock.now
    actor = world.actor(srn)
    clock.advance(hours=1)
    new = world.list_certificate(srn)
    world.change_certificate(row.uuid, status="withdrawn")
    world.change_actor(srn, name="Renamed GmbH")
    noon = clock.now
    clock.advance(hours=1)
    world.unlist_certificate(row.uuid)
    assert world.certificate_as_of(row.ulid, morning) == row
    then = world.certificate_as_of(row.ulid, noon)
    assert then is not None
    assert (then.certificate.status, then.manufacturer.name) == ("withdrawn", "Renamed GmbH")
    assert world.certificate_as_of(row.ulid, clock.now) is None
    assert [world.certificate_as_of(new.ulid, moment) is None for moment in (morning, noon)] == [True, False]
    rows = world.certificates_as_of(CertificateFilter(), morning)
    assert row in rows
    assert len(rows) == world.search_certificates(CertificateFilter(), 0, 1)[0]
    assert world.actor_as_of(srn, morning) == actor != world.actor_as_of(srn, noon) == world.actor(srn)


def test_a_world_has_a_plausible_number_of_certificates() -> None:
    world = GeneratedWorld(20_000, seed=3)
    rows = everything(world)
    assert 250 < len(rows) < 400
    assert len({row.uuid for row in rows}) == len({row.ulid for row in rows}) == len(rows)
    statuses = Counter(row.certificate.status for row in rows)
    assert {"issued", "suspended", "withdrawn", "restricted"} <= statuses.keys()
    assert statuses.keys() <= set(MEASURED_STATUSES)
    assert statuses["issued"] > len(rows) / 3
    assert 5 < sum(row.certificate.expiry is None for row in rows) < 40
    names = Counter((row.certificate.notified_body, row.certificate.number) for row in rows)
    assert max(names.values()) > 1
    alike = Counter((*key(row), row.certificate.issue_date) for row in rows)
    assert len(alike) > len(names), "a number is listed with several dates"
    assert {row.certificate.revision for row in rows} == {None}
    naming = [row for row in rows if world.scope(row)]
    assert 0 < len(naming) < sum(bool(row.basic_udis) for row in rows)
    bodies = world.notified_bodies()
    assert {row.certificate.notified_body: row.certificate.notified_body_name for row in rows}.items() <= bodies.items()
    assert 10 < world.refusals(0, 1)[0] < 60
    issued = [row.certificate.issue_date or "" for row in rows]
    assert issued == sorted(issued, reverse=True)


def key(row: CertificateListing) -> tuple[str, str]:
    """Body and number."""
    return row.certificate.notified_body, row.certificate.number


def test_as_many_certificates_as_are_asked_for_come_the_same_each_time() -> None:
    one, other = (GeneratedArchive(60, 4, certificates=700) for _ in range(2))
    assert one.listings() == other.listings()
    assert one.refusals() == other.refusals()
    assert len({row.uuid for row in one.listings()}) == 700


def test_pages_shift_while_certificates_come_and_go() -> None:
    world = GeneratedWorld(60, 4, certificates=50)
    rng, listed = Random(1), everything(world)
    for _ in range(30):
        if rng.random() < 0.5:
            listed.insert(0, world.list_certificate(rng.choice(listed).manufacturer.srn))
        else:
            world.unlist_certificate(listed.pop(rng.randrange(len(listed))).uuid)
        assert world.search_certificates(CertificateFilter(), 0, 20) == (len(listed), listed[:20])
    assert everything(world) == listed


@pytest.mark.parametrize("seed", range(4))
def test_registrations_and_the_listing_agree_whatever_happens(seed: int, clock: Clock) -> None:
    world, rng = GeneratedWorld(150, seed, clock=clock), Random(seed)
    world.certificate_versions = rng.choice(("same-uuid", "new-uuid", "new-uuid-beside-old"))
    taken: list[tuple[str, Certificate]] = []
    for _ in range(25):
        make_random_changes(world, rng, 4)
        latest = [row for row in everything(world) if row.latest_version]
        world.twin_certificate(rng.choice(latest).uuid)
        world.unlist_certificate(rng.choice(latest).uuid)
        holders = [record for record in world.newest(0, 150) if held(world, record)]
        if holders:
            record = rng.choice(holders)
            *rest, last = held(world, record)
            world.change(record.uuid, certificates=tuple(rest))
            taken.append((record.uuid, last))
        if taken and rng.random() < 0.5:
            uuid, certificate = taken.pop(0)
            present = world.by_uuid(uuid)
            assert present is not None
            if all(each.number != certificate.number for each in present.certificates):
                world.change(uuid, certificates=(*present.certificates, certificate))
        assert_agreement(world)


def assert_agreement(world: World) -> None:
    """What a registration has is listed, and what covers its Basic UDI-DI it has."""
    for record in world.newest(0, world.count):
        mine = {(each.number, each.revision): each for each in held(world, record)}
        rows = world.search_certificates(CertificateFilter(actor_srn=record.manufacturer.srn), 0, 1000)[1]
        latest = [row for row in rows if row.latest_version]
        assert set(mine.values()) <= {row.certificate for row in latest}
        covering = [row.certificate for row in latest if record.basic_udi in row.basic_udis]
        assert {(each.number, each.revision) for each in covering} <= mine.keys()
