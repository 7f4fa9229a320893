"""Columns of targets as people set them, and how texts name a target. Pure."""

from urllib.parse import urlsplit

import msgspec

from registerwatch.accounts.validation import one_line
from registerwatch.mail.texts import LIKE_AN_ADDRESS
from registerwatch.notifications.choices import Choice
from registerwatch.notifications.models import Target

MAX_NAME_LENGTH = 80


def columns_of(
    *,
    name: str | None = None,
    choice: Choice | None = None,
    time_zone: str | None = None,
    repeats: bool | None = None,
) -> dict[str, object]:
    """What is stored of what somebody set; what is None is left out."""
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
    place = target.user_email or urlsplit(target.url).hostname or ""
    name = "" if LIKE_AN_ADDRESS.search(target.name) else target.name
    return " ".join(each for each in (target.channel, place, f"“{name}”" if name else "") if each)
