"""A mail provider's posts about undeliverable mails."""

import re
from typing import Any

import msgspec

from registerwatch.accounts.validation import email_address
from registerwatch.errors import InvalidInput
from registerwatch.notifications.bounces.bounce_address import target_id_in, token_in
from registerwatch.notifications.bounces.bounce_report import BounceKind, kind_of_failure

NOT_KNOWN = (
    'The body is no report: send {"recipient": "ann@example.org", "type": "permanent"} or "temporary",'
    " or `token` in the place of `recipient`, with what stands behind the plus of the envelope sender."
)
_TYPES = (BounceKind.PERMANENT, BounceKind.TEMPORARY)
_STATUS = re.compile(r"[245]\.\d{1,3}\.\d{1,3}")
_PERMANENT_OF_POSTMARK = frozenset({"HardBounce", "BadEmailAddress", "ManuallyDeactivated"})


class PostedBounce(msgspec.Struct, frozen=True):
    """The mail's target, by a token or by a user's address, and whether the failure is permanent."""

    token: str | None
    recipient: str | None
    kind: BounceKind
    status: str = ""


def posted_bounce(body: bytes) -> PostedBounce:
    """The report in a body: ours, or a bounce of Postmark's. Raises `InvalidInput`."""
    try:
        fields = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InvalidInput(NOT_KNOWN) from None
    return _of_postmark(fields) if fields.get("RecordType") == "Bounce" else _generic(fields)


def _generic(fields: dict[str, Any]) -> PostedBounce:
    named, recipient, status = fields.get("token"), fields.get("recipient"), fields.get("status", "")
    if fields.get("type") not in _TYPES or not isinstance(status, str):
        raise InvalidInput(NOT_KNOWN)
    kind, known_status = BounceKind(fields["type"]), status if _STATUS.fullmatch(status) else ""
    if kind is BounceKind.PERMANENT and known_status:  # providers call a mail that was blocked permanent, too
        kind = kind_of_failure(known_status)
    if isinstance(named, str) and recipient is None:
        token = token_in(named) or (named if target_id_in(named) is not None else None)
        if token is not None:
            return PostedBounce(token, None, kind, known_status)
    if isinstance(recipient, str) and named is None:
        return PostedBounce(None, email_address(recipient), kind, known_status)
    raise InvalidInput(NOT_KNOWN)


def _of_postmark(fields: dict[str, Any]) -> PostedBounce:
    recipient, kind = fields.get("Email"), fields.get("Type")
    if not (isinstance(recipient, str) and isinstance(kind, str)):
        raise InvalidInput(NOT_KNOWN)
    is_permanent = kind in _PERMANENT_OF_POSTMARK
    return PostedBounce(None, email_address(recipient), BounceKind.PERMANENT if is_permanent else BounceKind.TEMPORARY)
