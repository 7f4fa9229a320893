"""The page for watching a list: it first shows the plan for each line, and stores nothing before a confirmation."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.validation import one_line
from registerwatch.bootstrap import Service
from registerwatch.errors import CapReached, InvalidInput, Overloaded, PeriodEnded, RateLimited
from registerwatch.files.tables.csv_file import Row
from registerwatch.pages.account.rendering import app_page
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.visitor import SignedIn, Visitor
from registerwatch.pages.forms import Form, form_of
from registerwatch.watches.imports.import_plan import ImportPlan
from registerwatch.watches.imports.import_table import ListLine, ParsedList, read_lines, written_lines
from registerwatch.watches.imports.import_text import MAX_LINES
from registerwatch.watches.tags import tags_of_text
from registerwatch.web.files.spreadsheet import csv_response
from registerwatch.web.injection import InjectedService, client_of
from registerwatch.web.limits.large_bodies import slot_for_body

router = account_pages()

PATH = "/app/import"
NO_LIST = "Paste a list, or choose a file."
TWO_LISTS = "Paste a list or choose a file, not both: it would not be clear which of them is meant."
EMPTY_LIST = "The list holds nothing that could be an identifier."
FAILED_HEADER = ("Line", "Identifier", "Why it is not watched")

_NOT_IN_HTML = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")


class Typed(msgspec.Struct, frozen=True):
    """The typed values of the form, and their problem."""

    text: str = ""
    problem: str = ""
    status: int = 200
    is_file: bool = False
    """Whether a file was sent, which browsers do not keep in the form."""


@router.get(PATH)
async def ask(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """The form for a list."""
    return await _form(request, service, visitor, Typed())


@router.post(PATH)
async def sent(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Show the plan of an import; with `step`, carry it out, or download the lines that were not added."""
    form = Form(())
    try:
        async with slot_for_body(request, visitor.caller.account.id) as placed:
            form = await form_of(placed)
        if form["step"] == "add":
            return await _added(request, service, visitor, form)
        if form["step"] == "failed":
            return await _failed(service, visitor, form)
        return await _checked(request, service, visitor, await _parsed(request, service, visitor, form))
    except (InvalidInput, Overloaded, RateLimited) as error:
        status = 429 if isinstance(error, RateLimited) else 503 if isinstance(error, Overloaded) else 400
        typed = Typed(_NOT_IN_HTML.sub("", _text_in(form)), str(error), status, form.file("file") is not None)
        return await _form(request, service, visitor, typed)


def _text_in(form: Form) -> str:
    """The pasted text, or the lines shown before."""
    if form["text"]:
        return form["text"]
    with suppress(InvalidInput):
        return "\n".join(line.cell for line in read_lines(form["list"]))
    return ""


async def _form(request: Request, service: Service, visitor: Visitor, typed: Typed) -> Response:
    caller = visitor.caller
    return app_page(
        request,
        visitor,
        "account/import.html",
        section="import",
        status=typed.status,
        typed=typed,
        max_lines=MAX_LINES,
        present=await service.watches.service.count(caller.account.id),
        cap=caller.account.plan.watches,
    )


async def _parsed(request: Request, service: Service, visitor: Visitor, form: Form) -> ParsedList:
    """The pasted or uploaded list. Raises `InvalidInput`, `Overloaded`, `RateLimited`."""
    file, text = form.file("file"), form["text"]
    if file is not None and text.strip():
        raise InvalidInput(TWO_LISTS)
    if file is None and not text.strip():
        raise InvalidInput(NO_LIST)
    files, account_id, network = service.watches.list_files, visitor.caller.account.id, client_of(request).network
    if file is None:
        parsed = await files.read_text(text, account_id, network)
    else:
        parsed = await files.read(file.content, account_id, network)
    if not parsed.lines:
        raise InvalidInput(EMPTY_LIST)
    return parsed


async def _checked(request: Request, service: Service, visitor: Visitor, parsed: ParsedList) -> Response:
    plan = await service.watches.imports.plan(visitor.caller, parsed.lines)
    return _plan_page(request, visitor, plan, parsed.lines, parsed=parsed)


async def _added(request: Request, service: Service, visitor: Visitor, form: Form) -> Response:
    """Add the shown list. If it cannot be added as typed, it is shown again with the reason."""
    lines, tags_watched = read_lines(form["list"]), bool(form["tag-watched"])
    try:
        tags = tags_of_text(form["tag"])
        plan = await service.watches.imports.add_list(visitor.caller, lines, tags, tags_watched=tags_watched)
    except (InvalidInput, CapReached, PeriodEnded) as error:
        plan = await service.watches.imports.plan(visitor.caller, lines)
        tag = one_line(form["tag"])
        return _plan_page(request, visitor, plan, lines, tag=tag, tags_watched=tags_watched, problem=str(error))
    return app_page(
        request,
        visitor,
        "account/import_done.html",
        section="import",
        plan=plan,
        tags=tags,
        tags_watched=tags_watched,
        carried=written_lines(lines),
    )


def _plan_page(
    request: Request,
    visitor: Visitor,
    plan: ImportPlan,
    lines: Sequence[ListLine],
    *,
    parsed: ParsedList | None = None,
    tag: str = "",
    tags_watched: bool = True,
    problem: str = "",
) -> Response:
    return app_page(
        request,
        visitor,
        "account/import_plan.html",
        section="import",
        status=400 if problem else 200,
        plan=plan,
        parsed=parsed,
        carried=written_lines(lines),
        tag=tag,
        tags_watched=tags_watched,
        problem=problem,
    )


async def _failed(service: Service, visitor: Visitor, form: Form) -> Response:
    """The lines that are not watched, as a file to correct and import again."""
    plan = await service.watches.imports.plan(visitor.caller, read_lines(form["list"]))
    return await csv_response("lines-not-added.csv", FAILED_HEADER, _failed_rows(plan))


def _failed_rows(plan: ImportPlan) -> Iterator[Row]:
    return ((line.number, line.typed, line.reason) for line in plan.of("invalid", "left"))
