"""The page between password and session, for users who have a second factor."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from registerwatch.accounts.second_factors.second_step import SecondStep
from registerwatch.accounts.sessions.sign_in_steps import NewStep
from registerwatch.bootstrap import Service
from registerwatch.pages.account.sign_in.sign_in_form import Destination
from registerwatch.pages.addresses import with_query
from registerwatch.pages.cookies import cookie_name, set_cookie
from registerwatch.pages.rendering import unindexed_page
from registerwatch.web.injection import service_of

ADDRESS = "/login/second-step"
COOKIE = "step"


def step_of(request: Request) -> str:
    """The token of the browser's second step, empty without one."""
    return request.cookies.get(cookie_name(service_of(request).settings, COOKIE), "")


async def step_response(request: Request, service: Service, step: NewStep, destination: Destination) -> Response:
    """The answer to a right password of a user who has a second factor.

    It leads to the page of the second step. A kept form does not fit into an address, so this answer is that page.
    """
    if destination.kept.address:
        response = second_step_page(request, await service.accounts.second_step.look(step.token), destination)
    else:
        response = RedirectResponse(with_query(ADDRESS, destination.query.items()), 303)
    set_cookie(response, service.settings, step.token, COOKIE, seconds=step.seconds)
    return response


def second_step_page(
    request: Request, step: SecondStep, destination: Destination, status: int = 200, *, problem: str = ""
) -> Response:
    """The form for the code."""
    return unindexed_page(
        request, "account/second_step.html", status, destination=destination, step=step, problem=problem
    )
