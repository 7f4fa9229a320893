"""What waits: digests until their hour, everything while an account is paused, failed deliveries until their round."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import pytest
from sqlalchemy import update

from registerwatch.accounts.models import Caller
from registerwatch.accounts.tables import accounts
from registerwatch.notifications.choices import Choice, Frequency
from registerwatch.notifications.delivery.delivery import (
    CUT_OFF,
    TURNED_OFF,
    UNWRITTEN,
    DeliveryService,
)
from registerwatch.notifications.models import REPEAT_PAUSES, AttemptResult, Delivery, Notification, Target
from registerwatch.notifications.tables import deliveries, delivery_events, webhooks
from registerwatch.notifications.targets.targets import TargetService
from registerwatch.platform.account_slots import AccountSlots
from registerwatch.platform.leases import LEASE_SECONDS, LeaseLost
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.tag_repository import add as add_tags
from tests.notifications.plain_channel import FULL, PlainChannel
from tests.notifications.steps import CHANGE, queue_change
from tests.support.harness import ServiceHarness

HOUR, DAY = 3_600, 86_400


@dataclass
class Room:
    """A room of an account, and the worker of one node that sends to it."""

    harness: ServiceHarness
    caller: Caller
    channel: PlainChannel
    targets: TargetService
    worker: DeliveryService
    id: int

    async def choose(self, choice: Choice, **columns: object) -> None:
        chosen = {"choice": msgspec.json.encode(choice).decode(), **columns}
        async with self.harness.database.transaction() as connection:
            await connection.execute(update(webhooks).where(webhooks.c.id == self.id).values(chosen))

    async def change(
        self,
        subject: str = "04012345678901",
        *,
        batch: str = "batch",
        due_in: int = 0,
        changes: Sequence[FieldChange] = (CHANGE,),
    ) -> None:
        channels = {self.channel.name: self.channel}
        await queue_change(
            self.harness, self.caller, batch=batch, due_in=due_in, subject=subject, channels=channels, changes=changes
        )

    async def deliver(self) -> Sequence[str]:
        """What is sent now."""
        before = len(self.channel.sent)
        for claimed in await self.worker.claim():
            await self.worker.store([await self.worker.deliver(claimed)])
        bodies = [body.partition("\n")[2] for _, body in self.channel.sent[before:]]
        return [body.replace("record ", "").replace("\n", " ") for body in bodies]

    async def log(self) -> Sequence[Delivery]:
        return await self.targets.log(self.caller, self.id)


@pytest.fixture
async def room(harness: ServiceHarness) -> Room:
    caller = await harness.owner()
    channel = PlainChannel(pauses=())
    worker = DeliveryService(harness.database, harness.clock, {channel.name: channel})
    targets = TargetService(harness.database, harness.clock, worker, channel, AccountSlots(most=1, most_per_account=1))
    return Room(harness, caller, channel, targets, worker, (await targets.add(caller, "#news")).id)


async def test_a_day_comes_in_one_digest_at_its_hour_and_an_empty_day_brings_none(
    harness: ServiceHarness, room: Room
) -> None:
    await room.choose(Choice(frequency=Frequency.DAILY, hour=8), time_zone="Europe/Berlin")
    harness.clock.move(-(harness.now % DAY) + DAY + 9 * HOUR)  # 10:00 or 11:00 there
    await room.change("A", batch="1")
    await room.change("B", batch="2")
    harness.clock.move(20 * HOUR)
    assert await room.deliver() == []
    harness.clock.move(2 * HOUR)
    await room.change("C", batch="3")

    assert await room.deliver() == ["A B"]
    harness.clock.move(DAY)
    assert await room.deliver() == ["C"]
    harness.clock.move(3 * DAY)
    assert await room.deliver() == []


async def test_what_is_urgent_comes_at_once_and_is_in_no_digest(harness: ServiceHarness, room: Room) -> None:
    await room.choose(Choice(frequency=Frequency.WEEKLY, high_at_once=True))
    await room.change("A")
    assert await room.deliver() == []  # of low severity
    harness.clock.move(8 * DAY)
    assert await room.deliver() == ["A"]


async def test_an_event_that_comes_while_its_digest_is_sent_is_in_the_next_one(
    harness: ServiceHarness, room: Room
) -> None:
    await room.choose(Choice(frequency=Frequency.DAILY, hour=8))
    await room.change("A", batch="1")
    (waiting,) = await room.log()
    assert waiting.due_at is not None
    ahead = waiting.due_at - harness.now
    harness.clock.move(ahead)
    (claimed,) = await room.worker.claim()
    harness.clock.move(-10)  # another node, whose clock is behind
    await room.change("B", batch="2")
    harness.clock.move(10)

    await room.worker.store([await room.worker.deliver(claimed)])
    assert await room.deliver() == []
    harness.clock.move(DAY)
    assert await room.deliver() == ["B"]
    assert [each.is_accepted for each in await room.log()] == [True, True]


class SlowlyWritten(PlainChannel):
    """Bodies are written when the test says so."""

    def __init__(self) -> None:
        super().__init__(pauses=())
        self.begun, self.may_go_on = threading.Event(), threading.Event()

    def render(self, target: Target, notification: Notification, events: Sequence[str]) -> str:
        self.begun.set()
        assert self.may_go_on.wait(30)
        return super().render(target, notification, events)


async def slow_claim(harness: ServiceHarness) -> tuple[SlowlyWritten, "asyncio.Task[Sequence[str]]"]:
    """A worker that has claimed what is due and is writing its body, and the bodies that it sends at the end."""
    channel = SlowlyWritten()
    worker = DeliveryService(harness.database, harness.clock, {channel.name: channel})

    async def sent() -> Sequence[str]:
        await worker.store([await worker.deliver(each) for each in await worker.claim()])
        return [body for _, body in channel.sent]

    sending = asyncio.create_task(sent())
    await asyncio.to_thread(channel.begun.wait, 30)
    return channel, sending


async def test_while_a_digest_is_written_all_else_goes_on_and_what_comes_then_is_in_the_next_one(
    harness: ServiceHarness, room: Room
) -> None:
    await room.choose(Choice(frequency=Frequency.DAILY))
    await room.change("A", batch="1")
    (waiting,) = await room.log()
    assert waiting.due_at is not None
    harness.clock.move(waiting.due_at - harness.now)
    channel, sending = await slow_claim(harness)
    harness.clock.move(-10)  # another node, whose clock is behind
    await room.change("B", batch="2")
    harness.clock.move(10)
    channel.may_go_on.set()

    assert await sending == ["watch.changed\nrecord A"]
    assert await room.deliver() == []
    harness.clock.move(DAY)
    assert await room.deliver() == ["B"]


async def test_a_worker_that_is_killed_while_it_writes_a_digest_loses_nothing_of_it(
    harness: ServiceHarness, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    await room.change("A", batch="a run", due_in=60)
    await room.change("B", batch="a run", due_in=60)
    harness.clock.move(60)
    with monkeypatch.context() as patched:
        patched.setattr(DeliveryService, "_bodies", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            await room.worker.claim()
    await room.change("C", batch="a run", due_in=60)  # it was claimed: nothing joins it
    assert await room.deliver() == ["C"]
    harness.clock.move(LEASE_SECONDS)
    assert await room.deliver() == ["A B"]
    assert await harness.rows(delivery_events) == []


async def test_a_worker_that_writes_for_longer_than_its_lease_takes_nothing_from_the_one_that_sends(
    harness: ServiceHarness, room: Room
) -> None:
    await room.change("A")
    channel, sending = await slow_claim(harness)
    harness.clock.move(LEASE_SECONDS)
    assert await room.deliver() == ["A"]
    channel.may_go_on.set()
    assert await sending == []
    (logged,) = await room.log()
    assert (logged.body, logged.is_accepted) == ("watch.changed\nrecord A", True)


async def test_what_joins_a_digest_is_stored_beside_what_waits_there_already(
    harness: ServiceHarness, room: Room
) -> None:
    await room.choose(Choice(frequency=Frequency.DAILY))
    for subject in "ABC":
        await room.change(subject, batch=subject)
    (delivery,) = await harness.rows(deliveries)
    rows = [(row["delivery_id"], row["events"]) for row in await harness.rows(delivery_events)]
    assert rows == [(delivery["id"], f"record {subject}") for subject in "ABC"]

    harness.clock.move(DAY)
    assert await room.deliver() == ["A B C"]
    assert await harness.rows(delivery_events) == []


async def test_a_choice_of_tags_and_watches_leaves_the_rest_out(harness: ServiceHarness, room: Room) -> None:
    await harness.post_watches(await harness.sign_in(room.caller.account.email), "04012345678901")
    watch = await harness.watch(room.caller, "04012345678901")
    await room.choose(Choice(tags=("implants",)))
    await room.change("A", batch="1")  # of the watch 1
    assert await room.deliver() == []
    async with harness.database.transaction() as connection:
        await add_tags(connection, room.caller.account.id, [watch.id], ["Implants"])
    await room.change("B", batch="2")
    assert await room.deliver() == ["B"]


async def test_while_an_account_is_paused_its_events_wait_and_come_together(
    harness: ServiceHarness, room: Room
) -> None:
    async with harness.database.transaction() as connection:
        await connection.execute(update(accounts).values(paused_until=harness.now + 2 * DAY))
    await room.change("A", batch="1")
    harness.clock.move(DAY)
    await room.change("B", batch="2")
    assert await room.deliver() == []
    harness.clock.move(DAY)
    assert await room.deliver() == ["A B"]
    await room.change("C", batch="3")
    assert await room.deliver() == ["C"]


@pytest.mark.parametrize("second", [0, 1, 30, 59])
async def test_people_are_told_together_what_was_found_within_two_minutes_whichever_runs_found_it(
    harness: ServiceHarness, room: Room, second: int
) -> None:
    room.channel.is_for_people = True
    harness.clock.move(second - harness.now % 60)
    await room.change("A", batch="a sweep")
    harness.clock.move(60)
    await room.change("B", batch="a sync")
    harness.clock.move(59)
    await room.change("C", batch="a recheck")
    assert await room.deliver() == []
    harness.clock.move(61)
    assert await room.deliver() == ["A B C"]
    await room.change("D", batch="a recheck", due_in=480)
    harness.clock.move(180)
    assert await room.deliver() == ["D"]


async def test_what_a_run_of_twenty_minutes_finds_comes_in_two_messages(harness: ServiceHarness, room: Room) -> None:
    room.channel.is_for_people = True
    harness.clock.move(-harness.now % 60 + 5)
    sent = []
    for minute in range(20):
        await room.change(f"{minute}", batch="a sync", due_in=60 * (20 - minute))
        sent += [(minute, each) for each in await room.deliver()]
        harness.clock.move(60)
    assert [(minute, len(each.split())) for minute, each in sent] == [(15, 15)], "at most 15 minutes after the first"
    harness.clock.move(60)
    assert await room.deliver() == []
    harness.clock.move(60)
    assert await room.deliver() == ["15 16 17 18 19"]


async def test_what_is_found_while_the_gathered_is_sent_is_gathered_anew(harness: ServiceHarness, room: Room) -> None:
    room.channel.is_for_people = True
    await room.change("A")
    harness.clock.move(180)
    (claimed,) = await room.worker.claim()
    harness.clock.move(-180)  # the clock of another node is behind
    await room.change("B")
    await room.change("C")
    await room.worker.store([await room.worker.deliver(claimed)])
    harness.clock.move(360)
    assert await room.deliver() == ["B C"]


async def test_people_are_not_told_of_a_new_version_alone_and_programs_are(harness: ServiceHarness, room: Room) -> None:
    version = FieldChange("version", "3", "4")
    await room.change("A", changes=[version])
    assert await room.deliver() == ["A"]
    room.channel.is_for_people = True
    await room.change("B", changes=[version])
    await room.change("C", changes=[version, FieldChange("trade_name", "Ä", "Ö")])
    harness.clock.move(180)
    assert await room.deliver() == ["C"]


async def test_a_delivery_that_failed_is_repeated_in_rounds_with_the_same_id_and_body(
    harness: ServiceHarness, room: Room
) -> None:
    await room.choose(Choice(), repeats=True)
    room.channel.results = [FULL] * (len(REPEAT_PAUSES) + 1)
    await room.change("A")
    for pause in REPEAT_PAUSES:
        assert await room.deliver() == ["A"]
        (logged,) = await room.log()
        assert (logged.is_accepted, logged.finished_at, logged.due_at) == (None, None, harness.now + pause)
        harness.clock.move(pause - 1)
        assert await room.deliver() == []
        harness.clock.move(1)
    assert await room.deliver() == ["A"]
    (logged,) = await room.log()
    assert (logged.is_accepted, logged.due_at, logged.attempts) == (False, None, len(REPEAT_PAUSES) + 1)
    (target,) = await room.targets.all(room.caller.account.id)
    assert target.failing_since == harness.now - sum(REPEAT_PAUSES)


async def test_what_cannot_succeed_is_not_repeated(room: Room) -> None:
    await room.choose(Choice(), repeats=True)
    room.channel.results = [AttemptResult(is_accepted=False, status=None, error="no such room", is_final=True)]
    await room.change("A")
    assert await room.deliver() == ["A"]
    (logged,) = await room.log()
    assert (logged.is_accepted, logged.error) == (False, "no such room")


async def test_what_may_have_arrived_when_a_process_was_killed_is_not_sent_again_and_the_log_says_so(
    harness: ServiceHarness, room: Room
) -> None:
    room.channel.sends_once = True
    room.channel.results = [RuntimeError("killed")]
    await room.change("A")
    (claimed,) = await room.worker.claim()
    with pytest.raises(RuntimeError):
        await room.worker.deliver(claimed)
    harness.clock.move(HOUR)
    assert await room.deliver() == []
    (logged,) = await room.log()
    assert (logged.is_accepted, logged.error, len(room.channel.sent)) == (False, CUT_OFF, 1)

    await room.targets.send_again(room.caller, room.id, logged.id)  # a person decides otherwise
    assert await room.deliver() == ["A"]


async def test_a_worker_whose_lease_is_over_sends_nothing(harness: ServiceHarness, room: Room) -> None:
    await room.change("A")
    (slow,) = await room.worker.claim()
    harness.clock.move(LEASE_SECONDS)
    with pytest.raises(LeaseLost):
        await room.worker.deliver(slow)
    assert await room.deliver() == ["A"]


async def test_what_must_arrive_once_is_not_sent_by_a_worker_whose_clock_is_behind_the_end_of_its_lease(
    harness: ServiceHarness, room: Room
) -> None:
    room.channel.sends_once = True
    await room.change("A")
    (slow,) = await room.worker.claim()
    harness.clock.move(LEASE_SECONDS)
    assert await room.deliver() == ["A"]
    harness.clock.move(-10)
    with pytest.raises(LeaseLost):
        await room.worker.deliver(slow)
    assert len(room.channel.sent) == 1


async def test_what_cannot_be_put_together_ends_as_failed_and_keeps_nothing_else_waiting(
    harness: ServiceHarness, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    await room.change("A", batch="1")
    with monkeypatch.context() as patched:
        patched.setattr(PlainChannel, "render", lambda *_: 1 // 0)
        assert await room.deliver() == []
    (logged,) = await room.log()
    assert (logged.is_accepted, logged.error, logged.body) == (False, UNWRITTEN, None)

    await room.change("B", batch="2")
    await room.targets.send_again(room.caller, room.id, logged.id)
    assert sorted(await room.deliver()) == ["A", "B"]


async def test_nothing_at_all_goes_out_while_an_account_is_paused(harness: ServiceHarness, room: Room) -> None:
    await room.choose(Choice(), repeats=True)
    room.channel.results = [FULL]
    await room.change("A", batch="1")
    assert await room.deliver() == ["A"]  # in vain, so a round is due in five minutes
    await room.change("B", batch="a run", due_in=60)
    async with harness.database.transaction() as connection:
        await connection.execute(update(accounts).values(paused_until=harness.now + DAY))
    harness.clock.move(HOUR)
    assert await room.deliver() == []
    harness.clock.move(DAY)
    assert sorted(await room.deliver()) == ["A", "B"]


async def test_a_delivery_that_failed_is_not_repeated_to_a_target_that_was_turned_off_meanwhile(
    harness: ServiceHarness, room: Room
) -> None:
    await room.choose(Choice(), repeats=True)
    room.channel.results = [FULL]
    await room.change("A")
    assert await room.deliver() == ["A"]
    await room.choose(Choice(frequency=Frequency.OFF))
    harness.clock.move(HOUR)

    assert await room.deliver() == []
    (logged,) = await room.log()
    assert (logged.is_accepted, logged.error, logged.due_at) == (False, TURNED_OFF, None)
