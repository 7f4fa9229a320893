"""Pages of saved lists: all lists, one with its lines, and a file that was sent for one."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.bootstrap import Service
from registerwatch.errors import CapReached, InvalidInput, Overloaded, PeriodEnded, RateLimited
from registerwatch.files.lists.models import MAX_NAME_LENGTH, FoundTable
from registerwatch.files.lists.service import NoSuchList
from registerwatch.files.scan.codes import read_codes
from registerwatch.files.tables.csv_file import csv_text
from registerwatch.files.tables.encodings import ENCODINGS
from registerwatch.files.tables.table import MAX_ROWS, ReadChoices, column_letters
from registerwatch.pages.account.downloads import COUNTED_DOWNLOAD
from registerwatch.pages.account.lists.list_query import ListQuery, list_path, upload_path
from registerwatch.pages.account.lists.list_view import shares, tone_of
from registerwatch.pages.account.questions import ask_once, not_there
from registerwatch.pages.account.rendering import app_page, fragment_asked, redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.row_ids import RowId
from registerwatch.pages.account.visitor import SignedIn, Visitor
from registerwatch.pages.forms import Form, UploadedFile, form_of
from registerwatch.pages.page_position import PagePosition
from registerwatch.watches.tags import tags_of_text
from registerwatch.web.files.list_files import COVERAGE_WORDS, certificates_words, list_rows
from registerwatch.web.files.spreadsheet import csv_response, workbooks_of
from registerwatch.web.injection import InjectedService
from registerwatch.web.limits.large_bodies import slot_for_body

PATH = "/app/lists"
PAGE_ROWS = 50
SHOWN_CELLS = 2
"""The file's columns that the table of lines shows; the export has all."""
NO_FILE = "Choose a file."
SCANNED_HEADING, SCANNED_FILE = "Code", "scanned codes"
REFUSED = (InvalidInput, CapReached, PeriodEnded, Overloaded, RateLimited)
DONE = {
    "kept": "The list is kept.",
    "discarded": "The file is discarded. The list stays as it was.",
    "renamed": "The list has its new name.",
    "deleted": "The list is deleted. What you watch stays watched.",
    "added": "Added: {n} new in the list.",
    "watched": "{n} newly watched.",
    "watched-all": "All of these are watched already.",
    "watched-some": "{n} newly watched. The plan has no room for the others.",
}
ANYTHING: Mapping[str, str] = {"": "Recognise it"}
DELIMITERS = {**ANYTHING, ";": "Semicolon", ",": "Comma", "tab": "Tab", "|": "Bar"}

router = account_pages()


@router.get(PATH)
async def all_lists(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Every list with the results of its lines, and the form for another list."""
    return await _all_page(request, service, visitor)


@router.post(PATH)
async def sent(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Receive a file, for a new list or for the one whose id the form has."""
    form, lists = Form(()), service.lists.service
    try:
        async with slot_for_body(request, visitor.caller.account.id) as placed:
            form = await form_of(placed)
        if form["scanned"]:
            return await _scanned(service, visitor, form)
        file = _file_of(form)
        if form["list"]:
            list_id = _number(form["list"]) or 0
            upload_id = await lists.send(visitor.caller, list_id, file.name, file.content, ReadChoices())
        else:
            name = form["name"].strip() or file.name.rpartition(".")[0][:MAX_NAME_LENGTH]
            list_id, upload_id = await lists.send_named(visitor.caller, name, file.name, file.content, ReadChoices())
    except NoSuchList as error:
        return _no_list(request, visitor, str(error))
    except REFUSED as error:
        status = 503 if isinstance(error, Overloaded) else 400
        if form["list"]:
            list_id = _number(form["list"]) or 0
            return await _list_page(request, service, visitor, list_id, status, sent_problem=str(error))
        return await _all_page(request, service, visitor, status, name=form["name"], problem=str(error))
    return redirect_to(upload_path(list_id, upload_id))


@router.get(PATH + "/{list_id:int}")
async def one_list(request: Request, service: InjectedService, visitor: SignedIn, list_id: RowId) -> Response:
    """A list with its lines, or only the lines."""
    return await _list_page(request, service, visitor, list_id)


@router.post(PATH + "/{list_id:int}/name")
async def rename(request: Request, service: InjectedService, visitor: SignedIn, list_id: RowId) -> Response:
    """Give a list another name."""
    form = await form_of(request)
    try:
        await service.lists.service.rename(visitor.caller, list_id, form["name"])
    except NoSuchList as error:
        return _no_list(request, visitor, str(error))
    except REFUSED as error:
        return await _list_page(request, service, visitor, list_id, 400, name=form["name"], name_problem=str(error))
    return redirect_to(list_path(list_id), done="renamed")


@router.post(PATH + "/{list_id:int}/watch")
async def watch(request: Request, service: InjectedService, visitor: SignedIn, list_id: RowId) -> Response:
    """Watch the subjects of the lines of a filter."""
    form = await form_of(request)
    query = ListQuery.of(list_path(list_id), dict(form.fields))
    try:
        tags = tags_of_text(form["tag"])
        watched = await service.lists.service.watch(visitor.caller, list_id, query.chosen, tags, zone=visitor.zone)
    except NoSuchList as error:
        return _no_list(request, visitor, str(error))
    except REFUSED as error:
        return await _list_page(
            request, service, visitor, list_id, 400, query=query, tag=form["tag"], watch_problem=str(error)
        )
    done = "watched-some" if watched.left else "watched" if watched.added else "watched-all"
    return redirect_to(query.address, done=done, n=watched.added)


@router.get(PATH + "/{list_id:int}/delete")
async def ask_delete(request: Request, service: InjectedService, visitor: SignedIn, list_id: RowId) -> Response:
    """Ask before a list is deleted."""
    try:
        state = await service.lists.service.one(visitor.caller, list_id)
    except NoSuchList as error:
        return _no_list(request, visitor, str(error))
    return ask_once(
        request,
        visitor,
        "lists",
        heading="Delete this list?",
        about=state.item_list.name,
        consequences=(
            "Its lines go for ever, with the columns that you sent.",
            "What is watched stays watched, and events stay.",
        ),
        button="Delete the list",
        back=list_path(list_id),
    )


@router.post(PATH + "/{list_id:int}/delete")
async def delete(service: InjectedService, visitor: SignedIn, list_id: RowId) -> Response:
    """Delete a list."""
    await service.lists.service.remove(visitor.caller, list_id)
    return redirect_to(PATH, done="deleted")


@router.get(PATH + "/{list_id:int}/lines.csv", dependencies=[COUNTED_DOWNLOAD])
async def csv_file(request: Request, service: InjectedService, visitor: SignedIn, list_id: RowId) -> Response:
    """The lines as CSV, with our columns after those of the file."""
    return await _download(request, service, visitor, list_id, "csv")


@router.get(PATH + "/{list_id:int}/lines.xlsx", dependencies=[COUNTED_DOWNLOAD])
async def xlsx_file(request: Request, service: InjectedService, visitor: SignedIn, list_id: RowId) -> Response:
    """The lines as a workbook."""
    return await _download(request, service, visitor, list_id, "xlsx")


@router.get(PATH + "/{list_id:int}/uploads/{upload_id:int}")
async def upload(
    request: Request, service: InjectedService, visitor: SignedIn, list_id: RowId, upload_id: RowId
) -> Response:
    """The progress of a file, how it was read, and what keeping it would change."""
    return await _upload_page(request, service, visitor, list_id, upload_id)


@router.post(PATH + "/{list_id:int}/uploads/{upload_id:int}")
async def decide(
    request: Request, service: InjectedService, visitor: SignedIn, list_id: RowId, upload_id: RowId
) -> Response:
    """Keep a file, discard it, or have it read in another way."""
    form, lists = await form_of(request), service.lists.service
    try:
        if form["step"] == "discard":
            is_left = await lists.discard(visitor.caller, list_id, upload_id)
            return redirect_to(list_path(list_id) if is_left else PATH, done="discarded")
        if form["step"] == "read":
            details = await lists.upload(visitor.caller, list_id, upload_id)
            await lists.read_anew(visitor.caller, list_id, upload_id, _choices_of(form, details.upload.found))
            return redirect_to(upload_path(list_id, upload_id))
        await lists.keep(visitor.caller, list_id, upload_id)
    except NoSuchList as error:
        return _no_list(request, visitor, str(error))
    except REFUSED as error:
        return await _upload_page(request, service, visitor, list_id, upload_id, 400, problem=str(error))
    return redirect_to(list_path(list_id), done="kept")


async def _scanned(service: Service, visitor: Visitor, form: Form) -> Response:
    """Add scanned codes to the list whose id the form has, or to a new list with the form's name."""
    codes, lists = read_codes(form["scanned"]), service.lists.service
    if form["list"]:
        list_id = _number(form["list"]) or 0
        return redirect_to(list_path(list_id), done="added", n=await lists.append(visitor.caller, list_id, codes))
    content = csv_text([[SCANNED_HEADING], *([code] for code in codes)]).encode()
    choices = ReadChoices("utf-8", ",", heading_row=1, code_column=0)
    list_id, upload_id = await lists.send_named(
        visitor.caller, form["name"], SCANNED_FILE, content, choices, keeps_itself=True, is_new=True
    )
    return redirect_to(upload_path(list_id, upload_id))


async def _all_page(
    request: Request, service: Service, visitor: Visitor, status: int = 200, *, name: str = "", problem: str = ""
) -> Response:
    states = await service.lists.service.all(visitor.caller, zone=visitor.zone)
    plan = visitor.caller.account.plan
    return app_page(
        request,
        visitor,
        "account/lists.html",
        section="lists",
        status=status,
        done=DONE,
        states=states,
        shares=shares,
        lines=sum(each.counts.total for each in states if each.counts),
        cap=plan.lines,
        max_rows=min(MAX_ROWS, plan.lines),
        name=name,
        problem=problem,
    )


async def _list_page(
    request: Request,
    service: Service,
    visitor: Visitor,
    list_id: int,
    status: int = 200,
    *,
    query: ListQuery | None = None,
    name: str | None = None,
    tag: str | None = None,
    sent_problem: str = "",
    name_problem: str = "",
    watch_problem: str = "",
) -> Response:
    query = query or ListQuery.of(list_path(list_id), request.query_params)
    lists = service.lists.service
    try:
        state = await lists.one(visitor.caller, list_id, zone=visitor.zone)
        if state.item_list.kept is None:
            waiting = state.item_list.waiting
            return redirect_to(upload_path(list_id, waiting.id) if waiting else PATH)
        offset = (query.page - 1) * PAGE_ROWS
        page = await lists.lines(
            visitor.caller, list_id, query.chosen, limit=PAGE_ROWS, offset=offset, zone=visitor.zone
        )
        subjects = await lists.count_subjects(visitor.caller, list_id, query.chosen, zone=visitor.zone)
    except NoSuchList as error:
        return _no_list(request, visitor, str(error))
    watches = service.watches.service
    return app_page(
        request,
        visitor,
        "account/list_lines.html" if fragment_asked(request) == "list-lines" else "account/list.html",
        section="lists",
        status=status,
        done=DONE,
        state=state,
        page=page,
        subjects=subjects,
        paging=PagePosition(query.page, PAGE_ROWS, page.total),
        query=query,
        shares=shares(state.counts) if state.counts else (),
        free=max(0, visitor.caller.account.plan.watches - await watches.count(visitor.caller.account.id)),
        name=state.item_list.name if name is None else name,
        tag=state.item_list.name[:40].replace(",", " ") if tag is None else tag,
        sent_problem=sent_problem,
        name_problem=name_problem,
        watch_problem=watch_problem,
        **_words(),
    )


async def _upload_page(
    request: Request,
    service: Service,
    visitor: Visitor,
    list_id: int,
    upload_id: int,
    status: int = 200,
    *,
    problem: str = "",
) -> Response:
    query = ListQuery.of(upload_path(list_id, upload_id), request.query_params)
    try:
        shown = await service.lists.service.preview(
            visitor.caller,
            list_id,
            upload_id,
            query.chosen,
            limit=PAGE_ROWS,
            offset=(query.page - 1) * PAGE_ROWS,
            zone=visitor.zone,
        )
    except NoSuchList as error:
        return _no_list(request, visitor, str(error))
    details, page = shown.details, shown.page
    if details.upload.state == "kept":
        return redirect_to(list_path(list_id))
    return app_page(
        request,
        visitor,
        "account/list_upload_region.html" if fragment_asked(request) == "upload" else "account/list_upload.html",
        section="lists",
        status=status,
        details=details,
        upload=details.upload,
        page=page,
        paging=PagePosition(query.page, PAGE_ROWS, page.total if page else 0),
        gone=shown.gone,
        query=query,
        shares=shares(details.counts),
        problem=problem,
        polls=status == 200,
        letters=column_letters,
        encodings=ENCODINGS,
        delimiters=DELIMITERS,
        **_words(),
    )


async def _download(request: Request, service: Service, visitor: Visitor, list_id: int, form: str) -> Response:
    query = ListQuery.of(list_path(list_id), request.query_params)
    try:
        lists, caller = service.lists.service, visitor.caller
        header, rows = await list_rows(
            lists,
            caller,
            list_id,
            query.chosen,
            has_types=form == "xlsx",
            now=service.clock.now(),
            zone=visitor.zone,
        )
    except NoSuchList as error:
        return _no_list(request, visitor, str(error))
    if form == "csv":
        return await csv_response("list.csv", header, rows)
    return await workbooks_of(request).response(caller, "list.xlsx", header, rows)


def _words() -> dict[str, Any]:
    return {
        "coverage_words": COVERAGE_WORDS,
        "tone_of": tone_of,
        "certificates_words": certificates_words,
        "shown_cells": SHOWN_CELLS,
    }


def _no_list(request: Request, visitor: Visitor, what: str) -> Response:
    return not_there(request, visitor, "lists", what.removesuffix("."), PATH, "All lists")


def _file_of(form: Form) -> UploadedFile:
    file = form.file("file")
    if file is None:
        raise InvalidInput(NO_FILE)
    return file


def _choices_of(form: Form, found: FoundTable | None) -> ReadChoices:
    """The corrections in a form. If sheet or separator changed, an unchanged heading row or code column is recognised
    again, since it belonged to another table.
    """
    delimiter = "\t" if form["delimiter"] == "tab" else form["delimiter"]
    heading_row, code_column = _number(form["heading_row"]), _number(form["code_column"])
    before = found.choices if found is not None else ReadChoices()
    if (form["sheet"], delimiter) != (before.sheet, before.delimiter):
        heading_row = None if heading_row == before.heading_row else heading_row
        code_column = None if code_column == before.code_column else code_column
    return ReadChoices(form["encoding"], delimiter, form["sheet"], heading_row, code_column)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
