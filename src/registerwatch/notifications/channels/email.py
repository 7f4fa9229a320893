"""E-mail: a user's mails about changes. A mail is handed over once, and the log says where that is not sure."""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.mail.mailer import NOT_SET_UP, Mail, Mailer
from registerwatch.mail.news import texts_of
from registerwatch.mail.smtp import Failure
from registerwatch.notifications.bounces.bounce_address import envelope_sender
from registerwatch.notifications.bounces.unsubscribe_tokens import PATH, token_of
from registerwatch.notifications.channels import HandOver
from registerwatch.notifications.channels.event_lines import event_in, event_line
from registerwatch.notifications.channels.event_news import MailAddresses, news_of, only_watch
from registerwatch.notifications.models import EMAIL, AttemptResult, Notification, Target
from registerwatch.platform.clock import Clock
from registerwatch.watches.models import Event

ACCEPTED = 250
"""A server's answer to a mail that it accepts."""

NO_USER = "There is no user to whom these mails go."
NOT_PROVEN = "The user has not confirmed this address."
NO_ADDRESS_HERE = "Mails go to the address that a user signs in with; it cannot be set here."


class MailBody(msgspec.Struct, frozen=True):
    """A mail as it is stored: every attempt sends the same."""

    subject: str
    text: str
    html: str
    date: int
    headers: dict[str, str]


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(MailBody)


class EmailChannel:
    """Mails to the proven addresses of users. Undeliverable ones come back to `bounce_address` where there is one;
    `note` is in every mail.
    """

    name = EMAIL
    title = "E-mail"
    example = "someone@example.org"
    address_is_secret = False
    pauses: Sequence[float] = ()
    is_for_people = True

    def __init__(
        self, mailer: Mailer, clock: Clock, *, public_url: str, bounce_address: str = "", note: str = ""
    ) -> None:
        self._mailer = mailer
        self._clock = clock
        self._public_url = public_url
        self._bounce_address = bounce_address
        self._domain = _ascii_host(public_url)
        self._note = note

    def check_target(self, text: str) -> str:
        """Raises `InvalidInput`: a target of this channel has no address of its own."""
        raise InvalidInput(NO_ADDRESS_HERE)

    def new_secret(self) -> str:
        """The signing secret of links that end the mails."""
        return secrets.token_urlsafe(32)

    def problem(self, target: Target) -> str | None:
        """Why no mail can be sent: an unproven address, or no mail server."""
        if not self._mailer.is_set_up:
            return NOT_SET_UP
        if target.user_email is None:
            return NO_USER
        return None if target.is_proven else NOT_PROVEN

    def render_event(self, event: Event) -> str:
        """An event for a mail, in JSON."""
        return event_line(event)

    def render(self, target: Target, notification: Notification, events: Sequence[str]) -> str:
        """The mail, in JSON."""
        mailed = [event_in(event) for event in events]
        unsubscribe = f"{self._public_url}{PATH}{token_of(target)}"
        addresses = MailAddresses(self._public_url, unsubscribe)
        now = int(self._clock.now())
        mail = news_of(mailed, target.choice, target.time_zone, addresses, now, self._note)
        text, html = texts_of(mail)
        headers = self._headers(target, notification, unsubscribe, only_watch(mailed))
        return _encoder.encode(MailBody(_printable(mail.subject), text, html, now, headers)).decode()

    async def attempt(
        self, target: Target, notification: Notification, body: str, now: int, hand_over: HandOver
    ) -> AttemptResult:
        """Hand the mail to the server once."""
        written = _decoder.decode(body)
        assert target.user_email is not None, "where there is no user, nothing is sent"
        mail = Mail(
            target.user_email,
            written.subject,
            written.text,
            written.html,
            written.headers,
            written.date,
            envelope_sender(self._bounce_address, target),
        )
        return _result(await self._mailer.send_once(mail, hand_over))

    def _headers(
        self, target: Target, notification: Notification, unsubscribe: str, watch_id: int | None
    ) -> dict[str, str]:
        """Mails about one watch refer to one id, so that mail programs show them together (RFC 5322, 3.6.4)."""
        headers = {
            "Message-ID": f"<{notification.id}@{self._domain}>",
            "List-Id": f"<changes.{self._domain}>",
            "List-Unsubscribe": f"<{unsubscribe}>",
        }
        if unsubscribe.startswith("https://"):  # RFC 8058, 3.1
            headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        if watch_id is not None:
            headers["References"] = f"<watch-{_root_id(target, watch_id)}@{self._domain}>"
        return headers


def _printable(subject: str) -> str:
    """A subject without what headers cannot have: joiners of letters and emoji, among others."""
    return "".join(each for each in subject if each.isprintable())


def _root_id(target: Target, watch_id: int) -> str:
    named = f"mails about watch {watch_id} to {target.id}".encode()
    return hmac.HMAC(target.secret.encode(), named, hashlib.sha256).hexdigest()[:24]


def _ascii_host(public_url: str) -> str:
    """The host of an address as ids contain it."""
    host = urlsplit(public_url).hostname or "localhost"
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return "localhost"


def _result(failure: Failure | None) -> AttemptResult:
    """`status` is the mail server's code. A server that refuses recipient or message for good does so again."""
    if failure is None:
        return AttemptResult(is_accepted=True, status=ACCEPTED, error="")
    return AttemptResult(
        is_accepted=False,
        status=failure.code,
        error=failure.reason,
        is_final=failure.is_of_mail and not failure.temporary,
        is_uncertain=failure.is_uncertain,
    )
