"""The page of feeds: their addresses, making one, ending one."""

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.errors import CapReached, InvalidInput
from registerwatch.notifications.feeds.models import MAX_FEEDS, NewFeed
from registerwatch.pages.account.proof import require_proof
from registerwatch.pages.account.questions import ask_once, not_there
from registerwatch.pages.account.rendering import app_page, redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.row_ids import RowId
from registerwatch.pages.account.sent_once import SentBefore, new_form_token, sent_once
from registerwatch.pages.account.visitor import OwnerSignedIn, SignedIn, Visitor
from registerwatch.pages.forms import form_of
from registerwatch.web.injection import InjectedService, service_of

DONE = {"ended": "The feed is ended. Its addresses do not work any more."}
SENT_BEFORE = (
    "This form was sent before, and made a feed then. Its addresses are shown once: where you did not keep them, end"
    " that feed and make another one."
)

router = account_pages()


@router.get("/app/feeds")
async def feeds(request: Request, visitor: SignedIn) -> Response:
    """The account's feeds, and for owners a button for a new one."""
    return await _feeds_page(request, visitor)


@router.post("/app/feeds")
async def make(request: Request, service: InjectedService, visitor: OwnerSignedIn) -> Response:
    """Make a feed. The answer is the only page that shows its addresses."""
    form = await form_of(request)
    await require_proof(request, visitor, form, "Make a feed")
    try:
        async with sent_once(service, visitor, form):
            made = await service.feeds.add(visitor.caller)
    except SentBefore:
        return await _feeds_page(request, visitor, 409, problem=SENT_BEFORE)
    except (InvalidInput, CapReached) as error:
        return await _feeds_page(request, visitor, 400, problem=str(error))
    return await _feeds_page(request, visitor, made=made)


@router.get("/app/feeds/{feed_id:int}/end")
async def end_question(request: Request, service: InjectedService, visitor: OwnerSignedIn, feed_id: RowId) -> Response:
    """Ask before ending a feed."""
    feed = next((each for each in await service.feeds.all(visitor.caller) if each.id == feed_id), None)
    if feed is None:
        return not_there(request, visitor, "feeds", "There is no such feed", "/app/feeds", "All feeds")
    return ask_once(
        request,
        visitor,
        "feeds",
        heading=f"End the feed {feed.prefix}?",
        consequences=(
            "Feed readers and calendars that use its addresses get nothing more from now on.",
            "It cannot be undone. A new feed has other addresses.",
            "Events and certificates stay as they are, and so do other feeds.",
        ),
        button="End the feed",
        back="/app/feeds",
    )


@router.post("/app/feeds/{feed_id:int}/end")
async def end(request: Request, service: InjectedService, visitor: OwnerSignedIn, feed_id: RowId) -> Response:
    """End a feed."""
    await service.feeds.end(visitor.caller, feed_id)
    return redirect_to("/app/feeds", done="ended")


async def _feeds_page(
    request: Request, visitor: Visitor, status: int = 200, *, made: NewFeed | None = None, problem: str = ""
) -> Response:
    service = service_of(request)
    return app_page(
        request,
        visitor,
        "account/feeds.html",
        section="feeds",
        status=status,
        done=DONE,
        feeds=await service.feeds.all(visitor.caller),
        cap=MAX_FEEDS,
        made=made,
        problem=problem,
        form_token=new_form_token(),
        base=f"{service.settings.public_url}/v1",
    )
