"""A week of an account whose three users chose differently, while clocks are changed and workers are killed.

Each event is in exactly one mail of each user who wants it, at the time that they chose, and in none of the others.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

import msgspec
import pytest
from sqlalchemy import insert

from registerwatch.accounts.models import Caller
from registerwatch.accounts.tables import users
from registerwatch.mail.mailer import Mail
from registerwatch.mail.smtp import Failure
from registerwatch.notifications.channels import Channel, HandOver
from registerwatch.notifications.channels.email import EmailChannel
from registerwatch.notifications.choices import Choice, Frequency
from registerwatch.notifications.delivery.delivery import CUT_OFF, DeliveryService
from registerwatch.notifications.outbox import DeliveryOutbox
from registerwatch.notifications.repository import ClaimedDelivery
from registerwatch.notifications.tables import deliveries, webhooks
from registerwatch.watches import repository, tag_repository
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events import event_repository
from registerwatch.watches.events.event_repository import NewEvent
from registerwatch.watches.models import Event, EventSeverity
from tests.support.harness import ServiceHarness
from tests.support.long_forms import some_by_day

STEP = 3_600
DAYS = 9
CHANGE_CHANCE = 0.35
"""Of another change in a step: some 140 in the week, few enough for a digest to show them all."""
KILLED = 0.2
"""Of the workers that claimed something, at any of four points."""
WATCHES = 500
TAGGED = range(1, WATCHES + 1, 3)
BEGINNINGS = {
    "forward": datetime(2027, 3, 24, tzinfo=ZoneInfo("UTC")),
    "back": datetime(2027, 10, 27, tzinfo=ZoneInfo("UTC")),
}
"""Of weeks in which clocks are changed."""
CHANGES = {
    EventSeverity.HIGH: ("cert_status", "Suspended"),
    EventSeverity.MEDIUM: ("risk_class", "Class III"),
    EventSeverity.LOW: ("trade_name", "after"),
}
"""A field and its new value. What it was before tells changes apart in mails."""
BEFORE = re.compile(r"\bbefore-(\d+)\b")


@dataclass(frozen=True)
class Person:
    """A user, where they live, and what they chose."""

    email: str
    zone: str
    choice: Choice

    def wants(self, event: Event) -> bool:
        ranks = {EventSeverity.LOW: 0, EventSeverity.MEDIUM: 1, EventSeverity.HIGH: 2}
        is_severe = ranks[EventSeverity(event.severity)] >= ranks[self.choice.severity]
        return is_severe and (not self.choice.tags or event.watch_id in TAGGED)

    def due_at(self, event: Event, held_until: int) -> int:
        """From when on they may be told, found by looking at the clock on their wall every quarter of an hour."""
        is_urgent = self.choice.high_at_once and event.severity == EventSeverity.HIGH
        if self.choice.frequency is Frequency.AT_ONCE or is_urgent:
            return max(held_until, event.created_at)
        at = event.created_at - event.created_at % 900
        while not (at > event.created_at and self._begins_a_digest(at)):
            at += 900
        return at

    def _begins_a_digest(self, at: int) -> bool:
        now, before = (datetime.fromtimestamp(each, ZoneInfo(self.zone)) for each in (at, at - 900))
        is_day = self.choice.frequency is Frequency.DAILY or now.weekday() == self.choice.weekday
        midnight = before.date() != now.date()
        return is_day and now.hour >= self.choice.hour and (midnight or before.hour < self.choice.hour)


PEOPLE = (
    Person("lisbon@acme.example", "Europe/Lisbon", Choice(severity=EventSeverity.MEDIUM)),
    Person("berlin@acme.example", "Europe/Berlin", Choice(frequency=Frequency.DAILY, hour=2, high_at_once=True)),
    Person(
        "athens@acme.example",
        "Europe/Athens",
        Choice(frequency=Frequency.WEEKLY, weekday=6, hour=3, tags=("Implants",)),
    ),
)


class Killed(Exception):
    """The process ended here."""


@dataclass
class MailServer:
    """Accepts mails. `kill_at` is where the process that sends the next one ends."""

    is_set_up = True
    accepted: list[Mail] = field(default_factory=list)
    kill_at: str = ""

    async def send(self, mail: Mail) -> None:
        raise AssertionError("these mails are sent once")

    async def send_once(self, mail: Mail, before_data: HandOver) -> Failure | None:
        if self.kill_at == "before the content":
            raise Killed
        await before_data()
        if self.kill_at == "before the server has it":
            raise Killed
        self.accepted.append(mail)
        if self.kill_at == "before its answer":
            raise Killed
        return None


@dataclass
class Week:
    """The account, its two nodes, and what happened."""

    harness: ServiceHarness
    owner: Caller
    chance: random.Random
    server: MailServer = field(default_factory=MailServer)
    changes: dict[int, tuple[Event, int]] = field(default_factory=dict)
    """Events by the number of their change, each with the instant until which its run held it."""
    made: int = 0
    told: list[tuple[str, int, int]] = field(default_factory=list)
    """User, change and instant of what the mail server accepted."""

    def __post_init__(self) -> None:
        channel = EmailChannel(self.server, self.harness.clock, public_url="https://watch.example")
        channels: Mapping[str, Channel] = {channel.name: channel}
        self.outbox = DeliveryOutbox(self.harness.database, self.harness.clock, channels)
        self.nodes = [DeliveryService(self.harness.database, self.harness.clock, channels) for _ in range(2)]

    async def change(self) -> None:
        """Some events of one batch: a run holds its own for some minutes, a sweep does not."""
        now = self.harness.now
        due_at = now + self.chance.choice((0, 0, 600))
        batch = f"batch-{now}-{self.chance.random()}"
        new = [self._event() for _ in range(self.chance.choice((1, 1, 1, 3)))]
        async with self.harness.database.transaction() as connection:
            stored = await event_repository.add_events(connection, new, now)
            await self.outbox.put(connection, batch, stored, due_at=due_at, now=now)
        self.changes |= {_number_in(each.changes[0].old): (each, due_at) for of in stored.values() for each in of}

    def _event(self) -> NewEvent:
        watch_id, severity = self.chance.randint(1, WATCHES), self.chance.choice(list(CHANGES))
        name, value = CHANGES[severity]
        self.made += 1
        change = FieldChange(name, f"before-{self.made}", value)
        return NewEvent(self.owner.account.id, watch_id, _udi(watch_id), "Trocar", "a change", [change], True)

    async def work(self) -> None:
        """One of the nodes sends what is due, unless it is killed."""
        node = self.chance.choice(self.nodes)
        for claimed in await node.claim(limit=self.chance.choice((1, 2, 100))):
            await self._deliver(node, claimed)
        self.server.kill_at = ""

    async def _deliver(self, node: DeliveryService, claimed: ClaimedDelivery) -> None:
        points = "claimed", "before the content", "before the server has it", "before its answer", "sent"
        self.server.kill_at = self.chance.choice(points) if self.chance.random() < KILLED else ""
        if self.server.kill_at == "claimed":
            return
        before = len(self.server.accepted)
        try:
            ended = await node.deliver(claimed)
        except Killed:
            return
        finally:
            for mail in self.server.accepted[before:]:
                assert _numbers_in(mail.text) == _numbers_in(mail.html) != set()
                self.told += [(mail.to, int(each), self.harness.now) for each in BEFORE.findall(mail.text)]
        if self.server.kill_at != "sent":
            await node.store([ended])

    async def in_doubt(self) -> Mapping[str, set[int]]:
        """The events of mails of which the log says that nobody knows whether they arrived, by user."""
        doubtful: defaultdict[str, set[int]] = defaultdict(set)
        emails = {row["id"]: row["url"] for row in await self.harness.rows(webhooks)}
        for row in await self.harness.rows(deliveries):
            if row["error"] == CUT_OFF:
                doubtful[emails[row["webhook_id"]]] |= _numbers_in(row["body"])
        return doubtful


@pytest.mark.parametrize(
    ("database_kind", "clocks"),
    some_by_day([("sqlite", "forward"), ("sqlite", "back"), ("postgresql", "back")], [("sqlite", "back")]),
)
async def test_each_event_is_in_one_mail_of_each_user_who_wants_it_when_they_want_it(
    harness: ServiceHarness, clocks: str
) -> None:
    week = await _an_account(harness, BEGINNINGS[clocks])
    for _ in range(DAYS * 86_400 // STEP):
        while week.chance.random() < CHANGE_CHANCE:
            await week.change()
        harness.clock.move(STEP)
        await week.work()
    for _ in range(9 * 86_400 // (3 * STEP)):  # no more changes, until every digest has gone out
        harness.clock.move(3 * STEP)
        await week.work()

    doubtful, told = await week.in_doubt(), Counter((email, event) for email, event, _ in week.told)
    assert [each for each, number in told.items() if number > 1] == [], "told twice"
    for person in PEOPLE:
        wanted = {number for number, (event, _) in week.changes.items() if person.wants(event)}
        got = {event for email, event in told if email == person.email}
        assert len(wanted) > 20, "the week shows something"
        assert got - wanted == set(), f"{person.email} did not want this"
        missed = wanted - got - doubtful[person.email]
        assert missed == set(), f"{person.email} was not told, and the log does not say so"
    _assert_times(week)
    assert any(doubtful.values()), "some workers were killed in the worst moment"


def _assert_times(week: Week) -> None:
    """Nobody is told before their time, and hardly later."""
    people = {each.email: each for each in PEOPLE}
    late = []
    for email, number, at in week.told:
        due_at = people[email].due_at(*week.changes[number])
        assert at >= due_at, f"{email} was told of {number} too early"
        late.append(at - due_at)
    late.sort()
    assert late[len(late) * 3 // 4] <= 2 * STEP


async def _an_account(harness: ServiceHarness, beginning: datetime) -> Week:
    owner = await harness.owner()
    harness.clock.move(beginning.timestamp() - harness.now)
    account_id, now = owner.account.id, harness.now
    async with harness.database.transaction() as connection:
        watched = [repository.NewWatch(_udi(number)) for number in range(1, WATCHES + 1)]
        await repository.add(connection, account_id, watched, now)
        await tag_repository.add(connection, account_id, list(TAGGED), ["implants"])
        for person in PEOPLE:
            of_user = {"account_id": account_id, "email": person.email, "role": "member", "created_at": now}
            added = insert(users).values(**of_user, confirmed_at=now, time_zone=person.zone).returning(users.c.id)
            of_target = {"account_id": account_id, "channel": "email", "url": person.email, "secret": "s"}
            stored = msgspec.json.encode(person.choice).decode()
            target = insert(webhooks).values(
                **of_target, is_first=False, created_at=now, repeats=True, choice=stored,
                user_id=(await connection.execute(added)).scalar_one(),
            )  # fmt: skip
            await connection.execute(target)
    return Week(harness, owner, random.Random(beginning.timestamp()))  # no secret


def _numbers_in(text: str) -> set[int]:
    """The changes that a text tells."""
    return {int(each) for each in BEFORE.findall(text)}


def _number_in(value: str) -> int:
    (number,) = _numbers_in(value)
    return number


def _udi(number: int) -> str:
    return f"0401234567{number:04}"
