"""Sessions with a real mail server that many mails share, each sent once."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from registerwatch.mail.mailer import Mail, SmtpMailer
from registerwatch.mail.message import compose, sender_of
from registerwatch.mail.server import server_of
from registerwatch.mail.sessions import SmtpSessions
from registerwatch.mail.smtp import Failure
from tests.support.certificates import Certificate
from tests.support.fakes import SteppedClock
from tests.support.mailbox import BREAK, SILENCE, Mailbox, mailbox

SENDER = sender_of("Registerwatch <service@example.org>")
LOGIN = ("user", "secret")


class Noted:
    """What is awaited before a server gets a mail, and how many commands it had got by then."""

    def __init__(self, box: Mailbox, error: Exception | None = None) -> None:
        self._box = box
        self._error = error
        self.after: list[list[str]] = []

    async def __call__(self) -> None:
        self.after.append(list(self._box.commands))
        if self._error is not None:
            raise self._error


def sessions_to(box: Mailbox, *, seconds: float = 5.0) -> SmtpSessions:
    return SmtpSessions(
        server_of(box.address), own_name="[127.0.0.1]", seconds_before_data=seconds, seconds_of_data=seconds
    )


async def sent(sessions: SmtpSessions, box: Mailbox, *subjects: str, at_once: int = 2) -> Sequence[Failure | None]:
    """Send mails, so many at the same time."""
    places, noted = asyncio.Semaphore(at_once), Noted(box)

    async def send(subject: str) -> Failure | None:
        async with places:
            message = compose("bob@example.org", subject, "Hello\n", sender=SENDER, at=1.9e9)
            return await sessions.send(message, noted)

    return await asyncio.gather(*(send(subject) for subject in subjects))


async def test_many_mails_share_few_sessions_and_none_is_left_open(certificate: Certificate) -> None:
    with mailbox(starttls=certificate.shown(), login=LOGIN) as box:
        results = await sent(sessions_to(box), box, *(str(number) for number in range(12)))

        assert results == [None] * 12
        assert sorted(mail.subject for mail in box.mails) == sorted(str(number) for number in range(12))
        assert all(mail.encrypted for mail in box.mails)
        assert 2 <= box.commands.count("AUTH") <= 3
        assert box.commands.count("QUIT") == box.commands.count("AUTH")


async def test_it_is_noted_that_a_mail_goes_out_when_the_server_has_taken_the_recipient_and_not_the_mail() -> None:
    with mailbox() as box:
        noted = Noted(box)
        mailer = SmtpMailer(server_of(box.address), SENDER, SteppedClock(1.9e9))
        assert await mailer.send_once(Mail("bob@example.org", "Hello", "Hello\n"), noted) is None

        assert noted.after == [["EHLO", "MAIL", "RCPT"]]
        assert len(box.mails) == 1


async def test_a_mail_that_may_not_go_out_any_more_does_not() -> None:
    with mailbox() as box:
        message = compose("bob@example.org", "Hello", "Hello\n", sender=SENDER, at=1.9e9)
        with pytest.raises(LookupError):
            await sessions_to(box).send(message, Noted(box, LookupError()))

        assert box.mails == []
        assert "DATA" not in box.commands


OUTCOMES = {
    "greylisted": ({"RCPT": ["451 4.7.1 later"]}, Failure("", temporary=True, code=451, is_of_mail=True)),
    "no such mailbox": ({"RCPT": ["550 5.1.1 no"]}, Failure("", code=550, is_of_mail=True)),
    "full at the message": ({"DATA": ["452 4.3.1 later"]}, Failure("", temporary=True, code=452, is_of_mail=True)),
    "message refused": ({"DATA": ["554 5.6.0 no"]}, Failure("", code=554, is_of_mail=True)),
    "sender refused": ({"MAIL": ["550 5.7.1 not you"]}, Failure("", code=550)),
    "ends before the message": ({"RCPT": [BREAK]}, Failure("", temporary=True)),
    "ends while it gets the message": ({"DATA": [BREAK]}, Failure("", is_uncertain=True)),
    "silent before the message": ({"RCPT": [SILENCE]}, Failure("", temporary=True)),
    "silent after the message": ({"DATA": [SILENCE]}, Failure("", is_uncertain=True)),
}


@pytest.mark.parametrize("case", OUTCOMES)
async def test_it_is_told_whether_another_try_can_help_and_whether_the_mail_may_have_arrived(case: str) -> None:
    replies, expected = OUTCOMES[case]
    with mailbox(replies=replies) as box:
        sessions = sessions_to(box, seconds=0.3)
        (failure,) = await sent(sessions, box, "refused")
        (second,) = await sent(sessions, box, "accepted")

    assert failure is not None
    assert "bob" not in failure.reason
    assert failure == Failure(
        failure.reason, expected.temporary, expected.code, expected.is_of_mail, expected.is_uncertain
    )
    assert second is None
    assert [mail.subject for mail in box.mails] == ["accepted"]


@asynccontextmanager
async def under_way(sessions: SmtpSessions, box: Mailbox) -> AsyncIterator[None]:
    """Another mail is being sent meanwhile, so that sessions are kept."""
    may_end = asyncio.Event()

    async def wait() -> None:
        await may_end.wait()

    message = compose("bob@example.org", "under way", "", sender=SENDER, at=1.9e9)
    sending = asyncio.create_task(sessions.send(message, wait))
    while box.commands[-1:] != ["RCPT"]:
        await asyncio.sleep(0)
    yield
    may_end.set()
    assert await sending is None


async def test_a_refused_mail_ends_no_session() -> None:
    with mailbox(replies={"RCPT": ["250 OK", "550 5.1.1 no", "451 later", "250 OK"]}) as box:
        sessions = sessions_to(box)
        async with under_way(sessions, box):
            results = await sent(sessions, box, "no", "later", "yes", at_once=1)

        assert [None if each is None else each.code for each in results] == [550, 451, None]
        assert box.commands.count("EHLO") == 2


async def test_a_session_that_the_server_ended_meanwhile_is_replaced() -> None:
    ended = ["250 OK", "250 OK", "421 4.4.2 too long", "250 OK", BREAK]
    with mailbox(replies={"MAIL": ended}) as box:
        sessions = sessions_to(box)
        async with under_way(sessions, box):
            assert await sent(sessions, box, *"abc", at_once=1) == [None] * 3

        assert [mail.subject for mail in box.mails] == ["a", "b", "c", "under way"]
        assert box.commands.count("EHLO") == 4


async def test_a_recipient_whom_no_address_can_name_is_refused_for_good() -> None:
    with mailbox() as box:
        mailer = SmtpMailer(server_of(box.address), SENDER, SteppedClock(1.9e9))
        failure = await mailer.send_once(Mail("bob@example.org, eve@example.org", "Hello", ""), Noted(box))

        assert failure is not None
        assert (failure.is_of_mail, failure.temporary) == (True, False)
        assert box.commands == []


async def test_international_addresses_need_a_server_that_takes_them() -> None:
    for takes in (True, False):
        with mailbox(smtputf8=takes) as box:
            mailer = SmtpMailer(server_of(box.address), SENDER, SteppedClock(1.9e9))
            failure = await mailer.send_once(Mail("bób@example.org", "Hello", ""), Noted(box))

            assert (failure is None) == takes
            assert len(box.mails) == takes
