"""Mails about changes on their way to a real mail server: each arrives once, or the log says why not."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest
from sqlalchemy import update

from registerwatch.accounts.models import Caller
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.accounts.tables import users
from registerwatch.background.loops import deliver, send_mails
from registerwatch.mail.mailer import BeforeData, Mail, SmtpMailer
from registerwatch.mail.memory_mailer import MemoryMailer
from registerwatch.mail.message import sender_of
from registerwatch.mail.server import server_of
from registerwatch.mail.smtp import Failure
from registerwatch.notifications.channels.email import NOT_PROVEN
from registerwatch.notifications.delivery.delivery import CUT_OFF, MAIL_CANDIDATES, MAX_PER_TARGET
from registerwatch.notifications.gathered_batches import MAX_GATHER_SECONDS
from registerwatch.notifications.models import EMAIL, REPEAT_PAUSES
from registerwatch.notifications.tables import deliveries
from registerwatch.notifications.targets.channel_models import NewChannel
from registerwatch.platform.leases import LEASE_SECONDS
from registerwatch.register.models import Certificate, DeviceReading
from registerwatch.watches.diff import FieldChange
from tests.notifications.channels.sample_events import RENAMED, SUSPENDED
from tests.notifications.mail_steps import mail_user, mail_worker, send_due, tell
from tests.notifications.steps import queue_change
from tests.register.builders import a_full_reading
from tests.support.certificates import certificate_for
from tests.support.harness import SRN, UDI, ServiceHarness
from tests.support.mailbox import BREAK, Mailbox, mailbox
from tests.support.statements import counted_statements
from tests.watches.certificate_steps import a_device, list_certificate, read_all_scopes, sweep
from tests.watches.test_news import change_certificate, list_all
from tests.watches.test_news import tell as tell_news

USERS = ("ana@acme.example", "bob@acme.example", "eve@acme.example")


@pytest.fixture
def sent() -> MemoryMailer:
    """A mailer that keeps mails about changes alone."""
    return MemoryMailer()


async def told(harness: ServiceHarness) -> Caller:
    """The owner of an account with three users, to whom a change is due to be told."""
    caller = await harness.owner()
    for email in USERS:
        await mail_user(harness, caller, email)
    await tell(harness, caller, SUSPENDED)
    harness.clock.move(300)
    return caller


def mailer_to(box: Mailbox, harness: ServiceHarness) -> SmtpMailer:
    return SmtpMailer(server_of(box.address), sender_of("Registerwatch <service@example.org>"), harness.clock)


async def errors(harness: ServiceHarness) -> Sequence[str]:
    return sorted(row["error"] for row in await harness.rows(deliveries))


async def test_every_user_gets_one_mail_over_tls_and_two_workers_send_none_twice(
    harness: ServiceHarness, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shown = certificate_for("127.0.0.1", "IP:127.0.0.1", tmp_path_factory.mktemp("certificate")).shown()
    await told(harness)
    with mailbox(starttls=shown) as box:
        await asyncio.gather(*(send_due(mail_worker(harness, mailer_to(box, harness))) for _ in range(2)))
        harness.clock.move(100_000)
        assert await send_due(mail_worker(harness, mailer_to(box, harness))) == 0

    assert sorted(mail.recipient for mail in box.mails) == list(USERS)
    assert all(mail.encrypted for mail in box.mails)
    message = box.mails[0].message
    assert message["Subject"] == "High: certificate Z-25-052 suspended (Device 1)"
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    rows = await harness.rows(deliveries)
    assert message["Message-ID"] in {f"<{row['id']}@watch.example.org>" for row in rows}
    assert {(row["is_accepted"], row["status"], row["attempts"]) for row in rows} == {(1, 250, 1)}


async def test_what_a_server_puts_off_comes_in_a_later_round_and_what_it_refuses_for_good_does_not(
    harness: ServiceHarness,
) -> None:
    await told(harness)
    with mailbox(replies={"RCPT": ["451 4.7.1 greylisted", "550 5.1.1 unknown", "250 OK"]}) as box:
        worker = mail_worker(harness, mailer_to(box, harness))
        await send_due(worker)
        assert len(box.mails) == 1
        harness.clock.move(REPEAT_PAUSES[0])
        await send_due(worker)
        harness.clock.move(sum(REPEAT_PAUSES))
        assert await send_due(worker) == 0

    assert len({mail.recipient for mail in box.mails}) == len(box.mails) == 2
    by_error = await errors(harness)
    assert by_error[:2] == ["", ""]
    assert "refused the recipient: 550 5.1.1." in by_error[2]


async def test_a_server_that_breaks_off_in_the_mail_gets_it_no_second_time_and_the_log_says_so(
    harness: ServiceHarness,
) -> None:
    await told(harness)
    with mailbox(replies={"DATA": [BREAK]}) as box:
        worker = mail_worker(harness, mailer_to(box, harness))
        await send_due(worker)
        harness.clock.move(sum(REPEAT_PAUSES))
        assert await send_due(worker) == 0

    assert len(box.mails) == 2
    assert next(each for each in await errors(harness) if each).endswith("broke off while it got the mail.")


async def test_a_server_that_is_not_there_is_tried_in_rounds_until_it_is(harness: ServiceHarness) -> None:
    await told(harness)
    with mailbox() as box:
        address = box.address
    gone = SmtpMailer(server_of(address), sender_of("service@example.org"), harness.clock)
    await send_due(mail_worker(harness, gone))
    assert all("cannot be reached" in each for each in await errors(harness))
    harness.clock.move(REPEAT_PAUSES[0])
    with mailbox() as box:
        await send_due(mail_worker(harness, mailer_to(box, harness)))
    assert sorted(mail.recipient for mail in box.mails) == list(USERS)


class Killed(Exception):
    """Stands for the end of the process."""


class MailerOfDyingProcess(MemoryMailer):
    """Dies at a point of the next mail."""

    def __init__(self, sent: list[Mail], point: str) -> None:
        super().__init__()
        self.mails = sent
        self._point = point

    async def send_once(self, mail: Mail, before_data: BeforeData) -> Failure | None:
        if self._point == "before":
            raise Killed
        await before_data()
        if self._point == "after the server has it":
            await self.send(mail)
        raise Killed


@pytest.mark.parametrize(("point", "arrive"), [("before", 1), ("between", 0), ("after the server has it", 1)])
async def test_a_process_that_is_killed_sends_a_mail_at_most_once(
    harness: ServiceHarness, sent: MemoryMailer, point: str, arrive: int
) -> None:
    caller = await harness.owner()
    await mail_user(harness, caller, USERS[0])
    await tell(harness, caller, SUSPENDED)
    harness.clock.move(300)
    dying = mail_worker(harness, MailerOfDyingProcess(sent.mails, point))
    with pytest.raises(Killed):
        await send_due(dying)
    worker = mail_worker(harness, sent)
    assert await send_due(worker) == 0

    harness.clock.move(LEASE_SECONDS + 1)
    await send_due(worker)
    harness.clock.move(sum(REPEAT_PAUSES))
    assert await send_due(worker) == 0
    assert len(sent.mails) == arrive
    assert await errors(harness) == ([""] if point == "before" else [CUT_OFF])


async def test_nobody_gets_mails_at_an_address_that_is_not_proven_any_more(
    harness: ServiceHarness, sent: MemoryMailer
) -> None:
    caller = await told(harness)
    async with harness.database.transaction() as connection:
        await connection.execute(update(users).where(users.c.email == USERS[0]).values(confirmed_at=None))
    await send_due(mail_worker(harness, sent))
    await tell(harness, caller, RENAMED, batch="next")
    harness.clock.move(300)
    await send_due(mail_worker(harness, sent))

    assert sorted(mail.to for mail in sent.mails) == sorted(USERS[1:] * 2)


async def test_what_changes_within_minutes_comes_in_one_mail(harness: ServiceHarness, sent: MemoryMailer) -> None:
    caller = await harness.owner()
    await mail_user(harness, caller, USERS[0])
    await tell(harness, caller, SUSPENDED, watch=1, batch="1")
    await tell(harness, caller, RENAMED, watch=2, batch="2", due_in=60)
    harness.clock.move(180)
    await send_due(mail_worker(harness, sent))

    assert [mail.subject for mail in sent.mails] == ["High: certificate Z-25-052 suspended, 2 changes of 2 watches"]


async def test_a_certificate_comes_once_though_reads_of_its_devices_found_more(harness: ServiceHarness) -> None:
    def read(uuid: str, udi: str, srn: str, reference: str, status: str) -> DeviceReading:
        certs = (Certificate("Z-1", status=status),)
        return a_full_reading(
            uuid, udi, manufacturer_srn=srn, manufacturer_name="Acme", reference=reference, certs=certs
        )

    devices = [("u-1", UDI, SRN), ("u-2", "04099999999985", SRN), ("u-3", "04099999999978", "DE-MF-000000009")]
    caller = await harness.owner_watching("owner@acme.example", SRN, *(udi for _, udi, _ in devices))
    await mail_user(harness, caller, USERS[0])
    await list_all(harness)
    await tell_news(harness)
    await harness.store(*(read(*device, "R-1", "Issued") for device in devices))
    await change_certificate(harness, FieldChange("cert_status", "Issued", "Suspended", "Z-1"))
    await tell_news(harness)
    await harness.store(*(read(*device, "R-2", "Suspended") for device in devices))
    harness.clock.move(180)
    await harness.deliver_due()

    (mail,) = [each for each in harness.mail.mails if each.to == USERS[0]]
    assert mail.subject == "High: certificate Z-1 suspended, 5 changes of 4 watches"
    assert mail.text.count("High: Certificate Z-1\nSRN DE-MF-000000001\nAbout 3 watches: ") == 1
    assert mail.text.count("after:  Suspended") == 2, "the other one is of the other manufacturer"


async def test_no_more_mails_leave_in_a_minute_than_is_set_over_all_workers(
    harness: ServiceHarness, sent: MemoryMailer
) -> None:
    caller = await harness.owner()
    for number in range(7):
        await mail_user(harness, caller, f"user{number}@acme.example")
    await tell(harness, caller, SUSPENDED)
    harness.clock.move(300 - harness.now % 60)
    workers = [mail_worker(harness, sent, per_minute=3) for _ in range(2)]
    numbers = []
    for _ in range(4):
        await asyncio.gather(*(send_due(worker) for worker in workers))
        numbers.append(len(sent.mails))
        harness.clock.move(60)

    assert numbers == [3, 6, 7, 7]


class SlowMailer(MemoryMailer):
    """Hangs until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.may_go_on = asyncio.Event(), asyncio.Event()

    async def send_once(self, mail: Mail, before_data: BeforeData) -> Failure | None:
        self.begun.set()
        await self.may_go_on.wait()
        return await super().send_once(mail, before_data)


async def test_a_slow_mail_server_delays_neither_webhooks_nor_requests(harness: ServiceHarness) -> None:
    caller, _ = await harness.owner_with_webhook()
    for email in USERS:
        await mail_user(harness, caller, email)
    slow = SlowMailer()
    await queue_change(harness, caller)
    harness.clock.move(300)
    sending = asyncio.create_task(send_mails(mail_worker(harness, slow)))
    async with asyncio.timeout(10):
        await slow.begun.wait()
        delivering = asyncio.create_task(deliver(harness.deliveries))
        await harness.receivers.wait_for("hooks.acme.example")
        assert (await harness.get("/health")).status_code == 200
    assert slow.mails == []

    slow.may_go_on.set()
    for task in (sending, delivering):
        task.cancel()
    await asyncio.gather(sending, delivering, return_exceptions=True)
    assert len(slow.mails) == 3
    assert await errors(harness) == [""] * 4


async def test_mails_that_are_due_at_the_same_hour_take_few_statements_each(
    harness: ServiceHarness, sent: MemoryMailer
) -> None:
    caller = await harness.owner()
    for number in range(24):
        await mail_user(harness, caller, f"user{number}@acme.example")
    await tell(harness, caller, SUSPENDED)
    harness.clock.move(300)
    with counted_statements() as statements:
        await send_due(mail_worker(harness, sent))

    assert len(sent.mails) == 24
    assert len(statements) <= 5.5 * 24, Counter(statements)


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_user_adds_their_own_address_and_gets_a_test_and_the_changes(harness: ServiceHarness) -> None:
    caller = await harness.owner()
    channels = harness.service.notifications.channels
    added = (await channels.add(caller, NewChannel(EMAIL))).target
    assert (await channels.test(caller, added.id)).error == NOT_PROVEN
    async with harness.database.transaction() as connection:
        await connection.execute(update(users).values(confirmed_at=harness.now))
    await harness.finish_background_work()
    harness.mail.mails.clear()

    assert (await channels.test(caller, added.id)).is_accepted
    await tell(harness, caller, SUSPENDED)
    harness.clock.move(300)
    await harness.deliver_due()
    expected = ["A test of your mails", "High: certificate Z-25-052 suspended (Device 1)"]
    assert [(mail.to, mail.subject) for mail in harness.mail.mails] == [(caller.name, each) for each in expected]


async def test_the_many_mails_that_wait_for_one_user_keep_nobody_elses_waiting(harness: ServiceHarness) -> None:
    caller = await harness.owner()
    busy = await mail_user(harness, caller, "busy@acme.example")
    for number in range(MAIL_CANDIDATES + MAX_PER_TARGET):
        await tell(harness, caller, SUSPENDED, batch=f"run {number}")
        harness.clock.move(MAX_GATHER_SECONDS)
    other = await mail_user(harness, caller, "other@acme.example")
    await tell(harness, caller, SUSPENDED, watch=2, batch="the last run")
    harness.clock.move(180)
    worker = mail_worker(harness, MemoryMailer())

    first, then = await worker.claim(), await worker.claim()

    assert {each.target.id for each in first} == {busy}
    assert [each.target.id for each in then] == [other]


async def test_a_revision_beside_a_listed_one_is_a_new_certificate_for_manufacturer_and_device_once_in_a_mail(
    harness: ServiceHarness,
) -> None:
    owner, device = await harness.sign_up(), a_device(harness)
    srn = device.manufacturer.srn
    list_certificate(harness, device, "C-9", revision="02", expiry="2033-01-01")
    await harness.post_watches(owner.session, srn, device.primary_di)
    await sweep(harness)
    await read_all_scopes(harness)
    await harness.post_sync(owner.session)
    caller = await harness.service.accounts.sessions.caller(credential_of(None, owner.session))
    await mail_user(harness, caller, USERS[0])
    list_certificate(harness, device, "C-9", revision="03", expiry="2034-01-01")
    await sweep(harness)
    await read_all_scopes(harness)
    harness.clock.move(1_200)
    while await harness.deliver_due():
        harness.clock.move(300)

    new = FieldChange("certificate", "", "C-9", "C-9", revision="03")
    events = await harness.events(caller)
    assert {event.subject: event.changes for event in events} == {srn: [new], device.primary_di: [new]}
    [mail] = [each for each in harness.mail.mails if each.to == USERS[0]]
    assert mail.subject == "Low: new certificate C-9 (2 watches)"
    assert mail.text.count("New certificate (revision 03)") == 1
