"""Answers of the routes of channels."""

from typing import Annotated, Literal

from registerwatch.notifications.channels.webhook import WebhookChannel
from registerwatch.notifications.choices import Choice
from registerwatch.notifications.models import EMAIL
from registerwatch.notifications.targets.channel_models import ChannelList, ListedChannel
from registerwatch.platform.clock import iso_utc
from registerwatch.rest.answers.webhook_answers import EXAMPLE_FAILURE
from registerwatch.web.answers.answers import Answer, doc, instant, iso_or_none

EXAMPLE_URL = "https://hooks.example.org/registerwatch"
FREQUENCY = (
    "How often: `at-once` (what happened together comes together), `daily`, `weekly`; `off` for never. A digest without"
    " a change is not sent."
)
SEVERITY = "From which severity on a change counts."
HIGH_AT_ONCE = "Whether changes of high severity come at once and not in the digest."
HOUR = "Hour of the day at which a digest is sent, in the channel's time zone."
WEEKDAY = "Day of a weekly digest; 0 is Monday."
TAGS = "Only changes of watches with one of these tags; with `watches` empty too, all changes."
WATCHES = "Only changes of watches with these ids, beside those with one of the tags."
TIME_ZONE = "Time zone of its digests. One of a user has theirs."
REPEATS = "Whether a delivery that failed is tried again after 5 and 30 minutes, 2, 12 and 24 hours."


class ChoiceObject(Answer):
    """What a channel is told, and when."""

    frequency: Annotated[Literal["off", "at-once", "daily", "weekly"], doc(FREQUENCY)]
    severity: Annotated[Literal["low", "medium", "high"], doc(SEVERITY)]
    high_at_once: Annotated[bool, doc(HIGH_AT_ONCE)]
    hour: Annotated[int, doc(HOUR, 8)]
    weekday: Annotated[int, doc(WEEKDAY, 0)]
    tags: Annotated[list[str], doc(TAGS, ["ward 3"])]
    watches: Annotated[list[int], doc(WATCHES, [7])]

    @classmethod
    def of(cls, choice: Choice) -> "ChoiceObject":
        """A choice as it is stored."""
        return cls(
            frequency=choice.frequency.value,
            severity=choice.severity.value,
            high_at_once=choice.high_at_once,
            hour=choice.hour,
            weekday=choice.weekday,
            tags=list(choice.tags),
            watches=list(choice.watches),
        )


class ChannelObject(Answer):
    """A way in which changes reach somebody: an address of the account, or the e-mail address of a user."""

    id: Annotated[int, doc("Number; the same as in `/v1/webhooks`.", 5)]
    channel: Annotated[str, doc("How it is sent.", "webhook")]
    url: Annotated[str, doc("Where it leads; of a secret address only the ends.", EXAMPLE_URL)]
    name: Annotated[str, doc("What people call it, or empty.", "Ward 3")]
    user: Annotated[str | None, doc("Address of the user whose own it is; null for one of the account.", None)]
    choice: Annotated[ChoiceObject, doc("What it is told, and when.")]
    time_zone: Annotated[str, doc(TIME_ZONE, "Europe/Berlin")]
    repeats: Annotated[bool, doc(REPEATS)]
    state: Annotated[
        Literal["off", "paused", "blocked", "failing", "working", "unused"],
        doc("How it does: `blocked` means that nothing can be sent there as it is, `unused` that nothing was yet."),
    ]
    problem: Annotated[str | None, doc("Why nothing can be sent there; null where it can.", None)]
    created_at: Annotated[str, instant("UTC.")]
    last_at: Annotated[str | None, instant("End of the last delivery, UTC; null when there was none.")]
    last_ok: Annotated[bool | None, doc("Whether it was accepted.")]
    last_error: Annotated[str | None, doc("Why it was not; empty when it was.", EXAMPLE_FAILURE)]
    failing_since: Annotated[str | None, instant("First failure since the last success, UTC; null while it works.")]
    paused_at: Annotated[str | None, instant("Since when nothing is sent there, UTC; null while something is.")]
    paused_reason: Annotated[str, doc("Why, where nobody paused it by hand.", "It failed for five days.")]
    secret: Annotated[str, doc("What deliveries to a webhook are signed with; empty for any other channel.", "whsec_…")]

    @classmethod
    def of(cls, listed: ListedChannel) -> "ChannelObject":
        """A target as the caller sees it."""
        target = listed.target
        return cls(
            id=target.id,
            channel=target.channel,
            url=target.user_email or "" if target.channel == EMAIL else target.url,
            name=target.name,
            user=target.user_email,
            choice=ChoiceObject.of(target.choice),
            time_zone=target.time_zone,
            repeats=target.repeats,
            state=listed.state.value,
            problem=listed.problem,
            created_at=iso_utc(target.created_at),
            last_at=iso_or_none(target.last_at),
            last_ok=target.last_ok,
            last_error=target.last_error,
            failing_since=iso_or_none(target.failing_since),
            paused_at=iso_or_none(target.paused_at),
            paused_reason=target.paused_reason,
            secret=target.secret if target.channel == WebhookChannel.name else "",
        )


class OneChannel(Answer):
    """A channel."""

    channel: Annotated[ChannelObject, doc("The channel as it is now.")]


class ChannelListAnswer(Answer):
    """The channels that the caller may see."""

    channels: Annotated[list[ChannelObject], doc("Oldest first; webhooks of `/v1/webhooks` among them.")]
    paused_until: Annotated[
        str | None, instant("Until when all notifications of the account wait, UTC; null where they do not.")
    ]

    @classmethod
    def of(cls, found: ChannelList) -> "ChannelListAnswer":
        """A list."""
        return cls([ChannelObject.of(each) for each in found.channels], iso_or_none(found.paused_until))
