"""The page of one webhook: its state, its secret, the log of deliveries by outcome, sending one again."""

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.errors import InvalidInput
from registerwatch.notifications.channels.webhook import WebhookChannel
from registerwatch.notifications.delivery.delivery_log import LogPage
from registerwatch.pages.account.channels.delivery_table import asked_log, payload_file, resent
from registerwatch.pages.account.questions import not_there
from registerwatch.pages.account.rendering import app_page, fragment_asked
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.row_ids import RowId
from registerwatch.pages.account.visitor import OwnerSignedIn, Visitor
from registerwatch.pages.rendering import unindexed_page
from registerwatch.web.injection import InjectedService, limits_of, service_of
from registerwatch.web.limits.rate_limits import Limit

REGION = "log"
DONE = {
    "added": "Changes are posted to this address. Copy its secret into the receiver, then send a test.",
    "rotated": "There is a new secret. Put it into the receiver within 24 hours.",
    "rounds-on": "Deliveries that fail are tried again in rounds.",
    "rounds-off": "Deliveries that fail are not tried again. What waits for its round is tried once more.",
    "resent": "The delivery goes out again within seconds, with the same id and body.",
}

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
    """The page of a webhook, or only the log if the script asks for it. Raises `InvalidInput`."""
    service, account_id = service_of(request), visitor.caller.account.id
    shown = await asked_log(request, visitor, webhook_id, f"/app/webhooks/{webhook_id}")
    found: LogPage | None = shown["log"] if shown is not None else None
    if shown is None or found is None or found.target.channel != WebhookChannel.name:
        return webhook_is_gone(request, visitor)
    now = int(service.clock.now())
    shown["webhook"] = found.target
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
async def payload(request: Request, visitor: OwnerSignedIn, webhook_id: RowId, delivery_id: str) -> Response:
    """The sent bytes as a file."""
    found = await payload_file(request, visitor, webhook_id, delivery_id)
    return found or not_there(
        request, visitor, "webhooks", "There is no such delivery", f"/app/webhooks/{webhook_id}", "The webhook"
    )


@router.post("/app/webhooks/{webhook_id:int}/deliveries/{delivery_id}/resend")
async def resend(
    request: Request, service: InjectedService, visitor: OwnerSignedIn, webhook_id: RowId, delivery_id: str
) -> Response:
    """Send a delivery again, unchanged."""
    await limits_of(request).check(request, Limit.WEBHOOK_TEST)
    try:
        await service.notifications.webhooks.send_again(visitor.caller, webhook_id, delivery_id)
    except InvalidInput as error:
        return await log_page(request, visitor, webhook_id, 400, problem=str(error))
    return resent(f"/app/webhooks/{webhook_id}")


def webhook_is_gone(request: Request, visitor: Visitor) -> Response:
    """The page if the account has no webhook with an id."""
    return not_there(request, visitor, "webhooks", "There is no such webhook", "/app/webhooks", "All webhooks")
