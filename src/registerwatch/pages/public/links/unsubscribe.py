"""The page of the link in mails that ends them.

Mail programs with a button of their own post to the same address (RFC 8058), without our page, a cookie or an `Origin`.
Both need only the token in the address. Opening the page changes nothing, since mail scanners open links too.
"""

from fastapi import APIRouter, Request
from starlette.responses import Response

from registerwatch.notifications.bounces.unsubscribe_tokens import PATH
from registerwatch.notifications.models import Target
from registerwatch.pages.public.links.link_pages import link_page
from registerwatch.web.injection import InjectedService, limits_of
from registerwatch.web.limits.rate_limits import Limit

router = APIRouter()


@router.get(f"{PATH}{{token}}")
async def unsubscribe(request: Request, service: InjectedService, token: str) -> Response:
    """Ask before mails are ended."""
    await limits_of(request).check(request, Limit.PAGES)
    return _page(request, await service.notifications.unsubscribe.target(token), is_done=False)


@router.post(f"{PATH}{{token}}")
async def turn_off(request: Request, service: InjectedService, token: str) -> Response:
    """End the mails, whatever else was sent."""
    await limits_of(request).check(request, Limit.UNSUBSCRIBE)
    return _page(request, await service.notifications.unsubscribe.turn_off(token), is_done=True)


def _page(request: Request, target: Target | None, *, is_done: bool) -> Response:
    status = 404 if target is None else 200
    return link_page(request, "unsubscribe.html", status, target=target, is_done=is_done)
