"""The page of notifications: channels of the user and the account, adding one, pausing all."""

from datetime import UTC, datetime, timedelta

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.errors import CapReached, InvalidInput
from registerwatch.notifications.choices import Choice, Frequency
from registerwatch.notifications.models import EMAIL, MAX_TARGETS
from registerwatch.notifications.targets.channel_models import MAX_PAUSE_SECONDS, ListedChannel, NewChannel
from registerwatch.notifications.targets.channel_state import Access
from registerwatch.pages.account.channels.choice_words import choice_in_words, destination_of, title_of
from registerwatch.pages.account.days import day_of, start_of
from registerwatch.pages.account.proof import require_proof
from registerwatch.pages.account.rendering import app_page, redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.sent_once import SentBefore, new_form_token, sent_once
from registerwatch.pages.account.visitor import OwnerSignedIn, SignedIn, Visitor
from registerwatch.pages.forms import Form, form_of
from registerwatch.web.injection import InjectedService, service_of

ADDRESS = "/app/notifications"
DONE = {
    "removed": "The channel is removed, with its deliveries.",
    "off": "Nothing more is sent to that address.",
    "waits": "Nothing is sent until that day.",
    "goes-on": "What waited is sent now.",
    "sent-before": "This form was sent before, and did then what it does.",
}
NO_DAY = "Choose the day on which notifications go on."

router = account_pages()


@router.get(ADDRESS)
async def notifications(request: Request, visitor: SignedIn) -> Response:
    """List the channels."""
    return await list_page(request, visitor)


@router.post(ADDRESS + "/email")
async def add_email(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Send changes to the user's own address."""
    frequency = (await form_of(request))["frequency"]
    choice = Choice(frequency=Frequency.AT_ONCE)
    if frequency in (Frequency.DAILY, Frequency.WEEKLY):
        choice = Choice(frequency=Frequency(frequency), high_at_once=True)
    try:
        added = await service.notifications.channels.add(visitor.caller, NewChannel(EMAIL, choice=choice))
    except (InvalidInput, CapReached) as error:
        return await list_page(request, visitor, 400, email_problem=str(error))
    return redirect_to(f"{ADDRESS}/{added.target.id}", done="added")


@router.post(ADDRESS)
async def add(request: Request, service: InjectedService, visitor: OwnerSignedIn) -> Response:
    """Add a channel of the account. A form that is sent again adds nothing."""
    form = await form_of(request)
    await require_proof(request, visitor, form, "Add a channel")
    new = NewChannel(form["channel"], form["url"], form["name"], time_zone=visitor.caller.time_zone)
    try:
        async with sent_once(service, visitor, form):
            added = await service.notifications.channels.add(visitor.caller, new)
    except SentBefore:
        return redirect_to(ADDRESS, done="sent-before")
    except (InvalidInput, CapReached) as error:
        return await list_page(request, visitor, 400, form=form, problem=str(error))
    return redirect_to(f"{ADDRESS}/{added.target.id}", done="added")


@router.post(ADDRESS + "/pause")
async def pause(request: Request, service: InjectedService, visitor: OwnerSignedIn) -> Response:
    """Pause all notifications of the account until the beginning of a day, or resume them."""
    form = await form_of(request)
    try:
        until = None if form["action"] == "end" else start_of(day_of(form["until"]), visitor.zone)
        if until is None and form["action"] != "end":
            raise InvalidInput(NO_DAY)
        await service.notifications.channels.pause(visitor.caller, until)
    except InvalidInput as error:
        return await list_page(request, visitor, 400, form=form, pause_problem=str(error))
    return redirect_to(ADDRESS, done="goes-on" if until is None else "waits")


async def list_page(
    request: Request,
    visitor: Visitor,
    status: int = 200,
    *,
    form: Form | None = None,
    problem: str = "",
    email_problem: str = "",
    pause_problem: str = "",
) -> Response:
    """The page, with the problem of one of its forms."""
    service, caller = service_of(request), visitor.caller
    channels = service.notifications.channels
    found = await channels.of_account(caller)
    present = found.channels
    shared = [each for each in present if each.target.user_id is None]
    today = datetime.fromtimestamp(service.clock.now(), UTC).astimezone(visitor.zone).date()
    return app_page(
        request,
        visitor,
        "account/notifications.html",
        section="notifications",
        status=status,
        done=DONE,
        own=[each for each in present if _is_own(each, visitor)],
        shared=shared,
        others=[each for each in present if each.target.user_id is not None and not _is_own(each, visitor)],
        paused_until=found.paused_until,
        kinds=[each for each in channels.channels if each.name != EMAIL],
        can_mail=service.accounts.confirmations.can_mail,
        cap=MAX_TARGETS,
        typed={name: form[name] if form else "" for name in ("channel", "url", "name", "until")},
        form_token=new_form_token(),
        problem=problem,
        email_problem=email_problem,
        pause_problem=pause_problem,
        tomorrow=(today + timedelta(days=1)).isoformat(),
        latest=(today + timedelta(seconds=MAX_PAUSE_SECONDS)).isoformat(),
        silenced=Access.SILENCE,
        words=lambda each: choice_in_words(each.target.choice, each.target.time_zone, caller.time_zone),
        title=lambda each: title_of(channels.channels, each.target.channel),
        destination=lambda each: destination_of(each.target),
    )


def _is_own(listed: ListedChannel, visitor: Visitor) -> bool:
    return listed.target.user_id is not None and listed.target.user_id == visitor.caller.user_id
