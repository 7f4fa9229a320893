"""The page of events: unseen, all and archived ones, filters, marking, download."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.bootstrap import Service
from registerwatch.errors import InvalidInput
from registerwatch.files.tables.csv_file import Cell, Row
from registerwatch.pages.account.downloads import COUNTED_DOWNLOAD
from registerwatch.pages.account.events.event_query import KINDS, LISTS, MAX_LENGTH, SINGLE, EventQuery
from registerwatch.pages.account.events.event_rows import by_day
from registerwatch.pages.account.rendering import app_page, fragment_asked, redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.visitor import SignedIn, Visitor
from registerwatch.pages.forms import Form, form_of
from registerwatch.platform.clock import day_of, iso_utc
from registerwatch.watches.events.change_words import ChangeRow, row_of
from registerwatch.watches.events.event_marks import MAX_COUNTED, EventListing
from registerwatch.watches.events.event_rules import FIELDS, field_name, most_severe_first
from registerwatch.watches.events.event_search_repository import ListedEvent
from registerwatch.watches.events.event_selection import EventView, row_id
from registerwatch.watches.models import EventSeverity
from registerwatch.web.files.spreadsheet import csv_response
from registerwatch.web.injection import InjectedService

ROWS = 40
"""The rows of a page, which has less than 40 kB."""
REGION = "event-list"
DONE = {
    "seen": "Marked as seen: {n}. For you alone; the others in your account have their own marks.",
    "unseen": "Marked as unseen: {n}.",
    "archived": "Archived for everybody in your account: {n}. They are listed under “Archived”.",
    "unarchived": "Back among all events, as seen: {n}.",
    "nothing": "Nothing has changed: it was so already.",
}
VIEWS = {EventView.UNSEEN: "Unseen", EventView.ALL: "All", EventView.ARCHIVED: "Archived"}
HEADER = (
    *("Event", "Time (UTC)", "Time", "Time zone", "Severity", "About", "Watch", "UDI-DI or SRN"),
    *("Certificate", "Field", "Before", "After", "Seen by you", "Archived (UTC)", "Device", "Revision"),
)

router = account_pages()


@router.get("/app/events")
async def events(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """The list, or only the region that the script replaces."""
    return await _events_page(request, service, visitor, request.query_params.multi_items())


@router.post("/app/events")
async def mark(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Mark, archive or unarchive the chosen events. Archiving all matching events needs a confirmation."""
    form = await form_of(request)
    try:
        query = EventQuery.of(form.fields)
        if form["action"] == "archive" and form["all"] and not form["confirmed"]:
            return await _archive_page(request, service, visitor, form, query)
        done, number = await _marked(service, visitor, form, query)
    except InvalidInput as error:
        return await _events_page(request, service, visitor, form.fields, problem=str(error))
    if fragment_asked(request):
        marked = (DONE[done] if number else DONE["nothing"]).replace("{n}", f"{number:,}")
        return await _events_page(request, service, visitor, query.fields, marked=marked)
    return redirect_to(query.address, done=done if number else "nothing", n=number)


@router.get("/app/events.csv", dependencies=[COUNTED_DOWNLOAD])
async def events_csv(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """All matching events, a line for each changed field."""
    query = EventQuery.of(request.query_params.multi_items()).first
    batches = service.watches.marks.export(visitor.caller, query.selection(visitor.zone))
    now = service.clock.now()
    ended = visitor.caller.account.ended(now)
    until = f"-until-{visitor.day_of(ended.at)}" if ended is not None else ""  # no changes were looked for since
    return await csv_response(f"registerwatch-events{until}.csv", HEADER, _lines(batches, visitor, visitor.day_of(now)))


async def _events_page(
    request: Request,
    service: Service,
    visitor: Visitor,
    parameters: Sequence[tuple[str, str]],
    *,
    problem: str = "",
    marked: str = "",
) -> Response:
    try:
        query = EventQuery.of(parameters)
        selection = query.selection(visitor.zone)
        listing = await service.watches.marks.page(
            visitor.caller, selection, before=query.before, after=query.after, limit=ROWS
        )
    except InvalidInput as error:
        query, listing, problem = EventQuery(filters=_typed(parameters)), None, str(error)
    is_region = fragment_asked(request) == REGION
    shown = listing.events if listing else ()
    tags = [] if is_region else [(tag, tag) for tag in await service.watches.tags.counts(visitor.caller)]
    return await asyncio.to_thread(  # comparing long texts takes time
        app_page,
        request,
        visitor,
        "account/events_list.html" if is_region else "account/events.html",
        section="events",
        status=400 if problem else 200,
        done=DONE,
        query=query,
        listing=listing,
        days=by_day(shown, visitor.zone, listing.by_cause if listing else {}, visitor.day_of(service.clock.now())),
        chips=query.chips(_watch_name(query, shown)) if listing else [],
        views=_views(query, listing),
        since_yesterday=query.since(_yesterday(service.clock.now(), visitor.zone)),
        tags=tags,
        severities=[(each.value, each.value.capitalize()) for each in EventSeverity],
        kinds=list(KINDS.items()),
        fields=[(name, field_name(name).capitalize()) for name in FIELDS],
        max_counted=MAX_COUNTED,
        problem=problem,
        marked=marked,
        now=int(service.clock.now()),
    )


async def _archive_page(
    request: Request, service: Service, visitor: Visitor, form: Form, query: EventQuery
) -> Response:
    """Ask before archiving all matching events. The script shows this page whole."""
    if fragment_asked(request):
        raise InvalidInput("This is asked on a page of its own.")
    through = _through(form)
    number = await service.watches.marks.matching(visitor.caller, query.selection(visitor.zone), through)
    return app_page(
        request,
        visitor,
        "account/events_archive.html",
        section="events",
        query=query,
        chips=query.chips(f"number {query.value('watch')}"),
        words=VIEWS[query.view],
        number=number,
        max_counted=MAX_COUNTED,
        fields=[*query.fields, ("all", "1"), ("through", str(through)), ("confirmed", "1")],
    )


async def _marked(service: Service, visitor: Visitor, form: Form, query: EventQuery) -> tuple[str, int]:
    """Do what a form says. Returns what was done, and to how many events."""
    marks, caller, action = service.watches.marks, visitor.caller, form["action"]
    if form["all"] and action in ("seen", "unseen", "archive"):
        chosen = query.selection(visitor.zone), _through(form)
        if action == "seen":
            return "seen", await marks.mark_matching_seen(caller, *chosen)
        if action == "unseen":
            return "unseen", await marks.mark_matching_unseen(caller, *chosen)
        return "archived", await marks.archive_matching(caller, *chosen)
    ids = _ids(form["shown"].split(",") if action == "seen-shown" else form.all("event"))
    if action in ("seen", "seen-shown"):
        return "seen", await marks.mark_seen(caller, ids)
    if action == "unseen":
        return "unseen", await marks.mark_unseen(caller, ids)
    if action == "archive":
        return "archived", await marks.archive(caller, ids)
    if action == "unarchive":
        return "unarchived", await marks.unarchive(caller, ids)
    raise InvalidInput("Choose what to do with the events.")


def _ids(texts: Sequence[str]) -> Sequence[int]:
    ids = [found for text in texts if (found := row_id("an event", text)) is not None]
    if not ids:
        raise InvalidInput("Choose events first: tick the boxes beside them.")
    return ids


def _through(form: Form) -> int:
    """The newest event of the account when the form was shown; later events are not marked."""
    return row_id("an event", form["through"]) or 0


def _views(query: EventQuery, listing: EventListing | None) -> list[tuple[str, str, int | None, bool]]:
    """The tabs, with the number of unseen events while no filter is on."""
    unseen = listing.unseen.total if listing and not query.is_filtered else None
    numbers = {EventView.UNSEEN: unseen if unseen != MAX_COUNTED else None}
    return [(query.with_view(each), VIEWS[each], numbers.get(each), each is query.view) for each in EventView]


def _yesterday(now: float, zone: ZoneInfo) -> date:
    return datetime.fromtimestamp(now, zone).date() - timedelta(days=1)


def _watch_name(query: EventQuery, shown: Sequence[ListedEvent]) -> str:
    """The name of the watch that the filtered list is about."""
    return shown[0].event.label if shown and query.value("watch") else f"number {query.value('watch')}"


def _typed(parameters: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Filters as typed, for a form that shows a problem with one."""
    return tuple((name, value[:MAX_LENGTH]) for name, value in parameters if name in (*LISTS, *SINGLE) and value)


async def _lines(batches: AsyncIterator[Sequence[ListedEvent]], visitor: Visitor, today: date) -> AsyncIterator[Row]:
    async for batch in batches:
        for each in batch:
            for line in _lines_of(each, visitor, today):
                yield line


def _lines_of(listed: ListedEvent, visitor: Visitor, today: date) -> list[Row]:
    event = listed.event
    day = day_of(event.created_at)
    at, local = iso_utc(event.created_at), datetime.fromtimestamp(event.created_at, visitor.zone)
    about: list[Cell] = [event.id, at, f"{local:%Y-%m-%d %H:%M:%S}", visitor.zone.key, event.severity, event.kind]
    about += [event.label, event.subject]
    archived = iso_utc(listed.archived_at) if listed.archived_at is not None else ""
    end: list[Cell] = ["yes" if listed.is_seen else "no", archived]
    changes: list[tuple[list[Cell], list[Cell]]] = [
        (_change_cells(row_of(each, day), today), [each.device, each.revision])
        for each in most_severe_first(event.changes, day)
    ]
    return [[*about, *change, *end, *which] for change, which in changes or [([""] * 4, [""] * 2)]]


def _change_cells(row: ChangeRow, today: date) -> list[Cell]:
    """Certificate, field, before and after. Dates stay ISO dates, which spreadsheets can sort."""
    how = row.when(today) if row.is_end else row.beside
    after = (", " if row.is_end else " ").join(filter(None, [row.after, how]))
    return [row.certificate, row.name, row.before or "", after]
