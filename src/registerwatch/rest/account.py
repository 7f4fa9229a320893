"""The account over REST: its data, users, keys and deletion."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Query
from pydantic import AwareDatetime, Field, SecretStr
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.models import Caller, Profile, Scope
from registerwatch.accounts.passwords.passwords import MAX_PASSWORD_LENGTH
from registerwatch.accounts.validation import MAX_LABEL_LENGTH, email_address
from registerwatch.bootstrap import Service
from registerwatch.errors import InvalidInput
from registerwatch.platform.db.row_pages import MAX_ROW_ID
from registerwatch.rest.answers.account_answers import (
    EXAMPLE_LABEL,
    AccountObject,
    AccountWithUser,
    AuditLine,
    AuditTrail,
    CreatedKey,
    account_object,
    account_with_user,
)
from registerwatch.rest.openapi.description import (
    BAD_REQUEST,
    CAP_REACHED,
    FORBIDDEN,
    SIGNUP_CLOSED,
    RequestBody,
    answer,
)
from registerwatch.rest.routing.auth import Manager, OwnerOrKey, Reader
from registerwatch.rest.routing.parameters import PageParameters, RowId, row_id
from registerwatch.rest.routing.routers import account_router
from registerwatch.rest.sessions import Email, NewPassword
from registerwatch.web.answers.answers import Done
from registerwatch.web.injection import InjectedService, counted, limits_of
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.parties import party_of
from registerwatch.web.responses import private_response

ONE_WAY = "Send `after` or `before`, not both."

router = account_router("account")


def counted_by_account(limit: Limit) -> Callable[[Request, Caller], Awaitable[None]]:
    """A dependency that counts requests of an account, `dependencies=[Depends(counted_by_account(Limit.X))]`.

    A member's requests are counted separately, so they take nothing from the owners' limit.
    """

    async def count(request: Request, caller: Manager) -> None:
        await limits_of(request).check_party(request, limit, party_of(caller))

    return count


def counted_by_owners(limit: Limit) -> Callable[[Request, Caller], Awaitable[None]]:
    """As `counted_by_account`, for routes of owners and API keys: others are refused uncounted."""

    async def count(request: Request, caller: OwnerOrKey) -> None:
        await limits_of(request).check_party(request, limit, party_of(caller))

    return count


class PasswordRequest(RequestBody):
    """A new password."""

    password: NewPassword


class DeleteRequest(RequestBody):
    """The end of an account."""

    password: Annotated[
        SecretStr, Field(max_length=MAX_PASSWORD_LENGTH, description="An owner's password, whoever calls.")
    ]


class UserRequest(RequestBody):
    """A user to add as a member."""

    email: Email
    password: NewPassword


class KeyRequest(RequestBody):
    """A key to make."""

    label: str | None = Field(
        None, description=f"What it is for; trimmed to {MAX_LABEL_LENGTH} characters.", examples=[EXAMPLE_LABEL]
    )
    scope: Scope | None = Field(
        None,
        description="What it may do: `read` what is watched and what changed; `watch`, which changes watches, syncs and"
        " imports too; `manage`, which does everything. By default `manage`.",
        examples=["watch"],
    )
    expires_at: AwareDatetime | None = Field(
        None,
        description="From when on it does not work any more, with a zone; by default it works until it is revoked.",
        examples=["2027-11-28T00:00:00Z"],
    )


class TrailParameters(PageParameters):
    """Which part of the audit trail is answered."""

    before: int | None = Field(None, ge=0, le=MAX_ROW_ID, description="Only what comes before this id, newest first.")


@router.get("/v1/me", summary="The account", responses=answer(AccountObject))
async def me(service: InjectedService, caller: Reader) -> Response:
    """Works after the period has ended too."""
    return await _account(service, await service.accounts.members.profile(caller))


@router.post(
    "/v1/password",
    summary="Set a password",
    responses=answer(AccountObject) | BAD_REQUEST,
    dependencies=[
        Depends(counted_by_account(Limit.ACCOUNT_PASSWORDS)),
        Depends(counted_by_account(Limit.ACCOUNT_CHANGES)),
    ],
)
async def set_password(body: PasswordRequest, service: InjectedService, caller: Manager) -> Response:
    """By a session that of its user, by an API key that of the owner. The user's other sessions end. As the password
    before it is not asked for, the new one signs in at once, but for 24 hours it proves nothing where a password is
    asked for again: it deletes no account, and pages take it for no change of keys, members and second factors. A key
    with an end sets none: 403 (`key-has-end`).
    Limit: 30 passwords and new users per session and minute, and for all API keys of the account together.
    """
    return await _account(service, await service.accounts.password_reset.change(caller, _secret(body)))


@router.post(
    "/v1/account/delete",
    summary="Delete the account",
    responses=answer(Done) | BAD_REQUEST,
    dependencies=[Depends(counted(Limit.ACCOUNT_DELETE)), Depends(counted_by_account(Limit.ACCOUNT_DELETE))],
)
async def delete_account(body: DeleteRequest, service: InjectedService, caller: Manager) -> Response:
    """Deletes everything of the account, for good. Needs an owner's password, whoever calls; another one is 401.
    One that `POST /v1/password` set within the last 24 hours is 403 (`password-too-new`).
    Limit: 10 requests per address and hour, per session and hour, and for all API keys of the account together.
    """
    await service.accounts.deletion.delete(caller, _secret(body))
    return private_response(Done())


@router.post(
    "/v1/users",
    summary="Add a member",
    responses=answer(AccountWithUser) | BAD_REQUEST | SIGNUP_CLOSED | CAP_REACHED,
    dependencies=[
        Depends(counted_by_owners(Limit.ACCOUNT_PASSWORDS)),
        Depends(counted_by_owners(Limit.ACCOUNT_CHANGES)),
    ],
)
async def add_user(body: UserRequest, service: InjectedService, caller: OwnerOrKey) -> Response:
    """The password is not mailed; tell it to them. A link is, by which they join with their own, or leave.
    For an owner or an API key, unless the operator forbids it; a key with an end adds nobody: 403 (`key-has-end`).
    Limit: 30 passwords and new users per session and minute, and for all API keys of the account together.
    """
    profile = await service.accounts.members.add_user(caller, body.email, _secret(body))
    return private_response(await account_with_user(service, profile, email_address(body.email)))


@router.delete(
    "/v1/users/{id}",
    summary="Remove a user",
    responses=answer(AccountObject) | BAD_REQUEST | FORBIDDEN,
)
async def remove_user(id: RowId, service: InjectedService, caller: OwnerOrKey) -> Response:  # noqa: A002  # the contract's name
    """Their sessions end. The last owner cannot be removed (400). For an owner or an API key."""
    return await _account(service, await service.accounts.members.remove_user(caller, row_id(id)))


@router.post(
    "/v1/keys",
    summary="Make an API key",
    responses=answer(CreatedKey) | BAD_REQUEST | FORBIDDEN | CAP_REACHED,
    dependencies=[Depends(counted_by_owners(Limit.ACCOUNT_CHANGES))],
)
async def create_key(body: KeyRequest, service: InjectedService, caller: OwnerOrKey) -> Response:
    """The only time that the full key is told; its `id` revokes it. A key with an end makes none that lasts longer.
    For an owner or an API key.
    """
    expires_at = None if body.expires_at is None else int(body.expires_at.timestamp())
    new = await service.accounts.api_keys.create(
        caller, body.label or "", scope=body.scope or Scope.MANAGE, expires_at=expires_at
    )
    return private_response(CreatedKey.of(new))


@router.delete(
    "/v1/keys/{id}",
    summary="Revoke an API key",
    responses=answer(AccountObject) | BAD_REQUEST | FORBIDDEN,
)
async def revoke_key(id: RowId, service: InjectedService, caller: OwnerOrKey) -> Response:  # noqa: A002  # the contract's name
    """It stops working at once and for good; sessions go on. For an owner or an API key."""
    return await _account(service, await service.accounts.api_keys.revoke(caller, row_id(id)))


@router.get("/v1/audit", summary="Who did what", responses=answer(AuditTrail) | BAD_REQUEST | FORBIDDEN)
async def audit_trail(
    parameters: Annotated[TrailParameters, Query()], service: InjectedService, caller: OwnerOrKey
) -> Response:
    """Sign-ins, changed passwords, keys, users, webhooks and feeds: the newest 100. With `after` those that come after
    an id, oldest first; each `next` goes on. With `before` those that come before one, newest first. What one actor did
    more than a hundred times on a day is one line from there on, with `repeated`; passwords, keys and users have a line
    each time. For an owner or an API key.
    """
    if not parameters.is_given:
        trail = await service.accounts.members.trail(caller)
        return private_response(AuditTrail(entries=[AuditLine.of(entry) for entry in trail]))
    after, before = parameters.after, parameters.before
    if after is not None and before is not None:
        raise InvalidInput(ONE_WAY)
    page = await service.accounts.members.trail_page(caller, after=after, before=before, limit=parameters.limit)
    return private_response(AuditTrail.of_page(page, after=after, before=before))


async def _account(service: Service, profile: Profile) -> Response:
    return private_response(await account_object(service, profile))


def _secret(body: PasswordRequest | DeleteRequest | UserRequest) -> str:
    return body.password.get_secret_value()
