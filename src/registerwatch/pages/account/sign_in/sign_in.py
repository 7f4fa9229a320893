"""Signing up, in and out with a password."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from registerwatch.accounts.models import NewSession
from registerwatch.accounts.passwords.passwords import MIN_PASSWORD_LENGTH
from registerwatch.accounts.sessions.credentials import browser_session_of
from registerwatch.accounts.sessions.sign_in_steps import NewStep
from registerwatch.accounts.validation import email_address
from registerwatch.bootstrap import Service
from registerwatch.errors import InvalidInput, Overloaded, SignupClosed, WrongPassword
from registerwatch.pages.account.rendering import say_welcome
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.sign_in.second_step_form import step_response
from registerwatch.pages.account.sign_in.sign_in_form import Destination, sign_in_page
from registerwatch.pages.account.visitor import visitor_of
from registerwatch.pages.account.watches.add_watch import watch_added
from registerwatch.pages.cookies import can_sign_in, drop_cookie, session_of, set_cookie
from registerwatch.pages.forms import Form, form_of
from registerwatch.pages.rendering import unindexed_page
from registerwatch.web.injection import InjectedService, client_of, limits_of
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.limits.sign_in_limits import check_user

NEEDS_HTTPS = "Signing in needs https here, so that nobody on the way can take the session."

router = account_pages()


@router.get("/login")
async def login_form(request: Request) -> Response:
    """The form for signing in; signed-in users go to the next page."""
    destination = Destination.of_query(request)
    if await visitor_of(request) is not None:
        return RedirectResponse(destination.address, 303)
    return sign_in_page(request, destination, email=_email_of_query(request))


@router.post("/login")
async def login(request: Request, service: InjectedService) -> Response:
    """Open a session, or show the problem with the typed values."""
    await limits_of(request).check(request, Limit.LOGIN)
    form = await form_of(request)
    destination, email = Destination.of(form), form["email"]
    try:
        _require_cookies(service)
        await check_user(request, email)
        opened = await service.accounts.sessions.begin(email, form["password"], client_of(request))
    except (WrongPassword, InvalidInput, Overloaded) as error:
        return sign_in_page(request, destination, 400, email=email, problem=str(error))
    return await _opened_response(request, service, opened, destination)


@router.get("/signup")
async def signup_form(request: Request, service: InjectedService) -> Response:
    """The form for a new account; signed-in users go to the next page."""
    destination = Destination.of_query(request)
    if await visitor_of(request) is not None:
        return RedirectResponse(destination.address, 303)
    return await _signup_page(request, service, destination)


@router.post("/signup")
async def signup(request: Request, service: InjectedService) -> Response:
    """Open a trial account and a session in it."""
    await limits_of(request).check(request, Limit.TRIAL)
    form = await form_of(request)
    destination, email, password = Destination.of(form), form["email"], form["password"]
    try:
        _require_cookies(service)
        await check_user(request, email)
        await service.accounts.passwords.refuse_common(password, email)
        opened = await service.accounts.sessions.sign_up(
            form["company"], email, password, client_of(request), zone=form["zone"]
        )
    except (InvalidInput, SignupClosed, Overloaded) as error:
        return await _signup_page(request, service, destination, 400, form=form, problem=str(error))
    response = await _opened_response(request, service, opened, destination)
    if isinstance(opened, NewSession) and not opened.existing and service.accounts.confirmations.can_mail:
        say_welcome(response)
    return response


@router.get("/logout")
async def logout_form(request: Request) -> Response:
    """Ask before signing out, which a link alone must not do."""
    return unindexed_page(request, "account/logout.html", 200)


@router.post("/logout")
async def logout(request: Request, service: InjectedService) -> Response:
    """End the session."""
    await service.accounts.sessions.logout(session_of(request))
    response = RedirectResponse("/login", 303)
    drop_cookie(response, service.settings)
    return response


async def _opened_response(
    request: Request, service: Service, opened: NewSession | NewStep, destination: Destination
) -> Response:
    if isinstance(opened, NewStep):
        return await step_response(request, service, opened, destination)
    return await signed_in_response(request, service, opened.session, destination)


async def signed_in_response(request: Request, service: Service, session: str, destination: Destination) -> Response:
    """The answer that sets the session's cookie and leads on. The browser's earlier session ends."""
    await service.accounts.sessions.logout(session_of(request))
    response = await _next_page(request, service, session, destination)
    set_cookie(response, service.settings, session)
    return response


async def _next_page(request: Request, service: Service, session: str, destination: Destination) -> Response:
    if not (destination.kept.address or destination.watch):
        return RedirectResponse(destination.address, 303)
    caller = await service.accounts.sessions.caller(browser_session_of(session))
    if destination.kept.address:
        return unindexed_page(request, "account/kept_form.html", 200, kept=destination.kept, name=caller.name)
    return await watch_added(service, caller, destination.watch)


def _email_of_query(request: Request) -> str:
    """The e-mail address from the page before; empty if it is not an address."""
    try:
        return email_address(request.query_params.get("email", ""))
    except InvalidInput:
        return ""


def _require_cookies(service: Service) -> None:
    if not can_sign_in(service.settings):
        raise InvalidInput(NEEDS_HTTPS)


async def _signup_page(
    request: Request,
    service: Service,
    destination: Destination,
    status: int = 200,
    *,
    form: Form | None = None,
    problem: str = "",
) -> Response:
    settings = service.settings
    return unindexed_page(
        request,
        "account/signup.html",
        status,
        destination=destination,
        watched_name=await service.records.name_of(destination.watch) if destination.watch else "",
        typed=form,
        problem=problem,
        shortest=MIN_PASSWORD_LENGTH,
        trial_days=settings.trial_days,
        watch_cap=settings.trial_watch_cap,
        is_open=settings.signup == "open",
        contact=settings.contact,
        can_sign_in=can_sign_in(settings),
    )
