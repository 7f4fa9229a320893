"""Opens the session of a user who has proved their identity in any way."""

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.models import NewSession
from registerwatch.accounts.plans import Plans
from registerwatch.accounts.queries import account_of, profile_of
from registerwatch.accounts.repository import StoredAccount, StoredUser
from registerwatch.accounts.sessions import credentials, known_clients, sign_in_steps
from registerwatch.accounts.sessions.clients import Client

SESSION_SECONDS = 14 * 24 * 3600


async def open_session(
    connection: AsyncConnection, user_id: int, now: int, *, is_of_browser: bool, is_proof: bool = True
) -> str:
    """A new session, of which only the digest is stored.

    Without `is_proof` the password is needed before actions for which an open session alone is not enough.
    """
    session = credentials.new_session(is_of_browser=is_of_browser)
    digest, proved_at = credentials.digest_of(session), now if is_proof else None
    await repository.add_session(
        connection, user_id, digest, now=now, expires_at=now + SESSION_SECONDS, proved_at=proved_at
    )
    return session


async def sign_in(
    connection: AsyncConnection,
    account: StoredAccount,
    user: StoredUser,
    client: Client,
    now: int,
    *,
    how: str,
    plans: Plans,
    is_proof: bool = True,
) -> NewSession:
    """Open a browser's session for a user whose account is locked, with the other effects of a sign-in: a line of the
    audit trail that says `how`, the client that is known from now on, the end of open steps.
    """
    subject = f"{client.address} {how}"
    await repository.note(connection, account.id, now, user.email, Action.SIGNED_IN, subject)
    await known_clients.remember(connection, user.id, client, now, has_signed_in=True)
    await sign_in_steps.end_all_of(connection, user.id)
    session = await open_session(connection, user.id, now, is_of_browser=True, is_proof=is_proof)
    return NewSession(await profile_of(connection, account_of(account, plans), user.role), True, session)
