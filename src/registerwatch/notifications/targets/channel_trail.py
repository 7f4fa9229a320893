"""What the audit trail says of changes of channels. No secret is in it. Pure."""

from registerwatch.notifications.models import Target
from registerwatch.platform.clock import iso_utc


def difference(before: Target, after: Target) -> str:
    """What changed of a target, in words; empty where nothing did."""
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
    """What the trail says of a pause of the whole account: pages show the instant in the zone of who reads it."""
    return "all channels go on" if until is None else f"all channels paused until {iso_utc(until)}"
