"""Composing the bytes of a mail (RFC 5322). Headers are checked against injection."""

import email.policy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import make_msgid

from email_validator import EmailNotValidError, ValidatedEmail, validate_email

from registerwatch.errors import MailNotSent

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


def compose(to: str, subject: str, text: str, *, sender: Address, at: float) -> Message:
    """The mail as it is sent, dated `at` (unix seconds). Raises `MailNotSent` for what a header cannot contain."""
    recipient = _recipient(to)
    if not subject.isprintable():
        raise MailNotSent("The subject contains a line break or another control character.")
    needs_utf8 = not (sender.addr_spec + recipient.addr_spec).isascii()
    message = EmailMessage(email.policy.SMTPUTF8 if needs_utf8 else email.policy.SMTP)
    message["From"] = sender
    message["To"] = recipient
    message["Subject"] = subject
    message["Date"] = datetime.fromtimestamp(at, UTC)
    message["Message-ID"] = make_msgid(domain=sender.domain)
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text, cte=_encoding(text))
    return Message(sender.addr_spec, recipient.addr_spec, message.as_bytes(), needs_utf8)


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
