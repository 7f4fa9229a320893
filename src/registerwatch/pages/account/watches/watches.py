"""The page of all watches: a table with filters and sorting, and bulk changes."""

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.bootstrap import Service
from registerwatch.errors import CapReached, InvalidInput, PeriodEnded
from registerwatch.pages.account.rendering import app_page, fragment_asked, redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.visitor import SignedIn, Visitor
from registerwatch.pages.account.watches.watch_query import WatchQuery
from registerwatch.pages.account.watches.watch_rows import WatchTable, sync_view
from registerwatch.pages.forms import Form, form_of
from registerwatch.platform.db.row_pages import row_id_of
from registerwatch.platform.structs import replace
from registerwatch.watches.bulk import Selection
from registerwatch.web.injection import InjectedService, limits_of
from registerwatch.web.limits.rate_limits import Limit

DONE = {
    "tagged-many": "{n} watches have the tag “{named}” now.",
    "untagged-many": "{n} watches do not have the tag “{named}” any more.",
    "removed-many": "You have stopped watching {n}. Their events stay.",
    "tagged": "1 watch has the tag “{named}” now.",
    "untagged": "1 watch does not have the tag “{named}” any more.",
    "removed": "You have stopped watching it. Its events stay.",
    "busy": "A sync is going on already. Start the next one when it is through.",
}
REFUSED = (InvalidInput, CapReached, PeriodEnded)
"""Errors that the form of a change shows."""
SHOWN_NAMES = 12
"""Names of watches that are listed in the question before removing them."""

router = account_pages()


@router.get("/app/watches")
async def watches(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """All watches, only the table, or the progress of a sync."""
    query = WatchQuery.of_address(request.query_params)
    if fragment_asked(request) == "sync":
        sync = await sync_view(service, visitor)
        return app_page(request, visitor, "account/watches_sync.html", sync=sync, query=query, polls=True)
    return await watches_page(request, service, visitor, query, subject=request.query_params.get("subject", ""))


@router.post("/app/watches/sync")
async def sync(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Read all watches now, in the background."""
    await limits_of(request).check(request, Limit.SYNC)
    query = WatchQuery.of_form(await form_of(request))
    has_started = await service.watches.sync_runs.start(visitor.caller)
    return redirect_to(query.address, done="" if has_started else "busy")


@router.post("/app/watches/bulk")
async def bulk(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Tag, sync or remove the chosen watches. Removing needs a confirmation."""
    form = await form_of(request)
    query, selection = WatchQuery.of_form(form), _selection(form)
    try:
        return await _changed(request, service, visitor, form, query, selection)
    except REFUSED as error:
        return await watches_page(request, service, visitor, query, 400, form=form, bulk_problem=str(error))


@router.post("/app/watches/bulk/delete")
async def delete(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Remove the confirmed watches. If their number has changed meanwhile, ask again."""
    form = await form_of(request)
    query, selection = WatchQuery.of_form(form), _selection(form)
    try:
        number = len(await service.watches.bulk.ids(visitor.caller, selection))
        if str(number) != form["expected"]:
            return await _delete_page(request, service, visitor, form, query, selection, has_changed=True)
        number = await service.watches.bulk.delete(visitor.caller, selection)
    except InvalidInput as error:
        return await watches_page(request, service, visitor, query, 400, bulk_problem=str(error))
    return _done(query, "removed", number)


async def watches_page(
    request: Request,
    service: Service,
    visitor: Visitor,
    query: WatchQuery,
    status: int = 200,
    *,
    subject: str = "",
    problem: str = "",
    form: Form | None = None,
    bulk_problem: str = "",
    back: str = "",
) -> Response:
    """The page, or only its table. `problem` is about the new `subject`, `bulk_problem` about the choice in `form`."""
    table = await WatchTable.of(service, visitor, query, chosen=form.all("watch") if form else ())
    is_whole = fragment_asked(request) != "watch-list"
    return app_page(
        request,
        visitor,
        "account/watches.html" if is_whole else "account/watches_list.html",
        section="watches",
        status=status,
        done=DONE,
        query=table.query,
        table=table,
        sync=await sync_view(service, visitor) if is_whole else None,
        polls=status == 200,  # a script cannot reload the answer to a form
        subject=subject[:200],
        problem=problem or (await why_not_added(service, visitor, subject) if subject else ""),
        back=back,
        bulk_problem=bulk_problem,
        typed=form,
    )


async def why_not_added(service: Service, visitor: Visitor, subject: str) -> str:
    """Why a subject cannot be watched now, empty if it can."""
    try:
        await service.watches.service.check_addable(visitor.caller, subject)
    except REFUSED as error:
        return str(error)
    return ""


async def _changed(
    request: Request, service: Service, visitor: Visitor, form: Form, query: WatchQuery, selection: Selection
) -> Response:
    watches, caller, action = service.watches, visitor.caller, form["action"]
    if action == "tag":
        return _done(query, "tagged", await watches.bulk.add_tag(caller, selection, form["new-tag"]), form["new-tag"])
    if action == "untag":
        return _done(
            query, "untagged", await watches.bulk.remove_tag(caller, selection, form["new-tag"]), form["new-tag"]
        )
    if action == "sync":
        await limits_of(request).check(request, Limit.SYNC)
        has_started = await watches.sync_runs.start(caller, await watches.bulk.ids(caller, selection))
        return redirect_to(query.address, done="" if has_started else "busy")
    if action == "delete":
        return await _delete_page(request, service, visitor, form, query, selection)
    raise InvalidInput("Choose what to do with the watches.")


async def _delete_page(
    request: Request,
    service: Service,
    visitor: Visitor,
    form: Form,
    query: WatchQuery,
    selection: Selection,
    *,
    has_changed: bool = False,
) -> Response:
    ids = await service.watches.bulk.ids(visitor.caller, selection)
    names = await service.watches.listing.names(visitor.caller, ids[:SHOWN_NAMES])
    chosen = [("all", "1")] if selection.matching is not None else [("watch", str(each)) for each in ids]
    return app_page(
        request,
        visitor,
        "account/watches_delete.html",
        section="watches",
        status=400 if has_changed else 200,
        query=query,
        number=len(ids),
        names=names,
        fields=[*query.fields, *chosen, ("expected", str(len(ids)))],
        has_changed=has_changed,
    )


def _selection(form: Form) -> Selection:
    """The watches that a form selects: checked ones, or all that match its filter."""
    if form["all"]:
        return Selection(matching=WatchQuery.of_form(form).chosen)
    return Selection([found for each in form.all("watch") if (found := row_id_of(each)) is not None])


def _done(query: WatchQuery, what: str, number: int, named: str = "") -> Response:
    address = replace(query, page=1).address if what == "removed" else query.address
    return redirect_to(address, done=what if number == 1 else f"{what}-many", n=number, named=named)
