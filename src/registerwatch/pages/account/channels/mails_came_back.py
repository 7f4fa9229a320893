"""Turning mails about changes on again, after they were turned off as undeliverable."""

from starlette.responses import Response

from registerwatch.pages.account.next_page import HOME
from registerwatch.pages.account.rendering import redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.visitor import SignedIn
from registerwatch.web.injection import InjectedService

MAILS_ON = {"mails-on": "Mails about changes are sent to you again."}
"""The message on the page with the form."""

router = account_pages()


@router.post("/app/mails-on")
async def turn_on(service: InjectedService, visitor: SignedIn) -> Response:
    """Turn mails on, and go back."""
    await service.notifications.undeliverable.turn_on(visitor.caller)
    return redirect_to(HOME, done="mails-on")
