"""Webhooks: signed JSON, posted to a public https address."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from registerwatch.notifications.channels import HandOver
from registerwatch.notifications.channels.webhook_signature import headers, new_secret
from registerwatch.notifications.models import AttemptResult, EventType, Notification, Target
from registerwatch.platform.clock import iso_utc
from registerwatch.platform.net.addresses import target as checked_address
from registerwatch.platform.net.safe_http import SafeHttpClient
from registerwatch.register.models import field_doc
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.models import Event

ATTEMPT_SECONDS = 5.0
PAUSES = (0.4, 0.8)

NO_SECRET = "nothing is sent without a secret to sign it"  # noqa: S105  # a sentence

_encoder = msgspec.json.Encoder()


class WebhookChannel:
    """The contract's webhooks. `service` is the word in the headers' names."""

    name = "webhook"
    title = "Webhook"
    example = "https://hooks.example.org/registerwatch"
    address_is_secret = False
    pauses = PAUSES
    is_for_people = False

    def __init__(self, http_client: SafeHttpClient, *, service: str, user_agent: str, allow_private: bool) -> None:
        self._http_client = http_client
        self._service = service
        self._user_agent = user_agent
        self._allow_private = allow_private

    def check_target(self, text: str) -> str:
        """A public https address. Raises `InvalidInput`."""
        return checked_address(text, allow_private=self._allow_private).url

    def new_secret(self) -> str:
        """A new secret."""
        return new_secret()

    def problem(self, target: Target) -> str | None:
        """The problem of a missing secret."""
        return None if target.secret else NO_SECRET

    def render_event(self, event: Event) -> str:
        """An event of the body, in JSON."""
        return event_json(event)

    def render(self, target: Target, notification: Notification, events: Sequence[str]) -> str:  # the protocol's
        """The body, in JSON."""
        return body_of(notification, events)

    async def attempt(
        self,
        target: Target,
        notification: Notification,
        body: str,
        now: int,
        hand_over: HandOver,  # a receiver may get a delivery twice, with the same id
    ) -> AttemptResult:
        """Post the body, signed with every secret that is valid now."""
        content = body.encode()
        secrets = target.valid_secrets(now)
        signed = headers(self._service, notification.id, notification.type, content, secrets, now)
        answer = await self._http_client.post(target.url, content, {**signed, "User-Agent": self._user_agent})
        return AttemptResult(answer.is_accepted, answer.status, answer.error)


class DeliveredEvent(msgspec.Struct):
    """A change in a delivery."""

    id: Annotated[int, field_doc("Number of the event, also in `GET /v1/events`.", 311)]
    subject: Annotated[str, field_doc("UDI-DI or SRN.", "04012345678901")]
    label: Annotated[str, field_doc("Name of the watch.", "Ceramill Zolid HT+")]
    summary: Annotated[str, field_doc("`field: old → new`, for people.", "cert_expiry: 2029-01-31 → 2030-09-16")]
    changes: Annotated[Sequence[FieldChange], field_doc("Every changed field.")]


class DeliveryBody(msgspec.Struct):
    """The body of a delivery."""

    id: Annotated[str, field_doc("The same in `X-Service-Delivery`; a repeated delivery keeps it.", "whd_…")]
    type: Annotated[EventType, field_doc("What it is about.", "watch.changed")]
    created_at: Annotated[str, field_doc("UTC.", "2026-11-28T03:38:00Z", form="date-time")]
    email: Annotated[str, field_doc("E-mail address of the account.", "someone@example.org")]
    events: Annotated[list[msgspec.Raw], field_doc("The changes; empty in a test.")]


def event_json(event: Event) -> str:
    """An event in the body of a delivery: JSON, in one line."""
    delivered = DeliveredEvent(event.id, event.subject, event.label, event.summary, event.changes)
    return _encoder.encode(delivered).decode()


def body_of(notification: Notification, events: Sequence[str]) -> str:
    """The body of a delivery with the lines of `event_json` for its events."""
    body = DeliveryBody(
        id=notification.id,
        type=notification.type,
        created_at=iso_utc(notification.created_at),
        email=notification.email,
        events=[msgspec.Raw(event.encode()) for event in events],
    )
    return _encoder.encode(body).decode()
