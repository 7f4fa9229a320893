"""What is posted to webhooks."""

from collections.abc import Sequence

import msgspec

from registerwatch.clock import iso_utc
from registerwatch.notifications.models import Notification
from registerwatch.watches.models import Event

_encoder = msgspec.json.Encoder()


def event_json(event: Event) -> str:
    """An event in the body of a delivery: JSON, in one line."""
    told = {
        "id": event.id,
        "subject": event.subject,
        "label": event.label,
        "summary": event.summary,
        "changes": event.changes,
    }
    return _encoder.encode(told).decode()


def body_of(notification: Notification, events: Sequence[str]) -> str:
    """The body of a delivery with what `event_json` made of its events."""
    body = {
        "id": notification.id,
        "type": notification.type,
        "created_at": iso_utc(notification.created_at),
        "email": notification.email,
        "events": [msgspec.Raw(event.encode()) for event in events],
    }
    return _encoder.encode(body).decode()
