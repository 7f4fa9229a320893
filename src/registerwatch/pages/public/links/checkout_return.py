"""The pages to which the payment provider sends people back. They need no session: payments arrive as events.

Signed-in users go on to the page of their account's plan.
"""

from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from registerwatch.billing.checkout import BACK, DONE
from registerwatch.pages.account import billing as account_billing
from registerwatch.pages.account.rendering import redirect_to
from registerwatch.pages.account.visitor import visitor_of
from registerwatch.pages.rendering import unindexed_page
from registerwatch.web.injection import limits_of
from registerwatch.web.limits.rate_limits import Limit

router = APIRouter()


@router.get(DONE)
async def done(request: Request) -> Response:
    """The page after paying."""
    await limits_of(request).check(request, Limit.PAGES)
    if await visitor_of(request) is not None:
        session_id = request.query_params.get("session_id", "")[:300]
        return redirect_to(f"{account_billing.PATH}/done?{urlencode({'session_id': session_id})}")
    return unindexed_page(request, "billing_done.html", 200, {})


@router.get(BACK)
async def back(request: Request) -> Response:
    """The page after leaving the provider's page without paying."""
    await limits_of(request).check(request, Limit.PAGES)
    if await visitor_of(request) is not None:
        return redirect_to(account_billing.PATH, done="back")
    return unindexed_page(request, "billing_back.html", 200, {})
