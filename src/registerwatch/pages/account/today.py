"""The first page of the account: new events, problems, age of the data."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.bootstrap import Service
from registerwatch.notifications.bounces.undeliverable import undeliverable_of
from registerwatch.notifications.models import EMAIL
from registerwatch.notifications.targets.channel_models import ListedChannel
from registerwatch.notifications.targets.channel_state import has_recipient
from registerwatch.pages.account.channels.mails_came_back import MAILS_ON
from registerwatch.pages.account.events.event_rows import rows_of
from registerwatch.pages.account.rendering import app_page
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.sign_in.confirm_address import MAILED
from registerwatch.pages.account.today_view import NEW_ACCOUNT_SECONDS, FirstSteps, Today
from registerwatch.pages.account.visitor import SignedIn, Visitor
from registerwatch.watches.questions.overview import SHOWN, WatchOverview
from registerwatch.web.injection import InjectedService

SHOWN_ROWS = 8
"""Events, or groups of one cause."""
LOOKED_AT = 100
"""Unseen events that are read, the most severe first: a certificate of many devices has one for each."""

router = account_pages()


@router.get("/app")
async def today(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """The first page."""
    caller, now = visitor.caller, service.clock.now()
    overview = await service.watches.overview.read(caller, zone=visitor.zone)
    must_confirm = await service.accounts.confirmations.is_open(caller)
    listed = await service.notifications.channels.of_account(caller)
    channels = listed.channels
    has_feed = bool(await service.feeds.all(caller)) if _asks_for_feeds(service, visitor, channels) else False
    unseen = await service.watches.marks.most_severe_unseen(caller, LOOKED_AT)
    view = Today(
        now=int(now),
        overview=overview,
        unseen=unseen,
        changed=rows_of(unseen.events, unseen.by_cause, visitor.day_of(now))[:SHOWN_ROWS],
        channels=len([each for each in channels if _is_shown(each, visitor)]),
        failing_channels=[each for each in channels if _is_shown(each, visitor) and each.needs_care],
        paused_until=listed.paused_until,
        has_no_notifications=not (has_feed or has_recipient([each.target for each in channels])),
        copy=await service.records.state(),
        must_confirm=must_confirm,
        steps=await _first_steps(
            service, visitor, overview, channels, has_feed=has_feed, is_confirmed=not must_confirm
        ),
    )
    return app_page(
        request,
        visitor,
        "account/today.html",
        section="today",
        done=MAILED | MAILS_ON,
        view=view,
        sends_mail=service.accounts.confirmations.can_mail,
        shown=SHOWN,
        undeliverable=undeliverable_of([each.target for each in channels], caller.user_id),
        plan_end=await service.billing.plan_end(caller.account),
    )


async def _first_steps(
    service: Service,
    visitor: Visitor,
    overview: WatchOverview,
    channels: Sequence[ListedChannel],
    *,
    has_feed: bool,
    is_confirmed: bool,
) -> FirstSteps | None:
    """The first steps of a new account; None if all are done or it is not new. Members confirm and watch."""
    caller, can_mail = visitor.caller, service.accounts.confirmations.can_mail
    if not _is_new(service, visitor):
        return None
    if not visitor.is_owner:
        steps = FirstSteps(can_mail, is_confirmed, watches=overview.total > 0)
        return None if steps.watches and is_confirmed else steps
    steps = FirstSteps(
        can_mail,
        is_confirmed,
        watches=overview.total > 0,
        has_email=any(each.target.channel == EMAIL for each in channels),
        has_channel=any(each.target.channel != EMAIL for each in channels),
        has_feed=has_feed,
        has_colleague=len(await service.accounts.members.users(caller)) > 1,
    )
    return None if steps.are_done else steps


def _is_new(service: Service, visitor: Visitor) -> bool:
    return service.clock.now() - visitor.caller.account.created_at <= NEW_ACCOUNT_SECONDS


def _asks_for_feeds(service: Service, visitor: Visitor, channels: Sequence[ListedChannel]) -> bool:
    """Whether the page needs to know if there are feeds."""
    is_notified = has_recipient([each.target for each in channels])
    return not is_notified or (visitor.is_owner and _is_new(service, visitor))


def _is_shown(listed: ListedChannel, visitor: Visitor) -> bool:
    """Whether a user may see a channel: members do not see others' addresses."""
    return visitor.is_owner or listed.target.user_id in (None, visitor.caller.user_id)
