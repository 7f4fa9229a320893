"""Adding a watch of a device or manufacturer from any page."""

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.models import Caller
from registerwatch.bootstrap import Service
from registerwatch.pages.account.next_page import safe_address
from registerwatch.pages.account.rendering import redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.visitor import SignedIn
from registerwatch.pages.account.watches.watch_query import WatchQuery
from registerwatch.pages.account.watches.watches import REFUSED, watches_page
from registerwatch.pages.addresses import with_query
from registerwatch.pages.forms import form_of
from registerwatch.web.injection import InjectedService, limits_of
from registerwatch.web.limits.rate_limits import Limit

router = account_pages()


@router.post("/app/watches/add")
async def add(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Watch the subject in the field `subject`, and read the register at once.

    If it cannot be watched, the page of all watches says why; `back` is the form's page.
    """
    await limits_of(request).check(request, Limit.WATCH_READ)
    form = await form_of(request)
    subject, back = form["subject"], safe_address(form["back"])
    try:
        return await _page_of_watch(service, visitor.caller, subject)
    except REFUSED as error:
        query = WatchQuery()
        return await watches_page(request, service, visitor, query, 400, subject=subject, problem=str(error), back=back)


async def watch_added(service: Service, caller: Caller, subject: str) -> Response:
    """A redirection to the watch. If it was not added, the page of all watches with the subject and the reason."""
    try:
        return await _page_of_watch(service, caller, subject)
    except REFUSED:
        return redirect_to(with_query("/app/watches", [("subject", subject[:200])]))


async def _page_of_watch(service: Service, caller: Caller, subject: str) -> Response:
    caller.account.require_active(service.clock.now())
    added = await service.watches.service.add_or_find(caller, subject)
    return redirect_to(f"/app/watches/{added.watch.id}", done="added" if added.is_new else "existing")
