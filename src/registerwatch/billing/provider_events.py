"""Events that the payment provider posts: whether one is genuine, and what it is about. Pure.

Nothing else of an event is believed: it can be late, repeated or overtaken, so the provider is asked how things stand.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from registerwatch.errors import InvalidInput

TOLERANCE_SECONDS = 300
_ID = re.compile(r"[\w-]{1,255}", re.ASCII)
_TYPE = re.compile(r"[\w.-]{1,255}", re.ASCII)

NOT_SIGNED = "The signature is missing or of another form; it is `t=…,v1=…` over the raw body."
NOT_GENUINE = "The signature is not that of the payment provider over this body."
TOO_OLD = "The signature's time is more than 5 minutes away from now."
NO_EVENT = "The body is no event of the payment provider."


class About(Enum):
    """What an event can be about."""

    CHECKOUT = "checkout"
    SUBSCRIPTION = "subscription"


@dataclass(frozen=True, slots=True)
class Event:
    """A genuine event. `about` and `subject_id` are None for what is of no interest here."""

    id: str
    type: str
    about: About | None
    subject_id: str | None


def genuine_event(body: bytes, header: str | None, secret: str, now: float) -> Event:
    """The event in a body that the provider signed just now. Raises `InvalidInput` for any other body."""
    timestamp, signatures = _signed(header)
    expected = signature(body, secret, timestamp)
    if not any(hmac.compare_digest(expected.encode(), given.encode()) for given in signatures):
        raise InvalidInput(NOT_GENUINE)
    if abs(now - timestamp) > TOLERANCE_SECONDS:
        raise InvalidInput(TOO_OLD)
    return _event_of(body)


def signature(body: bytes, secret: str, timestamp: int) -> str:
    """What the provider writes behind `v1=`."""
    return hmac.new(secret.encode(), b"%d." % timestamp + body, hashlib.sha256).hexdigest()


def _signed(header: str | None) -> tuple[int, list[str]]:
    """The time and the signatures of a header. While a secret is being changed there are two."""
    parts = [part.strip().partition("=") for part in (header or "").split(",")]
    times = [value for name, _, value in parts if name == "t"]
    signatures = [value for name, _, value in parts if name == "v1"]
    if len(times) != 1 or not re.fullmatch("[0-9]{1,12}", times[0]) or not signatures:
        raise InvalidInput(NOT_SIGNED)
    return int(times[0]), signatures


def _event_of(body: bytes) -> Event:
    try:
        event = json.loads(body)
        event_id, event_type, subject = event["id"], event["type"], event["data"]["object"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise InvalidInput(NO_EVENT) from None
    if not (_is(_ID, event_id) and _is(_TYPE, event_type) and isinstance(subject, Mapping)):
        raise InvalidInput(NO_EVENT)
    about, subject_id = _subject(event_type, subject)
    known = _is(_ID, subject_id)
    return Event(event_id, event_type, about if known else None, subject_id if known else None)


def _subject(event_type: str, subject: Mapping[str, Any]) -> tuple[About | None, Any]:
    if event_type.startswith("checkout.session."):
        return About.CHECKOUT, subject.get("id")
    if event_type.startswith("customer.subscription."):
        return About.SUBSCRIPTION, subject.get("id")
    if event_type.startswith("invoice."):
        return About.SUBSCRIPTION, _subscription_of_invoice(subject)
    return None, None


def _subscription_of_invoice(invoice: Mapping[str, Any]) -> Any:
    """Since March 2025 an invoice names its subscription as its parent; before, as its subscription."""
    details = invoice
    for name in ("parent", "subscription_details"):
        inner = details.get(name)
        details = inner if isinstance(inner, Mapping) else {}
    return details.get("subscription") or invoice.get("subscription")


def _is(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None
