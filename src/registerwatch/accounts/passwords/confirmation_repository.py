"""The SQL of proven addresses: tokens of mailed links, invitations, and the access before a proof.

Functions run in the transaction of the connection that they are given.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
from sqlalchemy import Select, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.models import Key, Role
from registerwatch.accounts.provider import provider_repository
from registerwatch.accounts.provider.provider_repository import ProviderLink
from registerwatch.accounts.second_factors import passkey_repository, second_factor_repository
from registerwatch.accounts.second_factors.passkey_repository import Passkey
from registerwatch.accounts.second_factors.second_factor_repository import SecondFactors
from registerwatch.accounts.sessions import credentials, known_clients
from registerwatch.accounts.sessions.credentials import digest_of
from registerwatch.accounts.tables import (
    accounts,
    api_keys,
    confirmation_tokens,
    invitations,
    reset_tokens,
    sessions,
    users,
)
from registerwatch.notifications.tables import feeds, webhooks
from registerwatch.platform.structs import replace

UNDELIVERABLE = "Mails to this address came back as undeliverable"
"""Beginning of the reason for which mails to a user were turned off until they reach the address again."""


class LinkHolder(msgspec.Struct, frozen=True):
    """The reader of a link's mailbox: the user with the address, and their account."""

    account_id: int
    account_name: str
    account_email: str
    user_id: int
    email: str
    role: Role
    is_confirmed: bool


class EarlierAccess(msgspec.Struct, frozen=True):
    """Access so far, as the holder of a link sees it: a user's own, and that to an owner's account."""

    passkeys: Sequence[Passkey]
    provider_links: Sequence[ProviderLink]
    factors: SecondFactors
    sessions: int = 0
    keys: Sequence[Key] = ()
    webhook_hosts: Sequence[str] = ()
    feeds: Sequence[str] = ()
    other_users: Sequence[str] = ()
    invitations: Sequence[str] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is only the password."""
        ways = self.passkeys, self.provider_links, self.keys, self.webhook_hosts, self.feeds
        return not (self.sessions or any(ways) or self.other_users or self.invitations)


class Invitation(msgspec.Struct, frozen=True):
    """An invitation into an account, and its sender."""

    digest: str
    account_id: int
    account_name: str
    email: str
    invited_by: str


class OpenInvitation(msgspec.Struct, frozen=True):
    """An invitation that was not accepted yet, as the account sees it. Instants are unix seconds."""

    email: str
    invited_by: str
    created_at: int
    expires_at: int


_HOLDER = (
    select(
        accounts.c.id,
        accounts.c.name,
        accounts.c.email.label("account_email"),
        users.c.id.label("user_id"),
        users.c.email,
        users.c.role,
        users.c.confirmed_at,
    )
    .select_from(users)
    .join(accounts, accounts.c.id == users.c.account_id)
)


def new_token(email: str) -> str:
    """A token for a confirmation mail, which contains this address; the stored digest does not."""
    return f"{urlsafe_b64encode(email.encode()).decode().rstrip('=')}.{credentials.new_token()}"


def address_in(token: str) -> str | None:
    """The address in a token of a confirmation mail; None for other tokens."""
    named, dot, _ = token.partition(".")
    try:
        return urlsafe_b64decode(named + "=" * (-len(named) % 4)).decode() if dot else None
    except ValueError:
        return None


async def add_token(connection: AsyncConnection, email: str, token: str, *, now: int, expires_at: int) -> None:
    """Store the token of a confirmation mail, as digests. It is for the mailbox, whichever account has the address when
    it is opened: a stranger who opens and deletes accounts uses up a day's mails, but ends no links.
    """
    values = {"digest": digest_of(token), "address": digest_of(email), "created_at": now, "expires_at": expires_at}
    await connection.execute(insert(confirmation_tokens).values(values))


async def link_holder(connection: AsyncConnection, token: str, now: int) -> LinkHolder | None:
    """The addressee of a link to confirm or to set a password; None when it is not valid any more."""
    email, tokens = address_in(token), confirmation_tokens
    if email is None:
        return await reset_holder(connection, digest_of(token), now)
    works = tokens.c.digest == digest_of(token), tokens.c.address == digest_of(email), tokens.c.expires_at > now
    if (await connection.execute(select(tokens.c.digest).where(*works))).one_or_none() is None:
        return None
    return await _one_holder(connection, _HOLDER.where(users.c.email == email))


async def reset_holder(connection: AsyncConnection, digest: str, now: int) -> LinkHolder | None:
    """The user whose password a reset link sets; None when it is not valid any more."""
    works = reset_tokens.c.digest == digest, reset_tokens.c.expires_at > now
    return await _one_holder(connection, _HOLDER.join(reset_tokens, reset_tokens.c.user_id == users.c.id).where(*works))


async def _one_holder(connection: AsyncConnection, found: Select[*tuple[Any, ...]]) -> LinkHolder | None:
    row = (await connection.execute(found)).one_or_none()
    if row is None:
        return None
    account_id, name, account_email, user_id, email, role, confirmed_at = row
    return LinkHolder(account_id, name, account_email, user_id, email, Role(role), confirmed_at is not None)


async def confirm(connection: AsyncConnection, account_id: int, user_id: int, now: int) -> None:
    """Note that a user has proven their address. Earlier links to them become invalid."""
    of_user = users.c.id == user_id, users.c.account_id == account_id, users.c.confirmed_at.is_(None)
    await connection.execute(update(users).where(*of_user).values(confirmed_at=now))
    email = (await connection.execute(select(users.c.email).where(users.c.id == user_id))).scalar_one_or_none()
    if email is not None:
        await forget_links(connection, email)
    await connection.execute(delete(reset_tokens).where(reset_tokens.c.user_id == user_id))
    await resume_mails(connection, account_id, user_id)


async def resume_mails(connection: AsyncConnection, account_id: int, user_id: int) -> bool:
    """Turn a user's mails on again where they came back before; returns whether they had."""
    of_user = webhooks.c.user_id == user_id, webhooks.c.account_id == account_id
    came_back = webhooks.c.paused_at.is_not(None), webhooks.c.paused_reason.startswith(UNDELIVERABLE, autoescape=True)
    resumed = update(webhooks).where(*of_user, *came_back)
    changed = await connection.execute(resumed.values(paused_at=None, paused_reason="", failing_since=None))
    return changed.rowcount > 0


async def earlier_access(connection: AsyncConnection, holder: LinkHolder, now: int) -> EarlierAccess:
    """The access besides the holder's password."""
    account_id, user_id = holder.account_id, holder.user_id
    own = EarlierAccess(
        await passkey_repository.of_user(connection, user_id),
        await provider_repository.links_of(connection, user_id),
        await second_factor_repository.factors_of(connection, account_id, user_id),
    )
    if holder.role is Role.MEMBER:
        return own
    keys = [key for key in await repository.keys_of(connection, account_id) if key.works(now)]
    counted = select(func.count()).where(sessions.c.user_id.in_(_users(account_id)), sessions.c.expires_at > now)
    urls = select(webhooks.c.url).where(webhooks.c.account_id == account_id).order_by(webhooks.c.id)
    prefixes = select(feeds.c.prefix).where(feeds.c.account_id == account_id).order_by(feeds.c.id)
    invited = select(invitations.c.email).where(invitations.c.account_id == account_id, invitations.c.expires_at > now)
    people = await repository.users_of(connection, account_id)
    return replace(
        own,
        keys=keys,
        sessions=(await connection.execute(counted)).scalar_one(),
        webhook_hosts=[urlsplit(url).hostname or url for url in (await connection.execute(urls)).scalars()],
        feeds=(await connection.execute(prefixes)).scalars().all(),
        other_users=[user.email for user in people if user.id != user_id],
        invitations=(await connection.execute(invited.order_by(invitations.c.email))).scalars().all(),
    )


async def end_earlier_access(connection: AsyncConnection, account_id: int, user_id: int, now: int) -> bool:
    """End all access to an account, which the caller has locked, but this user's password; returns whether there was
    any.

    Keys are revoked; sessions, links, webhooks, feeds, invitations and other users deleted.
    """
    ended = await end_keys_and_sessions(connection, account_id, user_id, now)
    in_order = select(webhooks.c.id).where(webhooks.c.account_id == account_id).order_by(webhooks.c.id)
    await connection.execute(in_order.with_for_update())  # in the order in which deliveries lock them
    for table in (webhooks, feeds, invitations):
        ended += (await connection.execute(delete(table).where(table.c.account_id == account_id))).rowcount
    others = users.c.account_id == account_id, users.c.id != user_id
    return ended + (await connection.execute(delete(users).where(*others))).rowcount > 0


async def end_keys_and_sessions(connection: AsyncConnection, account_id: int, user_id: int, now: int) -> int:
    """End all keys, sessions and links to set a password of an account, which the caller has locked; returns the number
    of keys and sessions. The known clients of this user are forgotten.
    """
    active = api_keys.c.account_id == account_id, api_keys.c.revoked_at.is_(None)
    ended = (await connection.execute(update(api_keys).where(*active).values(revoked_at=now))).rowcount
    await connection.execute(delete(reset_tokens).where(reset_tokens.c.user_id.in_(_users(account_id))))
    await known_clients.forget_all_of(connection, user_id)
    of_account = sessions.c.user_id.in_(_users(account_id))
    return ended + (await connection.execute(delete(sessions).where(of_account))).rowcount


async def forget_links(connection: AsyncConnection, email: str) -> None:
    """Make the confirmation mails to an address invalid: one of them was used."""
    await connection.execute(delete(confirmation_tokens).where(confirmation_tokens.c.address == digest_of(email)))


async def add_invitation(
    connection: AsyncConnection, account_id: int, *, email: str, digest: str, invited_by: str, now: int, expires_at: int
) -> None:
    """Store an invitation, which replaces an earlier one of the same address."""
    of_address = invitations.c.account_id == account_id, invitations.c.email == email
    await connection.execute(delete(invitations).where(*of_address))
    values = {
        "digest": digest,
        "account_id": account_id,
        "email": email,
        "invited_by": invited_by,
        "created_at": now,
        "expires_at": expires_at,
    }
    await connection.execute(insert(invitations).values(values))


async def open_invitations(connection: AsyncConnection, account_id: int, now: int) -> Sequence[str]:
    """Addresses that are invited into an account and have not accepted."""
    found = select(invitations.c.email).where(invitations.c.account_id == account_id, invitations.c.expires_at > now)
    return (await connection.execute(found)).scalars().all()


async def invitations_of(connection: AsyncConnection, account_id: int, now: int) -> Sequence[OpenInvitation]:
    """The invitations into an account that can be accepted, the oldest first."""
    found = (
        select(invitations.c.email, invitations.c.invited_by, invitations.c.created_at, invitations.c.expires_at)
        .where(invitations.c.account_id == account_id, invitations.c.expires_at > now)
        .order_by(invitations.c.created_at, invitations.c.email)
    )
    return [OpenInvitation(*row) for row in await connection.execute(found)]


async def withdraw_invitation(connection: AsyncConnection, account_id: int, email: str) -> bool:
    """Remove the invitation of an address; returns whether there was one."""
    of_address = invitations.c.account_id == account_id, invitations.c.email == email
    return (await connection.execute(delete(invitations).where(*of_address))).rowcount > 0


async def withdraw_invitations_by(connection: AsyncConnection, account_id: int, email: str) -> None:
    """Remove a user's invitations into the account, of which they are not an owner any more."""
    by_user = invitations.c.account_id == account_id, invitations.c.invited_by == email
    await connection.execute(delete(invitations).where(*by_user))


async def invitation(connection: AsyncConnection, digest: str, now: int) -> Invitation | None:
    """The invitation of a token; None when it is unknown, over, or was accepted."""
    found = (
        select(
            invitations.c.digest,
            invitations.c.account_id,
            accounts.c.name,
            invitations.c.email,
            invitations.c.invited_by,
        )
        .join(accounts, accounts.c.id == invitations.c.account_id)
        .where(invitations.c.digest == digest, invitations.c.expires_at > now)
    )
    row = (await connection.execute(found)).one_or_none()
    return Invitation(*row) if row is not None else None


async def remove_invitation(connection: AsyncConnection, account_id: int, digest: str) -> None:
    """Remove an invitation of the account."""
    of_token = invitations.c.digest == digest, invitations.c.account_id == account_id
    await connection.execute(delete(invitations).where(*of_token))


async def delete_expired(connection: AsyncConnection, now: int) -> int:
    """Delete expired tokens and invitations; returns how many."""
    over = (delete(table).where(table.c.expires_at <= now) for table in (confirmation_tokens, invitations))
    return sum([(await connection.execute(statement)).rowcount for statement in over])


def _users(account_id: int) -> Select[int]:
    return select(users.c.id).where(users.c.account_id == account_id)
