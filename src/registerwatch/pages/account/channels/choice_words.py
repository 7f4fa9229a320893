"""Words for channels: what is sent to them, and their titles."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from registerwatch.notifications.channels import Channel
from registerwatch.notifications.choices import Choice, Frequency
from registerwatch.notifications.models import EMAIL, Target
from registerwatch.platform.clock import zone_in_words
from registerwatch.watches.models import EventSeverity

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
FREQUENCIES = (
    (Frequency.AT_ONCE, "At once", "what is found at a time comes together"),
    (Frequency.DAILY, "Daily", "one digest, on days with changes"),
    (Frequency.WEEKLY, "Weekly", "one digest, in weeks with changes"),
    (Frequency.OFF, "Off", "nothing is sent"),
)
SEVERITIES = (
    (EventSeverity.LOW, "All changes"),
    (EventSeverity.MEDIUM, "Medium and high"),
    (EventSeverity.HIGH, "High only"),
)


def choice_in_words(choice: Choice, zone: str, readers_zone: str) -> str:
    """A choice in one line, with its zone if that is not the reader's."""
    if choice.frequency is Frequency.OFF:
        return "Off"
    parts = [_when(choice, "" if zone == readers_zone else f" ({zone_in_words(zone)})")]
    parts += [words.lower() for severity, words in SEVERITIES[1:] if choice.severity is severity]
    if choice.high_at_once and choice.frequency is not Frequency.AT_ONCE:
        parts.append("high at once")
    named = [f"{number} {word if number == 1 else plural}" for number, word, plural in _named(choice) if number]
    return ", ".join(parts) + (f"; of {' and '.join(named)}" if named else "")


def title_of(channels: Sequence[Channel], name: str) -> str:
    """The title of a channel; its name if this release does not know it."""
    return next((each.title for each in channels if each.name == name), name.capitalize())


def destination_of(target: Target) -> str:
    """A target's destination: its mail address or host, since a path may be secret."""
    if target.channel == EMAIL:
        return target.user_email or ""
    return urlsplit(target.url).hostname or target.url


def _when(choice: Choice, zone: str) -> str:
    if choice.frequency is Frequency.AT_ONCE:
        return "At once"
    hour = f"{choice.hour:02}:00{zone}"
    return f"Daily at {hour}" if choice.frequency is Frequency.DAILY else f"{WEEKDAYS[choice.weekday]}s at {hour}"


def _named(choice: Choice) -> tuple[tuple[int, str, str], ...]:
    return (len(choice.tags), "tag", "tags"), (len(choice.watches), "watch", "watches")
