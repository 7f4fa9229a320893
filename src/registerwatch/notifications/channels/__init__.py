"""Channels: ways in which a notification reaches somebody. A channel is one module here and a line in `wiring.py`."""

from collections.abc import Sequence
from typing import Protocol

from registerwatch.notifications.models import AttemptResult, Notification, Target
from registerwatch.watches.models import Event


class Channel(Protocol):
    """What differs between channels. The outbox, leases, attempts and the log of deliveries are the same for all."""

    @property
    def name(self) -> str:
        """One word, which is stored with every target and delivery."""

    @property
    def pauses(self) -> Sequence[float]:
        """Seconds between attempts, so there is one attempt more. All of them together must end within 17 seconds."""

    def check_target(self, text: str) -> str:
        """The target as it is stored. Raises `InvalidInput` with the reason."""

    def new_secret(self) -> str:
        """What deliveries to a new target are signed with; empty where nothing is signed."""

    def problem(self, target: Target) -> str | None:
        """Why nothing can be sent to a target, None when it can."""

    def render_event(self, event: Event) -> str:
        """An event in one line, as `render` takes it. A line break would make two: events are stored a line each."""

    def render(self, notification: Notification, events: Sequence[str]) -> str:
        """The body of a delivery, from what `render_event` made of its events. A test has no events."""

    async def attempt(self, target: Target, notification: Notification, body: str, now: int) -> AttemptResult:
        """Try once to send a body. Raises nothing for a target that does not answer or refuses."""
