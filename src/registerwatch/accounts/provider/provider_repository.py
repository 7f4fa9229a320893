"""The SQL of sign-ins by an OpenID provider. Functions run in the transaction of the connection that they are given."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.sessions.credentials import digest_of
from registerwatch.accounts.tables import provider_links, provider_requests, users

REQUEST_SECONDS = 600


class ProviderPerson(msgspec.Struct, frozen=True):
    """A person at a provider. `issuer` and `subject` name them for ever, the address may change."""

    issuer: str
    subject: str
    email: str
    is_email_verified: bool
    used_second_factor: bool
    """Whether the provider says so (`mfa` in `amr`, RFC 8176)."""


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A person who was sent to the provider. `user_id` is set where a user links themselves."""

    user_id: int | None
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    next: str = ""


class ProviderLink(msgspec.Struct, frozen=True):
    """A person at the provider who signs in as a user."""

    email: str
    created_at: int
    last_used_at: int | None


async def add_request(connection: AsyncConnection, state: str, request: StoredRequest, now: int) -> None:
    """Store a request by the digest of its state."""
    values = {
        "digest": digest_of(state),
        "user_id": request.user_id,
        "nonce": request.nonce,
        "verifier": request.verifier,
        "next": request.next,
        "expires_at": now + REQUEST_SECONDS,
    }
    await connection.execute(insert(provider_requests).values(values))


async def take_request(connection: AsyncConnection, state: str, now: int) -> StoredRequest | None:
    """Use a request up; None when it is unknown, over, or was used."""
    table = provider_requests
    taken = (
        delete(table)
        .where(table.c.digest == digest_of(state), table.c.expires_at > now)
        .returning(table.c.user_id, table.c.nonce, table.c.verifier, table.c.next)
    )
    row = (await connection.execute(taken)).one_or_none()
    return StoredRequest(*row) if row is not None else None


async def linked_email(connection: AsyncConnection, person: ProviderPerson) -> str | None:
    """The address of the user whom a person signs in as; None where they are not linked."""
    found = (
        select(users.c.email)
        .join(provider_links, provider_links.c.user_id == users.c.id)
        .where(provider_links.c.issuer == person.issuer, provider_links.c.subject == person.subject)
    )
    email: str | None = (await connection.execute(found)).scalar_one_or_none()
    return email


async def add_link(connection: AsyncConnection, user_id: int, person: ProviderPerson, now: int) -> None:
    """Link a person to a user. Raises SQLAlchemy's `IntegrityError` where they are linked already."""
    values = {
        "user_id": user_id,
        "issuer": person.issuer,
        "subject": person.subject,
        "email": person.email,
        "created_at": now,
    }
    await connection.execute(insert(provider_links).values(values))


async def note_use(connection: AsyncConnection, person: ProviderPerson, now: int) -> None:
    """Note that a person signed in."""
    same = provider_links.c.issuer == person.issuer, provider_links.c.subject == person.subject
    await connection.execute(update(provider_links).where(*same).values(last_used_at=now))


async def links_of(connection: AsyncConnection, user_id: int, issuer: str | None = None) -> Sequence[ProviderLink]:
    """The persons linked to a user, at one provider or at any, the first one first."""
    columns = (provider_links.c.email, provider_links.c.created_at, provider_links.c.last_used_at)
    found = select(*columns).where(provider_links.c.user_id == user_id)
    if issuer is not None:
        found = found.where(provider_links.c.issuer == issuer)
    return [ProviderLink(*row) for row in await connection.execute(found.order_by(provider_links.c.id))]


async def forget(connection: AsyncConnection, user_id: int) -> int:
    """Remove all links of a user, and requests for one that are under way; returns the number of links."""
    await connection.execute(delete(provider_requests).where(provider_requests.c.user_id == user_id))
    return await remove_links(connection, user_id)


async def remove_links(connection: AsyncConnection, user_id: int) -> int:
    """Remove a user's links at all providers; returns the number of them."""
    return (await connection.execute(delete(provider_links).where(provider_links.c.user_id == user_id))).rowcount
