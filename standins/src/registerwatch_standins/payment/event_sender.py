"""Posting events to the service's webhook, signed as Stripe signs them."""

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

import httpx2

from registerwatch_standins.payment.events import Attempt, Event, EventLog
from registerwatch_standins.payment.scheduler import Clock

_MAX_PAUSE_SECONDS = 3600.0
_TIMEOUT_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where events are sent, and what they are signed with."""

    url: str
    secret: str


class EventSender:
    """Posts events. `holds` keeps them back until `send` is called, as though the network had lost them."""

    def __init__(self, log: EventLog, client: httpx2.AsyncClient, clock: Clock, webhook: Webhook | None = None) -> None:
        self._log = log
        self.client = client
        self._clock = clock
        self.webhook = webhook
        self.holds = False

    def waiting(self) -> list[Event]:
        """Events that nobody has taken yet, oldest first."""
        return [event for event in self._log.events if not event.was_taken]

    async def deliver(self) -> None:
        """Send what has not arrived, however often it was tried."""
        if not self.holds:
            await self.send(self.waiting())

    async def deliver_due(self) -> None:
        """The same for a sender that runs on: after a failure the next attempt waits, longer each time."""
        if not self.holds:
            await self.send(event for event in self.waiting() if self._is_due(event))

    async def send(self, events: Iterable[Event]) -> list[Attempt]:
        """Send these, in this order, whether they have arrived before or not."""
        if self.webhook is None:
            return []
        return [await self._post(event, self.webhook) for event in list(events)]

    def _is_due(self, event: Event) -> bool:
        tries = len(event.attempts)
        return tries == 0 or self._clock() >= event.attempts[-1].at + min(2.0**tries, _MAX_PAUSE_SECONDS)

    async def _post(self, event: Event, webhook: Webhook) -> Attempt:
        now = self._clock()
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": "Stripe/1.0 (+https://stripe.com/docs/webhooks)",
            "Stripe-Signature": signature_header(event.body, webhook.secret, now),
        }
        try:
            answer = await self.client.post(
                webhook.url, content=event.body, headers=headers, timeout=_TIMEOUT_SECONDS, follow_redirects=False
            )
            attempt = Attempt(now, answer.status_code, "" if answer.is_success else answer.text[:500])
        except httpx2.TransportError as error:
            attempt = Attempt(now, 0, f"{type(error).__name__}: {error}")
        event.attempts.append(attempt)
        return attempt


def signature_header(body: bytes, secret: str, now: float) -> str:
    """`t=…,v1=…`."""
    digest = hmac.new(secret.encode(), b"%d.%s" % (int(now), body), sha256).hexdigest()
    return f"t={int(now)},v1={digest}"
