"""Sending mails over SMTP, with retries after temporary failures."""

import ssl
from dataclasses import dataclass, field
from email.headerregistry import Address
from typing import Protocol

import structlog

from registerwatch.clock import Clock, SystemClock
from registerwatch.errors import MailNotSent
from registerwatch.mail.message import compose, sender_of
from registerwatch.mail.server import NO_NAME, SmtpServer, name_in, server_of
from registerwatch.mail.smtp import submit
from registerwatch.settings import Settings

RETRY_PAUSES = (1.0, 5.0)
"""Seconds before the second and the third try, after a temporary failure."""
ATTEMPT_SECONDS = 10.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail to one address. `text` may contain a secret link."""

    to: str
    subject: str
    text: str = field(repr=False)


class Mailer(Protocol):
    """Sends mails."""

    is_set_up: bool
    """Whether mails can be sent at all."""

    async def send(self, mail: Mail) -> None:
        """Hand the mail over. Raises `MailNotSent` with a reason for the operator."""


class NoMailer:
    """Used where no mail server is set: every mail fails."""

    is_set_up = False

    async def send(self, mail: Mail) -> None:
        """Raise `MailNotSent`."""
        raise MailNotSent("No mail can be sent, as REGISTERWATCH_SMTP_URL is not set.")


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
    ) -> None:
        self._server = server
        self._sender = sender
        self._clock = clock
        self._own_name = own_name
        self._seconds = seconds
        self._tls = tls

    async def send(self, mail: Mail) -> None:
        """Hand the mail over, within three tries. Raises `MailNotSent`.

        Each try has the same Message-ID, so that a mail which the server accepted twice can be recognized.
        """
        message = compose(mail.to, mail.subject, mail.text, sender=self._sender, at=self._clock.now())
        for pause in (*RETRY_PAUSES, None):
            failure = await submit(message, self._server, own_name=self._own_name, seconds=self._seconds, tls=self._tls)
            if failure is None:
                return
            if pause is None or not failure.temporary:
                raise MailNotSent(failure.reason)
            log.warning("a mail was not accepted and is tried again", reason=failure.reason, pause=pause)
            await self._clock.sleep(pause)


def mailer_of(settings: Settings, clock: Clock | None = None) -> Mailer:
    """The mailer that the settings name. Nothing is opened yet."""
    if settings.smtp_url is None:
        return NoMailer()
    return SmtpMailer(
        server_of(settings.smtp_url.get_secret_value()),
        sender_of(settings.mail_from),
        clock or SystemClock(),
        own_name=name_in(settings.public_url),
    )
