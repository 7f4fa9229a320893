"""Webhooks and deliveries as they are answered."""

from typing import Any

from registerwatch.clock import iso_utc
from registerwatch.notifications.models import Delivery, Webhook


def webhook_object(webhook: Webhook, *, shows_secret: bool = True) -> dict[str, Any]:
    """An address with its secret and how the last delivery ended."""
    return {
        "id": webhook.id,
        "url": webhook.url,
        "secret": webhook.secret if shows_secret else "",
        "created_at": iso_utc(webhook.created_at),
        "last_at": None if webhook.last_at is None else iso_utc(webhook.last_at),
        "last_ok": webhook.last_ok,
        "last_error": webhook.last_error,
    }


def delivery_object(delivery: Delivery) -> dict[str, Any]:
    """What was sent and answered."""
    return {
        "id": delivery.id,
        "type": delivery.type,
        "created_at": iso_utc(delivery.created_at),
        "finished_at": None if delivery.finished_at is None else iso_utc(delivery.finished_at),
        "ok": delivery.is_accepted,
        "attempts": delivery.attempts,
        "status": delivery.status,
        "error": delivery.error,
        "body": delivery.body,
    }
