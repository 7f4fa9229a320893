"""What the audit trail and owners' mails say of changes of channels. No secret is in it."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository as account_repository
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.models import Caller
from registerwatch.accounts.notices import AccountNotices, NoticeKind
from registerwatch.mail.mailer import Mail
from registerwatch.notifications.models import Target
from registerwatch.platform.clock import iso_utc


async def note(connection: AsyncConnection, caller: Caller, subject: str, now: int) -> None:
    """Write a line into the trail of the caller's account."""
    await account_repository.note(
        connection, caller.account.id, now=now, actor=caller.name, action=Action.CHANNEL_CHANGED, subject=subject
    )


async def notices(
    account_notices: AccountNotices, connection: AsyncConnection, caller: Caller, what: str
) -> Sequence[Mail]:
    """The mails that tell owners what the caller did."""
    return await account_notices.prepare(connection, caller, NoticeKind.CHANNELS, what)


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
