"""Sends mails over SMTP, with retries after temporary failures."""

import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from email.headerregistry import Address
from typing import Protocol

import structlog

from registerwatch.errors import MailNotSent
from registerwatch.mail.dkim import DkimSigner, dkim_signer_of
from registerwatch.mail.message import Message, compose, sender_of
from registerwatch.mail.server import NO_NAME, SmtpServer, name_in, server_of
from registerwatch.mail.sessions import SmtpSessions
from registerwatch.mail.smtp import Failure, submit
from registerwatch.platform.clock import Clock, SystemClock
from registerwatch.settings import Settings

RETRY_PAUSES = (1.0, 5.0)
"""Seconds before the second and the third try, after a temporary failure."""
ATTEMPT_SECONDS = 10.0

NOT_SET_UP = "No mail can be sent, as REGISTERWATCH_SMTP_URL is not set."

BeforeData = Callable[[], Awaitable[None]]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail to one address. `text` may contain a secret link.

    `html` is an alternative to the text, `headers` are further ones, and `at` is its date (unix seconds), else now.
    """

    to: str
    subject: str
    text: str = field(repr=False)
    html: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    at: int | None = None
    envelope_sender: str | None = None
    """Address to which an undeliverable mail is returned; None for the sender."""


class Mailer(Protocol):
    """Sends mails."""

    is_set_up: bool
    """Whether mails can be sent at all."""

    async def send(self, mail: Mail) -> None:
        """Hand the mail over. Raises `MailNotSent` with a reason for the operator."""

    async def send_once(self, mail: Mail, before_data: BeforeData) -> Failure | None:
        """Try once to hand the mail over; None where it was accepted.

        Awaits `before_data` right before the server may accept it. An error from that ends the try.
        """


class NoMailer:
    """Used where no mail server is set: every mail fails."""

    is_set_up = False

    async def send(self, mail: Mail) -> None:
        """Raise `MailNotSent`."""
        raise MailNotSent(NOT_SET_UP)

    async def send_once(self, mail: Mail, before_data: BeforeData) -> Failure | None:
        """Fail."""
        return Failure(NOT_SET_UP)


class SmtpMailer:
    """Sends mails to one server. `tls` is for tests; by default the system's certificates are trusted."""

    is_set_up = True

    def __init__(
        self,
        server: SmtpServer,
        sender: Address,
        clock: Clock,
        *,
        own_name: str = NO_NAME,
        seconds: float = ATTEMPT_SECONDS,
        tls: ssl.SSLContext | None = None,
        signer: DkimSigner | None = None,
    ) -> None:
        self._server = server
        self._sender = sender
        self._clock = clock
        self._own_name = own_name
        self._seconds = seconds
        self._tls = tls
        self._signer = signer
        self._sessions = SmtpSessions(server, own_name=own_name, tls=tls)

    async def send(self, mail: Mail) -> None:
        """Hand the mail over, within three tries. Raises `MailNotSent`.

        Each try has the same Message-ID, so that a mail which the server accepted twice can be recognized.
        """
        message = self._composed(mail)
        for pause in (*RETRY_PAUSES, None):
            failure = await submit(message, self._server, own_name=self._own_name, seconds=self._seconds, tls=self._tls)
            if failure is None:
                return
            if pause is None or not failure.temporary:
                raise MailNotSent(failure.reason)
            log.warning("a mail was not accepted and is tried again", reason=failure.reason, pause=pause)
            await self._clock.sleep(pause)

    async def send_once(self, mail: Mail, before_data: BeforeData) -> Failure | None:
        """Try once to hand the mail over, in a session that was used before where there is one."""
        try:
            message = self._composed(mail)
        except MailNotSent as error:
            return Failure(str(error), is_of_mail=True)
        return await self._sessions.send(message, before_data)

    def _composed(self, mail: Mail) -> Message:
        """Raises `MailNotSent`."""
        now = self._clock.now()
        at = now if mail.at is None else mail.at
        message = compose(
            mail.to, mail.subject, mail.text, sender=self._sender, at=at, html=mail.html, headers=mail.headers
        )
        if mail.envelope_sender is not None:
            message = replace(message, sender=mail.envelope_sender)
        return message if self._signer is None else self._signer.signed(message, now)


def mailer_of(settings: Settings, clock: Clock | None = None) -> Mailer:
    """The mailer that the settings name. Nothing is opened yet."""
    if settings.smtp_url is None:
        return NoMailer()
    return SmtpMailer(
        server_of(settings.smtp_url.get_secret_value()),
        sender_of(settings.mail_from),
        clock or SystemClock(),
        own_name=name_in(settings.public_url),
        signer=dkim_signer_of(settings),
    )
