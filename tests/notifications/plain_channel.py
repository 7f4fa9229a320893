"""A channel of the tests: it sends lines of text to rooms, and does as it is told."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from registerwatch.errors import InvalidInput
from registerwatch.notifications.channels import HandOver
from registerwatch.notifications.models import AttemptResult, Notification, Target
from registerwatch.watches.models import Event


@dataclass
class PlainChannel:
    """Sends lines of text to rooms. `results` are those of the attempts, in their order; then all are accepted.

    One that `sends_once` hands over what it sends before it sends it, as mails do.
    """

    name = "plain"
    title = "Room"
    example = "#news"
    address_is_secret: bool = False
    pauses: Sequence[float] = (0.1,)
    is_for_people: bool = False
    sends_once: bool = False
    results: list[AttemptResult | Exception] = field(default_factory=list)
    sent: list[tuple[str, str]] = field(default_factory=list)

    def check_target(self, text: str) -> str:
        if not text.startswith("#"):
            raise InvalidInput("A room begins with #.")
        return text

    def new_secret(self) -> str:
        return ""

    def problem(self, target: Target) -> str | None:
        return "closed" if target.url == "#closed" else None

    def render_event(self, event: Event) -> str:
        return f"{event.kind} {event.subject}"

    def render(self, target: Target, notification: Notification, events: Sequence[str]) -> str:
        return "\n".join([notification.type, *events])

    async def attempt(
        self, target: Target, notification: Notification, body: str, now: int, hand_over: HandOver
    ) -> AttemptResult:
        if self.sends_once:
            await hand_over()
        self.sent.append((target.url, body))
        result = self.results.pop(0) if self.results else AttemptResult(is_accepted=True, status=None, error="")
        if isinstance(result, Exception):
            raise result
        return result


FULL = AttemptResult(is_accepted=False, status=None, error="full")
