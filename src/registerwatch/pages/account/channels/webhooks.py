"""The pages of webhooks: the list with their states, adding one, its secret, a test, removing it."""

from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.errors import CapReached, InvalidInput, Overloaded
from registerwatch.notifications.models import MAX_TARGETS
from registerwatch.pages.account.channels.webhook_log import log_page, webhook_is_gone
from registerwatch.pages.account.proof import require_proof
from registerwatch.pages.account.questions import ask_once
from registerwatch.pages.account.rendering import app_page, redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.row_ids import RowId
from registerwatch.pages.account.sent_once import SentBefore, new_form_token, sent_once
from registerwatch.pages.account.visitor import OwnerSignedIn, SignedIn, Visitor
from registerwatch.pages.forms import Form, form_of
from registerwatch.web.injection import InjectedService, limits_of, service_of
from registerwatch.web.limits.rate_limits import Limit

DONE = {"removed": "The webhook is removed, with its deliveries."}

router = account_pages()


@router.get("/app/webhooks")
async def webhooks(request: Request, visitor: SignedIn) -> Response:
    """The account's webhooks, and for owners the form for another one."""
    return await _list_page(request, visitor)


@router.post("/app/webhooks")
async def add(request: Request, service: InjectedService, visitor: OwnerSignedIn) -> Response:
    """Add an address. A form that is sent again adds nothing. The webhook's page has the secret."""
    form = await form_of(request)
    await require_proof(request, visitor, form, "Add a webhook")
    try:
        async with sent_once(service, visitor, form):
            added = await service.notifications.webhooks.add(visitor.caller, form["url"], repeats=True)
    except SentBefore:
        return redirect_to("/app/webhooks")
    except (InvalidInput, CapReached) as error:
        return await _list_page(request, visitor, 400, form=form, problem=str(error))
    return redirect_to(f"/app/webhooks/{added.id}", done="added")


@router.get("/app/webhooks/{webhook_id:int}")
async def webhook(request: Request, visitor: OwnerSignedIn, webhook_id: RowId) -> Response:
    """One webhook with its log."""
    return await log_page(request, visitor, webhook_id)


@router.post("/app/webhooks/{webhook_id:int}/secret")
async def show_secret(request: Request, visitor: OwnerSignedIn, webhook_id: RowId) -> Response:
    """One webhook with its secret."""
    await require_proof(request, visitor, await form_of(request), "Show a webhook’s secret")
    return await log_page(request, visitor, webhook_id, shows_secret=True)


@router.post("/app/webhooks/{webhook_id:int}/test")
async def test(request: Request, service: InjectedService, visitor: OwnerSignedIn, webhook_id: RowId) -> Response:
    """Send a test; the next page says how it was received."""
    await limits_of(request).check(request, Limit.WEBHOOK_TEST)
    try:
        result = await service.notifications.webhooks.test(visitor.caller, webhook_id)
    except InvalidInput:
        return webhook_is_gone(request, visitor)
    except Overloaded as error:
        return await log_page(request, visitor, webhook_id, 503, problem=str(error))
    return redirect_to(f"/app/webhooks/{webhook_id}?tested={result.delivery_id}")


@router.post("/app/webhooks/{webhook_id:int}/rounds")
async def choose_rounds(
    request: Request, service: InjectedService, visitor: OwnerSignedIn, webhook_id: RowId
) -> Response:
    """Switch rounds on or off."""
    repeats = (await form_of(request))["rounds"] == "on"
    try:
        await service.notifications.webhooks.set_repeats(visitor.caller, webhook_id, repeats=repeats)
    except InvalidInput:
        return webhook_is_gone(request, visitor)
    return redirect_to(f"/app/webhooks/{webhook_id}", done="rounds-on" if repeats else "rounds-off")


@router.get("/app/webhooks/{webhook_id:int}/rotate")
async def rotate_question(
    request: Request, service: InjectedService, visitor: OwnerSignedIn, webhook_id: RowId
) -> Response:
    """Ask before making a new secret."""
    url = await _url(request, visitor, webhook_id)
    if url is None:
        return webhook_is_gone(request, visitor)
    return ask_once(
        request,
        visitor,
        "webhooks",
        heading="Make a new secret?",
        about=url,
        consequences=(
            "For 24 hours the old secret and the new one both sign, so that no delivery is lost while you change it.",
            "After that the new secret signs alone, and a receiver that knows only the old one refuses deliveries.",
            "A secret that is even older, from an earlier change within the last day, stops signing at once.",
        ),
        button="Make a new secret",
        back=f"/app/webhooks/{webhook_id}",
        is_danger=False,
    )


@router.post("/app/webhooks/{webhook_id:int}/rotate")
async def rotate(request: Request, service: InjectedService, visitor: OwnerSignedIn, webhook_id: RowId) -> Response:
    """Make a new secret."""
    await require_proof(request, visitor, await form_of(request), "Make a new secret")
    try:
        await service.notifications.webhooks.rotate(visitor.caller, webhook_id)
    except InvalidInput:
        return webhook_is_gone(request, visitor)
    return redirect_to(f"/app/webhooks/{webhook_id}", done="rotated")


@router.get("/app/webhooks/{webhook_id:int}/delete")
async def remove_question(request: Request, visitor: OwnerSignedIn, webhook_id: RowId) -> Response:
    """Ask before removing a webhook."""
    url = await _url(request, visitor, webhook_id)
    if url is None:
        return webhook_is_gone(request, visitor)
    return ask_once(
        request,
        visitor,
        "webhooks",
        heading="Remove this webhook?",
        about=url,
        consequences=(
            "Nothing more is sent to this address, deliveries that are under way included.",
            "Its secret and the log of its deliveries are deleted, for good.",
            "Events stay: on the page “Events”, in feeds, and at your other webhooks.",
        ),
        button="Remove the webhook",
        back=f"/app/webhooks/{webhook_id}",
    )


@router.post("/app/webhooks/{webhook_id:int}/delete")
async def remove(request: Request, service: InjectedService, visitor: OwnerSignedIn, webhook_id: RowId) -> Response:
    """Remove a webhook."""
    await require_proof(request, visitor, await form_of(request), "Remove a webhook")
    await service.notifications.webhooks.remove(visitor.caller, webhook_id)
    return redirect_to("/app/webhooks", done="removed")


async def _url(request: Request, visitor: Visitor, webhook_id: int) -> str | None:
    """The address of a webhook of the account; None if there is none."""
    present = await service_of(request).notifications.webhooks.all(visitor.caller.account.id)
    return next((each.url for each in present if each.id == webhook_id), None)


async def _list_page(
    request: Request, visitor: Visitor, status: int = 200, *, form: Form | None = None, problem: str = ""
) -> Response:
    notifications, account_id = service_of(request).notifications, visitor.caller.account.id
    present = await notifications.webhooks.all(account_id)
    return app_page(
        request,
        visitor,
        "account/webhooks.html",
        section="webhooks",
        status=status,
        done=DONE,
        webhooks=[(each, urlsplit(each.url).hostname or "") for each in present],
        failing_since=await notifications.log.failing_since(account_id) if present else {},
        cap=MAX_TARGETS,
        typed=form["url"] if form else "",
        form_token=new_form_token(),
        problem=problem,
        allows_private=service_of(request).settings.webhooks_allow_private,
    )
