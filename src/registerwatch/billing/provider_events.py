"""Events that the payment provider posts: which are genuine, what each is about, and applying it once.

Nothing else in an event is trusted: it can be late, repeated or out of order, so the present state of its subject is
read from the provider.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from stripe import SignatureVerificationError, WebhookSignature

from registerwatch.billing import repository
from registerwatch.billing.models import EventSubject, ProviderEvent
from registerwatch.billing.subscription_sync import SubscriptionSync
from registerwatch.errors import InvalidInput
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database

TOLERANCE_SECONDS = 300
_ID = re.compile(r"[\w-]{1,255}", re.ASCII)
_TYPE = re.compile(r"[\w.-]{1,255}", re.ASCII)

MALFORMED_SIGNATURE = "The signature is missing or malformed; the format is `t=…,v1=…`, over the raw body."
WRONG_SIGNATURE = "The signature does not match this body and the payment provider's secret."
SIGNATURE_TIME_TOO_FAR = "The signature's time is more than 5 minutes away from now."
NOT_AN_EVENT = "The body is not an event of the payment provider."


class ProviderEventReceiver:
    """Receives the provider's events."""

    def __init__(self, database: Database, clock: Clock, subscription_sync: SubscriptionSync, secret: str) -> None:
        self._database = database
        self._clock = clock
        self._subscription_sync = subscription_sync
        self._secret = secret

    async def receive(self, body: bytes, signature: str | None) -> None:
        """Apply an event. Raises `InvalidInput` for what is not genuine; after any other error it is sent again.

        An event that is not about a checkout or a subscription is accepted and ignored.
        """
        event = verified_event(body, signature, self._secret, self._clock.now())
        if event.about is None or event.subject_id is None:
            return
        async with self._database.reading() as connection:
            if await repository.has_event(connection, event.id):
                return
        if event.about is EventSubject.CHECKOUT:
            await self._subscription_sync.checkout(event.subject_id, event)
        else:
            await self._subscription_sync.subscription(event.subject_id, event)


def verified_event(body: bytes, header: str | None, secret: str, now: float) -> ProviderEvent:
    """The event in a body that the provider signed at most 5 minutes from now. Raises `InvalidInput` for any other."""
    header = (header or "").replace(" ", "")
    timestamps = [item.removeprefix("t=") for item in header.split(",") if item.startswith("t=")]
    if len(timestamps) != 1 or not timestamps[0].isdecimal() or not header.isascii():
        raise InvalidInput(MALFORMED_SIGNATURE)
    _verify_signature(body, header, secret)
    if abs(now - int(timestamps[0])) > TOLERANCE_SECONDS:  # the SDK accepts signatures from the future
        raise InvalidInput(SIGNATURE_TIME_TOO_FAR)
    return _event_of(body)


def _verify_signature(body: bytes, header: str, secret: str) -> None:
    try:
        WebhookSignature.verify_header(body, header, secret)
    except SignatureVerificationError:
        raise InvalidInput(WRONG_SIGNATURE) from None
    except UnicodeDecodeError:
        raise InvalidInput(NOT_AN_EVENT) from None


def _event_of(body: bytes) -> ProviderEvent:
    try:
        event = json.loads(body)
        event_id, event_type, subject = event["id"], event["type"], event["data"]["object"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise InvalidInput(NOT_AN_EVENT) from None
    if not (_matches(_ID, event_id) and _matches(_TYPE, event_type) and isinstance(subject, Mapping)):
        raise InvalidInput(NOT_AN_EVENT)
    about, subject_id = _subject(event_type, subject)
    known = _matches(_ID, subject_id)
    return ProviderEvent(event_id, event_type, about if known else None, subject_id if known else None)


def _subject(event_type: str, subject: Mapping[str, Any]) -> tuple[EventSubject | None, Any]:
    if event_type.startswith("checkout.session."):
        return EventSubject.CHECKOUT, subject.get("id")
    if event_type.startswith("customer.subscription."):
        return EventSubject.SUBSCRIPTION, subject.get("id")
    if event_type.startswith("invoice."):
        return EventSubject.SUBSCRIPTION, _subscription_of_invoice(subject)
    return None, None


def _subscription_of_invoice(invoice: Mapping[str, Any]) -> Any:
    """An invoice names its subscription as its parent since March 2025; before, as its subscription."""
    details = invoice
    for name in ("parent", "subscription_details"):
        inner = details.get(name)
        details = inner if isinstance(inner, Mapping) else {}
    return details.get("subscription") or invoice.get("subscription")


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None
