"""What one read of the register means to everybody who watches its subject."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace

from registerwatch.accounts.models import Caller
from registerwatch.register.codes import ACTOR_STATUS_PREFIX, LEGISLATION_PREFIX
from registerwatch.register.models import Certificate, Completeness, DeviceReading
from registerwatch.register.observation import ReadContext
from registerwatch.watches import repository
from registerwatch.watches.models import FAILING_AFTER
from tests.conftest import StageMaker
from tests.register.builders import UDI, a_full_reading, a_row
from tests.support.stage import Stage
from tests.watches.builders import OFF, ON
from tests.watches.room import SRN, Room, listed, lone_devices, synced, watched_at

pytestmark = pytest.mark.anyio

OTHER = "04099999999985"
EMAILS = ("first@acme.example", "second@acme.example")


def anew(udi: str = UDI, *, uuid: str = "u-1", version: int = 1, **differs: Any) -> DeviceReading:
    """A full reading of a device on the market."""
    return a_full_reading(uuid, udi, **{"version": version, "status_code": ON, "trade_name": "Alpha", **differs})


# One read serves all


async def test_one_read_serves_every_watch_of_active_accounts_and_no_other(room: Room) -> None:
    first, second = await room.watch_service("first@acme.example"), await room.watch_service("second@acme.example")
    ended = await room.watch_service("ended@acme.example")
    elsewhere = await room.watch_service("elsewhere@acme.example", OTHER)
    await room.read(anew())
    await room.accounts.admin.set_period("ended@acme.example", None, int(room.clock.now()))

    await room.read(anew(reference="R-2"))

    for caller in (first, second):
        assert await room.summaries(caller) == ["reference:  → R-2"]
        assert (await room.watch(caller)).last_sync == int(room.clock.now())
    for caller in (ended, elsewhere):
        assert await room.events(caller) == []
    assert (await room.watch(elsewhere, OTHER)).snapshot is None
    snapshot = (await room.watch(ended)).snapshot
    assert snapshot is not None
    assert snapshot.reference == "", "an account whose period has ended keeps what it saw last"


async def test_the_first_read_is_the_baseline_and_makes_no_event(room: Room) -> None:
    caller = await room.watch_service()

    await room.read(anew(certs=(Certificate("Z-1", expiry="2030-01-01"),)))

    watch = await room.watch(caller)
    assert await room.events(caller) == []
    assert (watch.label, watch.last_error) == ("Alpha", "")
    assert watch.snapshot is not None
    assert [each.number for each in watch.snapshot.certs or ()] == ["Z-1"]


async def test_an_event_tells_what_changed_when_and_of_what(room: Room) -> None:
    caller = await room.watch_service()
    await room.read(anew())
    room.clock.move(60)

    await room.read(anew(status_code=OFF))

    [event] = await room.events(caller)
    watch = await room.watch(caller)
    assert (event.watch_id, event.subject, event.label) == (watch.id, UDI, "Alpha")
    assert event.created_at == watch.last_sync == int(room.clock.now())
    assert event.summary == "status: On the EU market → No longer placed on the EU market"


async def test_watches_that_saw_different_things_last_have_different_events(room: Room) -> None:
    first = await room.watch_service("first@acme.example")
    await room.read(anew(reference="R-1"))
    await room.accounts.admin.set_period("first@acme.example", None, int(room.clock.now()))
    second = await room.watch_service("second@acme.example")
    await room.read(anew(reference="R-2"))
    await room.accounts.admin.set_period("first@acme.example", None, int(room.clock.now()) + 1000)

    await room.read(anew(reference="R-3"))

    assert await room.summaries(first) == ["reference: R-1 → R-3"]
    assert await room.summaries(second) == ["reference: R-2 → R-3"]


async def test_a_read_that_began_before_another_one_was_stored_is_left(room: Room) -> None:
    caller = await room.watch_service()
    await room.read(anew(reference="OLD"))
    began = await room.copy.revision()
    await room.read(anew(reference="NEW"), since=began)

    await room.read(anew(reference="OLD"), since=began)

    assert await room.summaries(caller) == ["reference: OLD → NEW"]
    watch = await room.watch(caller)
    assert watch.snapshot is not None
    assert watch.snapshot.reference == "NEW"


async def test_a_read_that_one_without_news_overtook_is_left_too(room: Room) -> None:
    caller = await room.watch_service()
    await room.read(anew(reference="NOW"))
    began = await room.copy.revision()
    await room.read(anew(reference="NOW"), since=began)

    await room.read(anew(reference="FOR A MOMENT"), since=began)

    assert await room.summaries(caller) == []


async def test_a_read_of_an_actor_that_one_without_news_overtook_is_left_too(room: Room) -> None:
    caller = await room.watch_service(EMAILS[0], SRN)
    await room.read_actor(name="Name")
    began = await room.copy.actor_reads(SRN)
    await room.read_actor(name="Name", since=began)

    await room.read_actor(name="Name for a moment", since=began)

    assert await room.summaries(caller) == []


async def test_a_read_of_an_actor_that_began_before_another_one_was_stored_is_left(room: Room) -> None:
    caller = await room.watch_service(EMAILS[0], SRN)
    await room.read_actor(name="Old name")
    began = await room.copy.actor_reads(SRN)
    await room.read_actor(name="New name", since=began)

    await room.read_actor(name="Old name", since=began)

    assert await room.summaries(caller) == ["name: Old name → New name"]
    assert (await room.watch(caller, SRN)).label == "New name"


async def test_events_survive_their_watch(room: Room) -> None:
    caller = await room.watch_service()
    await room.read(anew())
    await room.read(anew(reference="R-2"))
    watch = await room.watch(caller)

    async with room.database.transaction() as connection:
        await repository.remove(connection, caller.account.id, watch.id)

    assert [event.watch_id for event in await room.events(caller)] == [watch.id]


# Labels


async def test_a_renamed_watch_keeps_its_name_and_others_follow_the_trade_name(room: Room) -> None:
    named, unnamed = await room.watch_service("named@acme.example"), await room.watch_service("unnamed@acme.example")
    await room.read(anew())
    async with room.database.transaction() as connection:
        await repository.rename(connection, named.account.id, (await room.watch(named)).id, "Ward 3")

    await room.read(anew(trade_name="Beta"))

    for caller, label in ((named, "Ward 3"), (unnamed, "Beta")):
        [event] = await room.events(caller)
        assert (event.summary, event.label) == ("trade_name: Alpha → Beta", label)
        assert (await room.watch(caller)).label == label


async def test_a_device_without_a_trade_name_is_called_by_its_udi_di(room: Room) -> None:
    caller = await room.watch_service()

    await room.read(anew(trade_name=""))

    assert (await room.watch(caller)).label == UDI


# How events travel on


async def test_what_a_strangers_refresh_brings_is_stored_and_delivered_at_once_and_listed_by_one_sync(
    room: Room,
) -> None:
    caller = await room.watch_service()
    webhook = await room.with_webhook(caller)
    await room.read(anew())

    await room.read(anew(reference="R-2"))

    [delivery] = await room.deliveries()
    assert (delivery["webhook_id"], delivery["due_at"]) == (webhook, int(room.clock.now()))
    assert await room.taken(caller) == ["reference:  → R-2"]
    assert await room.taken(caller) == []


async def test_what_a_recheck_brings_is_held_for_its_end_and_not_listed_again(room: Room) -> None:
    caller = await room.watch_service(EMAILS[0], UDI, OTHER)
    await room.with_webhook(caller)
    await room.read(anew(), anew(OTHER, uuid="u-2"))
    context = ReadContext(held_until=int(room.clock.now()) + 900, is_recheck=True)

    await room.read(anew(reference="R-2"), context=context)
    await room.read(anew(OTHER, uuid="u-2", reference="R-3"), context=context)

    [delivery] = await room.deliveries()
    assert delivery["due_at"] == int(room.clock.now()) + 900
    assert await room.taken(caller) == []
    await room.outbox.release(context.batch)
    [delivery] = await room.deliveries()
    assert delivery["due_at"] == int(room.clock.now())


async def test_a_sync_holds_its_own_accounts_delivery_back_and_nobody_elses(room: Room) -> None:
    mine, theirs = await room.watch_service(EMAILS[0]), await room.watch_service(EMAILS[1])
    my_webhook, their_webhook = await room.with_webhook(mine), await room.with_webhook(theirs)
    await room.read(anew())
    context = ReadContext(held_until=int(room.clock.now()) + 120, account_id=mine.account.id)

    await room.read(anew(reference="R-2"), context=context)

    due = {each["webhook_id"]: each["due_at"] - int(room.clock.now()) for each in await room.deliveries()}
    assert due == {my_webhook: 120, their_webhook: 0}
    assert await room.taken(mine) == ["reference:  → R-2"], "also where the sync that found it was killed"
    assert await room.taken(theirs) == ["reference:  → R-2"]


async def test_what_comes_after_a_run_has_closed_travels_by_itself(room: Room) -> None:
    caller = await room.watch_service()
    await room.with_webhook(caller)
    await room.read(anew())
    context = ReadContext(held_until=int(room.clock.now()) + 120, account_id=caller.account.id)
    await context.close()

    await room.read(anew(reference="R-2"), context=context)

    [delivery] = await room.deliveries()
    assert delivery["batch"] != context.batch
    assert delivery["due_at"] == int(room.clock.now())
    assert await room.taken(caller) == ["reference:  → R-2"]


@pytest.mark.parametrize("held", [0, 60], ids=["no run", "a run whose delivery falls due"])
async def test_nothing_joins_a_delivery_that_may_be_on_its_way(room: Room, held: int) -> None:
    """A read of an actor stores its devices and itself, one after the other; in between a delivery may go out."""
    caller = await room.watch_service(EMAILS[0], UDI, SRN)
    await room.with_webhook(caller)
    await room.read(anew())
    await room.read_actor()
    context = ReadContext(held_until=int(room.clock.now()) + held if held else 0, is_recheck=bool(held))

    await room.read(anew(reference="R-2"), context=context)
    room.clock.move(held // 2)
    await room.read_actor(name="Acme Medical", context=context)

    events = {event.id for event in await room.events(caller)}
    assert len(events) == 2
    told = [await _events_of_delivery(room, caller, each["batch"]) for each in await room.deliveries()]
    assert sorted(map(len, told)) == [1, 1]
    assert set().union(*told) == events


async def _events_of_delivery(room: Room, caller: Caller, batch: str) -> set[int]:
    async with room.database.reading() as connection:
        found = await repository.events_of_batches(connection, [batch])
        return {event.id for event in found[caller.account.id, batch]}


# What is no proof


async def test_a_bulk_row_that_lags_makes_no_event_but_lets_the_watch_be_read_next(room: Room) -> None:
    caller = await room.watch_service(EMAILS[0], OTHER, UDI)
    await room.read(anew(OTHER, uuid="u-2"))
    room.clock.move(1)
    await room.read(anew())
    assert await room.due() == [OTHER, UDI]
    room.clock.move(7 * 24 * 3600 - 10)

    await room.read(a_row(version=2, reference="BULK", lags=True), lists_all=False)

    assert await room.events(caller) == []
    assert await room.due() == [UDI, OTHER]
    snapshot = (await room.watch(caller)).snapshot
    assert snapshot is not None
    assert snapshot.reference == ""


async def test_a_row_of_a_record_that_was_never_read_in_full_makes_no_event(room: Room) -> None:
    caller = await room.watch_service(EMAILS[0], OTHER, UDI)
    await room.read(anew(OTHER, uuid="u-2"))
    async with room.database.transaction() as connection:
        await repository.note_failure(connection, UDI, "The register is tired.", int(room.clock.now()))
    assert await room.due() == [OTHER, UDI]

    await room.read(a_row(reference="ROW"), lists_all=False)

    watch = await room.watch(caller)
    assert (watch.snapshot, watch.last_error) == (None, "The register is tired.")
    assert await room.due() == [UDI, OTHER]


async def test_a_row_of_a_record_that_was_read_in_full_proves_what_it_tells(room: Room) -> None:
    caller = await room.watch_service()
    await room.read(anew(certs=(Certificate("Z-1"),), status_date="2026-01-01"))
    read_at = int(room.clock.now())
    room.clock.move(60)

    await room.read(a_row(version=1, reference="ROW"), lists_all=False)

    assert await room.summaries(caller) == ["reference:  → ROW"]
    assert ((await room.watch(caller)).last_sync, await room.tried_at()) == (read_at, [read_at]), (
        "its turn comes as ever"
    )
    await room.read(anew(certs=(Certificate("Z-1"),), status_date="2026-01-01", reference="ROW"))
    assert len(await room.events(caller)) == 1


async def test_a_read_in_full_that_began_before_a_row_was_compared_is_left(room: Room) -> None:
    caller = await room.watch_service()
    await room.read(anew(reference="R-1"))
    began = await room.copy.revision()
    await room.read(a_row(version=1, reference="R-2"), lists_all=False)

    await room.read(anew(reference="R-1"), since=began)

    assert await room.summaries(caller) == ["reference: R-1 → R-2"]


async def test_a_row_is_no_baseline(room: Room) -> None:
    await room.read(anew(reference="R-1"))
    caller = await room.watch_service()

    await room.read(a_row(version=1, reference="R-2"), lists_all=False)

    assert (await room.watch(caller)).snapshot is None
    await room.read(anew(reference="R-3"))
    assert await room.events(caller) == []


async def test_a_row_that_says_nothing_new_leaves_the_watch_in_its_place(room: Room) -> None:
    await room.watch_service()
    await room.read(anew(reference="R-1"))
    tried = await room.tried_at()
    room.clock.move(60)

    await room.read(a_row(version=1, reference="R-1"), lists_all=False)

    assert await room.tried_at() == tried


async def test_certificates_that_could_not_be_read_are_compared_when_they_can(room: Room) -> None:
    caller = await room.watch_service()
    await room.read(anew(certs=(Certificate("Z-1"),)))
    partial = replace(anew(reference="R-2"), completeness=Completeness.ALL_BUT_CERTIFICATES, searched=False)

    await room.read(partial)
    await room.read(anew(reference="R-2", certs=(Certificate("Z-1", expiry="2030-01-01"),)))

    assert await room.summaries(caller) == ["reference:  → R-2", "cert_expiry:  → 2030-01-01"]


async def test_a_change_of_a_certificate_names_the_certificate(room: Room) -> None:
    caller = await room.watch_service()
    await room.read(anew(certs=(Certificate("Z-1", expiry="2030-01-01"),)))

    await room.read(anew(certs=(Certificate("Z-1", expiry="2031-01-01"),)))

    [event] = await room.events(caller)
    [change] = event.changes
    assert (change.field, change.old, change.new, change.certificate) == (
        "cert_expiry",
        "2030-01-01",
        "2031-01-01",
        "Z-1",
    )


# Twins and superseded versions


async def test_a_twin_that_does_not_answer_is_not_compared(room: Room) -> None:
    caller = await room.watch_service()
    regulation, directive = LEGISLATION_PREFIX + "mdr", LEGISLATION_PREFIX + "mdd"
    await room.read(anew(legislation_code=regulation), a_row("u-9", legislation_code=directive, reference="OLD"))

    await room.read(anew(legislation_code=regulation), a_row("u-9", legislation_code=directive, reference="OLDER"))

    assert await room.events(caller) == []


async def test_another_record_that_answers_from_now_on_is_compared_with_the_one_before(room: Room) -> None:
    caller = await room.watch_service()
    await room.read(anew(legislation_code=LEGISLATION_PREFIX + "mdd", reference="OLD"))

    await room.read(
        anew(uuid="u-2", legislation_code=LEGISLATION_PREFIX + "mdr", reference="NEW"),
        a_row("u-1", legislation_code=LEGISLATION_PREFIX + "mdd", version=1),
    )

    assert await room.summaries(caller) == ["reference: OLD → NEW"]


async def test_a_version_that_supersedes_is_one_event_and_the_superseded_one_none(room: Room) -> None:
    caller = await room.watch_service()
    await room.read(anew())

    await room.read(anew(uuid="u-2", version=2))
    await room.read(anew(uuid="u-2", version=2))

    assert await room.summaries(caller) == ["version: 1 → 2"]


async def test_a_bulk_row_that_takes_over_lets_the_watch_be_read_next_and_makes_no_event(room: Room) -> None:
    caller = await room.watch_service()
    await room.read(anew(legislation_code=LEGISLATION_PREFIX + "mdd"))
    room.clock.move(7 * 24 * 3600 - 10)

    await room.read(
        a_row("u-2", version=1, legislation_code=LEGISLATION_PREFIX + "mdr", reference="X", lags=True), lists_all=False
    )

    assert await room.events(caller) == []
    assert await room.tried_at() == [0]


# Actors


async def test_an_actors_name_status_and_number_of_devices_are_compared(room: Room) -> None:
    caller = await room.watch_service(EMAILS[0], SRN)
    active = ACTOR_STATUS_PREFIX + "active"
    await room.read_actor(status_code=active, device_total=7)

    await room.read_actor(name="Acme Medical", status_code=ACTOR_STATUS_PREFIX + "inactive", device_total=9)

    assert await room.summaries(caller) == [
        "manufacturer_status: Active → Inactive; name: Acme → Acme Medical; device_total: 7 → 9"
    ]
    watch = await room.watch(caller, SRN)
    assert (watch.kind, watch.label) == ("srn", "Acme Medical")


async def test_an_actor_read_without_status_and_number_keeps_both(room: Room) -> None:
    caller = await room.watch_service(EMAILS[0], SRN)
    await room.read_actor(status_code=ACTOR_STATUS_PREFIX + "active", device_total=7)

    await room.read_actor(status_code="", device_total=None)

    assert await room.events(caller) == []
    snapshot = (await room.watch(caller, SRN)).snapshot
    assert snapshot is not None
    assert (snapshot.manufacturer_status, snapshot.device_total) == ("Active", "7")


async def test_an_actor_that_has_no_devices_any_more_is_a_change_to_zero(room: Room) -> None:
    caller = await room.watch_service(EMAILS[0], SRN)
    await room.read_actor(device_total=7)

    await room.read_actor(device_total=0)

    assert await room.summaries(caller) == ["device_total: 7 → 0"]


# Reads that bring nothing


@pytest.fixture
async def stage(staged: StageMaker) -> AsyncIterator[Stage]:
    async with staged(background=False) as stage:
        yield stage


async def test_a_failed_read_keeps_the_snapshot_and_says_why_to_active_accounts(stage: Stage) -> None:
    [device] = lone_devices(stage, 1)
    owner, ended = await stage.sign_up(), await stage.sign_up("ended@acme.example")
    for each in (owner, ended):
        await watched_at(stage, each.api_key, device.primary_di)
    await stage.service.accounts.admin.set_period(ended.email, None, int(stage.clock.now()))
    before = await listed(stage, owner.api_key, "watches")
    stage.faults.fail("any", "http-500")
    stage.clock.move(60)

    answer = await synced(stage, owner.api_key)

    assert answer == {"synced": 0, "events": [], "error": None}
    [watch] = await listed(stage, owner.api_key, "watches")
    assert "500" in watch["last_error"]
    assert watch["health"]["state"] == "ok"
    assert watch["health"]["since"]
    assert {**watch, "last_error": "", "health": before[0]["health"]} == before[0]
    assert (await listed(stage, ended.api_key, "watches"))[0]["last_error"] == ""


async def test_a_subject_that_the_register_does_not_know_is_watched_until_it_does(stage: Stage) -> None:
    owner = await stage.sign_up()
    known = lone_devices(stage, 1)[0]

    [watch] = await watched_at(stage, owner.api_key, UDI)
    assert watch["last_error"] == "The register has no such record."
    assert (watch["last_sync"], watch["label"], watch["status"]) == (None, UDI, "")
    stage.world.register(replace(known, uuid=str(uuid4()), primary_di=UDI))
    answer = await synced(stage, owner.api_key)

    assert answer == {"synced": 1, "events": [], "error": None}, "the first successful read is the baseline"
    [watch] = await listed(stage, owner.api_key, "watches")
    assert watch["last_error"] == ""
    assert watch["status"]


async def test_a_watch_that_fails_for_three_days_is_failing_until_it_is_read_again(stage: Stage) -> None:
    owner = await stage.sign_up()
    [device] = lone_devices(stage, 1)
    await watched_at(stage, owner.api_key, device.primary_di)
    stage.faults.fail("any", "http-400")
    await synced(stage, owner.api_key)
    [watch] = await listed(stage, owner.api_key, "watches")
    since = watch["health"]["since"]

    stage.clock.move(FAILING_AFTER - 1)
    await synced(stage, owner.api_key)
    assert (await listed(stage, owner.api_key, "watches"))[0]["health"] == {"state": "ok", "since": since}
    stage.clock.move(1)
    assert (await listed(stage, owner.api_key, "watches"))[0]["health"] == {"state": "failing", "since": since}
    stage.faults.clear()
    await synced(stage, owner.api_key)
    assert (await listed(stage, owner.api_key, "watches"))[0]["health"] == {"state": "ok", "since": None}
