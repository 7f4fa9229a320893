"""Limits the mails to one address, and those of one account, so that a stranger's mailbox cannot be filled.

Counts are kept in the database, by digest, in fixed windows of time. They outlive accounts: deleting one and opening it
again allows no more mails.
"""

from enum import Enum

import msgspec
from sqlalchemy import delete, text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.limits.idempotency import digest_of_parts
from registerwatch.accounts.tables import mail_counts

DAY = 24 * 3600


class MailRule(msgspec.Struct, frozen=True):
    """Maximum of mails in a window."""

    name: str
    mails: int
    seconds: int = DAY


class MailLimit(Enum):
    """The limits; each is counted separately."""

    FIRST_CONTACT = MailRule("first-contact", 5)
    """Confirmations and invitations to one address that is not proven."""
    FIRST_CONTACT_BY_ACCOUNT = MailRule("first-contact-by-account", 20)
    """All first contacts of one account."""
    FIRST_CONTACT_BY_UNPROVEN = MailRule("first-contact-by-unproven", 3)
    """First contacts to others than the owner, where no owner of the account has a proven address."""
    RESET_OF_UNCONFIRMED = MailRule("reset-of-unconfirmed", 5)
    """Reset links to one address that is not proven; other users have a limit by the hour."""
    NOTICE = MailRule("notice", 10)
    """Notices of one kind to one address."""
    FAILING_CHANNELS = MailRule("failing-channels", 1)
    """Mails on failing channels of an account to one of its owners."""


async def take_slot(connection: AsyncConnection, now: int, limit: MailLimit, whom: str) -> bool:
    """Count a mail to an address or of an account; returns whether it was within the limit.

    A transaction with several limits takes those of the account first, that of unproven owners before the other: one
    order prevents deadlocks, and an account that has none left uses up nothing of a stranger's address.
    """
    digest, expires_at, most = _row(limit.value, mailbox(whom), now)
    values = {"digest": digest, "expires_at": expires_at, "most": most}
    return (await connection.execute(_TAKE, values)).rowcount == 1


def mailbox(address: str) -> str:
    """The key of one mailbox: many providers ignore what follows a plus, some ignore dots. Else one person could get
    any number of mails. Two people with the same key get fewer mails, nothing else.
    """
    local_part, at, domain = address.rpartition("@")
    return local_part.partition("+")[0].replace(".", "") + at + domain


async def forget_old_counts(connection: AsyncConnection, now: int) -> None:
    """Delete the counts of windows that have ended."""
    await connection.execute(delete(mail_counts).where(mail_counts.c.expires_at <= now))


def _row(rule: MailRule, whom: str, now: int) -> tuple[str, int, int]:
    window = now // rule.seconds
    digest = digest_of_parts(rule.name.encode(), whom.encode(), str(window).encode())
    return digest, (window + 1) * rule.seconds, rule.mails


_TAKE = text(
    "INSERT INTO mail_counts (digest, mails, expires_at) VALUES (:digest, 1, :expires_at)"
    " ON CONFLICT (digest) DO UPDATE SET mails = mail_counts.mails + 1 WHERE mail_counts.mails < :most"
)
