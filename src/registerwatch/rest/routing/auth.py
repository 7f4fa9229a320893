"""Dependencies that give the caller of a request and check roles and scopes of keys; `/openapi.json` shows them."""

from dataclasses import replace
from typing import Annotated

from fastapi import Depends, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import Request

from registerwatch.accounts.models import Caller, Role, Scope
from registerwatch.accounts.sessions.credentials import Credential, credential_of
from registerwatch.errors import OwnerOnly
from registerwatch.web.injection import client_of, sent_credential, service_of
from registerwatch.web.limits.body_limits import received_body

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
"""The name of the caller in a request's state."""
OWNERS_ONLY = "A member may not do this; ask an owner of the account, or use an API key."


async def _credential(
    api_key: Annotated[str | None, Security(API_KEY)],
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)],
) -> Credential | None:
    return credential_of(api_key, bearer.credentials if bearer is not None else None)


SentCredential = Annotated[Credential | None, Depends(_credential)]
"""The credential of a request, which may be unknown."""


async def caller_of(request: Request) -> Caller:
    """The caller, looked up once a request. Raises `Unauthenticated`."""
    state = request.scope.setdefault("state", {})
    if _CALLER not in state:
        caller = await service_of(request).accounts.sessions.caller(sent_credential(request))
        state[_CALLER] = replace(caller, network=client_of(request).network)
    found: Caller = state[_CALLER]
    return found


async def body_of_caller(request: Request) -> bytes:
    """The whole body of a request whose caller was looked up. The caller will be looked up again when needed: a body
    may arrive slowly, and a key or session that ended meanwhile must have no effect. Raises `InvalidInput`.
    """
    body = await received_body(request)
    request.scope.get("state", {}).pop(_CALLER, None)
    return body


def known_caller(request: Request) -> Caller | None:
    """The caller, if it was looked up before."""
    caller: Caller | None = request.scope.get("state", {}).get(_CALLER)
    return caller


class KeyOrSession:
    """A dependency that gives the caller, if the scope of the key is sufficient. Every route of an account has one, and
    so names a scope. Raises `Unauthenticated`, or `ScopeTooNarrow`.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    async def __call__(self, request: Request, _credential: SentCredential) -> Caller:
        """Give the caller. `/openapi.json` shows the parameter."""
        return await self.check(request)

    async def check(self, request: Request) -> Caller:
        """Give the caller before the route's parameters are read."""
        caller = await caller_of(request)
        caller.require_scope(self.scope)
        return caller


Reader = Annotated[Caller, Depends(KeyOrSession(Scope.READ))]
"""A caller who may read. Raises `Unauthenticated`."""
WatchEditor = Annotated[Caller, Depends(KeyOrSession(Scope.WATCH))]
"""A caller who may watch. Raises `Unauthenticated`, or `ScopeTooNarrow`."""
Manager = Annotated[Caller, Depends(KeyOrSession(Scope.MANAGE))]
"""A caller who may manage. Raises `Unauthenticated`, or `ScopeTooNarrow`."""


async def _active_account(request: Request, caller: WatchEditor) -> Caller:
    caller.account.require_active(service_of(request).clock.now())
    return caller


async def require_owner_or_key(caller: Manager) -> Caller:
    """The caller, an owner or a key. Raises `OwnerOnly`."""
    if caller.role is not Role.OWNER:
        raise OwnerOnly(OWNERS_ONLY)
    return caller


ActiveAccount = Annotated[Caller, Depends(_active_account)]
"""The caller of a change of watches. Raises `Unauthenticated`, `ScopeTooNarrow`, or `PeriodEnded`."""
OwnerOrKey = Annotated[Caller, Depends(require_owner_or_key)]
"""An owner or a key. Raises `Unauthenticated`, `ScopeTooNarrow`, or `OwnerOnly`."""
