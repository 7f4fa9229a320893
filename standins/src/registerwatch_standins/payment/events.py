"""The log of events: what happened, and the attempts to send it."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from registerwatch_standins.payment.stripe_objects import API_VERSION


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to send an event. `status` is 0 where no answer came."""

    at: float
    status: int
    error: str = ""


@dataclass(slots=True)
class Event:
    """Something that happened. `body` is what is sent, the same bytes at every try."""

    id: str
    type: str
    created: int
    body: bytes
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def was_taken(self) -> bool:
        """Whether it has arrived."""
        return any(200 <= attempt.status < 300 for attempt in self.attempts)

    @property
    def json(self) -> dict[str, Any]:
        """The body, decoded."""
        decoded: dict[str, Any] = msgspec.json.decode(self.body)
        return decoded


class EventLog:
    """All events, oldest first."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def write(self, id_: str, type_: str, created: int, subject: dict[str, Any]) -> None:
        """Note what happened to a subject, which is shown as it is now."""
        content = {
            "id": id_,
            "object": "event",
            "api_version": API_VERSION,
            "created": created,
            "data": {"object": subject},
            "livemode": False,
            "pending_webhooks": 1,
            "request": {"id": None, "idempotency_key": None},
            "type": type_,
        }
        self.events.append(Event(id_, type_, created, msgspec.json.format(msgspec.json.encode(content), indent=2)))

    def types(self) -> list[str]:
        """What happened, by the events' types."""
        return [event.type for event in self.events]
