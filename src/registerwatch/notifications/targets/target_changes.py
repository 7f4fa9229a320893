"""Columns of targets that people set, and texts that name a target and its changes. Pure."""

from urllib.parse import urlsplit

import msgspec

from registerwatch.accounts.validation import one_line
from registerwatch.mail.texts import LIKE_AN_ADDRESS
from registerwatch.notifications.choices import Choice
from registerwatch.notifications.models import Target
from registerwatch.platform.clock import iso_utc

MAX_NAME_LENGTH = 80


def columns_of(
    *,
    name: str | None = None,
    choice: Choice | None = None,
    time_zone: str | None = None,
    repeats: bool | None = None,
) -> dict[str, object]:
    """The columns for set values; None is left out."""
    columns: dict[str, object] = {}
    if name is not None:
        columns["name"] = one_line(name)[:MAX_NAME_LENGTH].rstrip()
    if choice is not None:
        columns["choice"] = msgspec.json.encode(choice).decode()
    if time_zone is not None:
        columns["time_zone"] = time_zone
    if repeats is not None:
        columns["repeats"] = repeats
    return columns


def shown_name(target: Target) -> str:
    """A target in mails and the audit trail: its channel, and the host of its address, whose path may be a secret. A
    name that could be taken for an address or a telephone number to follow is left out.
    """
    host = target.user_email or urlsplit(target.url).hostname or ""
    name = "" if LIKE_AN_ADDRESS.search(target.name) else target.name
    return " ".join(each for each in (target.channel, host, f"“{name}”" if name else "") if each)


def difference(before: Target, after: Target) -> str:
    """The changes of a target, in words; empty where there are none."""
    said = []
    if before.name != after.name:
        said.append("renamed")
    if before.choice.frequency != after.choice.frequency:
        said.append(f"{after.choice.frequency} instead of {before.choice.frequency}")
    elif before.choice != after.choice or before.time_zone != after.time_zone:
        said.append("choice changed")
    if before.repeats is not after.repeats:
        said.append("repeats failed deliveries" if after.repeats else "repeats no failed deliveries")
    if (before.paused_at is None) is not (after.paused_at is None):
        said.append("goes on" if after.paused_at is None else "paused")
    return ", ".join(said)


def pause_of_account(until: int | None) -> str:
    """The trail's text for a pause of the whole account: pages show the instant in the reader's zone."""
    return "all channels go on" if until is None else f"all channels paused until {iso_utc(until)}"
