"""Mailing again the link that confirms an address."""

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.errors import InvalidInput
from registerwatch.pages.account.next_page import HOME
from registerwatch.pages.account.rendering import app_page, redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.visitor import SignedIn
from registerwatch.pages.forms import form_of
from registerwatch.web.injection import InjectedService

SETTINGS = "/app/settings"
MAILED = {"mailed": "A new link is on its way to your address. It works for seven days."}
"""The message on pages with the form."""

router = account_pages()


@router.post("/app/confirm-address")
async def mail_again(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Mail the link again, and go back to the form's page."""
    back = SETTINGS if (await form_of(request))["back"] == "settings" else HOME
    try:
        await service.accounts.confirmations.mail_again(visitor.caller)
    except InvalidInput as error:
        return app_page(
            request, visitor, "account/link_not_sent.html", status=400, section="", problem=str(error), back=back
        )
    return redirect_to(back, done="mailed")
