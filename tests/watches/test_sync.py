"""Syncing: every watch of an account, side by side, in bounded time, each change told once."""

import asyncio
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection
from structlog.testing import capture_logs

from registerwatch.accounts import repository as account_repository
from registerwatch.accounts.models import Caller
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.errors import DatabaseUnavailable
from registerwatch.notifications.tables import deliveries
from registerwatch.register.observation import ReadContext
from registerwatch.watches import repository
from registerwatch.watches.events import event_repository
from registerwatch.watches.reading.read_subject import SubjectReader
from registerwatch.watches.reading.sync import SIDE_BY_SIDE
from tests.register.builders import a_full_reading
from tests.register.virtual_time import loop_time
from tests.support.harness import NewAccount, ServiceHarness, ServiceStarter
from tests.watches.steps import due_subjects, take_awaiting


@pytest.fixture
def anyio_backend() -> str:
    """A loop whose time a test can move."""
    return "asyncio"


LIMIT = 20.0
"""Seconds that a sync may take, which a test lets pass by moving the loop's time."""


async def synced_in_part(harness: ServiceHarness, key: str, reached: int) -> dict[str, Any]:
    """The answer of a sync whose time is over when so many watches were reached."""
    read, ended, enough = SubjectReader.read, [0], asyncio.Event()

    async def counted(*asked: Any) -> Any:
        done = await read(*asked)
        ended[0] += 1
        if ended[0] == reached:
            enough.set()
        return done

    with loop_time() as time, patch.object(SubjectReader, "read", counted):
        sync = asyncio.create_task(harness.post_sync(key))
        async with asyncio.timeout(LIMIT - 2):
            await enough.wait()
        time.move(LIMIT)
        return await sync


async def a_watcher(
    harness: ServiceHarness, number: int, email: str = "owner@acme.example"
) -> tuple[NewAccount, list[str]]:
    """An account with an address that watches so many devices, and their keys in the register."""
    owner, devices = await harness.sign_up(email), harness.separate_devices(number)
    await harness.post_watches(owner.api_key, *(device.primary_di for device in devices))
    await harness.post("/v1/webhooks", owner.api_key, url="https://receiver.example/hook")
    return owner, [device.uuid for device in devices]


async def changed_deliveries(harness: ServiceHarness) -> list[dict[str, Any]]:
    """Deliveries of changes."""
    return [row for row in await harness.rows(deliveries) if row["type"] == "watch.changed"]


async def test_a_sync_reads_every_watch_past_the_cache_and_tells_what_changed(harness: ServiceHarness) -> None:
    owner, uuids = await a_watcher(harness, 3)
    for uuid in uuids[:2]:
        harness.world.change(uuid, reference="NEW-1")
    harness.clock.move(60)

    answer = await harness.post_sync(owner.api_key)

    assert (answer["synced"], answer["error"]) == (3, None)
    assert len(answer["events"]) == 2
    for event in answer["events"]:
        assert set(event) == {"subject", "label", "summary", "changes"}
        assert {"field": "reference", "old": event["changes"][0]["old"], "new": "NEW-1"} in event["changes"]
    assert await harness.post_sync(owner.api_key) == {"synced": 3, "events": [], "error": None}


async def test_a_sync_that_finds_changes_makes_one_delivery_to_each_address(harness: ServiceHarness) -> None:
    owner, uuids = await a_watcher(harness, 3)
    await harness.post("/v1/webhooks", owner.api_key, url="https://second.example/hook")
    for uuid in uuids:
        harness.world.change(uuid, reference="NEW-1")

    await harness.post_sync(owner.api_key)

    made = await changed_deliveries(harness)
    assert len({row["webhook_id"] for row in made}) == len(made) == 2
    assert {row["due_at"] for row in made} == {harness.now}, "they go out at its end"
    await harness.post_sync(owner.api_key)
    assert len(await changed_deliveries(harness)) == 2


async def test_a_sync_lists_what_others_reads_brought_since_the_last_one(harness: ServiceHarness) -> None:
    owner, uuids = await a_watcher(harness, 1)
    [watch] = await harness.get_list(owner.api_key, "watches")
    harness.world.change(uuids[0], reference="NEW-1")
    await harness.service.refresher.refresh(watch["subject"])

    first, second = await harness.post_sync(owner.api_key), await harness.post_sync(owner.api_key)

    assert [event["subject"] for event in first["events"]] == [watch["subject"]]
    assert second["events"] == []


async def test_a_sync_without_watches_finds_nothing_and_asks_nobody(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()

    assert await harness.post_sync(owner.api_key) == {"synced": 0, "events": [], "error": None}
    assert harness.register_log.total == 0


async def test_a_read_that_fails_fails_neither_the_sync_nor_the_other_watches(harness: ServiceHarness) -> None:
    owner, uuids = await a_watcher(harness, 3)
    harness.faults.fail("basic", "http-400", contains=uuids[0])

    answer = await harness.post_sync(owner.api_key)

    assert answer == {"synced": 2, "events": [], "error": None, "failed": 1}
    listing = await harness.get_list(owner.api_key, "watches")
    assert [bool(watch["last_error"]) for watch in listing] == [True, False, False]


async def test_a_defect_in_reading_one_watch_fails_neither_the_sync_nor_the_other_watches(
    harness: ServiceHarness,
) -> None:
    owner, uuids = await a_watcher(harness, 3)
    harness.to_register.broken = {uuids[0]}

    with capture_logs() as logs:
        answer = await harness.post_sync(owner.api_key)

    assert answer == {"synced": 2, "events": [], "error": None, "failed": 1}
    listing = await harness.get_list(owner.api_key, "watches")
    assert [bool(watch["last_error"]) for watch in listing] == [True, False, False]
    assert "refresh failed unexpectedly" in {entry["event"] for entry in logs}


async def test_a_database_that_is_out_of_reach_in_between_is_told_as_such(harness: ServiceHarness) -> None:
    owner, uuids = await a_watcher(harness, 2)
    for uuid in uuids:
        harness.faults.fail("basic", "http-400", contains=uuid)

    async def out_of_reach(*_asked: Any) -> None:
        raise DatabaseUnavailable("The database does not answer.")

    with patch.object(repository, "note_failure", out_of_reach):
        response = await harness.post("/v1/sync", owner.api_key)

    assert response.status_code == 503


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/watches", {"subject": "04099999999992"}),
        ("/v1/import", {"csv": "04099999999992"}),
        ("/v1/webhook", {"url": "https://a.example/"}),
        ("/v1/webhooks", {"url": "https://a.example/"}),
        ("/v1/feeds", {}),
    ],
)
async def test_an_account_that_is_deleted_while_it_asks_is_unknown(
    harness: ServiceHarness, path: str, body: Any
) -> None:
    owner = await harness.sign_up()
    lock_account = account_repository.lock_account

    async def deleted_before(connection: AsyncConnection, account_id: int) -> Any:
        await account_repository.delete_account(connection, account_id)
        return await lock_account(connection, account_id)

    with patch.object(account_repository, "lock_account", deleted_before):
        response = await harness.post(path, owner.api_key, **body)

    assert response.status_code == 401


async def test_what_is_not_reached_in_time_keeps_its_state_is_first_in_line_and_told_in_a_sentence(
    start_service: ServiceStarter,
) -> None:
    async with start_service(sync_time_limit=LIMIT, register_timeout=60.0) as harness:
        owner, uuids = await a_watcher(harness, 5)
        before = await harness.get_list(owner.api_key, "watches")
        harness.clock.move(60)
        for uuid in uuids:
            harness.world.change(uuid, reference="NEW-1")
        harness.to_register.held = {uuids[1], uuids[3]}

        answer = await synced_in_part(harness, owner.api_key, 3)

        assert answer["synced"] == 3
        assert answer["error"] == "2 watches were not reached within 20 s; the next recheck reads what is left first."
        reached = {event["subject"] for event in answer["events"]}
        after = await harness.get_list(owner.api_key, "watches")
        assert reached == {after[place]["subject"] for place in (0, 2, 4)}
        assert [after[1], after[3]] == [before[1], before[3]]
        assert await due_subjects(harness, 2) == [before[1]["subject"], before[3]["subject"]]
        harness.to_register.let.set()


async def test_a_read_that_outlives_the_sync_makes_its_event_once_and_a_delivery_of_its_own(
    start_service: ServiceStarter,
) -> None:
    async with start_service(sync_time_limit=LIMIT, register_timeout=60.0) as harness:
        owner, uuids = await a_watcher(harness, 2)
        for uuid in uuids:
            harness.world.change(uuid, reference="NEW-1")
        harness.to_register.held = {uuids[1]}
        harness.clock.move(60)
        answer = await synced_in_part(harness, owner.api_key, 1)
        assert len(answer["events"]) == 1
        assert answer["error"].startswith("1 watch was not reached")

        harness.to_register.let.set()
        await harness.service.refresher.settled()
        harness.to_register.held = set()

        late, nothing = await harness.post_sync(owner.api_key), await harness.post_sync(owner.api_key)
        assert [len(late["events"]), len(nothing["events"])] == [1, 0]
        assert len(await harness.get_list(owner.api_key, "events")) == 2
        made = await changed_deliveries(harness)
        assert len({row["batch"] for row in made}) == len(made) == 2


async def test_reads_go_on_side_by_side(start_service: ServiceStarter) -> None:
    async with start_service(sync_time_limit=LIMIT, register_timeout=60.0) as harness:
        owner, uuids = await a_watcher(harness, SIDE_BY_SIDE + 2)
        hanging = [harness.world.by_uuid(uuid) for uuid in uuids[: SIDE_BY_SIDE - 1]]
        harness.to_register.held = {f"primaryDi={each.primary_di}" for each in hanging if each}
        harness.clock.move(60)

        answer = await synced_in_part(harness, owner.api_key, 3)

        assert answer["synced"] == 3, "what hangs holds up its own place alone"
        harness.to_register.let.set()


async def test_two_syncs_at_once_tell_each_change_once_and_each_make_one_delivery_at_most(
    harness: ServiceHarness,
) -> None:
    owner, uuids = await a_watcher(harness, 5)
    for uuid in uuids:
        harness.world.change(uuid, reference="NEW-1")

    answers = await asyncio.gather(*(harness.post_sync(owner.api_key) for _ in range(2)))

    told = [event["subject"] for answer in answers for event in answer["events"]]
    assert sorted(told) == sorted(each["subject"] for each in await harness.get_list(owner.api_key, "watches"))
    assert [answer["synced"] for answer in answers] == [5, 5]
    assert len(await harness.get_list(owner.api_key, "events")) == 5
    assert len(await changed_deliveries(harness)) <= 2


async def test_syncs_of_two_accounts_at_once_tell_both_everything(harness: ServiceHarness) -> None:
    first, uuids = await a_watcher(harness, 3, "first@acme.example")
    second, _ = await a_watcher(harness, 3, "second@acme.example")
    for uuid in uuids:
        harness.world.change(uuid, reference="NEW-1")

    answers = await asyncio.gather(*(harness.post_sync(each.api_key) for each in (first, second)))

    assert [len(answer["events"]) for answer in answers] == [3, 3]
    for each in (first, second):
        assert len(await harness.get_list(each.api_key, "events")) == 3
        assert (await harness.post_sync(each.api_key))["events"] == []


async def test_a_sync_takes_over_what_a_recheck_is_reading(harness: ServiceHarness) -> None:
    owner, uuids = await a_watcher(harness, 1)
    harness.world.change(uuids[0], reference="NEW-1")
    harness.to_register.held = {uuids[0]}
    recheck = asyncio.create_task(harness.service.watches.recheck.run())
    await asyncio.wait_for(harness.to_register.reached.wait(), 10)

    sync = asyncio.create_task(harness.post_sync(owner.api_key))
    harness.to_register.reached.clear()
    await asyncio.wait_for(harness.to_register.reached.wait(), 10)
    harness.to_register.let.set()
    answer, done = await sync, await recheck

    assert [event["changes"][0]["new"] for event in answer["events"]] == ["NEW-1"]
    assert (done.tried, done.found) == (1, 1)
    assert len(await harness.get_list(owner.api_key, "events")) == 1
    assert len(await changed_deliveries(harness)) == 1


async def test_a_sync_whose_client_goes_away_lets_its_delivery_go_out(harness: ServiceHarness) -> None:
    owner, uuids = await a_watcher(harness, 2)
    for uuid in uuids:
        harness.world.change(uuid, reference="NEW-1")
    harness.to_register.held = {uuids[1]}
    sync = asyncio.create_task(harness.service.watches.sync.sync(await _caller(harness, owner)))
    await asyncio.wait_for(harness.to_register.reached.wait(), 10)
    async with asyncio.timeout(10):
        while not await changed_deliveries(harness):
            await asyncio.sleep(0)
    [held] = await changed_deliveries(harness)
    assert held["due_at"] > harness.clock.now()

    sync.cancel()
    await asyncio.wait([sync])

    [released] = await changed_deliveries(harness)
    assert released["due_at"] == harness.now
    harness.to_register.let.set()


async def _caller(harness: ServiceHarness, owner: NewAccount) -> Caller:
    return await harness.service.accounts.sessions.caller(credential_of(owner.api_key, None))


async def test_events_that_one_sync_is_about_to_list_are_not_listed_by_another(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    await harness.store(a_full_reading())
    await harness.store(a_full_reading(reference="R-2"))

    async with harness.database.transaction() as connection:
        first = await event_repository.take_awaiting(connection, caller.account.id)
        second = asyncio.create_task(take_awaiting(harness, caller))
        await asyncio.wait([second], timeout=0.3)

    assert len(first) == 1
    assert await second == []


async def test_closing_a_batch_waits_for_what_has_joined_it() -> None:
    context = ReadContext(held_until=1_000)
    async with context.storing():
        closing = asyncio.create_task(context.close())
        await asyncio.sleep(0)
        assert not context.holds(0)
        assert not closing.done()

    await asyncio.wait_for(closing, 5)
