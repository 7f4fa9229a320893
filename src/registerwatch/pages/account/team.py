"""The pages of the team: users, invitations, roles, removing users."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.models import Role
from registerwatch.accounts.passwords.passwords import MIN_PASSWORD_LENGTH
from registerwatch.accounts.team import Team, Teammate
from registerwatch.errors import CapReached, InvalidInput, Overloaded, RegisterwatchError, SignupClosed
from registerwatch.pages.account.proof import require_proof
from registerwatch.pages.account.questions import not_there
from registerwatch.pages.account.rendering import app_page, redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.row_ids import RowId
from registerwatch.pages.account.visitor import OwnerSignedIn, SignedIn, Visitor
from registerwatch.pages.forms import Form, form_of
from registerwatch.web.injection import InjectedService, limits_of, service_of
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.parties import party_of

DONE = {
    "invited": "The invitation is on its way by mail. It works for seven days.",
    "withdrawn": "The invitation is withdrawn. Its link leads nowhere any more.",
    "added": "The member is added. Tell them the password, and ask them to set their own.",
    "owner": "They are an owner now.",
    "member": "They are a member now.",
    "removed": "They are removed, and their sessions have ended.",
}
ROLES = (
    (
        Role.OWNER,
        "Owner",
        "everything: also people, API keys, webhooks, feeds, the plan, the audit trail, the end of the account",
    ),
    (
        Role.MEMBER,
        "Member",
        "watches, events, certificates, imports and syncs; not people, API keys, webhooks, feeds and the plan",
    ),
)
CHOOSE_ROLE = "Choose a role."

router = account_pages()


@router.get("/app/team")
async def team(request: Request, visitor: SignedIn) -> Response:
    """The users of the account."""
    return await _team_page(request, visitor)


@router.post("/app/team/invitations")
async def invite(request: Request, service: InjectedService, visitor: OwnerSignedIn) -> Response:
    """Mail an invitation, or mail it again."""
    form = await form_of(request)
    await require_proof(request, visitor, form, "Invite somebody")
    await _count_change(request, visitor)
    try:
        await service.accounts.invitations.invite(visitor.caller, form["email"])
    except (InvalidInput, CapReached, SignupClosed) as error:
        return await _team_page(request, visitor, form=form, problem=error)
    return redirect_to("/app/team", done="invited")


@router.post("/app/team/invitations/withdraw")
async def withdraw(request: Request, service: InjectedService, visitor: OwnerSignedIn) -> Response:
    """Withdraw an invitation."""
    form = await form_of(request)
    try:
        await service.accounts.invitations.withdraw(visitor.caller, form["email"])
    except InvalidInput as error:
        return await _team_page(request, visitor, problem=error)
    return redirect_to("/app/team", done="withdrawn")


@router.post("/app/team/users")
async def add(request: Request, service: InjectedService, visitor: OwnerSignedIn) -> Response:
    """Add a member with a password that the owner hands over."""
    form = await form_of(request)
    await require_proof(request, visitor, form, "Add a member")
    await _count_change(request, visitor)
    await limits_of(request).check_party(request, Limit.ACCOUNT_PASSWORDS, party_of(visitor.caller))
    try:
        await service.accounts.passwords.refuse_common(form["password"], form["email"])
        await service.accounts.members.add_user(visitor.caller, form["email"], form["password"])
    except (InvalidInput, CapReached, SignupClosed, Overloaded) as error:
        return await _team_page(request, visitor, form=form, problem=error)
    return redirect_to("/app/team", done="added")


@router.get("/app/team/{user_id:int}")
async def person(request: Request, service: InjectedService, visitor: OwnerSignedIn, user_id: RowId) -> Response:
    """One user: the role, and what removing the user ends."""
    found = (await service.accounts.team.team(visitor.caller)).person(user_id)
    return _person_page(request, visitor, found)


@router.post("/app/team/{user_id:int}/role")
async def change_role(request: Request, service: InjectedService, visitor: OwnerSignedIn, user_id: RowId) -> Response:
    """Give a user another role."""
    form = await form_of(request)
    await require_proof(request, visitor, form, "Change a role")
    await _count_change(request, visitor)
    found = (await service.accounts.team.team(visitor.caller)).person(user_id)
    if found is None or form["role"] not in list(Role):
        return _person_page(request, visitor, found, problem=CHOOSE_ROLE)
    try:
        await service.accounts.members.set_role(visitor.caller, user_id, Role(form["role"]))
    except InvalidInput as error:
        return _person_page(request, visitor, found, problem=str(error))
    return redirect_to("/app/team", done=form["role"])


@router.post("/app/team/{user_id:int}/remove")
async def remove(request: Request, service: InjectedService, visitor: OwnerSignedIn, user_id: RowId) -> Response:
    """Remove a user."""
    await require_proof(request, visitor, await form_of(request), "Remove somebody")
    found = (await service.accounts.team.team(visitor.caller)).person(user_id)
    if found is None:
        return _person_page(request, visitor, None)
    try:
        await service.accounts.members.remove_user(visitor.caller, user_id)
    except InvalidInput as error:
        return _person_page(request, visitor, found, problem=str(error))
    return redirect_to("/app/team", done="removed")


async def _count_change(request: Request, visitor: Visitor) -> None:
    await limits_of(request).check_party(request, Limit.ACCOUNT_CHANGES, party_of(visitor.caller))


def _person_page(request: Request, visitor: Visitor, found: Teammate | None, *, problem: str = "") -> Response:
    if found is None:
        return not_there(request, visitor, "team", "There is no such user", "/app/team", "The team")
    return app_page(
        request,
        visitor,
        "account/teammate.html",
        section="team",
        status=400 if problem else 200,
        person=found.user,
        second_factors=found.second_factors,
        roles=ROLES,
        is_self=found.user.id == visitor.caller.user_id,
        problem=problem,
    )


async def _team_page(
    request: Request, visitor: Visitor, *, form: Form | None = None, problem: RegisterwatchError | None = None
) -> Response:
    service = service_of(request)
    found = await service.accounts.team.team(visitor.caller)
    return app_page(
        request,
        visitor,
        "account/team.html",
        section="team",
        status=400 if problem else 200,
        done=DONE,
        team=found,
        cap=visitor.caller.account.plan.users,
        typed=form["email"] if form else "",
        problem=str(problem) if problem else "",
        shortest=MIN_PASSWORD_LENGTH,
        **_ways_in(request, visitor, found),
    )


def _ways_in(request: Request, visitor: Visitor, found: Team) -> dict[str, Any]:
    """How users can be added here: by mail, by a password, not at all."""
    service = service_of(request)
    you = found.person(visitor.caller.user_id or 0)
    may_add = service.settings.signup in ("open", "invite")
    can_mail = service.accounts.invitations.can_mail
    return {
        "may_add": may_add,
        "invites": may_add and can_mail and you is not None and you.user.is_confirmed,
        "must_confirm_first": may_add and can_mail and not (you is not None and you.user.is_confirmed),
        "adds_with_password": may_add and not can_mail,
        "contact": service.settings.contact,
    }
