"""Days that the account has to keep."""

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.pages.account.rendering import app_page
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.visitor import SignedIn

router = account_pages()


@router.get("/app/deadlines")
async def deadlines(request: Request, visitor: SignedIn) -> Response:
    """The list of days."""
    return app_page(request, visitor, "account/deadlines.html", section="deadlines")
