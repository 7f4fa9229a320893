"""The page of one watch: its record, its timeline and its settings."""

from collections.abc import Mapping
from datetime import date

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.bootstrap import Service
from registerwatch.copy.records import LastRead
from registerwatch.errors import CapReached, InvalidInput, PeriodEnded
from registerwatch.lookup.devices import ServedDevice
from registerwatch.pages.account.events.changes import severity_tone
from registerwatch.pages.account.questions import ask_once, not_there
from registerwatch.pages.account.rendering import app_page, redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.row_ids import RowId
from registerwatch.pages.account.visitor import SignedIn, Visitor
from registerwatch.pages.account.watches.watch_view import WatchView
from registerwatch.pages.forms import Form, form_of
from registerwatch.pages.public.certificates.listed_certificates import MAX_BESIDE, section_of_actor
from registerwatch.pages.public.device import DeviceView, is_gone
from registerwatch.platform.clock import iso_utc
from registerwatch.register.certificate_kinds import what_was_examined
from registerwatch.register.identifiers import is_actor_of_devices
from registerwatch.watches.events.event_selection import EventSelection, EventView, row_id
from registerwatch.watches.options import MAX_NOTES_LENGTH, WatchOptions, notes_of
from registerwatch.watches.questions.timeline import PAGE_LENGTH, Position
from registerwatch.watches.questions.watch_details import WatchDetails, WatchEdit
from registerwatch.watches.tags import tags_of_text
from registerwatch.web.injection import InjectedService, limits_of
from registerwatch.web.limits.rate_limits import Limit

DONE = {
    "added": "You watch this from now on. What the register says today is the baseline.",
    "existing": "You watch this already. Nothing was changed.",
    "saved": "Saved.",
    "seen": "Marked as seen: {n}.",
    "read-changed": "Read from the register just now. Something changed: see the timeline.",
    "read-unchanged": "Read from the register just now. Nothing that is compared has changed.",
    "read-first": "Read from the register for the first time. What it says is the baseline.",
    "read-failed": "It could not be read just now. The reason stands below; what was read before is kept.",
    "read-unasked": "The register was not asked: its limit of requests is used up for now. Try again in a minute.",
}
OPTIONS = ("notifies", "portfolio", "certificates")
"""The form's check boxes."""

router = account_pages()
_served = msgspec.json.Decoder(ServedDevice)


@router.get("/app/watches/{watch_id:int}")
async def watch(request: Request, watch_id: RowId, service: InjectedService, visitor: SignedIn) -> Response:
    """The watch with a page of its timeline."""
    return await _page(request, service, visitor, watch_id)


@router.post("/app/watches/{watch_id:int}")
async def change(request: Request, watch_id: RowId, service: InjectedService, visitor: SignedIn) -> Response:
    """Set name, tags, notes and options. If there is a problem, the form keeps the typed values."""
    form = await form_of(request)
    problems = _problems(form)
    options = WatchOptions(**{name: bool(form[name]) for name in OPTIONS})
    edit = WatchEdit(form["name"], form["tags"], form["notes"], options)
    if not problems:
        try:
            if not await service.watches.details.change(visitor.caller, watch_id, edit):
                return _no_watch(request, visitor)
        except CapReached as error:
            problems = {"tags": str(error)}
        except PeriodEnded as error:
            problems = {"all": str(error)}
    if problems:
        return await _page(request, service, visitor, watch_id, edit=edit, problems=problems)
    return redirect_to(f"/app/watches/{watch_id}", done="saved")


@router.post("/app/watches/{watch_id:int}/read")
async def read(request: Request, watch_id: RowId, service: InjectedService, visitor: SignedIn) -> Response:
    """Read its subject from the register now."""
    await limits_of(request).check(request, Limit.WATCH_READ)
    result = await service.watches.details.read_register(visitor.caller, watch_id)
    if result is None:
        return _no_watch(request, visitor)
    return redirect_to(f"/app/watches/{watch_id}", done=f"read-{result}")


@router.post("/app/watches/{watch_id:int}/seen")
async def mark_seen(request: Request, watch_id: RowId, service: InjectedService, visitor: SignedIn) -> Response:
    """Mark the watch's events seen that existed when the page was shown."""
    through = row_id("an event", (await form_of(request))["through"]) or 0
    unseen = EventSelection(EventView.UNSEEN, watch_id=watch_id)
    number = await service.watches.marks.mark_matching_seen(visitor.caller, unseen, through)
    return redirect_to(f"/app/watches/{watch_id}", done="seen", n=number)


@router.get("/app/watches/{watch_id:int}/stop")
async def stop_form(request: Request, watch_id: RowId, service: InjectedService, visitor: SignedIn) -> Response:
    """Ask before stopping to watch, and say what is deleted and what stays."""
    details = await service.watches.details.read(visitor.caller, watch_id)
    if details is None:
        return _no_watch(request, visitor)
    return ask_once(
        request,
        visitor,
        "watches",
        heading="Stop watching this?",
        about=details.watch.label,
        consequences=(
            "It is not read for this account any more, and makes no events.",
            "Its name, tags, notes and its list of failed reads go, for everybody in the account.",
            "The events that it made stay under Events.",
        ),
        button="Stop watching",
        back=f"/app/watches/{watch_id}",
    )


@router.post("/app/watches/{watch_id:int}/stop")
async def stop(request: Request, watch_id: RowId, service: InjectedService, visitor: SignedIn) -> Response:
    """Stop watching. A form that is sent again gets the same answer."""
    await service.watches.service.remove(visitor.caller, watch_id)
    return redirect_to("/app/watches", done="removed")


async def _page(
    request: Request,
    service: Service,
    visitor: Visitor,
    watch_id: int,
    *,
    edit: WatchEdit | None = None,
    problems: Mapping[str, str] | None = None,
) -> Response:
    before = Position.of(request.query_params["before"]) if request.query_params.get("before") else None
    details = await service.watches.details.read(visitor.caller, watch_id, before=before)
    if details is None:
        return _no_watch(request, visitor)
    name = details.watch.label if details.is_renamed else ""
    view = await _view(service, visitor, details, before)
    maker = view.seen.manufacturer_srn if view.is_device and view.ended is None else ""
    return app_page(
        request,
        visitor,
        "account/watch.html",
        section="watches",
        status=400 if problems else 200,
        done=DONE,
        view=view,
        is_maker_gone=await is_gone(service, maker),
        edit=edit or WatchEdit(name, ", ".join(details.tags), details.notes, details.options),
        problems=problems or {},
        max_notes_length=MAX_NOTES_LENGTH,
        what_was_examined=what_was_examined,
        severity_tone=severity_tone,
    )


async def _view(service: Service, visitor: Visitor, details: WatchDetails, before: Position | None) -> WatchView:
    """The watch with what the copy has of its subject; without that where nothing is read for the watch any more, since
    the copy may be newer than its snapshot.
    """
    subject, now = details.watch.subject, service.clock.now()
    today = visitor.day_of(now)
    unseen = await service.watches.marks.unseen_of_watch(visitor.caller, details.watch.id, PAGE_LENGTH + 1)
    ended = visitor.caller.account.ended(now)
    if ended is not None:
        return WatchView(details, now, visitor.zone, before, unseen=unseen, ended=ended)
    device = actor = instants = registered = None
    if details.watch.kind == "udi":
        instants = await service.records.last_read(subject)
        device = await _device(service, subject, instants, today)
    else:
        actor, registered = await service.documents.actor(subject), await service.actors.registered(subject)
    is_real = service.settings.reads_real_register
    certificates = None
    if is_actor_of_devices(subject) and details.watch.kind == "srn":
        certificates = await section_of_actor(service, subject, today, most=MAX_BESIDE)
    return WatchView(
        details,
        now,
        visitor.zone,
        before,
        device,
        actor,
        is_real,
        unseen,
        certificates,
        instants,
        registered=registered,
    )


async def _device(service: Service, udi: str, instants: LastRead | None, today: date) -> DeviceView | None:
    """What the copy has of a device. Newer reads of other devices are those after its last read for any purpose."""
    answer = await service.devices.known(udi)
    if answer is None:
        return None
    served = _served.decode(answer.body)
    certs_at = instants.certs_at if instants is not None else None
    read_at = served.basic_read_at if certs_at is None else iso_utc(certs_at)
    newer = await service.certificates.newer_reads(served, read_at, today)
    return DeviceView(served, today, is_listed=answer.is_listed, newer_reads=newer)


def _problems(form: Form) -> dict[str, str]:
    """The problems of the typed values, by field."""
    problems = {}
    for name, parse in (("notes", notes_of), ("tags", tags_of_text)):
        try:
            parse(form[name])
        except InvalidInput as error:
            problems[name] = str(error)
    return problems


def _no_watch(request: Request, visitor: Visitor) -> Response:
    """The page for a missing watch and for another account's."""
    return not_there(request, visitor, "watches", "There is no such watch", "/app/watches", "All watches")
