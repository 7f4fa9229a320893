"""What one read of the register means to everybody who watches its subject."""

from typing import Any
from uuid import uuid4

import pytest

from registerwatch.notifications.tables import deliveries
from registerwatch.platform.structs import replace
from registerwatch.register.codes import ACTOR_STATUS_PREFIX, LEGISLATION_PREFIX
from registerwatch.register.models import Certificate, Completeness, DeviceReading
from registerwatch.register.observation import ReadContext
from registerwatch.watches import repository
from registerwatch.watches.models import FAILING_AFTER, WatchPatch
from registerwatch.watches.tables import events
from tests.register.builders import UDI, a_full_reading, a_row
from tests.support.harness import SRN, ServiceHarness
from tests.watches.builders import OFF, ON
from tests.watches.steps import add_webhook, due_subjects, take_awaiting, told_by_deliveries, tried_at

OTHER = "04099999999985"
EMAILS = ("first@acme.example", "second@acme.example")


def anew(udi: str = UDI, *, uuid: str = "u-1", version: int = 1, **differs: Any) -> DeviceReading:
    """A full reading of a device on the market."""
    return a_full_reading(uuid, udi, **{"version": version, "status_code": ON, "trade_name": "Alpha", **differs})


# One read serves all


async def test_one_read_serves_every_watch_of_active_accounts_and_no_other(harness: ServiceHarness) -> None:
    first, second = (
        await harness.owner_watching("first@acme.example"),
        await harness.owner_watching("second@acme.example"),
    )
    ended = await harness.owner_watching("ended@acme.example")
    elsewhere = await harness.owner_watching("elsewhere@acme.example", OTHER)
    await harness.store(anew())
    await harness.service.accounts.admin.set_period("ended@acme.example", None, harness.now)

    await harness.store(anew(reference="R-2"))

    for caller in (first, second):
        assert await harness.summaries(caller) == ["reference:  → R-2"]
        assert (await harness.watch(caller)).last_sync == harness.now
    for caller in (ended, elsewhere):
        assert await harness.events(caller) == []
    assert (await harness.watch(elsewhere, OTHER)).snapshot is None
    snapshot = (await harness.watch(ended)).snapshot
    assert snapshot is not None
    assert snapshot.reference == "", "an account whose period has ended keeps what it saw last"


async def test_the_first_read_is_the_baseline_and_makes_no_event(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()

    await harness.store(anew(certs=(Certificate("Z-1", expiry="2030-01-01"),)))

    watch = await harness.watch(caller)
    assert await harness.events(caller) == []
    assert (watch.label, watch.last_error) == ("Alpha", "")
    assert watch.snapshot is not None
    assert [each.number for each in watch.snapshot.certs or ()] == ["Z-1"]


async def test_an_event_tells_what_changed_when_and_of_what(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    await harness.store(anew())
    harness.clock.move(60)

    await harness.store(anew(status_code=OFF))

    [event] = await harness.events(caller)
    watch = await harness.watch(caller)
    assert (event.watch_id, event.subject, event.label) == (watch.id, UDI, "Alpha")
    assert event.created_at == watch.last_sync == harness.now
    assert event.summary == "status: On the EU market → No longer placed on the EU market"


async def test_watches_that_saw_different_things_last_have_different_events(harness: ServiceHarness) -> None:
    first = await harness.owner_watching("first@acme.example")
    await harness.store(anew(reference="R-1"))
    await harness.service.accounts.admin.set_period("first@acme.example", None, harness.now)
    second = await harness.owner_watching("second@acme.example")
    await harness.store(anew(reference="R-2"))
    await harness.service.accounts.admin.set_period("first@acme.example", None, harness.now + 1000)

    await harness.store(anew(reference="R-3"))

    assert await harness.summaries(first) == ["reference: R-1 → R-3"]
    assert await harness.summaries(second) == ["reference: R-2 → R-3"]


async def test_a_read_that_began_before_another_one_was_stored_is_left(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    await harness.store(anew(reference="OLD"))
    began = await harness.service.records.revision()
    await harness.store(anew(reference="NEW"), since=began)

    await harness.store(anew(reference="OLD"), since=began)

    assert await harness.summaries(caller) == ["reference: OLD → NEW"]
    watch = await harness.watch(caller)
    assert watch.snapshot is not None
    assert watch.snapshot.reference == "NEW"


async def test_a_read_that_one_without_news_overtook_is_left_too(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    await harness.store(anew(reference="NOW"))
    began = await harness.service.records.revision()
    await harness.store(anew(reference="NOW"), since=began)

    await harness.store(anew(reference="FOR A MOMENT"), since=began)

    assert await harness.summaries(caller) == []


async def test_a_read_of_an_actor_that_one_without_news_overtook_is_left_too(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching(EMAILS[0], SRN)
    await harness.store_actor(name="Name")
    began = (await harness.service.records.known_actor(SRN)).reads
    await harness.store_actor(name="Name", since=began)

    await harness.store_actor(name="Name for a moment", since=began)

    assert await harness.summaries(caller) == []


async def test_a_read_of_an_actor_that_began_before_another_one_was_stored_is_left(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching(EMAILS[0], SRN)
    await harness.store_actor(name="Old name")
    began = (await harness.service.records.known_actor(SRN)).reads
    await harness.store_actor(name="New name", since=began)

    await harness.store_actor(name="Old name", since=began)

    assert await harness.summaries(caller) == ["name: Old name → New name"]
    assert (await harness.watch(caller, SRN)).label == "New name"


async def test_events_survive_their_watch(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    await harness.store(anew())
    await harness.store(anew(reference="R-2"))
    watch = await harness.watch(caller)

    async with harness.database.transaction() as connection:
        await repository.remove(connection, caller.account.id, watch.id)

    assert [event.watch_id for event in await harness.events(caller)] == [watch.id]


# Labels


async def test_a_renamed_watch_keeps_its_name_and_others_follow_the_trade_name(harness: ServiceHarness) -> None:
    named, unnamed = (
        await harness.owner_watching("named@acme.example"),
        await harness.owner_watching("unnamed@acme.example"),
    )
    await harness.store(anew())
    async with harness.database.transaction() as connection:
        await repository.set_columns(
            connection, named.account.id, (await harness.watch(named)).id, WatchPatch(label="Ward 3").columns()
        )

    await harness.store(anew(trade_name="Beta"))

    for caller, label in ((named, "Ward 3"), (unnamed, "Beta")):
        [event] = await harness.events(caller)
        assert (event.summary, event.label) == ("trade_name: Alpha → Beta", label)
        assert (await harness.watch(caller)).label == label


async def test_a_device_without_a_trade_name_is_called_by_its_other_name_else_by_its_udi_di(
    harness: ServiceHarness,
) -> None:
    caller = await harness.owner_watching()

    await harness.store(anew(trade_name=""))
    assert (await harness.watch(caller)).label == UDI

    for name, device_name in ("M-2", ""), ("Bandage", "Bandage"):
        await harness.store(anew(trade_name="", device_name=device_name, device_model="M-2"))
        assert (await harness.watch(caller)).label == name == await harness.service.records.name_of(UDI)
    assert await harness.events(caller) == [], "it is shown, not compared"

    await harness.store(a_row(status="On"), lists_all=False)
    assert (await harness.watch(caller)).label == "Bandage", "a row tells no name"
    await harness.store(anew(trade_name="Alpha", device_name="Bandage"))
    assert (await harness.watch(caller)).label == "Alpha"


# How events travel on


async def test_what_a_strangers_refresh_brings_is_stored_and_delivered_at_once_and_listed_by_one_sync(
    harness: ServiceHarness,
) -> None:
    caller = await harness.owner_watching()
    webhook = await add_webhook(harness, caller)
    await harness.store(anew())

    await harness.store(anew(reference="R-2"))

    [delivery] = await harness.rows(deliveries)
    assert (delivery["webhook_id"], delivery["due_at"]) == (webhook, harness.now)
    [event] = await harness.rows(events)
    assert [each["id"] for each in (await told_by_deliveries(harness))[delivery["id"]]] == [event["id"]]
    assert await take_awaiting(harness, caller) == ["reference:  → R-2"]
    assert await take_awaiting(harness, caller) == []


async def test_what_a_recheck_brings_is_held_for_its_end_and_not_listed_again(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching(EMAILS[0], UDI, OTHER)
    await add_webhook(harness, caller)
    await harness.store(anew(), anew(OTHER, uuid="u-2"))
    context = ReadContext(held_until=harness.now + 900, is_recheck=True)

    await harness.store(anew(reference="R-2"), context=context)
    await harness.store(anew(OTHER, uuid="u-2", reference="R-3"), context=context)

    [delivery] = await harness.rows(deliveries)
    assert delivery["due_at"] == harness.now + 900
    assert await take_awaiting(harness, caller) == []
    await harness.service.notifications.outbox.release(context.batch)
    [delivery] = await harness.rows(deliveries)
    assert delivery["due_at"] == harness.now


async def test_a_sync_holds_its_own_accounts_delivery_back_and_nobody_elses(harness: ServiceHarness) -> None:
    mine, theirs = await harness.owner_watching(EMAILS[0]), await harness.owner_watching(EMAILS[1])
    my_webhook, their_webhook = await add_webhook(harness, mine), await add_webhook(harness, theirs)
    await harness.store(anew())
    context = ReadContext(held_until=harness.now + 120, account_id=mine.account.id)

    await harness.store(anew(reference="R-2"), context=context)

    due = {each["webhook_id"]: each["due_at"] - harness.now for each in await harness.rows(deliveries)}
    assert due == {my_webhook: 120, their_webhook: 0}
    assert await take_awaiting(harness, mine) == ["reference:  → R-2"], "also where the sync that found it was killed"
    assert await take_awaiting(harness, theirs) == ["reference:  → R-2"]


async def test_what_comes_after_a_run_has_closed_travels_by_itself(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    await add_webhook(harness, caller)
    await harness.store(anew())
    context = ReadContext(held_until=harness.now + 120, account_id=caller.account.id)
    await context.close()

    await harness.store(anew(reference="R-2"), context=context)

    [delivery] = await harness.rows(deliveries)
    assert delivery["batch"] != context.batch
    assert delivery["due_at"] == harness.now
    assert await take_awaiting(harness, caller) == ["reference:  → R-2"]


@pytest.mark.parametrize("held", [0, 60], ids=["no run", "a run whose delivery falls due"])
async def test_nothing_joins_a_delivery_that_may_be_on_its_way(harness: ServiceHarness, held: int) -> None:
    """A read of an actor stores its devices and itself, one after the other; in between a delivery may go out."""
    caller = await harness.owner_watching(EMAILS[0], UDI, SRN)
    await add_webhook(harness, caller)
    await harness.store(anew())
    await harness.store_actor()
    context = ReadContext(held_until=harness.now + held if held else 0, is_recheck=bool(held))

    await harness.store(anew(reference="R-2"), context=context)
    harness.clock.move(held // 2)
    await harness.store_actor(name="Acme Medical", context=context)

    events = {event.id for event in await harness.events(caller)}
    assert len(events) == 2
    told = [{each["id"] for each in events} for events in (await told_by_deliveries(harness)).values()]
    assert sorted(map(len, told)) == [1, 1]
    assert set().union(*told) == events


# What is no proof


async def test_a_bulk_row_that_lags_makes_no_event_but_lets_the_watch_be_read_next(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching(EMAILS[0], OTHER, UDI)
    await harness.store(anew(OTHER, uuid="u-2"))
    harness.clock.move(1)
    await harness.store(anew())
    assert await due_subjects(harness) == [OTHER, UDI]
    harness.clock.move(7 * 24 * 3600 - 10)

    await harness.store(a_row(version=2, reference="BULK", lags=True), lists_all=False)

    assert await harness.events(caller) == []
    assert await due_subjects(harness) == [UDI, OTHER]
    snapshot = (await harness.watch(caller)).snapshot
    assert snapshot is not None
    assert snapshot.reference == ""


async def test_a_row_of_a_record_that_was_never_read_in_full_makes_no_event(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching(EMAILS[0], OTHER, UDI)
    await harness.store(anew(OTHER, uuid="u-2"))
    async with harness.database.transaction() as connection:
        await repository.note_failure(connection, UDI, "The register is tired.", harness.now)
    assert await due_subjects(harness) == [OTHER, UDI]

    await harness.store(a_row(reference="ROW"), lists_all=False)

    watch = await harness.watch(caller)
    assert (watch.snapshot, watch.last_error) == (None, "The register is tired.")
    assert await due_subjects(harness) == [UDI, OTHER]


async def test_a_row_of_a_record_that_was_read_in_full_proves_what_it_tells(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    in_force: dict[str, Any] = {"legislation_code": LEGISLATION_PREFIX + "mdr", "status_date": "2026-01-01"}
    await harness.store(anew(certs=(Certificate("Z-1"),), **in_force))
    read_at = harness.now
    harness.clock.move(60)

    await harness.store(a_row(version=1, reference="ROW"), lists_all=False)

    assert await harness.summaries(caller) == ["reference:  → ROW"]
    assert ((await harness.watch(caller)).last_sync, await tried_at(harness)) == (read_at, [read_at]), (
        "its turn comes as ever"
    )
    await harness.store(anew(certs=(Certificate("Z-1"),), reference="ROW", **in_force))
    assert len(await harness.events(caller)) == 1


@pytest.mark.parametrize("row", [{}, {"latest": False, "legislation_code": LEGISLATION_PREFIX + "mdr"}])
async def test_a_row_of_a_record_that_may_not_be_current_makes_the_watch_due_and_no_event(
    harness: ServiceHarness, row: dict[str, Any]
) -> None:
    caller = await harness.owner_watching()
    legislation = row.get("legislation_code", LEGISLATION_PREFIX + "mdd")
    await harness.store(anew(legislation_code=legislation))

    await harness.store(a_row(version=1, reference="ROW", **row), lists_all=False)

    assert await harness.events(caller) == []
    assert await tried_at(harness) == [0]


async def test_a_read_in_full_that_began_before_a_row_was_compared_is_left(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    await harness.store(anew(reference="R-1", legislation_code=LEGISLATION_PREFIX + "ivdr"))
    began = await harness.service.records.revision()
    await harness.store(a_row(version=1, reference="R-2"), lists_all=False)

    await harness.store(anew(reference="R-1"), since=began)

    assert await harness.summaries(caller) == ["reference: R-1 → R-2"]


async def test_a_row_is_no_baseline(harness: ServiceHarness) -> None:
    await harness.store(anew(reference="R-1"))
    caller = await harness.owner_watching()

    await harness.store(a_row(version=1, reference="R-2"), lists_all=False)

    assert (await harness.watch(caller)).snapshot is None
    await harness.store(anew(reference="R-3"))
    assert await harness.events(caller) == []


async def test_a_row_that_says_nothing_new_leaves_the_watch_in_its_place(harness: ServiceHarness) -> None:
    await harness.owner_watching()
    await harness.store(anew(reference="R-1"))
    tried = await tried_at(harness)
    harness.clock.move(60)

    await harness.store(a_row(version=1, reference="R-1"), lists_all=False)

    assert await tried_at(harness) == tried


async def test_certificates_that_could_not_be_read_are_compared_when_they_can(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    await harness.store(anew(certs=(Certificate("Z-1"),)))
    partial = replace(anew(reference="R-2"), completeness=Completeness.ALL_BUT_CERTIFICATES, searched=False)

    await harness.store(partial)
    await harness.store(anew(reference="R-2", certs=(Certificate("Z-1", expiry="2030-01-01"),)))

    assert await harness.summaries(caller) == ["reference:  → R-2", "cert_expiry:  → 2030-01-01"]


async def test_a_change_of_a_certificate_names_the_certificate(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    await harness.store(anew(certs=(Certificate("Z-1", expiry="2030-01-01"),)))

    await harness.store(anew(certs=(Certificate("Z-1", expiry="2031-01-01"),)))

    [event] = await harness.events(caller)
    [change] = event.changes
    assert (change.field, change.old, change.new, change.certificate) == (
        "cert_expiry",
        "2030-01-01",
        "2031-01-01",
        "Z-1",
    )


# Twins and superseded versions


async def test_a_twin_that_does_not_answer_is_not_compared(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    regulation, directive = LEGISLATION_PREFIX + "mdr", LEGISLATION_PREFIX + "mdd"
    await harness.store(anew(legislation_code=regulation), a_row("u-9", legislation_code=directive, reference="OLD"))

    await harness.store(anew(legislation_code=regulation), a_row("u-9", legislation_code=directive, reference="OLDER"))

    assert await harness.events(caller) == []


async def test_another_record_that_answers_from_now_on_is_compared_with_the_one_before(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    await harness.store(anew(legislation_code=LEGISLATION_PREFIX + "mdd", reference="OLD"))

    await harness.store(
        anew(uuid="u-2", legislation_code=LEGISLATION_PREFIX + "mdr", reference="NEW"),
        a_row("u-1", legislation_code=LEGISLATION_PREFIX + "mdd", version=1),
    )

    assert await harness.summaries(caller) == ["reference: OLD → NEW"]


async def test_a_version_that_supersedes_is_one_event_and_the_superseded_one_none(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    await harness.store(anew())

    await harness.store(anew(uuid="u-2", version=2))
    await harness.store(anew(uuid="u-2", version=2))

    assert await harness.summaries(caller) == ["version: 1 → 2"]


async def test_a_bulk_row_that_takes_over_lets_the_watch_be_read_next_and_makes_no_event(
    harness: ServiceHarness,
) -> None:
    caller = await harness.owner_watching()
    await harness.store(anew(legislation_code=LEGISLATION_PREFIX + "mdd"))
    harness.clock.move(7 * 24 * 3600 - 10)

    await harness.store(
        a_row("u-2", version=1, legislation_code=LEGISLATION_PREFIX + "mdr", reference="X", lags=True), lists_all=False
    )

    assert await harness.events(caller) == []
    assert await tried_at(harness) == [0]


# Actors


async def test_an_actors_name_status_and_number_of_devices_are_compared(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching(EMAILS[0], SRN)
    active = ACTOR_STATUS_PREFIX + "active"
    await harness.store_actor(status_code=active, device_total=7)

    await harness.store_actor(name="Acme Medical", status_code=ACTOR_STATUS_PREFIX + "inactive", device_total=9)

    assert await harness.summaries(caller) == [
        "manufacturer_status: Active → Inactive; name: Acme → Acme Medical; device_total: 7 → 9"
    ]
    watch = await harness.watch(caller, SRN)
    assert (watch.kind, watch.label) == ("srn", "Acme Medical")


async def test_an_actor_read_without_status_and_number_keeps_both(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching(EMAILS[0], SRN)
    await harness.store_actor(status_code=ACTOR_STATUS_PREFIX + "active", device_total=7)

    await harness.store_actor(status_code="", device_total=None)

    assert await harness.events(caller) == []
    snapshot = (await harness.watch(caller, SRN)).snapshot
    assert snapshot is not None
    assert (snapshot.manufacturer_status, snapshot.device_total) == ("Active", "7")


async def test_an_actor_that_has_no_devices_any_more_is_a_change_to_zero(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching(EMAILS[0], SRN)
    await harness.store_actor(device_total=7)

    await harness.store_actor(device_total=0)

    assert await harness.summaries(caller) == ["device_total: 7 → 0"]


# Reads that bring nothing


async def test_a_failed_read_keeps_the_snapshot_and_says_why_to_active_accounts(harness: ServiceHarness) -> None:
    [device] = harness.unique_devices(1)
    owner, ended = await harness.sign_up(), await harness.sign_up("ended@acme.example")
    for each in (owner, ended):
        await harness.post_watches(each.api_key, device.primary_di)
    await harness.service.accounts.admin.set_period(ended.email, None, harness.now)
    before = await harness.get_list(owner.api_key, "watches")
    harness.faults.fail("any", "http-500")
    harness.clock.move(60)

    answer = await harness.post_sync(owner.api_key)

    assert answer == {"synced": 0, "events": [], "error": None, "failed": 1}
    [watch] = await harness.get_list(owner.api_key, "watches")
    assert "500" in watch["last_error"]
    assert watch["health"]["state"] == "ok"
    assert watch["health"]["since"]
    assert {**watch, "last_error": "", "health": before[0]["health"]} == before[0]
    assert (await harness.get_list(ended.api_key, "watches"))[0]["last_error"] == ""


async def test_a_subject_that_the_register_does_not_know_is_watched_until_it_does(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    known = harness.unique_devices(1)[0]

    [watch] = await harness.post_watches(owner.api_key, UDI)
    assert watch["last_error"] == "The register has no such record."
    assert (watch["last_sync"], watch["label"], watch["status"]) == (None, UDI, "")
    harness.world.register(replace(known, uuid=str(uuid4()), primary_di=UDI))
    answer = await harness.post_sync(owner.api_key)

    assert answer == {"synced": 1, "events": [], "error": None}, "the first successful read is the baseline"
    [watch] = await harness.get_list(owner.api_key, "watches")
    assert watch["last_error"] == ""
    assert watch["status"]


async def test_a_watch_that_fails_for_three_days_is_failing_until_it_is_read_again(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    [device] = harness.unique_devices(1)
    await harness.post_watches(owner.api_key, device.primary_di)
    harness.faults.fail("any", "http-400")
    await harness.post_sync(owner.api_key)
    [watch] = await harness.get_list(owner.api_key, "watches")
    since = watch["health"]["since"]

    harness.clock.move(FAILING_AFTER - 1)
    await harness.post_sync(owner.api_key)
    assert (await harness.get_list(owner.api_key, "watches"))[0]["health"] == {"state": "ok", "since": since}
    harness.clock.move(1)
    assert (await harness.get_list(owner.api_key, "watches"))[0]["health"] == {"state": "failing", "since": since}
    harness.faults.clear()
    await harness.post_sync(owner.api_key)
    assert (await harness.get_list(owner.api_key, "watches"))[0]["health"] == {"state": "ok", "since": None}
