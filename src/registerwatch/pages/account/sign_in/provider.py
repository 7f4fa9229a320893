"""Signing in by the operator's OpenID provider, and linking users to it."""

import hmac

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from registerwatch.accounts.models import NewSession
from registerwatch.bootstrap import Service
from registerwatch.errors import ProviderSignInFailed
from registerwatch.pages.account.next_page import safe_address
from registerwatch.pages.account.proof import require_proof
from registerwatch.pages.account.rendering import app_page, redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.settings import ADDRESS
from registerwatch.pages.account.sign_in.second_step_form import step_response
from registerwatch.pages.account.sign_in.sign_in import signed_in_response
from registerwatch.pages.account.sign_in.sign_in_form import Destination, sign_in_page
from registerwatch.pages.account.visitor import SignedIn, Visitor, visitor_of
from registerwatch.pages.cookies import can_sign_in, cookie_name, drop_cookie, set_cookie
from registerwatch.pages.forms import form_of
from registerwatch.web.injection import InjectedService, client_of, limits_of
from registerwatch.web.limits.rate_limits import Limit

COOKIE = "provider"
"""Holds the state: only the browser that was sent can come back."""
COOKIE_SECONDS = 600
ELSEWHERE = {"cross-site", "same-site"}
BROKEN_OFF = "You were not signed in there. Try again, or sign in with your password."

router = account_pages()


@router.get("/login/oidc")
async def begin(request: Request, service: InjectedService) -> Response:
    """Send the browser to the provider. A request from another site must be confirmed by the user first."""
    await limits_of(request).check(request, Limit.SECOND_STEP)
    destination = Destination.of_query(request)
    if not can_sign_in(service.settings):
        return sign_in_page(request, destination, 400)
    if request.headers.get("Sec-Fetch-Site") in ELSEWHERE:
        return sign_in_page(request, destination)
    try:
        begun = await service.accounts.provider.begin(destination.next)
    except ProviderSignInFailed as error:
        return sign_in_page(request, destination, 503, problem=str(error))
    response = RedirectResponse(begun.address, 303)
    set_cookie(response, service.settings, begun.state, COOKIE, seconds=COOKIE_SECONDS)
    return response


@router.get("/login/oidc/back")
async def back(request: Request, service: InjectedService) -> Response:
    """Handle the return from the provider: open a session, ask for a second step, or link the user."""
    await limits_of(request).check(request, Limit.SECOND_STEP)
    visitor = await visitor_of(request)
    try:
        response = await _finished(request, service, visitor)
    except ProviderSignInFailed as error:
        if visitor is not None:
            response = app_page(
                request, visitor, "account/provider_failed.html", section="settings", problem=str(error)
            )
        else:
            response = sign_in_page(request, Destination(), 400, problem=str(error))
    drop_cookie(response, service.settings, COOKIE)
    return response


@router.post("/app/settings/oidc")
async def link(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """The page that leads to the provider to link this user. Our forms may not lead to other sites themselves."""
    await require_proof(request, visitor, await form_of(request), "Link another way of signing in")
    await limits_of(request).check_party(request, Limit.ACCOUNT_CHANGES, f"settings {visitor.caller.session}")
    name = service.accounts.provider.name
    try:
        begun = await service.accounts.provider.begin("", visitor.caller)
    except ProviderSignInFailed as error:
        return app_page(request, visitor, "account/provider_failed.html", section="settings", problem=str(error))
    response = app_page(
        request, visitor, "account/provider_link.html", section="settings", address=begun.address, name=name
    )
    set_cookie(response, service.settings, begun.state, COOKIE, seconds=COOKIE_SECONDS)
    return response


@router.post("/app/settings/oidc/remove")
async def unlink(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Remove the link; the user can sign in by password."""
    await require_proof(request, visitor, await form_of(request), "Remove a way of signing in")
    await service.accounts.provider.unlink(visitor.caller)
    return redirect_to(ADDRESS, done="unlinked")


async def _finished(request: Request, service: Service, visitor: Visitor | None) -> Response:
    query, sent = request.query_params, request.cookies.get(cookie_name(service.settings, COOKIE), "")
    state, code = query.get("state", ""), query.get("code", "")
    if not sent or not hmac.compare_digest(state.encode(), sent.encode()) or not code:
        raise ProviderSignInFailed(BROKEN_OFF)
    if query.get("iss", service.settings.oidc_issuer) != service.settings.oidc_issuer:  # RFC 9207
        raise ProviderSignInFailed(BROKEN_OFF)
    caller = None if visitor is None else visitor.caller
    finished = await service.accounts.provider.finish(state, code, client_of(request), caller)
    destination = Destination(next=safe_address(finished.next))
    if finished.opened is None:
        return redirect_to(ADDRESS, done="linked")
    if isinstance(finished.opened, NewSession):
        return await signed_in_response(request, service, finished.opened.session, destination)
    return await step_response(request, service, finished.opened, destination)
