"""Finishing a sign-in by the code of a second factor."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from registerwatch.errors import RateLimited, SignInStepOver, WrongCode
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.sign_in.second_step_form import COOKIE, second_step_page, step_of
from registerwatch.pages.account.sign_in.sign_in import signed_in_response
from registerwatch.pages.account.sign_in.sign_in_form import Destination, sign_in_page
from registerwatch.pages.cookies import drop_cookie
from registerwatch.pages.forms import form_of
from registerwatch.web.injection import InjectedService, client_of, limits_of
from registerwatch.web.limits.rate_limits import Limit

router = account_pages()


@router.get("/login/second-step")
async def second_step_form(request: Request, service: InjectedService) -> Response:
    """The form for the code; without a password given before, the form for signing in."""
    destination = Destination.of_query(request)
    try:
        step = await service.accounts.second_step.look(step_of(request))
    except SignInStepOver:
        return RedirectResponse("/login", 303)
    return second_step_page(request, step, destination)


@router.post("/login/second-step")
async def second_step(request: Request, service: InjectedService) -> Response:
    """Open the session if the code is right."""
    await limits_of(request).check(request, Limit.SECOND_STEP)
    form, token = await form_of(request), step_of(request)
    destination, steps = Destination.of(form), service.accounts.second_step
    try:
        step = await steps.look(token)
        opened = await steps.finish(token, form["code"], client_of(request))
    except SignInStepOver as error:
        response = sign_in_page(request, destination, 400, problem=str(error))
    except (WrongCode, RateLimited) as error:
        status = 400 if isinstance(error, WrongCode) else 429
        return second_step_page(request, step, destination, status, problem=str(error))
    else:
        response = await signed_in_response(request, service, opened.session, destination)
    drop_cookie(response, service.settings, COOKIE)
    return response
