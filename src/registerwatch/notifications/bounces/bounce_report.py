"""Reads the reports of mail servers about a mail (delivery status notifications, RFC 3464)."""

import email
import re
from collections.abc import Iterator
from email.message import Message
from enum import StrEnum

import msgspec

from registerwatch.notifications.bounces.bounce_address import token_in

MAX_REPORT_BYTES = 65_536
"""Bytes of a message that are read: a server's findings come before the returned mail."""
MAX_PARTS = 40
"""A message with more parts is not a report. It could be nested so deeply that reading it takes long."""

_RECIPIENT_HEADERS = ("Delivered-To", "X-Original-To", "Envelope-To", "X-Envelope-To", "To")
_RECIPIENT_FIELDS = ("Original-Recipient", "Final-Recipient")
_ADDRESS = re.compile(r"[^\s<>,;\"]{1,64}@[^\s<>,;\"]{1,255}")
_STATUS = re.compile(r"[245]\.\d{1,3}\.\d{1,3}(?!\d)")
_BAD_ADDRESS = frozenset({"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1"})
"""No such mailbox or domain, moved, takes no mail, disabled (RFC 3463, RFC 7505). Others may be about the sender."""


class BounceKind(StrEnum):
    """Whether mails to an address can arrive later. Of several in a report the first in this order counts."""

    PERMANENT = "permanent"
    """The address is bad or gone."""
    REFUSED = "refused"
    """Not delivered for another reason, often the sender's: SPF, DKIM, a block list, a mail that is too big."""
    TEMPORARY = "temporary"


class BounceReport(msgspec.Struct, frozen=True):
    """A mail was not delivered. `token` identifies its target; it is not verified yet. `status` is as in RFC 3463."""

    token: str
    kind: BounceKind
    status: str
    recipients: frozenset[str] = frozenset()
    """Addresses that it is about, in lower case: as we wrote them and as they were in the end. It may be empty."""

    def is_about(self, address: str) -> bool:
        """Whether it may be about a mail to this address."""
        return not self.recipients or address.lower() in self.recipients


def kind_of_failure(status: str) -> BounceKind:
    """The kind for a mail that no server will try again, by the status (RFC 3463)."""
    return BounceKind.PERMANENT if status in _BAD_ADDRESS else BounceKind.REFUSED


def report_of(raw: bytes) -> BounceReport | None:
    """The report in a message; None for a message without one, or about an unknown mail."""
    content = raw[:MAX_REPORT_BYTES]
    if content.lower().count(b"content-type") > MAX_PARTS:
        return None
    try:
        message = email.message_from_bytes(content)
        token = _token(message)
        found = [] if token is None else [_failure(block) for block in _status_blocks(message)]
    except (RecursionError, ValueError, LookupError):  # for a message that was made to break its reader
        return None
    failures = [each for each in found if each is not None]
    if token is None or not failures:
        return None
    kind, status, recipients = min(failures, key=lambda each: each[:2])  # the order of BounceKind, and of its texts
    return BounceReport(token, kind, status, recipients)


def _token(message: Message) -> str | None:
    """The token in the address that the report was sent to."""
    for name in _RECIPIENT_HEADERS:
        for value in message.get_all(name, []):
            for address in _ADDRESS.findall(str(value)):
                token = token_in(address)
                if token is not None:
                    return token
    return None


def _status_blocks(message: Message) -> Iterator[Message]:
    """The blocks of a report about each receiver. A returned mail is not examined."""
    if message.get_content_type() != "multipart/report" or not message.is_multipart():
        return
    for part in message.get_payload():
        if isinstance(part, Message) and part.get_content_type() == "message/delivery-status" and part.is_multipart():
            for block in part.get_payload():
                if isinstance(block, Message):
                    yield block


def _failure(block: Message) -> tuple[BounceKind, str, frozenset[str]] | None:
    action = str(block.get("Action", "")).strip().lower()
    status = _STATUS.match(str(block.get("Status", "")).strip())
    if status is None or action not in ("failed", "delayed"):
        return None
    is_for_good = action == "failed" and status[0].startswith("5.")
    kind = kind_of_failure(status[0]) if is_for_good else BounceKind.TEMPORARY
    return kind, status[0], _recipients(block)


def _recipients(block: Message) -> frozenset[str]:
    """The addresses in `rfc822; ann@example.org`. A field that cannot be read still counts as one."""
    values = [str(value) for name in _RECIPIENT_FIELDS for value in block.get_all(name, [])]
    return frozenset(value.rpartition(";")[2].strip().strip("<>").lower() for value in values)
