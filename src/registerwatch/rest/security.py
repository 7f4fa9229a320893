"""The contract's auth levels, as dependencies that `/openapi.json` shows as security schemes."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from registerwatch.accounts.credentials import Credential, credential_of
from registerwatch.accounts.models import Caller, Role
from registerwatch.accounts.sessions import SessionService
from registerwatch.clock import Clock
from registerwatch.errors import OwnerOnly

API_KEY = APIKeyHeader(
    name="X-API-Key",
    scheme_name="ApiKey",
    description="An API key, `rw_…`. It acts as the account.",
    auto_error=False,
)
BEARER = HTTPBearer(
    scheme_name="Bearer",
    description="A session, `us_…`, which acts as one user; or an API key.",
    auto_error=False,
)

MEMBERS_MAY_NOT = "A member may not do this; ask an owner of the account, or use an API key."


@dataclass(frozen=True, slots=True)
class AuthLevels:
    """Each level is a dependency that gives the caller, or refuses."""

    key_or_session: Callable[..., Awaitable[Caller]]
    """Raises `Unauthenticated`."""
    active_account: Callable[..., Awaitable[Caller]]
    """Raises `Unauthenticated`, or `PeriodEnded`."""
    owner_or_key: Callable[..., Awaitable[Caller]]
    """Raises `Unauthenticated`, or `OwnerOnly`."""


async def carried(
    api_key: Annotated[str | None, Security(API_KEY)],
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)],
) -> Credential | None:
    """The credential of a request, whether or not it is anybody's."""
    return credential_of(api_key, bearer.credentials if bearer is not None else None)


def auth_levels(sessions: SessionService, clock: Clock) -> AuthLevels:
    """The levels over one service."""

    async def key_or_session(credential: Annotated[Credential | None, Depends(carried)]) -> Caller:
        return await sessions.caller(credential)

    async def active_account(caller: Annotated[Caller, Depends(key_or_session)]) -> Caller:
        caller.account.require_active(clock.now())
        return caller

    async def owner_or_key(caller: Annotated[Caller, Depends(key_or_session)]) -> Caller:
        if caller.role is not Role.OWNER:
            raise OwnerOnly(MEMBERS_MAY_NOT)
        return caller

    return AuthLevels(key_or_session, active_account, owner_or_key)
