"""Getting in without a credential: trial, login, logout, a forgotten password."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.responses import Response

from registerwatch.accounts.credentials import Credential
from registerwatch.bootstrap import Service
from registerwatch.rest.account_object import AccountObjects
from registerwatch.rest.account_schemas import (
    Done,
    ForgotRequest,
    LoginRequest,
    ResetRequest,
    SignedInAccount,
    TrialAccount,
    TrialRequest,
)
from registerwatch.rest.bodies import NO_FIELDS
from registerwatch.rest.responses import BAD_REQUEST, OTHER, RATE_LIMITED, UNAUTHENTICATED, UNAVAILABLE
from registerwatch.rest.security import carried
from registerwatch.web.rate_limits import Limit, RateLimits
from registerwatch.web.responses import private_response

_OPTIONAL: dict[str, Any] = {"security": [{}], **NO_FIELDS}
"""For the description: the route works without a credential too."""


def router(service: Service, limits: RateLimits, objects: AccountObjects) -> APIRouter:
    """The routes, over one service."""
    routes = APIRouter(tags=["account"], responses={**RATE_LIMITED, **UNAVAILABLE, **OTHER})
    sessions, password_reset = service.accounts.sessions, service.accounts.password_reset

    @routes.post(
        "/v1/trial",
        summary="Open a trial account",
        response_model=TrialAccount,
        response_model_exclude_unset=True,
        responses={**BAD_REQUEST},
        dependencies=[Depends(limits.counted(Limit.TRIAL))],
    )
    async def trial(body: TrialRequest) -> Response:
        """A trial needs no card and renews into no charge. The answer carries a session and, for a new account, its
        first API key. The address of somebody who has an account signs in when the password is right, and is 400
        when it is not. Limit: 8 requests per address and hour.
        """
        opened = await sessions.trial(body.name or "", body.email, body.password.get_secret_value())
        return private_response(await objects.trial(opened))

    @routes.post(
        "/v1/login",
        summary="Sign in",
        response_model=SignedInAccount,
        responses={**BAD_REQUEST, **UNAUTHENTICATED},
        dependencies=[Depends(limits.counted(Limit.LOGIN))],
    )
    async def login(body: LoginRequest) -> Response:
        """Opens a session for 14 days. Whatever was wrong, the answer is the same 401.
        Limit: 20 requests per address and hour.
        """
        opened = await sessions.login(body.email, body.password.get_secret_value())
        return private_response(await objects.signed_in(opened))

    @routes.post(
        "/v1/logout",
        summary="Sign out",
        response_model=Done,
        dependencies=[Depends(limits.counted(Limit.ACCOUNT))],
        openapi_extra=_OPTIONAL,
    )
    async def logout(credential: Annotated[Credential | None, Depends(carried)]) -> Response:
        """Deletes the session that the request carries, if it carries one. Keys stay as they are."""
        await sessions.logout(credential)
        return private_response({"ok": True})

    @routes.post(
        "/v1/password/forgot",
        summary="Ask for a link to set a new password",
        response_model=Done,
        responses={**BAD_REQUEST},
        dependencies=[Depends(limits.counted(Limit.PASSWORD_FORGOT))],
    )
    async def forgot(body: ForgotRequest) -> Response:
        """Mails a link when somebody has this address and the service sends mail; the answer is the same if not.
        Limit: 5 requests per address and hour, 3 mails per user and hour.
        """
        password_reset.send_link(body.email)
        return private_response({"ok": True})

    @routes.post(
        "/v1/password/reset",
        summary="Set a new password by a mailed link",
        response_model=Done,
        responses={**BAD_REQUEST},
        dependencies=[Depends(limits.counted(Limit.PASSWORD_RESET))],
    )
    async def reset(body: ResetRequest) -> Response:
        """A token works once, for an hour. The user's sessions end. Limit: 20 requests per address and hour."""
        await password_reset.reset(body.token, body.password.get_secret_value())
        return private_response({"ok": True})

    return routes
