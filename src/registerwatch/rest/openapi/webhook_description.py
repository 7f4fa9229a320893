"""The description of webhook deliveries in `/openapi.json`: the `webhooks` of OpenAPI 3.1."""

from typing import Any

from registerwatch.notifications.channels.webhook import DeliveredEvent, DeliveryBody
from registerwatch.notifications.models import EventType
from registerwatch.rest.openapi.description import schema_of

SUMMARIES = {
    EventType.CHANGED: "A sync or recheck found changes",
    EventType.TEST: "A test, asked for over REST; `events` is empty",
}
SIGNATURE = (
    "`sha256=` and the HMAC-SHA256 of timestamp, dot and body in hex; two, with a space between, for a day after a new"
    " secret."
)
STANDARD_SIGNATURE = (
    "`v1,` and the signature of Standard Webhooks in base64; two, with a space between, for a day after a new secret."
)
ACCEPTED = (
    "Accepted. Any other answer, a redirect too, is tried again, three times in all; then in rounds where the page of"
    " the webhook says so."
)
EVENT_EXAMPLE = {
    "id": 17,
    "subject": "04012345678901",
    "label": "Trocar 5 mm",
    "summary": "status: On the EU market → No longer placed on the EU market",
    "changes": [{"field": "status", "old": "On the EU market", "new": "No longer placed on the EU market"}],
}
BODY, EVENT = schema_of(DeliveryBody), schema_of(DeliveredEvent)


def describe_webhooks(description: dict[str, Any], service_name: str) -> None:
    """Add both kinds of deliveries to a description, with the service's names of headers."""
    description["webhooks"] = {kind.value: {"post": _delivery(kind, service_name)} for kind in EventType}
    body = description["components"]["schemas"][DeliveryBody.__name__]
    body["properties"]["events"]["items"] = EVENT  # events are stored as JSON, without a type of their own


def _example(kind: EventType) -> dict[str, Any]:
    """An example of a body."""
    return {
        "id": "whd_…",
        "type": kind.value,
        "created_at": "2026-11-21T03:38:00Z",
        "email": "owner@acme.example",
        "events": [EVENT_EXAMPLE] if kind is EventType.CHANGED else [],
    }


def _delivery(kind: EventType, service_name: str) -> dict[str, Any]:
    return {
        "tags": ["webhooks"],
        "operationId": f"receive_{kind.name.lower()}",
        "summary": SUMMARIES[kind],
        "description": "Posted to each saved address; `/docs/webhooks` says how to verify the signature.",
        "parameters": [*_service_headers(kind, service_name), *_standard_headers()],
        "requestBody": {"required": True, "content": {"application/json": {"schema": BODY, "example": _example(kind)}}},
        "responses": {"2XX": {"description": ACCEPTED}},
    }


def _service_headers(kind: EventType, service_name: str) -> list[dict[str, Any]]:
    """The service's own headers."""
    headers = {
        "Timestamp": ("Unix seconds, part of what is signed.", "1795837080"),
        "Signature": (SIGNATURE, "sha256=…"),
        "Event": ("As `type` in the body.", kind.value),
        "Delivery": ("As `id` in the body.", "whd_…"),
    }
    return [_header(f"X-{service_name}-{name}", *described) for name, described in headers.items()]


def _standard_headers() -> list[dict[str, Any]]:
    """The headers of Standard Webhooks."""
    headers = {
        "webhook-id": ("As `id` in the body.", "whd_…"),
        "webhook-timestamp": ("Unix seconds, part of what is signed.", "1795837080"),
        "webhook-signature": (STANDARD_SIGNATURE, "v1,…"),
    }
    return [_header(name, *described) for name, described in headers.items()]


def _header(name: str, about: str, example: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "required": True,
        "description": about,
        "schema": {"type": "string"},
        "example": example,
    }
