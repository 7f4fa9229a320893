"""Handing mails to a real server: encryption, logins, and every way in which a server can fail."""

import asyncio
import socket
import ssl
import threading
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import structlog

from registerwatch.errors import MailNotSent
from registerwatch.mail.mailer import Mail, SmtpMailer, mailer_of
from registerwatch.mail.message import sender_of
from registerwatch.mail.server import Encryption, server_of
from registerwatch.settings import Settings
from tests.support.certificates import Certificate
from tests.support.fakes import SteppedClock
from tests.support.mailbox import BREAK, GONE, SILENCE, Mailbox, mailbox

SENDER = "Registerwatch <service@example.org>"
MAIL = Mail("bob@example.org", "Hello", "A link: https://watch.example.org/?token=hidden\n")
LOGIN = ("user@example.org", "pä:ss/w@rd%41#?")
NOON = datetime(2030, 5, 17, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock(NOON.timestamp())


def a_mailer(
    address: str,
    clock: SteppedClock,
    *,
    encryption: Encryption | None = None,
    tls: ssl.SSLContext | None = None,
    seconds: float = 5.0,
) -> SmtpMailer:
    """A mailer to a sink, `encryption` as if the sink were on another machine."""
    server = server_of(address)
    if encryption is not None:
        server = replace(server, encryption=encryption)
    return SmtpMailer(server, sender_of(SENDER), clock, seconds=seconds, tls=tls)


async def refused(mailer: SmtpMailer, mail: Mail = MAIL) -> str:
    """Why a mail was not sent; that reason, and what a log would show of it, keeps every secret."""
    with pytest.raises(MailNotSent) as failure:
        await mailer.send(mail)
    shown = "".join(traceback.format_exception(failure.value))
    assert failure.value.__context__ is None
    for secret in (mail.to, "hidden", LOGIN[1]):
        assert secret not in shown
    return str(failure.value)


async def test_a_mail_carries_what_marks_it_as_sent_by_a_machine(clock: SteppedClock) -> None:
    with mailbox() as box:
        settings = Settings(smtp_url=box.address, mail_from=SENDER, public_url="https://watch.example.org")
        await mailer_of(settings, clock).send(MAIL)

    (received,) = box.mails
    message = received.message
    assert message["From"] == SENDER
    assert message["Date"].datetime == NOON
    assert message["Message-ID"].endswith("@example.org>")
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Content-Type"] == 'text/plain; charset="utf-8"'
    assert (received.sender, received.recipient) == ("service@example.org", "bob@example.org")
    assert received.client == "watch.example.org"
    assert box.commands[-1] == "QUIT"


async def test_without_a_mail_server_the_operator_is_told_what_to_set() -> None:
    with pytest.raises(MailNotSent, match="REGISTERWATCH_SMTP_URL is not set"):
        await mailer_of(Settings()).send(MAIL)


@pytest.mark.parametrize("encryption", [Encryption.LOCAL, Encryption.WHEN_OFFERED, Encryption.DEMANDED])
async def test_starttls_is_used_where_it_is_offered(
    encryption: Encryption, certificate: Certificate, clock: SteppedClock
) -> None:
    with mailbox(starttls=certificate.shown()) as box:
        await a_mailer(box.address, clock, encryption=encryption, tls=certificate.trusted()).send(MAIL)

    assert [mail.encrypted for mail in box.mails] == [True]


async def test_tls_from_the_start_encrypts_everything(certificate: Certificate, clock: SteppedClock) -> None:
    with mailbox(tls=certificate.shown(), login=LOGIN) as box:
        await a_mailer(box.address, clock, tls=certificate.trusted()).send(MAIL)

    assert [(mail.encrypted, mail.user) for mail in box.mails] == [(True, LOGIN[0])]


@pytest.mark.parametrize("encryption", [Encryption.WHEN_OFFERED, Encryption.DEMANDED, Encryption.FROM_THE_START])
async def test_a_certificate_that_nobody_vouches_for_stops_the_mail_at_once(
    encryption: Encryption, certificate: Certificate, clock: SteppedClock
) -> None:
    from_the_start = encryption is Encryption.FROM_THE_START
    with mailbox(**{"tls" if from_the_start else "starttls": certificate.shown()}) as box:  # type: ignore[arg-type]
        reason = await refused(a_mailer(box.address, clock, encryption=encryption))

    assert "cannot be trusted: self-signed certificate" in reason
    assert clock.slept == []
    assert "MAIL" not in box.commands


async def test_on_this_machine_the_certificate_need_not_prove_anything(
    certificate: Certificate, clock: SteppedClock
) -> None:
    with mailbox(starttls=certificate.shown(), login=LOGIN) as box:
        await a_mailer(box.address, clock).send(MAIL)

    assert [(mail.encrypted, mail.user) for mail in box.mails] == [(True, LOGIN[0])]


async def test_an_authority_of_ones_own_is_trusted_by_the_variable_that_openssl_reads(
    certificate: Certificate, clock: SteppedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.path))
    with mailbox(tls=certificate.shown()) as box:
        await a_mailer(box.address, clock).send(MAIL)

    assert len(box.mails) == 1


async def test_a_server_that_speaks_no_tls_where_it_is_expected_is_told_apart(clock: SteppedClock) -> None:
    with mailbox() as box:
        reason = await refused(a_mailer(box.address.replace("smtp://", "smtps://"), clock))

    assert "does not speak TLS here" in reason
    assert clock.slept == []


async def test_user_and_password_may_hold_any_sign(clock: SteppedClock) -> None:
    with mailbox(login=LOGIN, logins_in_the_clear=True) as box:
        settings = Settings(smtp_url=box.address, mail_from=SENDER)
        await mailer_of(settings, clock).send(MAIL)

    assert [mail.user for mail in box.mails] == [LOGIN[0]]


async def test_a_password_is_not_said_where_encryption_is_demanded_and_missing(clock: SteppedClock) -> None:
    with mailbox(login=LOGIN, logins_in_the_clear=True) as box:
        reason = await refused(a_mailer(box.address, clock, encryption=Encryption.DEMANDED))

    assert "STARTTLS" in reason
    assert "AUTH" not in box.commands
    assert clock.slept == []


async def test_a_wrong_password_is_not_tried_again(clock: SteppedClock) -> None:
    with mailbox(login=("user", "right"), logins_in_the_clear=True) as box:
        reason = await refused(a_mailer(box.address.replace("right", "wrong"), clock))

    assert "refused the login: 535 5.7.8" in reason
    assert clock.slept == []
    assert box.commands.count("EHLO") == 1


async def test_a_server_that_takes_no_logins_is_told_apart(clock: SteppedClock) -> None:
    with mailbox() as box:
        reason = await refused(a_mailer(box.address.replace("//", "//user:secret@"), clock))

    assert "AUTH" in reason
    assert "secret" not in reason


async def test_a_server_that_asks_for_a_login_is_told_apart(clock: SteppedClock) -> None:
    with mailbox(login=("user", "secret"), logins_in_the_clear=True) as box:
        reason = await refused(a_mailer(box.address.replace("user:secret@", ""), clock))

    assert "asks for a login" in reason
    assert clock.slept == []


PASSING = {
    "greylisted": ({"RCPT": ["451 4.7.1 bob@example.org is greylisted"] * 2}, "RCPT"),
    "busy at the message": ({"DATA": ["452 4.3.1 later"] * 2}, "DATA"),
    "closing": ({"MAIL": ["421 4.3.2 closing"] * 2}, "MAIL"),
    "cannot look up the password": ({"AUTH": ["454 4.7.0 later"] * 4}, "EHLO"),
    "breaks off at the greeting": ({"EHLO": [BREAK] * 2}, "EHLO"),
    "breaks off at the recipient": ({"RCPT": [BREAK] * 2}, "RCPT"),
    "breaks off at the message": ({"DATA": [BREAK] * 2}, "DATA"),
}


@pytest.mark.parametrize("failing", PASSING)
async def test_what_passes_is_tried_again_after_pauses_with_the_same_mail(failing: str, clock: SteppedClock) -> None:
    replies, command = PASSING[failing]
    with mailbox(replies=replies, login=LOGIN, logins_in_the_clear=True) as box:
        await a_mailer(box.address, clock).send(MAIL)

    assert clock.slept == [1.0, 5.0]
    assert box.commands.count(command) == 3
    assert len(box.mails) == 1
    assert box.mails[0].message["Date"].datetime == NOON


async def test_after_three_tries_the_reason_of_the_last_is_told(clock: SteppedClock) -> None:
    with mailbox(
        replies={"RCPT": ["451 4.7.1 no", "451 4.7.1 no", "450 4.2.1 bob@example.org: busy", "250 OK"]}
    ) as box:
        reason = await refused(a_mailer(box.address, clock))

    assert "refused the recipient: 450 4.2.1." in reason
    assert clock.slept == [1.0, 5.0]
    assert box.mails == []


LASTING = {
    "unknown recipient": ({"RCPT": ["550 5.1.1 <bob@example.org>: unknown"]}, "the recipient: 550 5.1.1."),
    "recipient without enhanced code": ({"RCPT": ["553 bob@example.org? never"]}, "the recipient: 553."),
    "code beyond its form": ({"RCPT": ["550 5.1.1bob@example.org"]}, "the recipient: 550."),
    "sender": ({"MAIL": ["550 5.7.1 not you"]}, "the sender (REGISTERWATCH_MAIL_FROM): 550 5.7.1."),
    "message": (
        {"DATA": ["554 5.6.0 https://watch.example.org/?token=hidden is evil"]},
        "the message: 554",
    ),
    "no SMTP": ({"RCPT": ["bob@example.org is not at home"]}, "an answer that is no SMTP"),
}


@pytest.mark.parametrize("failing", LASTING)
async def test_what_lasts_is_told_at_once_by_its_codes(failing: str, clock: SteppedClock) -> None:
    replies, told = LASTING[failing]
    with mailbox(replies=replies) as box:
        reason = await refused(a_mailer(box.address, clock))

    assert told in reason
    assert clock.slept == []
    assert box.mails == []


@pytest.mark.parametrize("command", ["EHLO", "RCPT", "DATA"])
async def test_a_server_that_falls_silent_is_given_up_in_bounded_time(command: str, clock: SteppedClock) -> None:
    with mailbox(replies={command: [SILENCE] * 3}) as box:
        async with asyncio.timeout(2.5):  # no goodbye is waited for
            reason = await refused(a_mailer(box.address, clock, seconds=0.05))

    assert reason == f"{box.address.removeprefix('smtp://')} did not answer within 0.05 s."
    assert clock.slept == [1.0, 5.0]


async def test_what_was_taken_is_not_sent_again_when_the_goodbye_fails(clock: SteppedClock) -> None:
    for reply in (BREAK, "500 what?", "421 closing"):
        with mailbox(replies={"QUIT": [reply]}) as box:
            await a_mailer(box.address, clock).send(MAIL)
        assert len(box.mails) == 1

    assert clock.slept == []


async def test_a_server_that_says_no_goodbye_holds_nobody_up(clock: SteppedClock) -> None:
    with mailbox(replies={"QUIT": [SILENCE]}) as box:
        async with asyncio.timeout(5):
            await a_mailer(box.address, clock).send(MAIL)

    assert len(box.mails) == 1


async def test_a_server_that_is_not_there_is_tried_three_times(clock: SteppedClock) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        reason = await refused(a_mailer(f"smtp://127.0.0.1:{port}", clock))

    assert f"127.0.0.1:{port} cannot be reached" in reason
    assert clock.slept == [1.0, 5.0]


@contextmanager
def a_listener(greeting: bytes) -> Iterator[int]:
    """A server of another kind: it says one thing to whoever comes, and leaves."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            with ExitStack() as open_ones:
                while True:
                    try:
                        visitor, _ = listening.accept()
                    except OSError:
                        return
                    open_ones.enter_context(visitor)
                    visitor.sendall(greeting)
                    visitor.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(10)


@pytest.mark.parametrize(
    ("greeting", "told", "tries"),
    [
        (b"", "closed the connection", 3),
        (b"421 busy\r\n", "refused the connection: 421.", 3),
        (b"554 5.7.1 your kind is not wanted\r\n", "refused the connection: 554 5.7.1.", 1),
        (b"HTTP/1.1 400 Bad Request\r\n", "no SMTP", 1),
    ],
)
async def test_a_greeting_that_is_no_welcome_is_told(
    greeting: bytes, told: str, tries: int, clock: SteppedClock
) -> None:
    with a_listener(greeting) as port:
        reason = await refused(a_mailer(f"smtp://127.0.0.1:{port}", clock))

    assert told in reason
    assert len(clock.slept) == tries - 1


async def test_an_international_address_needs_a_server_that_takes_them(clock: SteppedClock) -> None:
    with mailbox(smtputf8=False) as box:
        reason = await refused(a_mailer(box.address, clock), replace(MAIL, to="bób@example.org"))

    assert "SMTPUTF8" in reason
    assert clock.slept == []
    assert "MAIL" not in box.commands


async def test_an_international_domain_is_sent_in_its_ascii_form_to_any_server(clock: SteppedClock) -> None:
    with mailbox(smtputf8=False) as box:
        await a_mailer(box.address, clock).send(replace(MAIL, to="bob@bücher.example"))

    assert (box.mails[0].recipient, box.mails[0].to) == ("bob@xn--bcher-kva.example",) * 2


@pytest.mark.parametrize(
    "to",
    [
        "",
        "bob",
        "bob@",
        "@example.org",
        "bob@example.org, eve@example.org",
        "Bob <bob@example.org>",
        "<bob@example.org>",
        "bob@example.org> SIZE=1",
        "bob @example.org",
        '"bob eve"@example.org',
        "bob@example..org",
        "bob@[127.0.0.1]",
    ],
)
async def test_what_is_not_one_bare_address_is_refused_before_anything_is_sent(to: str, clock: SteppedClock) -> None:
    with mailbox() as box, pytest.raises(MailNotSent, match="address") as failure:
        await a_mailer(box.address, clock).send(replace(MAIL, to=to))

    assert box.commands == []
    assert not to or to not in str(failure.value)


async def heard(box: Mailbox, command: str) -> None:
    """Wait until a client has said this."""
    async with asyncio.timeout(5):
        while command not in box.commands:
            await asyncio.sleep(0)


async def test_a_mail_that_is_called_off_ends_its_connection_and_is_not_tried_again(clock: SteppedClock) -> None:
    with mailbox(replies={"RCPT": [SILENCE]}) as box:
        sending = asyncio.create_task(a_mailer(box.address, clock).send(MAIL))
        await heard(box, "RCPT")
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await heard(box, GONE)

    assert box.mails == []
    assert clock.slept == []


async def test_each_further_try_is_logged_without_the_recipient(clock: SteppedClock) -> None:
    with structlog.testing.capture_logs() as logged, mailbox(replies={"RCPT": ["451 bob@example.org later"]}) as box:
        await a_mailer(box.address, clock).send(MAIL)

    (entry,) = logged
    assert "refused the recipient: 451." in entry["reason"]
    assert "bob" not in str(logged)
