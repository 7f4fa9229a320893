"""Routes without a credential: trial, login, logout, a forgotten password."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends
from msgspec import UNSET, UnsetType
from pydantic import Field, SecretStr
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.passwords.passwords import MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH
from registerwatch.accounts.second_factors.recovery_codes import MAX_CODE_LENGTH
from registerwatch.rest.answers.account_answers import (
    EXAMPLE_EMAIL,
    SignedInAccount,
    TrialAccount,
    signed_in_account,
    trial_account,
)
from registerwatch.rest.openapi.description import (
    ANY_FIELDS,
    BAD_REQUEST,
    OTHER_ERROR,
    RATE_LIMITED,
    SIGNUP_CLOSED,
    UNAUTHENTICATED,
    UNAVAILABLE,
    RequestBody,
    answer,
    operation_id,
)
from registerwatch.rest.routing.auth import SentCredential
from registerwatch.rest.routing.checked_route import CheckedRoute
from registerwatch.rest.routing.parameters import only_known_parameters
from registerwatch.web.answers.answers import Answer, Done, doc
from registerwatch.web.injection import InjectedService, client_of, counted
from registerwatch.web.limits.body_limits import received_body
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.limits.sign_in_limits import check_user
from registerwatch.web.responses import private_response
from registerwatch.web.unknown_names import MAX_NAMED, field_names, shown

Email = Annotated[
    str,
    Field(description="E-mail address of a user.", examples=[EXAMPLE_EMAIL], json_schema_extra={"format": "email"}),
]
NewPassword = Annotated[
    SecretStr,
    Field(
        description=f"{MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH:,} characters, whichever they are.",
        json_schema_extra={"minLength": MIN_PASSWORD_LENGTH, "maxLength": MAX_PASSWORD_LENGTH},
    ),
]
Code = Annotated[
    SecretStr | None,
    Field(
        None,
        max_length=MAX_CODE_LENGTH,
        description="For a user with a second factor: what their authenticator app shows, or a recovery code.",
        examples=["123456"],
    ),
]
WITHOUT_CREDENTIAL_TOO: dict[str, Any] = {"security": [{}], **ANY_FIELDS}

router = APIRouter(
    tags=["account"],
    responses={**RATE_LIMITED, **UNAVAILABLE, **OTHER_ERROR},
    dependencies=[Depends(only_known_parameters)],
    generate_unique_id_function=operation_id,
    route_class=CheckedRoute,
)


class TrialRequest(RequestBody):
    """Fields of a new trial account."""

    email: Email
    password: NewPassword
    name: str | None = Field(
        None, description="Company name; by default the domain of the e-mail address.", examples=["Example GmbH"]
    )
    code: Code


class LoginRequest(RequestBody):
    """An e-mail address and its password."""

    email: str = Field(description="E-mail address of a user.", examples=[EXAMPLE_EMAIL])
    password: Annotated[SecretStr, Field(max_length=MAX_PASSWORD_LENGTH, description="Password.")]
    code: Code


class ForgotRequest(RequestBody):
    """The address that a link is mailed to."""

    email: Email


class SignedOut(Answer):
    """It is done, or there was nothing to do."""

    ok: Annotated[Literal[True], doc("Always true.")] = True
    ignored: Annotated[
        list[str] | UnsetType,
        doc(f"Fields of the body, which takes none; at most {MAX_NAMED}. Left out without any.", ["everywhere"]),
    ] = UNSET


class ResetRequest(RequestBody):
    """A new password with the token of a mailed link."""

    token: str = Field(description="The `token` in the link.")
    password: NewPassword


@router.post(
    "/v1/trial",
    summary="Open a trial account",
    responses=answer(TrialAccount) | BAD_REQUEST | UNAUTHENTICATED | SIGNUP_CLOSED,
    dependencies=[Depends(counted(Limit.TRIAL))],
)
async def trial(request: Request, body: TrialRequest, service: InjectedService) -> Response:
    """A trial needs no card and renews into no charge. The answer carries a session and, for a new account, its
    first API key. The address of somebody who has an account signs in when the password is right, and is 400
    when it is not; a user with a second factor sends `code` too, as at `/v1/login`. Where the service sends mail, a
    link is mailed that proves the address, or takes it back. Where the operator has closed sign-up, an unknown address
    and a wrong password are the same 403.
    Limit: 8 requests per address and hour. Where somebody tries many passwords of one user from many addresses, an
    address from which the user never signed in gets 429.
    """
    client = client_of(request)
    await check_user(request, body.email)
    opened = await service.accounts.sessions.trial(
        body.name or "", body.email, body.password.get_secret_value(), client, _code_of(body)
    )
    return private_response(await trial_account(service, opened))


@router.post(
    "/v1/login",
    summary="Sign in",
    responses=answer(SignedInAccount) | BAD_REQUEST | UNAUTHENTICATED,
    dependencies=[Depends(counted(Limit.LOGIN))],
)
async def login(request: Request, body: LoginRequest, service: InjectedService) -> Response:
    """Opens a session for 14 days. Whatever was wrong, the answer is the same 401. Where the password is right and the
    user has a second factor, the answer is 401 with `second-factor-needed` without `code`, and with `wrong-code` where
    that is not right; after 20 wrong codes within a day from one network, and after 60 from all networks where the
    user never signed in, it is 429 there, but for recovery codes.
    Limit: 20 requests per address and hour. Where somebody tries many passwords of one user from many addresses, an
    address from which the user never signed in gets 429.
    """
    await check_user(request, body.email)
    opened = await service.accounts.sessions.login(
        body.email, body.password.get_secret_value(), client_of(request), _code_of(body)
    )
    return private_response(await signed_in_account(service, opened))


@router.post(
    "/v1/logout",
    summary="Sign out",
    responses=answer(SignedOut),
    dependencies=[Depends(counted(Limit.ACCOUNT))],
    openapi_extra=WITHOUT_CREDENTIAL_TOO,
)
async def logout(request: Request, service: InjectedService, credential: SentCredential) -> Response:
    """Deletes the session that the request carries, if it carries one. Keys stay as they are. A body with fields is
    taken, since the answer is always the same; `ignored` names them.
    """
    ignored = field_names(await received_body(request))
    await service.accounts.sessions.logout(credential)
    return private_response(SignedOut(ignored=[shown(name) for name in ignored[:MAX_NAMED]] or UNSET))


@router.post(
    "/v1/password/forgot",
    summary="Ask for a link to set a new password",
    responses=answer(Done) | BAD_REQUEST,
    dependencies=[Depends(counted(Limit.PASSWORD_FORGOT))],
)
async def forgot_password(body: ForgotRequest, service: InjectedService) -> Response:
    """Mails a link when somebody has this address and the service sends mail; the answer is the same if not.
    Limit: 5 requests per address and hour, 3 mails per user and hour.
    """
    service.accounts.password_reset.send_link(body.email)
    return private_response(Done())


@router.post(
    "/v1/password/reset",
    summary="Set a new password by a mailed link",
    responses=answer(Done) | BAD_REQUEST,
    dependencies=[Depends(counted(Limit.PASSWORD_RESET))],
)
async def reset_password(request: Request, body: ResetRequest, service: InjectedService) -> Response:
    """A token works once, for an hour. The user's sessions end. Where nobody had proven an owner's address, all keys,
    sessions, webhooks, feeds and other users of the account end too: a stranger may have made them. The link's page
    shows them first, and can keep them. Limit: 20 requests per address and hour.
    """
    await service.accounts.password_reset.reset(body.token, body.password.get_secret_value(), client_of(request))
    return private_response(Done())


def _code_of(body: TrialRequest | LoginRequest) -> str:
    return body.code.get_secret_value() if body.code is not None else ""
