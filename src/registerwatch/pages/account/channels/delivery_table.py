"""The log of one channel on its page: by outcome, page by page, sending one again."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.errors import InvalidInput
from registerwatch.notifications.delivery.delivery_log import PAGE_ROWS, LogPage
from registerwatch.notifications.models import EventType, LoggedDelivery, Outcome
from registerwatch.pages.account.rendering import redirect_to
from registerwatch.pages.account.visitor import Visitor
from registerwatch.pages.addresses import page_parameter, with_query
from registerwatch.pages.page_position import MAX_PAGE, PagePosition
from registerwatch.web.injection import service_of
from registerwatch.web.responses import NOT_CACHED

ABANDONED_SECONDS = 120
"""Longer than any test. One without an end by then never ends: its process was stopped."""
POLLED_SECONDS = 600
"""While a delivery younger than this is on its way, the script reads the log again, if its address allows that."""
CHIPS = (
    (None, "All"),
    (Outcome.ACCEPTED, "Accepted"),
    (Outcome.FAILED, "Failed"),
    (Outcome.UNDER_WAY, "Under way"),
)
BAD_OUTCOME = "`outcome` is accepted, failed or under-way."
BAD_PAGE = f"`page` is a number from 1 to {MAX_PAGE:,}."


async def asked_log(request: Request, visitor: Visitor, target_id: int, base: str) -> dict[str, Any] | None:
    """The log's template context for a request; None if there is no such target.

    `base` is the address of the page. Raises `InvalidInput`.
    """
    service = service_of(request)
    outcome, number = _outcome(request), _page_number(request)
    found = await service.notifications.log.page(visitor.caller.account.id, target_id, outcome, number)
    if found is None:
        return None
    now, total = int(service.clock.now()), found.counts.of(outcome)
    return {
        "base": base,
        "log": found,
        "outcome": outcome,
        "chips": [(_address(base, each), words, found.counts.of(each), each is outcome) for each, words in CHIPS],
        "paging": PagePosition(number, PAGE_ROWS, total),
        "newer": _address(base, outcome, number - 1) if number > 1 else "",
        "older": _address(base, outcome, number + 1) if number * PAGE_ROWS < total else "",
        "polls": request.method == "GET" and any(_ends_soon(each, now) for each in _under_way(found)),
        "abandoned": {each.id for each in _under_way(found) if _is_abandoned(each, now)},
    }


async def payload_file(request: Request, visitor: Visitor, target_id: int, delivery_id: str) -> Response | None:
    """The sent bytes as a file; None if there is no such delivery, or it has no body yet."""
    account_id = visitor.caller.account.id
    found = await service_of(request).notifications.log.delivery(account_id, target_id, delivery_id)
    if found is None or found.body is None:
        return None
    is_json = found.body.startswith("{")
    name, media_type = ("delivery.json", "application/json") if is_json else ("delivery.txt", "text/plain")
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": NOT_CACHED}
    return Response(found.body, headers=headers, media_type=media_type)


def resent(base: str) -> Response:
    """The page after sending a delivery again."""
    return redirect_to(_address(base, Outcome.UNDER_WAY), done="resent")


def _address(base: str, outcome: Outcome | None, number: int = 1) -> str:
    return with_query(base, (("outcome", outcome.value if outcome else ""), ("page", page_parameter(number))))


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


def _ends_soon(delivery: LoggedDelivery, now: int) -> bool:
    """Whether a delivery may end in a moment. One that waits for its hour or its round does not."""
    begun_at = max(delivery.created_at, delivery.due_at or 0)
    return begun_at <= now < begun_at + POLLED_SECONDS


def _is_abandoned(delivery: LoggedDelivery, now: int) -> bool:
    return delivery.type is EventType.TEST and now - delivery.created_at > ABANDONED_SECONDS
