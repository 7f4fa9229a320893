"""The first page of the account: what is new, what does not work, how fresh all of it is."""

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.plans import PlanName
from registerwatch.bootstrap import Service
from registerwatch.pages.account.changes import severity_tone, shown_changes
from registerwatch.pages.account.confirm_address import MAILED
from registerwatch.pages.account.rendering import app_page
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.today_view import NEW_ACCOUNT_SECONDS, FirstSteps, Today
from registerwatch.pages.account.visitor import SignedIn, Visitor
from registerwatch.watches.overview import SHOWN, WatchOverview
from registerwatch.web.injection import InjectedService

SHOWN_EVENTS = 8

router = account_pages()


@router.get("/app")
async def today(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """What is new."""
    caller, now = visitor.caller, service.clock.now()
    overview = await service.watches.overview.read(caller)
    must_confirm = await service.accounts.confirmations.is_open(caller)
    webhooks = await service.notifications.webhooks.all(caller.account.id)
    view = Today(
        now=int(now),
        overview=overview,
        unseen=await service.watches.marks.most_severe_unseen(caller, SHOWN_EVENTS),
        webhooks=len(webhooks),
        failing_webhooks=[each for each in webhooks if each.last_ok is False],
        copy=await service.records.state(),
        must_confirm=must_confirm,
        steps=await _first_steps(service, visitor, overview, has_webhook=bool(webhooks), is_confirmed=not must_confirm),
    )
    return app_page(
        request,
        visitor,
        "account/today.html",
        section="today",
        done=MAILED,
        view=view,
        shown=SHOWN,
        is_trial=caller.account.plan.name is PlanName.TRIAL,
        shown_changes=shown_changes,
        severity_tone=severity_tone,
    )


async def _first_steps(
    service: Service, visitor: Visitor, overview: WatchOverview, *, has_webhook: bool, is_confirmed: bool
) -> FirstSteps | None:
    """What a new account does first; None where it has done it all or is not new. Members confirm and watch."""
    caller, can_mail = visitor.caller, service.accounts.confirmations.can_mail
    if service.clock.now() - caller.account.created_at > NEW_ACCOUNT_SECONDS:
        return None
    if not visitor.is_owner:
        steps = FirstSteps(can_mail, is_confirmed, watches=overview.total > 0)
        return None if steps.watches and is_confirmed else steps
    steps = FirstSteps(
        can_mail,
        is_confirmed,
        watches=overview.total > 0,
        has_webhook=has_webhook,
        has_feed=bool(await service.feeds.all(caller)),
        has_colleague=len(await service.accounts.members.users(caller)) > 1,
    )
    return None if steps.are_done else steps
