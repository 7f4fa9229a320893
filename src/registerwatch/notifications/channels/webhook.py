"""Webhooks: signed JSON, posted to a public https address."""

from collections.abc import Sequence

import msgspec

from registerwatch.clock import iso_utc
from registerwatch.net.addresses import target as checked_address
from registerwatch.net.safe_http import SafeHttpClient
from registerwatch.notifications.channels.webhook_signature import headers, new_secret
from registerwatch.notifications.models import AttemptResult, Notification, Target
from registerwatch.watches.models import Event

ATTEMPT_SECONDS = 5.0
PAUSES = (0.4, 0.8)

NO_SECRET = "nothing is sent without a secret to sign it"  # noqa: S105  # a sentence

_encoder = msgspec.json.Encoder()


class WebhookChannel:
    """The contract's webhooks. `service` is the word in the headers' names."""

    name = "webhook"
    pauses = PAUSES

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
        """Without a secret nothing is sent."""
        return None if target.secret else NO_SECRET

    def render_event(self, event: Event) -> str:
        """An event of the body, in JSON."""
        return event_json(event)

    def render(self, notification: Notification, events: Sequence[str]) -> str:
        """The body, in JSON."""
        return body_of(notification, events)

    async def attempt(self, target: Target, notification: Notification, body: str, now: int) -> AttemptResult:
        """Post the body, signed with every secret that is valid now."""
        content = body.encode()
        secrets = target.valid_secrets(now)
        signed = headers(self._service, notification.id, notification.type, content, secrets, now)
        answer = await self._http_client.post(target.url, content, {**signed, "User-Agent": self._user_agent})
        return AttemptResult(answer.is_accepted, answer.status, answer.error)


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
