"""The page of one channel: its state, what is sent to it, a test, a pause, removal, the log of deliveries."""

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.errors import InvalidInput, Overloaded
from registerwatch.notifications.channels.webhook import WebhookChannel
from registerwatch.notifications.choices import Choice, Frequency
from registerwatch.notifications.models import EMAIL
from registerwatch.notifications.targets.channel_models import ChannelChange, ListedChannel
from registerwatch.pages.account.channels.choice_words import (
    FREQUENCIES,
    SEVERITIES,
    WEEKDAYS,
    choice_in_words,
    destination_of,
    title_of,
)
from registerwatch.pages.account.channels.delivery_table import asked_log, payload_file, resent
from registerwatch.pages.account.channels.notifications import ADDRESS
from registerwatch.pages.account.proof import require_proof
from registerwatch.pages.account.questions import ask_once, not_there
from registerwatch.pages.account.rendering import app_page, fragment_asked, redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.row_ids import RowId
from registerwatch.pages.account.visitor import SignedIn, Visitor
from registerwatch.pages.forms import Form, form_of
from registerwatch.pages.rendering import unindexed_page
from registerwatch.watches.models import EventSeverity
from registerwatch.web.injection import InjectedService, limits_of, service_of
from registerwatch.web.limits.rate_limits import Limit

DONE = {
    "added": "The channel is added. Send a test, and choose below what it is told.",
    "changed": "The channel is told this from now on.",
    "paused": "Nothing more is sent there until you let it go on.",
    "goes-on": "The channel goes on. What changed meanwhile is not sent later; it is on the page “Events”.",
    "resent": "The delivery goes out again within seconds, with the same id and body.",
}
BAD_CHOICE = "Choose one of the options that the form shows."

router = account_pages()


@router.get(ADDRESS + "/{channel_id:int}")
async def channel(request: Request, visitor: SignedIn, channel_id: RowId) -> Response:
    """One channel with its log."""
    return await channel_page(request, visitor, channel_id)


@router.post(ADDRESS + "/{channel_id:int}")
async def change(request: Request, service: InjectedService, visitor: SignedIn, channel_id: RowId) -> Response:
    """Change its name and what is sent to it."""
    form = await form_of(request)
    try:
        watches = await service.notifications.choice_names.watches(visitor.caller, form["watches"])
        asked = ChannelChange(
            name=form["name"],
            choice=_choice(form, watches),
            time_zone=form["zone"] or None,
            repeats=bool(form["repeats"]) if form["has-repeats"] else None,
        )
        await service.notifications.channels.change(visitor.caller, channel_id, asked)
    except InvalidInput as error:
        return await channel_page(request, visitor, channel_id, 400, form=form, problem=str(error))
    return redirect_to(f"{ADDRESS}/{channel_id}", done="changed")


@router.post(ADDRESS + "/{channel_id:int}/off")
async def turn_off(request: Request, service: InjectedService, visitor: SignedIn, channel_id: RowId) -> Response:
    """Stop sending anything there."""
    off = ChannelChange(choice=Choice(frequency=Frequency.OFF))
    try:
        await service.notifications.channels.change(visitor.caller, channel_id, off)
    except InvalidInput:
        return _gone(request, visitor)
    return redirect_to(ADDRESS, done="off")


@router.post(ADDRESS + "/{channel_id:int}/pause")
async def pause(request: Request, service: InjectedService, visitor: SignedIn, channel_id: RowId) -> Response:
    """Pause or resume it."""
    is_paused = (await form_of(request))["action"] != "end"
    try:
        await service.notifications.channels.change(visitor.caller, channel_id, ChannelChange(is_paused=is_paused))
    except InvalidInput:
        return _gone(request, visitor)
    return redirect_to(f"{ADDRESS}/{channel_id}", done="paused" if is_paused else "goes-on")


@router.post(ADDRESS + "/{channel_id:int}/test")
async def test(request: Request, service: InjectedService, visitor: SignedIn, channel_id: RowId) -> Response:
    """Send a test; the next page says how it was received."""
    await limits_of(request).check(request, Limit.WEBHOOK_TEST)
    try:
        result = await service.notifications.channels.test(visitor.caller, channel_id)
    except InvalidInput:
        return _gone(request, visitor)
    except Overloaded as error:
        return await channel_page(request, visitor, channel_id, 503, problem=str(error))
    return redirect_to(f"{ADDRESS}/{channel_id}?tested={result.delivery_id}")


@router.get(ADDRESS + "/{channel_id:int}/remove")
async def remove_question(request: Request, service: InjectedService, visitor: SignedIn, channel_id: RowId) -> Response:
    """Ask before removing a channel."""
    try:
        listed = await service.notifications.channels.get(visitor.caller, channel_id)
    except InvalidInput:
        return _gone(request, visitor)
    return ask_once(
        request,
        visitor,
        "notifications",
        heading="Remove this channel?",
        about=_heading(request, listed),
        consequences=(
            "Nothing more is sent there, what waits for a digest included.",
            "The log of its deliveries is deleted, for good.",
            "Events stay: on the page “Events”, in feeds, and at your other channels.",
        ),
        button="Remove the channel",
        back=f"{ADDRESS}/{channel_id}",
    )


@router.post(ADDRESS + "/{channel_id:int}/remove")
async def remove(request: Request, service: InjectedService, visitor: SignedIn, channel_id: RowId) -> Response:
    """Remove a channel. A channel of the account needs the password."""
    form = await form_of(request)
    try:
        listed = await service.notifications.channels.get(visitor.caller, channel_id)
    except InvalidInput:
        return _gone(request, visitor)
    if listed.target.user_id is None:
        await require_proof(request, visitor, form, "Remove a channel")
    await service.notifications.channels.remove(visitor.caller, channel_id)
    return redirect_to(ADDRESS, done="removed")


@router.get(ADDRESS + "/{channel_id:int}/deliveries/{delivery_id}/payload.json")
async def payload(
    request: Request, service: InjectedService, visitor: SignedIn, channel_id: RowId, delivery_id: str
) -> Response:
    """The sent bytes as a file."""
    try:
        await service.notifications.channels.get(visitor.caller, channel_id)
    except InvalidInput:
        return _gone(request, visitor)
    found = await payload_file(request, visitor, channel_id, delivery_id)
    return found or not_there(
        request, visitor, "notifications", "There is no such delivery", f"{ADDRESS}/{channel_id}", "The channel"
    )


@router.post(ADDRESS + "/{channel_id:int}/deliveries/{delivery_id}/resend")
async def resend(
    request: Request, service: InjectedService, visitor: SignedIn, channel_id: RowId, delivery_id: str
) -> Response:
    """Send a delivery again, unchanged."""
    await limits_of(request).check(request, Limit.WEBHOOK_TEST)
    try:
        await service.notifications.channels.send_again(visitor.caller, channel_id, delivery_id)
    except InvalidInput as error:
        return await channel_page(request, visitor, channel_id, 400, problem=str(error))
    return resent(f"{ADDRESS}/{channel_id}")


async def channel_page(
    request: Request,
    visitor: Visitor,
    channel_id: int,
    status: int = 200,
    *,
    form: Form | None = None,
    problem: str = "",
) -> Response:
    """The page, or only the log if the script asks for it. Raises `InvalidInput`, `OwnerOnly`."""
    service, caller = service_of(request), visitor.caller
    base = f"{ADDRESS}/{channel_id}"
    try:
        listed = await service.notifications.channels.get(caller, channel_id)
    except InvalidInput:
        return _gone(request, visitor)
    shown = await asked_log(request, visitor, channel_id, base)
    if shown is None:
        return _gone(request, visitor)
    if fragment_asked(request) == "log":
        return unindexed_page(request, "account/webhook_log.html", 200, zone=visitor.zone, **shown)
    target, tested = listed.target, request.query_params.get("tested", "")
    tags, subjects = await service.notifications.choice_names.of(caller, target.choice)
    return app_page(
        request,
        visitor,
        "account/notification.html",
        section="notifications",
        status=status,
        done=DONE,
        listed=listed,
        heading=_heading(request, listed),
        words=choice_in_words(target.choice, target.time_zone, caller.time_zone),
        is_email=target.channel == EMAIL,
        is_webhook=target.channel == WebhookChannel.name,
        chosen=target.choice if form is None else _typed(form, target.choice),
        name=target.name if form is None else form["name"],
        zone_name=target.time_zone if form is None else form["zone"],
        watches="\n".join(subjects) if form is None else form["watches"],
        tags=list(dict.fromkeys([*target.choice.tags, *tags])),
        frequencies=FREQUENCIES,
        severities=SEVERITIES,
        weekdays=WEEKDAYS,
        problem=problem,
        is_new=request.query_params.get("done") == "added",
        tested=await service.notifications.log.delivery(caller.account.id, channel_id, tested) if tested else None,
        **shown,
    )


def _heading(request: Request, listed: ListedChannel) -> str:
    channels = service_of(request).notifications.channels.channels
    return listed.target.name or f"{title_of(channels, listed.target.channel)}: {destination_of(listed.target)}"


def _gone(request: Request, visitor: Visitor) -> Response:
    return not_there(request, visitor, "notifications", "There is no such channel", ADDRESS, "All channels")


def _choice(form: Form, watches: tuple[int, ...]) -> Choice:
    """The choice in a form. Raises `InvalidInput` for values that our forms do not send."""
    try:
        return Choice(
            frequency=Frequency(form["frequency"]),
            severity=EventSeverity(form["severity"]),
            high_at_once=bool(form["high-at-once"]),
            hour=int(form["hour"][:10]),
            weekday=int(form["weekday"][:10]),
            tags=tuple(form.all("tag")),
            watches=watches,
        )
    except ValueError:
        raise InvalidInput(BAD_CHOICE) from None


def _typed(form: Form, before: Choice) -> Choice:
    """The typed values, shown after a mistake."""
    try:
        return _choice(form, before.watches)
    except InvalidInput:
        return before
