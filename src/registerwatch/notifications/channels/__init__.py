"""Channels: ways to notify people or programs. A channel is a module here and a line in `use_cases.py`."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from registerwatch.notifications.models import AttemptResult, Notification, Target
from registerwatch.watches.models import Event

HandOver = Callable[[], Awaitable[None]]
"""Notes that a target is about to get something. Raises `LeaseLost` where another worker may send it by now."""


class Channel(Protocol):
    """The differences between channels. The outbox, leases, attempts and the log of deliveries are the same for all."""

    @property
    def name(self) -> str:
        """One word, which is stored with every target and delivery."""

    @property
    def title(self) -> str:
        """The name for people: `Microsoft Teams`."""

    @property
    def example(self) -> str:
        """An address for an empty field, in the service's form."""

    @property
    def address_is_secret(self) -> bool:
        """Whether everybody with the address can post there. Then `Target.secret` is the address, stored as secrets
        are, and `Target.url` only what pages, logs and mails may show of it (`target_addresses.py`).
        """

    @property
    def pauses(self) -> Sequence[float]:
        """Seconds between attempts, so there is one attempt more. All of them together must end within 17 seconds."""

    @property
    def is_for_people(self) -> bool:
        """Whether people read it: then changes that any runs find within minutes reach a target together, and a new
        version of a record without another known change is left out. Otherwise each batch comes by itself, with
        everything.
        """

    def check_target(self, text: str) -> str:
        """The address that was entered, as it is requested. Raises `InvalidInput` with the reason."""

    def new_secret(self) -> str:
        """The signing secret of a new target; empty where nothing is signed, or the address is secret."""

    def problem(self, target: Target) -> str | None:
        """Why nothing can be sent to a target; None when it can."""

    def render_event(self, event: Event) -> str:
        """An event in one line, for `render`. A line break would make two: events are stored a line each."""

    def render(self, target: Target, notification: Notification, events: Sequence[str]) -> str:
        """The body of a delivery, from the lines of `render_event`. A test has no events."""

    async def attempt(
        self, target: Target, notification: Notification, body: str, now: int, hand_over: HandOver
    ) -> AttemptResult:
        """Try once to send a body. Raises nothing for a target that does not answer or refuses.

        A channel that sends once awaits `hand_over` right before the target gets the body.
        """
