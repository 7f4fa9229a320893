"""An account that has something of everything, with hostile texts wherever the register, a customer or a file sets one.

The service must have `REGISTRATIONS` in its copy, and in its register.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import insert

from registerwatch.accounts.models import Caller
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.accounts.tables import users
from registerwatch.files.tables.table import ReadChoices
from registerwatch.notifications.tables import webhooks
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events import event_repository
from registerwatch.watches.events.event_repository import NewEvent
from registerwatch.watches.models import Watch
from registerwatch.watches.questions.watch_details import WatchEdit
from tests.pages.registrations import MAKER, certificate, gtin, registration
from tests.support.harness import NewAccount, ServiceHarness
from tests.support.list_files import DAMAGED

SCRIPT = "<script>window.hacked = true</script><img src=x onerror='window.hacked = true'>"
ATTRIBUTE = "\"' autofocus onfocus=window.hacked=true x='\" <svg/onload=window.hacked=true>"
FORMULA = "=cmd|' /C calc'!A0"
BIDI = "\u202egnp.exe\u2066 abc\u202d"
TEMPLATE = "{{ 7 * 7 }}{% set x = 1 %}${7*7}</title></textarea></script>"
LONG = "Wwwwwwwwwwwwwwwwwwwwwwwww" * 6
CONTROLS = "bell\x07 escape\x1b[31m nul\x00 delete\x7f next\x85 none\ufffe"
HOSTILE = (SCRIPT, ATTRIBUTE, FORMULA, BIDI, TEMPLATE, LONG, CONTROLS)
PASSWORD, MEMBERS_PASSWORD = "a long phrase of an owner", "a long phrase of a member"  # of made-up users
HOOK = "https://hooks.acme.example/<script>window.hacked=true</script>"
OTHER_HOOK = f"https://{'long-' * 11}name.example/{'p' * 200}?q='\"><b>"
DAY = 24 * 3600
_ENDS = ("2026-12-01", "2027-01-30", "2027-03-20", "2027-06-30", "2029-01-01", None)
"""Of certificates: one that has ended at the time of the clock, and one in each part of the time that follows."""


def _certificates(text: str) -> list[dict[str, object]]:
    return [
        certificate(f"{text[:30]} {number}", end, revision=text[:40], notified_body_name=text)
        for number, end in enumerate(_ENDS)
    ]


REGISTRATIONS = [
    *(
        registration(
            gtin(700 + number),
            text,
            device_name=text,
            model=text,
            reference=text,
            certificates=_certificates(text),
            basic_udi=f"4012345HOST{number}",
            manufacturer={"srn": f"DE-MF-00000080{number}", "name": text},
            authorised_representative={"srn": f"FR-AR-00000080{number}", "name": text},
        )
        for number, text in enumerate(HOSTILE)
    ),
    *(registration(gtin(720 + number), f"Stem {number}", basic_udi=f"4012345STEM{number}") for number in range(4)),
]
PLAIN, FAILING, UNREAD, FAILED_AT_FIRST = (gtin(720 + number) for number in range(4))
UNREGISTERED = gtin(799)


@dataclass(frozen=True, slots=True)
class FilledAccount:
    """An account with an owner and a member, who have signed in."""

    owner: NewAccount
    owner_cookie: str
    """The session of the owner's browser."""
    member: str
    """The session of the member's browser."""

    @property
    def secrets(self) -> Sequence[str]:
        """What no page may show."""
        return (self.owner.api_key, self.owner.session, self.owner_cookie, self.member)


async def filled_account(harness: ServiceHarness, domain: str = "acme.example") -> FilledAccount:
    """An account with watches in every state, events of every kind, webhooks, keys, members, feeds, lists."""
    owner = await harness.sign_up(f"o'wner+x@{domain}", PASSWORD)
    await harness.prove_address(owner)
    caller = await harness.service.accounts.sessions.caller(credential_of(None, owner.session))
    await _people(harness, caller, domain)
    cookie = await harness.browser_session(owner.email, PASSWORD)
    member = await harness.browser_session(f"member@{domain}", MEMBERS_PASSWORD)
    await _targets(harness, owner)
    await _email_target(harness, caller, domain)
    watches = await _watches(harness, owner, caller)
    await _events(harness, caller, watches)
    await _real_changes(harness, owner)
    await _lists(harness, caller)
    await harness.finish_background_work()
    return FilledAccount(owner, cookie, member)


async def _people(harness: ServiceHarness, caller: Caller, domain: str) -> None:
    accounts = harness.service.accounts
    session = caller.session
    assert session is not None
    await accounts.members.add_user(caller, f"member@{domain}", MEMBERS_PASSWORD)
    await accounts.invitations.invite(caller, f"<b>invited</b>@{domain}".replace("<b>", "b'").replace("</b>", "'b"))
    for text in HOSTILE:
        await accounts.api_keys.create(caller, text, expires_at=harness.now + DAY)


async def _targets(harness: ServiceHarness, owner: NewAccount) -> None:
    """Two webhooks, one of which fails, with deliveries; a feed."""
    harness.receivers.answers["hooks.acme.example"] = [500, 200]
    for url in (HOOK, OTHER_HOOK):
        assert (await harness.post("/v1/webhooks", owner.session, url=url)).status_code == 200
    for each in (await harness.get_list(owner.session, "webhooks"))[:1] * 2:
        await harness.post(f"/v1/webhooks/{each['id']}/test", owner.session)
    named = {"name": SCRIPT, "choice": {"frequency": "weekly", "severity": "high"}}
    path, headers = "/v1/channels/1", {"Authorization": f"Bearer {owner.session}"}
    assert (await harness.client.patch(path, json=named | {"paused": True}, headers=headers)).status_code == 200
    assert (await harness.client.patch(path, json={"paused": False}, headers=headers)).status_code == 200
    assert (await harness.post("/v1/feeds", owner.session)).status_code == 200


async def _lists(harness: ServiceHarness, caller: Caller) -> None:
    """Two lists with hostile names, columns and cells: one is kept and has a later file, of one a file has failed. No
    text has characters of control.
    """
    lists, worker = harness.service.lists.service, harness.service.lists.worker
    name = SCRIPT[:80]
    codes = [each["primary_di"] for each in REGISTRATIONS]
    rows = [
        [HOSTILE[0], "GTIN", HOSTILE[1]],
        *([text, code, text] for text, code in zip(HOSTILE[:-1], codes, strict=False)),
    ]
    written = io.StringIO()
    csv.writer(written, delimiter=";").writerows(rows)
    content = written.getvalue().encode()
    await lists.send_named(caller, name, f"{SCRIPT}.csv", content, ReadChoices(), keeps_itself=True)
    await lists.send_named(caller, "Not a list", "a.xlsx", DAMAGED, ReadChoices())
    await worker.work_off()
    more = f"{content.decode().rpartition(chr(10))[0]}\nx;{UNREGISTERED};{HOSTILE[0][:50]}\n"
    await lists.send_named(caller, name, "later.csv", more.encode(), ReadChoices())
    await worker.work_off()


async def _email_target(harness: ServiceHarness, caller: Caller, domain: str) -> None:
    """The e-mail of another member, whether or not this service sends e-mail."""
    email = f"colleague@{domain}"
    await harness.service.accounts.members.add_user(caller, email, MEMBERS_PASSWORD)
    user = next(each for each in await harness.rows(users) if each["email"] == email)
    values = {
        "account_id": caller.account.id,
        "user_id": user["id"],
        "channel": "email",
        "url": email,
        "secret": "made up",
        "is_first": False,
        "created_at": harness.now,
    }
    async with harness.database.transaction() as connection:
        await connection.execute(insert(webhooks).values(values))


async def _watches(harness: ServiceHarness, owner: NewAccount, caller: Caller) -> list[Watch]:
    """Watches that are well, failing, unread, unknown to the register; with names, notes and tags."""
    subjects = [each["primary_di"] for each in REGISTRATIONS[: len(HOSTILE)]]
    await harness.post_watches(owner.session, *subjects, *(f"DE-MF-00000080{each}" for each in range(len(HOSTILE))))
    await harness.post_watches(owner.session, PLAIN, FAILING, UNREGISTERED, str(MAKER["srn"]))
    harness.faults.fail("any", "http-500")
    await harness.post_watches(owner.session, FAILED_AT_FIRST)
    harness.faults.clear()
    watches = list(await harness.service.watches.service.all(caller))
    by_subject = {each.subject: each for each in watches}
    for subject, text in zip(subjects, HOSTILE, strict=True):
        edit = WatchEdit(name=text, tags=f"{text[:30].replace(',', ' ')}, ward 3", notes=f"{text}\n{text}")
        await harness.service.watches.details.change(caller, by_subject[subject].id, edit)
    return watches


async def _events(harness: ServiceHarness, caller: Caller, watches: Sequence[Watch]) -> None:
    """Events of every kind and severity, in several batches on several days."""
    async with harness.database.transaction() as connection:
        for number, watch in enumerate(watches[: len(HOSTILE)]):
            text = HOSTILE[number]
            new = [
                NewEvent(caller.account.id, watch.id, watch.subject, text[:80], text, changes, False)
                for changes in [*([change] for change in _changes(text)), _devices(text)]
            ]
            await event_repository.add_events(connection, new, harness.now - number * DAY)


def _changes(text: str) -> Iterator[FieldChange]:
    yield FieldChange("status", "On the EU market", "No longer placed on the EU market")
    yield FieldChange("risk_class", "Class IIa", "Class III")
    yield FieldChange("trade_name", text, f"{text} and {text}")
    yield FieldChange("reference", "", text)
    yield FieldChange("cert_status", "Issued", "Withdrawn", certificate=text)
    yield FieldChange("cert_expiry", "2027-01-01", "2029-01-01", certificate=text)
    yield FieldChange("certificate", text, f"{text} 2", certificate=text)
    yield FieldChange("device_total", "1", "2")
    yield FieldChange("cert_refused", "", text)
    yield FieldChange("cert_ends", "2027-01-31", "in 7 days", certificate=text)


def _devices(text: str) -> list[FieldChange]:
    named = [FieldChange("device_off_market", "", text, device=f"{text}{number}") for number in range(7)]
    return [FieldChange("devices_off_market", "", "1234"), *named]


async def _real_changes(harness: ServiceHarness, owner: NewAccount) -> None:
    """What a sync finds: a change, a failed read; and what is sent for it."""
    [record] = harness.world.by_primary_di(PLAIN)
    harness.world.change(record.uuid, reference=SCRIPT, trade_names={"en": ATTRIBUTE})
    harness.faults.fail("any", "http-500", contains=FAILING)
    for _ in range(2):
        await harness.post_sync(owner.session)
        harness.clock.move(2 * DAY)
    await harness.post_sync(owner.session)
    harness.faults.clear()
    await harness.post("/v1/import", owner.session, csv=f"{UNREAD}\n")
    await harness.deliver_due()
