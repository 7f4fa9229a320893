"""The page of settings: time zone, password, sessions; the account's name and deletion."""

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.passwords.passwords import MIN_PASSWORD_LENGTH
from registerwatch.accounts.profile import time_zones
from registerwatch.accounts.second_factors.second_factor_repository import SecondFactors
from registerwatch.bootstrap import Service
from registerwatch.errors import InvalidInput, RateLimited
from registerwatch.pages.account.proof import CODE_FIELD, NOT_PROVED
from registerwatch.pages.account.rendering import app_page, redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.sign_in.confirm_address import MAILED
from registerwatch.pages.account.visitor import OwnerSignedIn, SignedIn, Visitor
from registerwatch.pages.cookies import drop_cookie
from registerwatch.pages.forms import form_of
from registerwatch.pages.rendering import unindexed_page
from registerwatch.web.injection import InjectedService, client_of, limits_of
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.parties import party_of

ADDRESS = "/app/settings"
SHOWN_SESSIONS = 20
DONE = {
    "renamed": "The account has its new name.",
    "zone": "Times are shown in your zone now.",
    "password": "Your password is changed. Your other sessions have ended.",
    "sessions": "All other sessions have ended.",
    "session": "The session has ended.",
    "app-on": "The authenticator app is set up: signing in asks for its code from now on.",
    "app-off": "The authenticator app is removed.",
    "passkey-added": "The passkey is added.",
    "passkey-renamed": "The passkey has its new name.",
    "passkey-removed": "The passkey is removed.",
    "linked": "You can sign in that way from now on.",
    "unlinked": "That way of signing in is removed.",
}

router = account_pages()


@router.get("/app/settings")
async def settings(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """All settings with their values."""
    return await settings_page(request, service, visitor)


async def settings_page(
    request: Request,
    service: Service,
    visitor: Visitor,
    status: int = 200,
    *,
    name: str | None = None,
    problem: str = "",
) -> Response:
    """The page. `name` is the typed name of the account, `problem` is about it."""
    caller = visitor.caller
    sessions = await service.accounts.open_sessions.all(caller)
    return app_page(
        request,
        visitor,
        "account/settings.html",
        section="settings",
        status=status,
        done={**DONE, **MAILED},
        can_mail=service.accounts.confirmations.can_mail,
        must_confirm=await service.accounts.confirmations.is_open(caller),
        name=caller.account.name if name is None else name,
        problem=problem,
        factors=await service.accounts.second_factors.of(caller),
        provider=service.accounts.provider.name,
        links=await service.accounts.provider.links(caller),
        sessions=sessions[:SHOWN_SESSIONS],
        others=len(sessions) - 1,
        places=await service.accounts.open_sessions.places(caller, sessions[:SHOWN_SESSIONS]),
    )


@router.post("/app/settings/name")
async def rename(request: Request, service: InjectedService, visitor: OwnerSignedIn) -> Response:
    """Give the account another name."""
    name = (await form_of(request))["name"]
    try:
        await service.accounts.profiles.rename_account(visitor.caller, name)
    except InvalidInput as error:
        return await settings_page(request, service, visitor, 400, name=name, problem=str(error))
    return redirect_to(ADDRESS, done="renamed")


@router.get("/app/settings/time-zone")
async def time_zone_form(request: Request, visitor: SignedIn) -> Response:
    """The form for the time zone."""
    return _time_zone_page(request, visitor, visitor.caller.time_zone)


@router.post("/app/settings/time-zone")
async def set_time_zone(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Show times in another zone."""
    zone = (await form_of(request))["zone"]
    try:
        await service.notifications.time_zones.set(visitor.caller, zone)
    except InvalidInput as error:
        return _time_zone_page(request, visitor, zone, 400, problem=str(error))
    return redirect_to(ADDRESS, done="zone")


@router.get("/app/settings/password")
async def password_form(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """The form for a new password."""
    return _password_page(request, visitor, await service.accounts.proofs.asks_for(visitor.caller))


@router.post("/app/settings/password")
async def set_password(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Set a new password, given the present one and an active second factor. Other sessions end."""
    form, caller = await form_of(request), visitor.caller
    await limits_of(request).check_party(request, Limit.PROOF, caller.session or "")
    await limits_of(request).check_party(request, Limit.ACCOUNT_CHANGES, f"settings {caller.session}")
    try:
        await service.accounts.proofs.prove(caller, form["old-password"], form[CODE_FIELD], client_of(request))
    except NOT_PROVED as error:
        factors = await service.accounts.proofs.asks_for(caller)
        return _password_page(request, visitor, factors, 400, old_problem=str(error))
    try:
        await service.accounts.passwords.refuse_common(form["password"], caller.name)
        await service.accounts.password_reset.change(caller, form["password"], is_proved=True)
    except (InvalidInput, RateLimited) as error:
        return _password_page(request, visitor, SecondFactors(), 400, problem=str(error))  # the code was right
    return redirect_to(ADDRESS, done="password")


@router.post("/app/settings/sessions/end")
async def end_sessions(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """End one of the user's sessions, or all but this one."""
    session_id = (await form_of(request))["id"]
    if not session_id:
        await service.accounts.open_sessions.end_others(visitor.caller)
        return redirect_to(ADDRESS, done="sessions")
    await service.accounts.open_sessions.end(visitor.caller, session_id)
    return redirect_to(ADDRESS, done="session")


@router.get("/app/settings/delete")
async def delete_form(request: Request, service: InjectedService, visitor: OwnerSignedIn) -> Response:
    """What is deleted with the account, and the form for that."""
    return await _delete_page(request, service, visitor)


@router.post("/app/settings/delete")
async def delete_account(request: Request, service: InjectedService, visitor: OwnerSignedIn) -> Response:
    """Delete the account with everything in it."""
    await limits_of(request).check(request, Limit.ACCOUNT_DELETE)
    await limits_of(request).check_party(request, Limit.ACCOUNT_DELETE, party_of(visitor.caller))
    form, caller = await form_of(request), visitor.caller
    try:
        await service.accounts.proofs.prove(caller, form["password"], form[CODE_FIELD], client_of(request))
    except NOT_PROVED as error:
        return await _delete_page(request, service, visitor, 400, problem=str(error))
    await service.accounts.deletion.delete_without_password(caller.account.id)
    response = unindexed_page(request, "account/deleted.html", 200)
    drop_cookie(response, service.settings)
    return response


def _time_zone_page(request: Request, visitor: Visitor, zone: str, status: int = 200, *, problem: str = "") -> Response:
    return app_page(
        request,
        visitor,
        "account/time_zone.html",
        section="settings",
        status=status,
        typed=zone,
        zones=time_zones(),
        problem=problem,
    )


def _password_page(
    request: Request,
    visitor: Visitor,
    factors: SecondFactors,
    status: int = 200,
    *,
    old_problem: str = "",
    problem: str = "",
) -> Response:
    return app_page(
        request,
        visitor,
        "account/password.html",
        section="settings",
        status=status,
        shortest=MIN_PASSWORD_LENGTH,
        factors=factors,
        old_problem=old_problem,
        problem=problem,
    )


async def _delete_page(
    request: Request, service: Service, visitor: Visitor, status: int = 200, *, problem: str = ""
) -> Response:
    profile = await service.accounts.members.profile(visitor.caller)
    return app_page(
        request,
        visitor,
        "account/delete.html",
        section="settings",
        status=status,
        others=[user.email for user in profile.users if user.id != visitor.caller.user_id],
        keys=sum(key.works(service.clock.now()) for key in profile.keys),
        watches=await service.watches.service.count(visitor.caller.account.id),
        factors=await service.accounts.proofs.asks_for(visitor.caller),
        problem=problem,
    )
