"""Targets over all channels: who sees and changes which, what a change does to what waits, pauses."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from registerwatch.accounts.audit import audit_trail
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.models import Caller
from registerwatch.accounts.notices import AccountNotices
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.errors import CapReached, InvalidInput, OwnerOnly
from registerwatch.notifications.choices import Choice, Frequency
from registerwatch.notifications.delivery.delivery import DeliveryService
from registerwatch.notifications.models import EMAIL, Delivery
from registerwatch.notifications.targets.channel_models import ChannelChange, NewChannel
from registerwatch.notifications.targets.channel_service import ChannelService
from registerwatch.notifications.targets.channel_state import Access, ChannelState
from registerwatch.notifications.targets.targets import TargetService
from registerwatch.notifications.user_time_zones import UserTimeZones
from registerwatch.platform.account_slots import AccountSlots
from registerwatch.platform.structs import replace
from registerwatch.watches.tag_repository import add as add_tags
from tests.notifications.plain_channel import FULL, PlainChannel
from tests.notifications.steps import queue_change
from tests.support.harness import ServiceHarness

HOUR, DAY = 3_600, 86_400
OFF = Choice(frequency=Frequency.OFF)


class ChatChannel(PlainChannel):
    """A channel whose addresses look otherwise."""

    def check_target(self, text: str) -> str:
        return text


@dataclass
class Rooms:
    """The channels of a service that sends to rooms and to users, and the worker of one node."""

    harness: ServiceHarness
    caller: Caller
    channels: Mapping[str, PlainChannel]
    service: ChannelService
    worker: DeliveryService

    async def add(self, choice: Choice | None = None, channel: str = "plain", url: str = "#news") -> int:
        new = NewChannel(channel, "" if channel == EMAIL else url, choice=choice or Choice())
        return (await self.service.add(self.caller, new)).target.id

    async def change(self, subject: str, *, due_in: int = 0) -> None:
        await queue_change(
            self.harness, self.caller, batch=subject, due_in=due_in, subject=subject, channels=self.channels
        )

    async def deliver(self) -> list[str]:
        """What is sent now."""
        before = {name: len(each.sent) for name, each in self.channels.items()}
        for claimed in await self.worker.claim():
            await self.worker.store([await self.worker.deliver(claimed)])
        sent = [body for name, each in self.channels.items() for _, body in each.sent[before[name] :]]
        return [body.partition("\n")[2].replace("record ", "").replace("\n", " ") for body in sent]

    async def choose(self, target_id: int, choice: Choice) -> None:
        await self.service.change(self.caller, target_id, ChannelChange(choice=choice))

    async def log(self, target_id: int) -> Sequence[Delivery]:
        return (await self.service.log_page(self.caller, target_id, after=None, limit=100)).rows

    async def trail(self) -> list[str]:
        async with self.harness.database.reading() as connection:
            lines = await audit_trail.preceding(connection, self.caller.account.id, audit_trail.EVERY_LINE, None, 100)
        return [each.subject for each in reversed(lines) if each.action == Action.CHANNEL_CHANGED]


@pytest.fixture
async def rooms(harness: ServiceHarness) -> Rooms:
    owner = await harness.sign_up()
    await harness.prove_address(owner)
    caller = await harness.service.accounts.sessions.caller(credential_of(None, owner.session))
    channels: dict[str, PlainChannel] = {
        "plain": PlainChannel(pauses=()),
        "chat": ChatChannel(pauses=(), address_is_secret=True),
        EMAIL: ChatChannel(pauses=()),
    }
    for name, each in channels.items():
        each.name = name
    worker = DeliveryService(harness.database, harness.clock, channels)
    places, notifications = AccountSlots(most=1, most_per_account=1), harness.service.notifications
    targets = {
        name: TargetService(harness.database, harness.clock, worker, each, places) for name, each in channels.items()
    }
    notices = AccountNotices(harness.clock, harness.mail, public_url="https://registerwatch.example")
    service = ChannelService(harness.database, harness.clock, channels, targets, notices, notifications.secrets)
    harness.clock.move(-(harness.now % DAY) + DAY + 6 * HOUR)  # 06:00 UTC
    return Rooms(harness, caller, channels, service, worker)


async def a_member(rooms: Rooms, email: str = "member@acme.example") -> Caller:
    """A member of the account, who has signed in."""
    password = "a phrase of a member"
    await rooms.harness.service.accounts.members.add_user(rooms.caller, email, password)
    session = await rooms.harness.sign_in(email, password)
    return await rooms.harness.service.accounts.sessions.caller(credential_of(None, session))


async def test_what_waits_for_a_digest_goes_out_at_the_earlier_of_its_time_and_the_new_one(rooms: Rooms) -> None:
    room = await rooms.add(Choice(frequency=Frequency.WEEKLY, hour=8))
    await rooms.change("A")
    await rooms.choose(room, Choice(frequency=Frequency.DAILY, hour=9))
    await rooms.change("B")
    rooms.harness.clock.move(3 * HOUR)
    assert await rooms.deliver() == ["A B"]

    await rooms.change("C")  # of tomorrow, 09:00
    await rooms.choose(room, Choice(frequency=Frequency.WEEKLY, hour=9))
    rooms.harness.clock.move(DAY)
    assert await rooms.deliver() == ["C"]

    await rooms.change("D")
    await rooms.choose(room, Choice())
    assert await rooms.deliver() == ["D"]
    assert [each.is_accepted for each in await rooms.log(room)] == [True] * 3


async def test_a_digest_of_a_user_who_changes_their_time_zone_goes_out_at_the_earlier_of_its_time_and_the_new_one(
    rooms: Rooms,
) -> None:
    zones = UserTimeZones(rooms.harness.database, rooms.harness.clock)
    mails = await rooms.add(Choice(frequency=Frequency.DAILY, hour=8), EMAIL)
    room = await rooms.add(Choice(frequency=Frequency.DAILY, hour=8))
    await rooms.change("A")
    await zones.set(rooms.caller, "America/New_York")
    await rooms.change("B")
    rooms.harness.clock.move(2 * HOUR)
    assert await rooms.deliver() == ["A B", "A"]  # the first is the room's, which has a zone of its own
    rooms.harness.clock.move(5 * HOUR)  # 13:00 UTC, 08:00 in New York
    assert await rooms.deliver() == ["B"]

    await rooms.change("C")
    await zones.set(rooms.caller, "Europe/Berlin")
    await rooms.change("D")
    rooms.harness.clock.move(18 * HOUR)  # 07:00 UTC, 08:00 in Berlin
    assert await rooms.deliver() == ["C D"]
    assert (len(await rooms.log(mails)), len(await rooms.log(room))) == (3, 2)

    with pytest.raises(InvalidInput, match="no such time zone"):
        await zones.set(rooms.caller, "Mars/Olympus")


async def test_what_waits_for_a_target_that_is_turned_off_or_paused_is_dropped(rooms: Rooms) -> None:
    daily = Choice(frequency=Frequency.DAILY)
    room, other = await rooms.add(daily), await rooms.add(daily, url="#other")
    await rooms.change("A")
    await rooms.choose(room, OFF)
    await rooms.service.change(rooms.caller, other, ChannelChange(is_paused=True))
    await rooms.change("B")
    rooms.harness.clock.move(2 * DAY)
    assert await rooms.deliver() == []
    assert await rooms.log(room) == await rooms.log(other) == []

    await rooms.choose(room, Choice())
    await rooms.service.change(rooms.caller, other, ChannelChange(is_paused=False))
    await rooms.change("C")
    assert await rooms.deliver() == ["C"]
    rooms.harness.clock.move(DAY)
    assert await rooms.deliver() == ["C"]
    assert await rooms.trail() == [
        "plain: added",
        "plain: added",
        "plain: off instead of daily",
        "plain: paused",
        "plain: at-once instead of off",
        "plain: goes on",
    ]


async def test_a_delivery_that_waits_to_be_repeated_ends_when_its_target_is_turned_off(rooms: Rooms) -> None:
    room = await rooms.add()
    rooms.channels["plain"].results = [FULL]
    await rooms.change("A")
    assert await rooms.deliver() == ["A"]
    await rooms.choose(room, OFF)
    rooms.harness.clock.move(2 * DAY)
    assert await rooms.deliver() == []
    (logged,) = await rooms.log(room)
    assert (logged.is_accepted, logged.error) == (False, "full")


async def test_a_paused_account_gets_nothing_until_the_day_and_everything_together_then_or_when_it_goes_on(
    rooms: Rooms,
) -> None:
    await rooms.add(Choice(frequency=Frequency.DAILY))
    await rooms.add(url="#other")
    await rooms.change("A")
    assert await rooms.deliver() == ["A"]
    now = rooms.harness.now
    await rooms.service.pause(rooms.caller, now + 5 * DAY)
    await rooms.change("B")
    await rooms.service.pause(rooms.caller, now + 3 * DAY)
    await rooms.change("C")
    rooms.harness.clock.move(3 * DAY - 1)
    assert await rooms.deliver() == []
    rooms.harness.clock.move(1)
    assert sorted(await rooms.deliver()) == ["A B C", "B C"]

    await rooms.service.pause(rooms.caller, now + 90 * DAY)
    await rooms.change("D")
    assert (await rooms.service.all(rooms.caller)).paused_until == now + 90 * DAY
    await rooms.service.pause(rooms.caller, None)
    assert (await rooms.service.all(rooms.caller)).paused_until is None
    assert await rooms.deliver() == ["D", "D"]
    for bad in (rooms.harness.now, rooms.harness.now - 1, rooms.harness.now + 90 * DAY + 1):
        with pytest.raises(InvalidInput, match="at most 90 days"):
            await rooms.service.pause(rooms.caller, bad)
    with pytest.raises(OwnerOnly):
        await rooms.service.pause(await a_member(rooms), now + 4 * DAY)


@pytest.mark.parametrize("seconds", [0, 180], ids=["not due yet", "due"])
async def test_what_was_gathered_when_a_pause_begins_comes_with_the_rest_at_its_end(rooms: Rooms, seconds: int) -> None:
    rooms.channels["plain"].is_for_people = True
    room = await rooms.add()
    await rooms.change("A")
    rooms.harness.clock.move(seconds)
    await rooms.service.pause(rooms.caller, rooms.harness.now + DAY)
    await rooms.change("B")
    rooms.harness.clock.move(DAY)
    assert await rooms.deliver() == ["A B"]
    assert len(await rooms.log(room)) == 1


async def test_each_user_manages_their_own_address_and_owners_may_only_silence_it(rooms: Rooms) -> None:
    member, other = await a_member(rooms), await a_member(rooms, "other@acme.example")
    room = await rooms.add()
    own = (await rooms.service.add(member, NewChannel(EMAIL, choice=Choice(frequency=Frequency.DAILY)))).target
    assert (own.url, own.user_email, own.user_id) == (member.name, member.name, member.user_id)
    with pytest.raises(InvalidInput, match="time zone of its user"):
        await rooms.service.change(member, own.id, ChannelChange(time_zone="Europe/Berlin"))
    with pytest.raises(CapReached, match="already"):
        await rooms.service.add(member, NewChannel(EMAIL))
    with pytest.raises(OwnerOnly):
        await rooms.service.add(member, NewChannel("plain", "#news"))

    seen = {each.target.id: each.access for each in (await rooms.service.all(rooms.caller)).channels}
    assert seen == {room: Access.FULL, own.id: Access.SILENCE}
    assert [each.target.id for each in (await rooms.service.all(member)).channels] == [own.id]
    assert (await rooms.service.all(other)).channels == []
    with pytest.raises(OwnerOnly):
        await rooms.service.get(other, own.id)
    for refused in (rooms.service.get(member, room), rooms.service.test(member, room)):
        with pytest.raises(OwnerOnly):
            await refused
    with pytest.raises(OwnerOnly):
        await rooms.service.remove(member, room)

    for change in (
        ChannelChange(choice=Choice()),
        ChannelChange(choice=OFF, repeats=True),
        ChannelChange(name="x"),
        ChannelChange(is_paused=True),
    ):
        with pytest.raises(InvalidInput, match="another user"):
            await rooms.service.change(rooms.caller, own.id, change)
    with pytest.raises(InvalidInput, match="another user"):
        await rooms.service.test(rooms.caller, own.id)
    await rooms.choose(own.id, OFF)
    assert (await rooms.service.get(member, own.id)).state is ChannelState.OFF
    with pytest.raises(InvalidInput, match="another user"):
        await rooms.choose(own.id, Choice())
    await rooms.service.change(member, own.id, ChannelChange(choice=Choice()))
    assert (await rooms.service.test(member, own.id)).is_accepted
    await rooms.service.remove(rooms.caller, own.id)
    await rooms.service.remove(rooms.caller, own.id)
    assert (await rooms.service.all(member)).channels == []


async def test_an_account_sees_changes_and_tests_nothing_of_another_one(rooms: Rooms) -> None:
    room = await rooms.add(Choice(frequency=Frequency.DAILY))
    await rooms.change("A")
    stranger = await rooms.harness.owner("stranger@other.example")

    assert (await rooms.service.all(stranger)).channels == []
    await rooms.service.remove(stranger, room)
    for refused in (
        rooms.service.get(stranger, room),
        rooms.service.change(stranger, room, ChannelChange(choice=OFF)),
        rooms.service.test(stranger, room),
        rooms.service.log_page(stranger, room, after=None, limit=1),
    ):
        with pytest.raises(InvalidInput, match="no channel with this id"):
            await refused
    await rooms.service.pause(stranger, rooms.harness.now + DAY)
    rooms.harness.clock.move(3 * HOUR)
    assert await rooms.deliver() == ["A"]


async def test_a_choice_names_tags_and_watches_of_the_account_alone(rooms: Rooms) -> None:
    await rooms.harness.post_watches(await rooms.harness.sign_in(rooms.caller.account.email), "04012345678901")
    watch = await rooms.harness.watch(rooms.caller, "04012345678901")
    async with rooms.harness.database.transaction() as connection:
        await add_tags(connection, rooms.caller.account.id, [watch.id], ["Implants"])
    room = await rooms.add(Choice(tags=("implants", "IMPLANTS"), watches=(watch.id, watch.id)))
    chosen = (await rooms.service.get(rooms.caller, room)).target.choice
    assert (chosen.tags, chosen.watches) == (("Implants",), (watch.id,))

    for choice, said in (
        (Choice(tags=("unknown",)), "“unknown”"),
        (Choice(watches=(watch.id + 1,)), str(watch.id + 1)),
        (Choice(watches=(2**70,)), "ids of watches"),
        (Choice(watches=tuple(range(1, 202))), "At most 200"),
        (Choice(hour=24), "hour"),
        (Choice(weekday=-1), "weekday"),
    ):
        with pytest.raises(InvalidInput, match=said):
            await rooms.choose(room, choice)
    async with rooms.harness.database.transaction() as connection:
        await connection.exec_driver_sql("DELETE FROM watch_tags")
    await rooms.choose(room, replace(chosen, hour=9))  # what is gone may stay chosen


async def test_wrong_channels_addresses_and_zones_are_refused_in_words(rooms: Rooms) -> None:
    new = NewChannel("plain", "#news")
    key = dataclasses.replace(rooms.caller, user_id=None, session=None, name="rw_ab…wxyz")
    for caller, wrong, said in (
        (rooms.caller, replace(new, channel="pigeon"), "There are: chat, email, plain"),
        (rooms.caller, replace(new, url=" "), "Say with `url`"),
        (rooms.caller, replace(new, url="news"), "begins with #"),
        (rooms.caller, replace(new, time_zone="Mars/Olympus"), "no such time zone"),
        (rooms.caller, NewChannel(EMAIL, "somebody@else.example"), "your own address"),
        (rooms.caller, NewChannel(EMAIL, time_zone="Europe/Berlin"), "time zone of its user"),
        (key, NewChannel(EMAIL), "Sign in as that user"),
    ):
        with pytest.raises(InvalidInput, match=said):
            await rooms.service.add(caller, wrong)
    for _ in range(10):
        await rooms.service.add(key, new)
    with pytest.raises(CapReached, match="at most 10 plain"):
        await rooms.service.add(key, new)


async def test_owners_are_mailed_who_added_and_removed_a_channel_without_its_secret(rooms: Rooms) -> None:
    new = NewChannel("chat", "https://chat.example/services/secret-path", name="Ward\r\n3")
    room = (await rooms.service.add(rooms.caller, new)).target.id
    await rooms.service.remove(rooms.caller, room)
    await rooms.service._notices.mails.settled()

    mails = [each for each in rooms.harness.mail.mails if "channels" in each.subject]
    assert ["added chat chat.example “Ward 3”" in each.text for each in mails] == [True, False]
    assert "removed chat chat.example “Ward 3”" in mails[1].text
    assert "secret-path" not in str(mails) + str(await rooms.trail())
