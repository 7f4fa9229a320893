"""A day of a regulatory team: what mails, a chat, a webhook, pages and a feed say of it, side by side.

Each change is told once on each of them, to each user at the time and in the zone that they chose.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import update

from registerwatch.accounts.models import Caller
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.accounts.tables import users
from registerwatch.mail.mailer import Mail
from registerwatch.notifications.choices import Choice, Frequency
from registerwatch.platform.structs import replace
from registerwatch.watches.models import EventSeverity
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.identifiers import gs1_check_digit
from registerwatch_standins.register.records import CertificateListing, Registration
from tests.notifications.mail_steps import mail_user
from tests.pages.account.pages_client import PagesClient
from tests.support.harness import EMAIL, NewAccount, ServiceHarness, ServiceStarter

HOUR = 3_600
SLACK = "https://hooks.slack.com/services/T0001/B0002/unheardunheardunheardWXYZ"
WEBHOOK = "https://hooks.acme.example/changes"
CERTIFICATE, BASIC_UDI = "Z-26-0815", "4099999PUMPSQX"
FAMILY, OTHERS, FILLED = 30, 32, 20
"""Devices with one certificate; devices beside them; those of the latter of which the register fills in a field."""
ANGELES, NIGHT = "angeles@acme.example", "night@acme.example"
OFF_MARKET = "No longer placed on the EU market"


@dataclass
class Team:
    """An account with 64 watches, three users, a chat and a webhook, and what they are told of."""

    harness: ServiceHarness
    owner: NewAccount
    caller: Caller
    family: Sequence[Registration]
    others: Sequence[Registration]
    certificate: CertificateListing

    @property
    def filled(self) -> Sequence[Registration]:
        """Devices of which the register fills in a field that was empty."""
        return self.others[:FILLED]

    @property
    def gone(self) -> Registration:
        """A device of a watched manufacturer that leaves the market."""
        return self.others[FILLED]

    @property
    def newer(self) -> Registration:
        """A device of which nothing changes but the version of its record."""
        return self.others[-1]

    async def sweep(self) -> None:
        """Sweep devices and certificates once, as the background does."""
        service = self.harness.service
        await service.device_sweep.sweep_all(lambda _done, _all: None)
        await service.certificate_sweep.run_where_due(every=0)
        await service.certificate_sweep.read_due_scopes()
        await self.harness.finish_background_work()

    async def pass_time(self, seconds: int, steps: int = 4) -> None:
        """Let time pass, while rechecks run and deliveries go out."""
        for _ in range(steps):
            await self.harness.service.watches.recheck.run()
            self.harness.clock.move(seconds // steps)
            await self.harness.deliver_due()

    def mails_to(self, email: str) -> Sequence[Mail]:
        """Mails to a user, oldest first."""
        return [mail for mail in self.harness.mail.mails if mail.to == email]

    def posted_to(self, url: str) -> Sequence[str]:
        """What a chat or a program got, oldest first."""
        return [each.content.decode() for each in self.harness.receivers.requests if each.url == url]


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_each_change_of_a_day_is_told_once_and_alike_wherever_the_team_looks(
    start_service: ServiceStarter,
) -> None:
    async with start_service(world=GeneratedWorld(400, seed=7), trial_watch_cap=100) as harness:
        team = await _team(harness)
        await _a_day(team)

        events = await harness.get_list(team.owner.api_key, "events")
        _check_events(team, events)
        _check_mails(team)
        _check_programs(team, events)
        await _check_pages_and_feed(team)


async def _a_day(team: Team) -> None:
    """A certificate is suspended, fields are filled in, a record gets a new version, a device leaves the market."""
    world, harness = team.harness.world, team.harness
    await team.sweep()
    await team.pass_time(HOUR)
    assert await harness.events(team.caller) == [], "the first reads are baselines"
    world.change_certificate(team.certificate.uuid, status="suspended")
    await team.sweep()
    harness.clock.move(60)
    await harness.post_sync(team.owner.api_key)
    await team.pass_time(HOUR)
    for number, each in enumerate(team.filled):
        world.change(each.uuid, reference=f"REF-{number:03}")
    world.change(team.newer.uuid, new_version=True)
    await team.sweep()
    await team.pass_time(HOUR)
    world.change(team.gone.uuid, status="no-longer-on-the-market")
    await team.sweep()
    await team.pass_time(20 * HOUR)


def _check_events(team: Team, events: Sequence[Mapping[str, Any]]) -> None:
    told = Counter(str(each["summary"]).partition(";")[0] for each in events)
    assert told.pop("cert_status: Issued → Suspended") == FAMILY + 1
    assert told.pop(f"status: On the EU market → {OFF_MARKET}") == 1
    assert told.pop("devices_off_market:  → 1") == 1
    assert told.pop(f"version: {team.newer.version_number} → {team.newer.version_number + 1}") == 1
    assert told == {f"reference:  → REF-{number:03}": 1 for number in range(FILLED)}


def _check_mails(team: Team) -> None:
    owner, angeles, night = (list(team.mails_to(each)) for each in (EMAIL, ANGELES, NIGHT))
    assert owner[0].subject == f"High: certificate {CERTIFICATE} suspended ({FAMILY + 1} watches)"
    assert (len(owner), len(night), len(angeles)) == (3, 2, 3)
    for mails in (owner, angeles, night):
        texts = "\n".join(each.text.partition("\n\n")[2] for each in mails)
        assert texts.count(f"Certificate status ({CERTIFICATE})") == 1
        assert texts.count(f"UDI-DI {team.gone.primary_di}") == 1
        assert team.newer.primary_di not in texts
        filled = [texts.count(f"REF-{number:03}") for number in range(FILLED)]
        assert set(filled) == ({0} if mails is night else {1})
    assert all("Europe/Berlin" in each.text for each in owner + night)
    assert all("America/Los Angeles" in " ".join(each.text.split()) for each in angeles)


def _check_programs(team: Team, events: Sequence[Mapping[str, Any]]) -> None:
    delivered = [event["id"] for body in team.posted_to(WEBHOOK) for event in json.loads(body)["events"]]
    assert sorted(delivered) == sorted(each["id"] for each in events)
    posts = team.posted_to(SLACK)
    assert len(posts) == 3
    blocks = "".join(json.dumps(json.loads(each)["blocks"][1:], ensure_ascii=False) for each in posts)
    assert blocks.count(f"Certificate status ({CERTIFICATE})") == 1
    assert [blocks.count(f"REF-{number:03}") for number in range(FILLED)] == [1] * FILLED
    assert team.newer.primary_di not in blocks


async def _check_pages_and_feed(team: Team) -> None:
    client = PagesClient(team.harness)
    await client.sign_in(EMAIL)
    today, listed = await client.page("/app"), await client.page("/app/events", view="all")
    feed = (await team.harness.post("/v1/feeds", team.owner.api_key)).json()["feed"]["events"]
    entries = (await team.harness.client.get(feed)).text
    for text in (today.main, listed.main, entries):
        assert CERTIFICATE in text
        assert OFF_MARKET in text
    for number in range(FILLED):
        assert listed.main.count(f"REF-{number:03}") == 1
    for page in (today, listed):
        assert page.main.count(CERTIFICATE) == 2, "of the manufacturer, and of its devices together"


async def _team(harness: ServiceHarness) -> Team:
    world = harness.world
    model = next(each for each in world.newest(0, 100) if each.basic_udi and each.legislation == "mdr")
    srn = model.manufacturer.srn
    model = replace(model, basic_udi=BASIC_UDI, certificates=(), legacy_twin=None, other_codes=())
    family = [world.register(_pump(model, number)) for number in range(FAMILY)]
    certificate = world.list_certificate(srn, basic_udis=[BASIC_UDI], number=CERTIFICATE, expiry="2029-01-31")
    others = [each for each in harness.unique_devices(120) if each.manufacturer.srn != srn][:OTHERS]
    for each in others[:FILLED]:
        world.change(each.uuid, reference=None)
    owner = await harness.sign_up()
    await harness.prove_address(owner)
    caller = await harness.service.accounts.sessions.caller(credential_of(None, owner.session))
    async with harness.database.transaction() as connection:
        await connection.execute(update(users).values(time_zone="Europe/Berlin"))
    await harness.post("/v1/channels", owner.session, channel="email", choice={"frequency": "at-once"})
    await mail_user(harness, caller, ANGELES, Choice(Frequency.DAILY, high_at_once=True), "America/Los_Angeles")
    await mail_user(harness, caller, NIGHT, Choice(severity=EventSeverity.HIGH), "Europe/Berlin")
    await harness.post("/v1/channels", owner.session, channel="slack", url=SLACK)
    await harness.post("/v1/webhook", owner.session, url=WEBHOOK)
    subjects = [each.primary_di for each in (*family, *others)] + [srn, others[FILLED].manufacturer.srn]
    await harness.post_watches(owner.api_key, *subjects)
    await harness.post_sync(owner.api_key)
    harness.mail.mails.clear()
    return Team(harness, owner, caller, family, others, certificate)


def _pump(model: Registration, number: int) -> Registration:
    body = f"0409999000{number:03}"
    uuid = f"00000000-0000-4000-8000-{number:012}"
    return replace(
        model,
        uuid=uuid,
        primary_di=body + gs1_check_digit(body),
        trade_names={"en": f"Pump {number}"},
        status="on-the-market",
    )
