"""From a mail that is sent to the report in the mailbox, over a real mail server and a socket that speaks IMAP."""

from pathlib import Path
from urllib.parse import quote

import pytest

from registerwatch.accounts.passwords.confirmation_repository import UNDELIVERABLE
from registerwatch.mail.mailer import SmtpMailer
from registerwatch.mail.message import sender_of
from registerwatch.mail.server import server_of
from registerwatch.notifications.channels.email import EmailChannel
from registerwatch.notifications.delivery.delivery import DeliveryService
from registerwatch.notifications.models import EMAIL
from registerwatch.notifications.tables import webhooks
from tests.notifications.bounce_messages import GONE, report
from tests.notifications.channels.sample_events import SUSPENDED
from tests.notifications.mail_steps import mail_user, send_due, tell
from tests.support.certificates import certificate_for
from tests.support.harness import ServiceHarness, ServiceStarter
from tests.support.imap_server import PASSWORD, USER, imap_server
from tests.support.mailbox import Mailbox, mailbox

USERS = ("ann@acme.example", "bob@acme.example")


def worker_to(box: Mailbox, harness: ServiceHarness) -> DeliveryService:
    """What sends mails that come back to the mailbox."""
    mailer = SmtpMailer(server_of(box.address), sender_of("Registerwatch <service@example.org>"), harness.clock)
    channel = EmailChannel(
        mailer, harness.clock, public_url="https://watch.example.org", bounce_address="bounces@example.org"
    )
    return DeliveryService(harness.database, harness.clock, {EMAIL: channel})


async def test_a_mail_that_comes_back_turns_mails_to_its_reader_off_and_to_nobody_else(
    start_service: ServiceStarter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = certificate_for("127.0.0.1", "IP:127.0.0.1", tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.path))
    with imap_server(certificate.shown()) as server, mailbox() as box:
        login = f"{quote(USER, safe='')}:{quote(PASSWORD, safe='')}"
        async with start_service(bounce_imap_url=f"imaps://{login}@127.0.0.1:{server.port}/INBOX") as harness:
            caller = await harness.owner()
            for email in USERS:
                await mail_user(harness, caller, email)
            worker = worker_to(box, harness)
            await tell(harness, caller, SUSPENDED)
            harness.clock.move(300)
            assert await send_due(worker) == 2
            sender = {each.recipient: each.sender for each in box.mails}
            assert len(set(sender.values())) == 2
            assert all(each.message["From"] == "Registerwatch <service@example.org>" for each in box.mails)

            server.messages = {1: report(sender[USERS[0]], GONE), 2: report("bounces@example.org", GONE)}
            assert harness.service.notifications.bounce_reader is not None
            assert await harness.service.notifications.bounce_reader.run() == 2
            reasons = {row["url"]: row["paused_reason"] for row in await harness.rows(webhooks)}
            assert reasons == {USERS[0]: f"{UNDELIVERABLE} (5.1.1).", USERS[1]: ""}

            await tell(harness, caller, SUSPENDED, batch="later")
            harness.clock.move(300)
            assert await send_due(worker) == 1
            assert box.mails[-1].recipient == USERS[1]
