"""The first page of the account."""

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.pages.account.rendering import app_page
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.visitor import SignedIn

router = account_pages()


@router.get("/app")
async def today(request: Request, visitor: SignedIn) -> Response:
    """What is new."""
    return app_page(request, visitor, "account/today.html", section="today")
