"""Who asks, by the contract's auth levels, as dependencies that `/openapi.json` shows as security schemes."""

from typing import Annotated

from fastapi import Depends, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import Request

from registerwatch.accounts.credentials import Credential, credential_of
from registerwatch.accounts.models import Caller, Role
from registerwatch.errors import OwnerOnly
from registerwatch.web.injection import sent_credential, service_of

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
_CALLER = "caller"
"""The key of the caller in a request's state."""
OWNERS_ONLY = "A member may not do this; ask an owner of the account, or use an API key."


async def _credential(
    api_key: Annotated[str | None, Security(API_KEY)],
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)],
) -> Credential | None:
    return credential_of(api_key, bearer.credentials if bearer is not None else None)


SentCredential = Annotated[Credential | None, Depends(_credential)]
"""The credential of a request, whether or not it is anybody's."""


async def caller_of(request: Request) -> Caller:
    """Who asks, looked up once a request. Raises `Unauthenticated`."""
    state = request.scope.setdefault("state", {})
    if _CALLER not in state:
        state[_CALLER] = await service_of(request).accounts.sessions.caller(sent_credential(request))
    caller: Caller = state[_CALLER]
    return caller


async def key_or_session(request: Request, _credential: SentCredential) -> Caller:
    """Who asks. The parameter is what `/openapi.json` tells of it. Raises `Unauthenticated`."""
    return await caller_of(request)


KeyOrSession = Annotated[Caller, Depends(key_or_session)]
"""Raises `Unauthenticated`."""


async def _active_account(request: Request, caller: KeyOrSession) -> Caller:
    caller.account.require_active(service_of(request).clock.now())
    return caller


async def _owner_or_key(caller: KeyOrSession) -> Caller:
    if caller.role is not Role.OWNER:
        raise OwnerOnly(OWNERS_ONLY)
    return caller


ActiveAccount = Annotated[Caller, Depends(_active_account)]
"""Raises `Unauthenticated`, or `PeriodEnded`."""
OwnerOrKey = Annotated[Caller, Depends(_owner_or_key)]
"""Raises `Unauthenticated`, or `OwnerOnly`."""
