"""The account: what it is, its people, its keys, its end."""

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from registerwatch.accounts.models import Caller, Profile
from registerwatch.bootstrap import Service
from registerwatch.clock import iso_utc
from registerwatch.rest.account_object import AccountObjects
from registerwatch.rest.account_schemas import (
    AccountObject,
    AuditTrail,
    CreatedKey,
    DeleteRequest,
    Done,
    KeyRequest,
    PasswordRequest,
    UserRequest,
)
from registerwatch.rest.parameters import RowId, row_id
from registerwatch.rest.responses import (
    BAD_REQUEST,
    CAP_REACHED,
    MEMBER,
    OTHER,
    RATE_LIMITED,
    UNAUTHENTICATED,
    UNAVAILABLE,
)
from registerwatch.rest.security import AuthLevels
from registerwatch.web.rate_limits import Limit, RateLimits
from registerwatch.web.responses import private_response


def router(service: Service, levels: AuthLevels, limits: RateLimits, objects: AccountObjects) -> APIRouter:
    """The routes, over one service."""
    routes = APIRouter(
        tags=["account"],
        responses={**UNAUTHENTICATED, **RATE_LIMITED, **UNAVAILABLE, **OTHER},
        dependencies=[Depends(limits.counted(Limit.ACCOUNT))],
    )
    members = service.accounts.members
    anybody, owner = Depends(levels.key_or_session), Depends(levels.owner_or_key)

    async def answer(profile: Profile) -> Response:
        return private_response(await objects.of(profile))

    @routes.get("/v1/me", summary="The account", response_model=AccountObject)
    async def me(caller: Annotated[Caller, anybody]) -> Response:
        """Works after the period has ended too."""
        return await answer(await members.profile(caller))

    @routes.post("/v1/password", summary="Set a password", response_model=AccountObject, responses={**BAD_REQUEST})
    async def password(body: PasswordRequest, caller: Annotated[Caller, anybody]) -> Response:
        """By a session that of its user, by an API key that of the owner. The user's other sessions end."""
        return await answer(await service.accounts.password_reset.change(caller, body.password.get_secret_value()))

    @routes.post(
        "/v1/account/delete",
        summary="Delete the account",
        response_model=Done,
        responses={**BAD_REQUEST},
        dependencies=[Depends(limits.counted(Limit.ACCOUNT_DELETE))],
    )
    async def delete(body: DeleteRequest, caller: Annotated[Caller, anybody]) -> Response:
        """Deletes everything of the account, for good. Needs an owner's password, whoever calls; another one is 401.
        Limit: 10 requests per address and hour.
        """
        await members.delete(caller, body.password.get_secret_value())
        return private_response({"ok": True})

    @routes.post(
        "/v1/users",
        summary="Add a member",
        response_model=AccountObject,
        responses={**BAD_REQUEST, **MEMBER, **CAP_REACHED},
    )
    async def add_user(body: UserRequest, caller: Annotated[Caller, owner]) -> Response:
        """The password is not mailed; tell it to them. For an owner or an API key."""
        return await answer(await members.add_user(caller, body.email, body.password.get_secret_value()))

    @routes.delete(
        "/v1/users/{id}", summary="Remove a user", response_model=AccountObject, responses={**BAD_REQUEST, **MEMBER}
    )
    async def remove_user(id: RowId, caller: Annotated[Caller, owner]) -> Response:  # noqa: A002  # the contract's name
        """Their sessions end. The last owner cannot be removed (400). For an owner or an API key."""
        return await answer(await members.remove_user(caller, row_id(id)))

    @routes.post(
        "/v1/keys",
        summary="Make an API key",
        response_model=CreatedKey,
        responses={**BAD_REQUEST, **MEMBER, **CAP_REACHED},
    )
    async def create_key(body: KeyRequest, caller: Annotated[Caller, owner]) -> Response:
        """The only time that the full key is told. For an owner or an API key."""
        new = await members.create_key(caller, body.label or "")
        return private_response({"api_key": new.secret, "label": new.label})

    @routes.delete(
        "/v1/keys/{id}", summary="Revoke an API key", response_model=AccountObject, responses={**BAD_REQUEST, **MEMBER}
    )
    async def revoke_key(id: RowId, caller: Annotated[Caller, owner]) -> Response:  # noqa: A002  # the contract's name
        """It stops working at once and for good; sessions go on. For an owner or an API key."""
        return await answer(await members.revoke_key(caller, row_id(id)))

    @routes.get("/v1/audit", summary="Who did what", response_model=AuditTrail, responses={**MEMBER})
    async def trail(caller: Annotated[Caller, owner]) -> Response:
        """Sign-ins, changed passwords, keys, users, webhooks and feeds: the newest 100. For an owner or an API key."""
        entries = [
            {
                "id": entry.id,
                "created_at": iso_utc(entry.created_at),
                "actor": entry.actor,
                "action": entry.action,
                "subject": entry.subject,
            }
            for entry in await members.trail(caller)
        ]
        return private_response({"entries": entries})

    return routes
