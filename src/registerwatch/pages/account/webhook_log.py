"""The page of one webhook: how it is doing, its secret, the log of deliveries by outcome, sending one again."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.errors import InvalidInput
from registerwatch.notifications.delivery_log import PAGE_ROWS, LogPage
from registerwatch.notifications.models import EventType, LoggedDelivery, Outcome
from registerwatch.pages.account.questions import not_there
from registerwatch.pages.account.rendering import app_page, fragment_asked, redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.row_ids import RowId
from registerwatch.pages.account.visitor import OwnerSignedIn, Visitor
from registerwatch.pages.addresses import page_parameter, with_query
from registerwatch.pages.paging import MAX_PAGE, Paging
from registerwatch.pages.rendering import unindexed_page
from registerwatch.web.injection import InjectedService, limits_of, service_of
from registerwatch.web.rate_limits import Limit
from registerwatch.web.responses import NOT_CACHED

REGION = "log"
ABANDONED_SECONDS = 120
"""A test takes less. One that has not ended by then never will: its process was stopped."""
POLLED_SECONDS = 600
"""While a delivery that is younger is under way, the log is read again by itself, where its address can be."""
CHIPS = (
    (None, "All"),
    (Outcome.ACCEPTED, "Accepted"),
    (Outcome.FAILED, "Failed"),
    (Outcome.UNDER_WAY, "Under way"),
)
DONE = {
    "added": "The webhook is added. Copy its secret into the receiver, then send a test.",
    "rotated": "There is a new secret. Put it into the receiver within 24 hours.",
    "resent": "The delivery goes out again within seconds, with the same id and body.",
}
BAD_OUTCOME = "`outcome` is accepted, failed or under-way."
BAD_PAGE = f"`page` is a number from 1 to {MAX_PAGE:,}."

router = account_pages()


async def log_page(
    request: Request,
    visitor: Visitor,
    webhook_id: int,
    status: int = 200,
    *,
    shows_secret: bool = False,
    problem: str = "",
) -> Response:
    """The page of a webhook, or the log alone where the script asks for it. Raises `InvalidInput`."""
    service, account_id = service_of(request), visitor.caller.account.id
    outcome, number = _outcome(request), _page_number(request)
    found = await service.notifications.log.page(account_id, webhook_id, outcome, number)
    if found is None:
        return webhook_is_gone(request, visitor)
    now = int(service.clock.now())
    shown: dict[str, Any] = {
        "webhook": found.target,
        "log": found,
        "outcome": outcome,
        "chips": [(_address(webhook_id, each), words, found.counts.of(each), each is outcome) for each, words in CHIPS],
        "paging": Paging(number, PAGE_ROWS, found.counts.of(outcome)),
        "newer": _address(webhook_id, outcome, number - 1) if number > 1 else "",
        "older": _address(webhook_id, outcome, number + 1) if number * PAGE_ROWS < found.counts.of(outcome) else "",
        "polls": request.method == "GET" and any(now - each.created_at < POLLED_SECONDS for each in _under_way(found)),
        "abandoned": {each.id for each in _under_way(found) if _is_abandoned(each, now)},
    }
    if fragment_asked(request) == REGION:
        return unindexed_page(request, "account/webhook_log.html", 200, zone=visitor.zone, **shown)
    tested = request.query_params.get("tested", "")
    return app_page(
        request,
        visitor,
        "account/webhook.html",
        section="webhooks",
        status=status,
        done=DONE,
        shows_secret=shows_secret,
        problem=problem,
        tested=await service.notifications.log.delivery(account_id, webhook_id, tested) if tested else None,
        overlaps=len(found.target.valid_secrets(now)) > 1,
        header_word=service.settings.service_name,
        **shown,
    )


@router.get("/app/webhooks/{webhook_id:int}/deliveries/{delivery_id}/payload.json")
async def payload(
    request: Request, service: InjectedService, visitor: OwnerSignedIn, webhook_id: RowId, delivery_id: str
) -> Response:
    """What was sent, to the byte, as a file."""
    account_id = visitor.caller.account.id
    found = await service.notifications.log.delivery(account_id, webhook_id, delivery_id)
    if found is None or found.body is None:
        return not_there(
            request, visitor, "webhooks", "There is no such delivery", f"/app/webhooks/{webhook_id}", "The webhook"
        )
    headers = {"Content-Disposition": 'attachment; filename="delivery.json"', "Cache-Control": NOT_CACHED}
    return Response(found.body, headers=headers, media_type="application/json")


@router.post("/app/webhooks/{webhook_id:int}/deliveries/{delivery_id}/resend")
async def resend(
    request: Request, service: InjectedService, visitor: OwnerSignedIn, webhook_id: RowId, delivery_id: str
) -> Response:
    """Send a delivery again, as it was."""
    await limits_of(request).check(request, Limit.WEBHOOK_TEST)
    try:
        await service.notifications.webhooks.send_again(visitor.caller, webhook_id, delivery_id)
    except InvalidInput as error:
        return await log_page(request, visitor, webhook_id, 400, problem=str(error))
    return redirect_to(_address(webhook_id, Outcome.UNDER_WAY), done="resent")


def webhook_is_gone(request: Request, visitor: Visitor) -> Response:
    """Where the account has no webhook with an id."""
    return not_there(request, visitor, "webhooks", "There is no such webhook", "/app/webhooks", "All webhooks")


def _address(webhook_id: int, outcome: Outcome | None, number: int = 1) -> str:
    parameters = ("outcome", outcome.value if outcome else ""), ("page", page_parameter(number))
    return with_query(f"/app/webhooks/{webhook_id}", parameters)


def _outcome(request: Request) -> Outcome | None:
    text = request.query_params.get("outcome", "")
    if text and text not in list(Outcome):
        raise InvalidInput(BAD_OUTCOME)
    return Outcome(text) if text else None


def _page_number(request: Request) -> int:
    text = request.query_params.get("page", "1")
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= MAX_PAGE):
        raise InvalidInput(BAD_PAGE)
    return int(text)


def _under_way(found: LogPage) -> list[LoggedDelivery]:
    return [each for each in found.deliveries if each.outcome is Outcome.UNDER_WAY]


def _is_abandoned(delivery: LoggedDelivery, now: int) -> bool:
    return delivery.type is EventType.TEST and now - delivery.created_at > ABANDONED_SECONDS
