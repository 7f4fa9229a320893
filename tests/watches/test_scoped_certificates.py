"""Watches of devices are told of certificates whose scope names them: once, and of none that was there before."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from registerwatch.accounts.models import Caller
from registerwatch.copy.certificates.scoped_certificates import StoredCertificates, with_scoped
from registerwatch.copy.tables import devices
from registerwatch.platform.clock import iso_utc
from registerwatch.platform.structs import replace
from registerwatch.register.certificates import ReadCertificate
from registerwatch.register.models import Certificate, from_document
from registerwatch.sources.eudamed.certificate_lists import EudamedCertificateLists
from registerwatch.watches.diff import compare
from registerwatch.watches.snapshot import SeenCertificate, Snapshot, decoded
from registerwatch.watches.tables import events
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.identifiers import sibling_udi_di
from registerwatch_standins.register.records import CertificateListing, Registration
from tests.pages.markup import Markup
from tests.support.harness import ServiceHarness, ServiceStarter
from tests.watches.certificate_steps import (
    HOUR,
    NUMBER,
    a_device,
    certify,
    list_certificate,
    read,
    read_all_scopes,
    sweep,
)
from tests.watches.steps import tried_at

ANOTHER_UDI = "04099999999992"


@pytest.fixture
async def harness(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    """A register whose certificate search ignores the Basic UDI-DI, so that scopes alone name devices."""
    async with start_service(world=GeneratedWorld(120, seed=7), basic_udi_filter_works=False) as harness:
        yield harness


async def certificate_events(harness: ServiceHarness, caller: Caller) -> list[tuple[str, str, str]]:
    return [
        (change.field, change.old, change.new)
        for event in await harness.events(caller)
        for change in event.changes
        if change.field.startswith("cert")
    ]


async def snapshot(harness: ServiceHarness, caller: Caller, udi: str) -> Snapshot:
    watch = await harness.watch(caller, udi)
    assert watch.snapshot is not None
    return watch.snapshot if isinstance(watch.snapshot, Snapshot) else decoded(watch.snapshot)


async def served(harness: ServiceHarness, udi: str) -> list[tuple[str, str]]:
    rows = [row for row in await harness.rows(devices) if row["primary_di"] == udi]
    return [(each.number, each.status) for row in rows for each in from_document(row["document"]).certs]


async def test_what_the_first_scopes_name_is_baseline_and_what_comes_later_is_told_once(
    harness: ServiceHarness,
) -> None:
    device = a_device(harness)
    assert device.basic_udi
    udi, srn, codes = device.primary_di, device.manufacturer.srn, (device.basic_udi,)
    old = harness.world.list_certificate(srn, number="OLD", basic_udis=codes, names_devices=True)
    caller = await harness.owner_watching("a@acme.example", udi)
    await read(harness, udi)
    await sweep(harness)
    await read_all_scopes(harness)
    assert not (await snapshot(harness, caller, udi)).scoped, "nothing of it was part of a read"
    assert await served(harness, udi) == [("OLD", "Issued")]
    await read(harness, udi)
    assert (await snapshot(harness, caller, udi)).scoped
    assert await certificate_events(harness, caller) == []

    new = harness.world.list_certificate(srn, number="NEW", basic_udis=codes, names_devices=True)
    harness.world.change_certificate(old.uuid, status="suspended")
    harness.register_log.clear()
    await sweep(harness)

    told = [("cert_status", "Issued", "Suspended"), ("certificate", "", "NEW")]
    assert sorted(await certificate_events(harness, caller)) == told
    assert "search" not in {each.kind for each in harness.register_log.requests}, "the device was not asked for"
    assert sorted(await served(harness, udi)) == [("NEW", "Issued"), ("OLD", "Suspended")]
    await read(harness, udi)
    await sweep(harness)
    assert sorted(await certificate_events(harness, caller)) == told, "once"

    harness.world.unlist_certificate(new.uuid)
    await sweep(harness)
    await read(harness, udi)
    assert await served(harness, udi) == [("OLD", "Suspended")]
    assert sorted(await certificate_events(harness, caller)) == told, "one that is gone is no change"


async def test_a_certificate_that_search_and_scope_name_is_one(start_service: ServiceStarter) -> None:
    async with start_service(world=GeneratedWorld(120, seed=7)) as harness:
        device = a_device(harness)
        assert device.basic_udi
        udi, srn, codes = device.primary_di, device.manufacturer.srn, (device.basic_udi,)
        await sweep(harness)
        await read_all_scopes(harness)
        caller = await harness.owner_watching("a@acme.example", udi)
        await read(harness, udi)

        both = harness.world.list_certificate(srn, number="BOTH", basic_udis=codes, names_devices=True)
        await sweep(harness)
        await read(harness, udi)
        harness.world.change_certificate(both.uuid, status="withdrawn")
        await sweep(harness)
        await read(harness, udi)

        assert await certificate_events(harness, caller) == [
            ("certificate", "", "BOTH"),
            ("cert_status", "Issued", "Withdrawn"),
        ]
        assert await served(harness, udi) == [("BOTH", "Withdrawn")]


async def test_an_imported_watch_begins_with_what_scopes_say_and_is_told_what_comes_after(
    harness: ServiceHarness,
) -> None:
    device = a_device(harness)
    assert device.basic_udi
    udi, srn, codes = device.primary_di, device.manufacturer.srn, (device.basic_udi,)
    await sweep(harness)
    await read_all_scopes(harness)
    await read(harness, udi)
    harness.world.list_certificate(srn, number="BEFORE", basic_udis=codes, names_devices=True)
    await sweep(harness)
    owner = await harness.sign_up()
    assert (await harness.post("/v1/import", owner.api_key, csv=udi)).json()["added"] == 1

    harness.world.list_certificate(srn, number="AFTER", basic_udis=codes, names_devices=True)
    await sweep(harness)
    await read(harness, udi)

    events = await harness.get_list(owner.api_key, "events")
    assert [each["summary"] for each in events] == ["certificate:  → AFTER"]


async def test_what_the_list_says_of_a_certificate_stands_for_devices_that_nobody_watches(
    harness: ServiceHarness,
) -> None:
    device = a_device(harness)
    assert device.basic_udi
    udi, srn = device.primary_di, device.manufacturer.srn
    await sweep(harness)
    await read(harness, udi)

    listed = harness.world.list_certificate(srn, number="NEW", basic_udis=(device.basic_udi,), names_devices=True)
    await sweep(harness)
    assert await served(harness, udi) == [("NEW", "Issued")]

    harness.world.change_certificate(listed.uuid, status="withdrawn")
    await sweep(harness)
    device_now = (await harness.get(f"/v1/devices/{udi}")).json()
    assert [(each["number"], each["status"]) for each in device_now["certs"]] == [("NEW", "Withdrawn")]
    assert await harness.rows(events) == []


async def test_a_younger_list_outdates_what_a_search_found_for_every_device_under_the_basic_udi_di(
    searched: ServiceHarness,
) -> None:
    harness = searched
    device = a_device(harness)
    assert device.basic_udi
    udi, sibling, srn = device.primary_di, sibling_udi_di(device.primary_di, 7), device.manufacturer.srn
    harness.world.register(replace(device, uuid=str(UUID(int=7)), primary_di=sibling))
    listed = harness.world.list_certificate(srn, number="NEW", basic_udis=(device.basic_udi,), names_devices=True)
    await sweep(harness)
    for each in udi, sibling:
        await read(harness, each)
    assert await served(harness, udi) == await served(harness, sibling) == [("NEW", "Issued")]
    harness.clock.move(HOUR)
    revision = await harness.service.records.revision()

    harness.world.change_certificate(listed.uuid, status="withdrawn")
    await sweep(harness)

    assert await served(harness, udi) == await served(harness, sibling) == [("NEW", "Withdrawn")]
    assert await harness.service.records.revision() > revision
    [entry, *_] = (await harness.get(f"/v1/devices/{udi}/history")).json()["entries"]
    assert (entry["observed_at"], [each["field"] for each in entry["changes"]]) == (iso_utc(harness.now), ["certs"])
    await read_all_scopes(harness)
    revision = await harness.service.records.revision()
    await sweep(harness)
    assert await harness.service.records.revision() == revision, "nothing is written anew"


async def test_a_certificate_of_another_manufacturer_is_none_of_the_device(harness: ServiceHarness) -> None:
    device = a_device(harness)
    assert device.basic_udi
    udi, srn, codes = device.primary_di, device.manufacturer.srn, (device.basic_udi,)
    other = next(each.manufacturer.srn for each in harness.unique_devices(60) if each.manufacturer.srn != srn)
    caller = await harness.owner_watching("a@acme.example", udi)
    await sweep(harness)
    await read_all_scopes(harness)
    await read(harness, udi)
    assert (await snapshot(harness, caller, udi)).scoped

    harness.world.list_certificate(other, number="OTHER", basic_udis=codes, names_devices=True)
    harness.world.list_certificate(srn, number="OWN", basic_udis=codes, names_devices=True)
    await sweep(harness)
    await read(harness, udi)

    assert await certificate_events(harness, caller) == [("certificate", "", "OWN")]
    assert await served(harness, udi) == [("OWN", "Issued")]


def seen(*certificates: SeenCertificate, searched: bool = True, scoped: bool = True) -> Snapshot:
    return Snapshot(certs=certificates, searched=searched, scoped=scoped)


def a_scoped(number: str = "Z-1", **differs: Any) -> SeenCertificate:
    fields = {"notified_body": "0123", "status": "Issued", "listed_in": "search", "is_scoped": True}
    return SeenCertificate(number, **{**fields, **differs})


def told(before: Snapshot, now: Snapshot) -> list[tuple[str, str, str]]:
    changes, kept = compare(before, now)
    assert compare(kept, now)[0] == [], "told once"
    return [(each.field, each.old, each.new) for each in changes]


NEW = [("certificate", "", "Z-1")]


def test_what_a_scope_names_is_new_once_all_scopes_were_part_of_a_baseline() -> None:
    for read_all in (True, False):
        assert told(seen(), seen(a_scoped(), scoped=read_all)) == NEW
    assert told(seen(scoped=False), seen(a_scoped())) == []
    assert told(seen(scoped=False), seen(a_scoped(), scoped=False)) == []


def test_what_does_not_count_yet_is_kept_and_a_search_that_finds_it_still_tells_it() -> None:
    before = seen(scoped=False)
    _, kept = compare(before, seen(a_scoped(), scoped=False))

    assert kept.certs == (a_scoped(),)
    assert told(kept, seen(a_scoped(is_scoped=False), scoped=False)) == NEW
    assert told(kept, seen(a_scoped(is_scoped=False))) == NEW
    assert compare(kept, seen(scoped=False))[1].certs == (), "what did not count yet is not gone"


def test_a_change_of_what_does_not_count_yet_is_told() -> None:
    suspended = [("cert_status", "Issued", "Suspended")]
    for scoped in (True, False):
        before, now = seen(a_scoped(), scoped=False), seen(a_scoped(status="Suspended"), scoped=scoped)
        assert told(before, now) == suspended


def test_what_was_known_beside_a_failed_read_is_no_news_and_its_changes_are() -> None:
    of_record = SeenCertificate("R-1", notified_body="0123", status="Issued", listed_in="record")
    partial = replace(seen(a_scoped(), searched=False), is_partial=True)

    assert told(partial, seen(a_scoped(is_scoped=False), of_record, searched=True)) == []
    assert told(partial, seen(a_scoped(), of_record, searched=False)) == []
    changed = a_scoped(status="Suspended", is_scoped=False)
    assert told(partial, seen(changed, of_record)) == [("cert_status", "Issued", "Suspended")]
    assert told(partial, replace(partial, certs=(a_scoped(status="Suspended"),))) == [
        ("cert_status", "Issued", "Suspended")
    ]
    both = replace(partial, certs=(a_scoped(), a_scoped("Z-2")))
    assert told(partial, both) == [("certificate", "", "Z-2")], "scopes had their say before"


def test_a_failed_read_changes_nothing_of_certificates_that_were_read() -> None:
    before = seen(a_scoped(is_scoped=False))
    failed = replace(seen(a_scoped(status="Suspended"), searched=False), is_partial=True)

    assert compare(before, failed) == ([], before)


def test_a_certificate_that_changes_its_place_is_no_news() -> None:
    found = a_scoped(is_scoped=False)

    for one, other in ((found, a_scoped()), (a_scoped(), found)):
        assert told(seen(one), seen(other)) == []
        assert told(seen(one), seen(other, searched=False)) == []
        assert told(seen(one), seen()) == []


def test_the_known_name_of_a_notified_body_stays_with_the_next_search() -> None:
    found = Certificate("Z-1", revision="01", notified_body="0123", listed_in="search")
    listed = replace(found, notified_body_name="A body", expiry="2030-01-01", scoped=True)

    joined = with_scoped((found,), {listed: 5}, StoredCertificates((found,), 3), is_searched=False)

    [own] = joined.certificates
    assert (own.expiry, own.notified_body_name) == ("2030-01-01", "A body")
    for scoped in ({listed: 5}, {}):
        again = with_scoped((found,), scoped, StoredCertificates((own,), 3), is_searched=True)
        assert [each.notified_body_name for each in again.certificates] == ["A body"]
    other = with_scoped((replace(found, notified_body=""),), {}, StoredCertificates((own,), 3), is_searched=True)
    assert [each.notified_body_name for each in other.certificates] == [""]


async def test_a_search_that_finds_what_a_scope_brought_changes_nothing_on_any_surface(harness: ServiceHarness) -> None:
    device = a_device(harness)
    await sweep(harness)
    await read(harness, device.primary_di)
    list_certificate(harness, device, "Z-1")
    await sweep(harness)
    await read_all_scopes(harness)

    async def shown() -> tuple[object, ...]:
        page = Markup.of(await harness.get(f"/d/{device.primary_di}"))
        certs = (await harness.get(f"/v1/devices/{device.primary_di}")).json()["certs"]
        history = (await harness.get(f"/v1/devices/{device.primary_di}/history")).json()["entries"]
        lines = Markup.of(await harness.get(f"/d/{device.primary_di}/history")).main
        named = [each.get("notified_body_name") for each in certs]
        return named, [row for row in page.rows if row[0].startswith("Z-1")], history, lines.count("Compare before")

    before = await shown()
    await read(harness, device.primary_di)

    assert before[0] == ["TÜV SÜD Product Service GmbH"]
    assert await shown() == before


def test_a_scope_that_names_the_device_no_more_ends_nothing() -> None:
    changes, kept = compare(seen(a_scoped()), seen())

    assert (changes, [each.is_gone for each in kept.certs or ()]) == ([], [True])
    assert told(kept, seen(a_scoped())) == []
    assert told(kept, seen(a_scoped(status="Suspended"))) == [("cert_status", "Issued", "Suspended")]


async def test_what_a_sweep_finds_of_a_certificate_of_many_devices_has_one_cause(harness: ServiceHarness) -> None:
    device = a_device(harness)
    assert device.basic_udi
    twin = harness.world.register(replace(device, uuid="00000000-0000-4000-8000-000000000001", primary_di=ANOTHER_UDI))
    caller = await harness.owner_watching("a@acme.example", device.primary_di, twin.primary_di)
    codes = (device.basic_udi,)
    listed = harness.world.list_certificate(device.manufacturer.srn, basic_udis=codes, names_devices=True)
    await sweep(harness)
    await read_all_scopes(harness)
    for udi in (device.primary_di, twin.primary_di):
        await read(harness, udi)

    harness.world.change_certificate(listed.uuid, status="suspended")
    await sweep(harness)

    events = await harness.events(caller)
    assert len(events) == 2
    assert len({event.cause for event in events} - {None}) == 1, "people are told it once"


@pytest.fixture
async def searched(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    """A register whose certificate search finds what covers a Basic UDI-DI, so that two places tell of certificates."""
    async with start_service(world=GeneratedWorld(120, seed=7)) as harness:
        yield harness


async def told_by_search_and_list(harness: ServiceHarness) -> tuple[Caller, Registration, CertificateListing]:
    """A watched device, and a certificate of which both places have told."""
    device = a_device(harness)
    codes = (device.basic_udi or "",)
    listed = harness.world.list_certificate(device.manufacturer.srn, number="Z", basic_udis=codes, names_devices=True)
    caller = await harness.owner_watching("a@acme.example", device.primary_di)
    await sweep(harness)
    await read_all_scopes(harness)
    await read(harness, device.primary_di)
    return caller, device, listed


async def test_a_list_that_is_older_than_a_search_tells_nothing_that_was_so_once(searched: ServiceHarness) -> None:
    caller, device, listed = await told_by_search_and_list(searched)
    searched.world.change_certificate(listed.uuid, status="suspended")
    await read(searched, device.primary_di)
    async with searched.database.transaction() as connection:
        await connection.execute(text("UPDATE certificates SET scopes_due_at = 0"))

    await read_all_scopes(searched)
    await sweep(searched)
    await read(searched, device.primary_di)

    assert await certificate_events(searched, caller) == [("cert_status", "Issued", "Suspended")]
    assert await served(searched, device.primary_di) == [("Z", "Suspended")]


async def test_a_new_certificate_is_told_although_its_device_is_read_while_its_scopes_are(
    harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller, device, _ = await told_by_search_and_list(harness)
    await sweep(harness)
    await read(harness, device.primary_di)
    codes = (device.basic_udi or "",)
    harness.world.list_certificate(device.manufacturer.srn, number="NEW", basic_udis=codes, names_devices=True)
    read_record = EudamedCertificateLists.record

    async def with_a_reader(lists: EudamedCertificateLists, uuid: str, **options: Any) -> ReadCertificate:
        record = await read_record(lists, uuid, **options)
        await harness.service.refresher.refresh(device.primary_di)
        return record

    monkeypatch.setattr(EudamedCertificateLists, "record", with_a_reader)
    await sweep(harness)

    assert await certificate_events(harness, caller) == [("certificate", "", "NEW")]


async def test_the_same_changes_of_a_certificate_have_one_kind_for_its_device_and_its_manufacturer(
    harness: ServiceHarness,
) -> None:
    device = a_device(harness)
    srn, codes = device.manufacturer.srn, (device.basic_udi or "",)
    listed = harness.world.list_certificate(
        srn, number="Z", basic_udis=codes, names_devices=True, status="suspended", expiry="2029-01-01"
    )
    caller = await harness.owner_watching("a@acme.example", device.primary_di, srn)
    await sweep(harness)
    await read_all_scopes(harness)
    await read(harness, device.primary_di)
    await sweep(harness)

    harness.world.change_certificate(listed.uuid, status="reinstated", expiry="2031-01-01")
    await sweep(harness)

    events = {event.subject: event for event in await harness.events(caller)}
    assert events.keys() == {device.primary_di, srn}
    assert {(event.kind, event.severity) for event in events.values()} == {("certificate", "medium")}
    assert len({event.summary for event in events.values()}) == 1


async def test_a_watch_is_due_where_a_list_that_may_be_older_says_something_else(searched: ServiceHarness) -> None:
    caller, _, listed = await told_by_search_and_list(searched)
    searched.world.change_certificate(listed.uuid, status="suspended")
    async with searched.database.transaction() as connection:
        await connection.execute(text("UPDATE devices SET certs_revision = revision + 1000"))

    await sweep(searched)

    assert await certificate_events(searched, caller) == []
    assert await tried_at(searched) == [0]


async def test_a_watch_is_due_where_the_list_changes_a_certificate_that_a_search_alone_found(
    searched: ServiceHarness,
) -> None:
    device = a_device(searched)
    srn, codes = device.manufacturer.srn, (device.basic_udi or "",)
    listed = searched.world.list_certificate(srn, number="Z", basic_udis=codes, names_devices=False)
    caller = await searched.owner_watching("a@acme.example", device.primary_di)
    await sweep(searched)
    await read(searched, device.primary_di)
    await sweep(searched)
    assert 0 not in await tried_at(searched), "nothing has changed"

    searched.world.change_certificate(listed.uuid, status="suspended")
    await sweep(searched)

    assert await tried_at(searched) == [0]
    await read(searched, device.primary_di)
    assert await certificate_events(searched, caller) == [("cert_status", "Issued", "Suspended")]


async def test_a_watch_is_due_where_a_certificate_that_a_search_found_is_listed_no_more(
    searched: ServiceHarness,
) -> None:
    caller, device, listed = await told_by_search_and_list(searched)
    searched.world.unlist_certificate(listed.uuid)
    await sweep(searched)

    assert await tried_at(searched) == [0]
    await read(searched, device.primary_di)
    assert await served(searched, device.primary_di) == []
    assert await certificate_events(searched, caller) == []


@pytest.mark.parametrize("names_devices", [False, True], ids=["found by a search alone", "named by its scope too"])
async def test_a_watch_is_due_where_a_certificate_that_a_search_found_has_another_number(
    searched: ServiceHarness, names_devices: bool
) -> None:
    device = a_device(searched)
    srn, codes = device.manufacturer.srn, (device.basic_udi or "",)
    listed = searched.world.list_certificate(srn, number="Z", basic_udis=codes, names_devices=names_devices)
    await searched.owner_watching("a@acme.example", device.primary_di)
    await sweep(searched)
    await read_all_scopes(searched)
    await read(searched, device.primary_di)
    await sweep(searched)
    assert 0 not in await tried_at(searched), "nothing has changed"

    searched.world.change_certificate(listed.uuid, number="ZX", status="withdrawn")
    await sweep(searched)

    assert await tried_at(searched) == [0]
    await read(searched, device.primary_di)
    assert await served(searched, device.primary_di) == [("ZX", "Withdrawn")]


@pytest.mark.parametrize("names_devices", [False, True], ids=["found by a search alone", "named by its scope too"])
async def test_a_device_that_is_listed_no_more_gets_the_certificates_of_scopes_and_none_of_those_that_share_its_record(
    searched: ServiceHarness, *, names_devices: bool
) -> None:
    device = a_device(searched)
    udi, sibling = device.primary_di, sibling_udi_di(device.primary_di, 7)
    twin = searched.world.register(replace(device, uuid=str(UUID(int=7)), primary_di=sibling))
    for each in udi, sibling:
        await read(searched, each)
    searched.world.remove(twin.uuid)
    await read(searched, sibling)

    searched.world.list_certificate(
        device.manufacturer.srn, number="Z", basic_udis=(device.basic_udi or "",), names_devices=names_devices
    )
    await sweep(searched)
    await read_all_scopes(searched)
    await read(searched, udi)

    of_scope = [("Z", "Issued")] if names_devices else []
    assert (await served(searched, udi), await served(searched, sibling)) == ([("Z", "Issued")], of_scope)


@pytest.mark.parametrize("in_record", ["issued", ""], ids=["issued in the record", "without a status in the record"])
async def test_what_a_search_says_of_a_certificate_is_not_overruled_by_the_record_without_another_search(
    searched: ServiceHarness, in_record: str
) -> None:
    harness = searched
    device, owner = a_device(harness), await harness.sign_up()
    udi, key = device.primary_di, owner.api_key
    certify(harness, device, status=in_record)
    listed = list_certificate(harness, device, NUMBER, expiry="2030-09-16", status="issued", names_devices=False)
    await sweep(harness)
    await read_all_scopes(harness)
    await harness.post_watches(key, udi)

    harness.world.change_certificate(listed.uuid, status="withdrawn")
    harness.clock.move(600)
    await harness.post_sync(key)
    list_certificate(harness, device, "Z-OTHER", expiry="2031-01-01", status="issued")  # changes what the device has
    await sweep(harness)
    await read_all_scopes(harness)

    certificates = (await harness.get(f"/v1/devices/{udi}")).json()["certs"]
    [watch] = await harness.get_list(key, "watches")
    events = await harness.get_list(key, "events")
    statuses = [
        each["new"] for event in reversed(events) for each in event["changes"] if each["field"] == "cert_status"
    ]
    assert [each["status"] for each in certificates if each["number"] == NUMBER] == ["Withdrawn"]
    assert (watch["certificate_standing"], statuses[-1:], statuses.count("Withdrawn")) == (
        "Withdrawn (1 of 2)",
        ["Withdrawn"],
        1,
    )
