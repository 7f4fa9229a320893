"""Composes the bytes of a mail (RFC 5322). Headers are checked against injection."""

import email.policy
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.headerregistry import Address, HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage
from email.utils import make_msgid
from typing import TYPE_CHECKING

from email_validator import EmailNotValidError, ValidatedEmail, validate_email

from registerwatch.errors import MailNotSent

if TYPE_CHECKING:
    Policy = email.policy.EmailPolicy[EmailMessage]

MAX_LINE_LENGTH = 998
"""Bytes of a line that every server accepts (RFC 5322, 2.1.1)."""


@dataclass(frozen=True, slots=True)
class Message:
    """A mail with its envelope. With `needs_utf8` only a server with SMTPUTF8 (RFC 6531) accepts it."""

    sender: str
    recipient: str
    content: bytes = field(repr=False)
    needs_utf8: bool


def sender_of(mail_from: str) -> Address:
    """The sender that `Name <address>` or a bare address names; the settings have checked its form."""
    valid = _checked(mail_from, allow_display_name=True)
    return Address(valid.display_name or "", valid.local_part, valid.ascii_domain)


def compose(
    to: str,
    subject: str,
    text: str,
    *,
    sender: Address,
    at: float,
    html: str = "",
    headers: Mapping[str, str] | None = None,
) -> Message:
    """The mail as it is sent, dated `at` (unix seconds), with an alternative in HTML where there is one.

    `headers` are further ones of ASCII; a `Message-ID` in them replaces the usual one. Raises `MailNotSent` for what
    a header cannot contain.
    """
    recipient = _recipient(to)
    if not subject.isprintable():
        raise MailNotSent("The subject contains a line break or another control character.")
    needs_utf8 = not (sender.addr_spec + recipient.addr_spec).isascii()
    message = EmailMessage(_SMTPUTF8 if needs_utf8 else _SMTP)
    message["From"] = sender
    message["To"] = recipient
    message["Subject"] = subject
    message["Date"] = datetime.fromtimestamp(at, UTC)
    for name, value in _checked_headers(headers or {}, sender).items():
        message[name] = value
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text, cte=_encoding(text))
    if html:
        message.add_alternative(html, subtype="html", cte="quoted-printable")
    return Message(sender.addr_spec, recipient.addr_spec, message.as_bytes(), needs_utf8)


class _UnfoldedHeader(UnstructuredHeader):
    """A header that stays on one line: folding would encode a long address or id beyond recognition."""

    name: str

    def fold(self, *, policy: "Policy") -> str:
        """The line."""
        return f"{self.name}: {self}{policy.linesep}"


def _policy(base: "Policy") -> "Policy":
    registry = HeaderRegistry()
    for name in UNFOLDED:
        registry.map_to_type(name, _UnfoldedHeader)  # type: ignore[arg-type]  # the registry makes a BaseHeader of it
    return base.clone(header_factory=registry)


UNFOLDED = ("message-id", "in-reply-to", "references", "list-id", "list-unsubscribe", "list-unsubscribe-post")
"""Headers whose values are addresses and ids."""
_SMTP, _SMTPUTF8 = _policy(email.policy.SMTP), _policy(email.policy.SMTPUTF8)


def _checked_headers(headers: Mapping[str, str], sender: Address) -> dict[str, str]:
    checked = {"Message-ID": make_msgid(domain=sender.domain), **headers}
    for name, value in checked.items():
        if not (value.isascii() and value.isprintable()) or len(name) + len(value) + 2 > MAX_LINE_LENGTH:
            raise MailNotSent(f"The header {name} contains what no header can.")
    return checked


def _recipient(to: str) -> Address:
    try:
        valid = _checked(to)
    except EmailNotValidError:
        raise MailNotSent("The recipient's address is invalid.") from None
    return Address("", valid.local_part, valid.ascii_domain)


def _checked(address: str, *, allow_display_name: bool = False) -> ValidatedEmail:
    return validate_email(
        address, allow_display_name=allow_display_name, check_deliverability=False, globally_deliverable=False
    )


def _encoding(text: str) -> str:
    """ASCII text is sent unencoded, so that a long link stays on one line in the raw mail."""
    is_plain = text.isascii() and all(len(line) <= MAX_LINE_LENGTH for line in text.splitlines())
    return "7bit" if is_plain else "quoted-printable"
