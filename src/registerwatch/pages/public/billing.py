"""The pages to which the payment provider sends people back. They need no session: payments arrive as events."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from registerwatch.billing.checkout import BACK, DONE
from registerwatch.pages.rendering import unindexed_page
from registerwatch.web.injection import limits_of
from registerwatch.web.rate_limits import Limit

router = APIRouter()


@router.get(DONE)
async def done(request: Request) -> Response:
    """After paying."""
    await limits_of(request).check(request, Limit.PAGES)
    return unindexed_page(request, "billing_done.html", 200, {})


@router.get(BACK)
async def back(request: Request) -> Response:
    """After leaving the provider's page in another way."""
    await limits_of(request).check(request, Limit.PAGES)
    return unindexed_page(request, "billing_back.html", 200, {})
