"""Watching a device or manufacturer from any page."""

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.models import Caller
from registerwatch.bootstrap import Service
from registerwatch.errors import CapReached, InvalidInput, PeriodEnded
from registerwatch.pages.account.rendering import redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.visitor import SignedIn
from registerwatch.pages.forms import form_of
from registerwatch.web.injection import InjectedService, limits_of
from registerwatch.web.rate_limits import Limit

router = account_pages()


@router.post("/app/watches/add")
async def add(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Watch what the field `subject` names, and read the register at once."""
    await limits_of(request).check(request, Limit.WATCH_READ)
    return await watch_added(service, visitor.caller, (await form_of(request))["subject"])


async def watch_added(service: Service, caller: Caller, subject: str) -> Response:
    """The page of the watch. Where there cannot be one, the page of all watches, whose form has the subject."""
    try:
        caller.account.require_active(service.clock.now())
        watch = await service.watches.service.add(caller, subject)
    except (InvalidInput, CapReached, PeriodEnded):
        return redirect_to(f"/app/watches?{urlencode({'subject': subject[:200]})}")
    return redirect_to(f"/app/watches/{watch.id}", done="added")
