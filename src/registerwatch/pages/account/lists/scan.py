"""Scanning labels: codes from a hand scanner or a photo, the meaning of each, and the list of them.

The list travels in the form; nothing of a code or a photo is stored.
"""

from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.ended_period import in_a_cell
from registerwatch.bootstrap import Service
from registerwatch.errors import InvalidInput, Overloaded, RateLimited
from registerwatch.files.scan.codes import MAX_CODES, one_line, read_codes, with_more, written_codes
from registerwatch.files.scan.symbols import MAX_SYMBOLS, codes_of
from registerwatch.files.tables.csv_file import Row
from registerwatch.pages.account.lists.scan_view import ScannedCode, ScannedCodes, scanned_codes
from registerwatch.pages.account.rendering import app_page, fragment_asked
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.visitor import SignedIn, Visitor
from registerwatch.pages.forms import Form, forget_form, form_of
from registerwatch.platform.account_slots import AccountSlots
from registerwatch.register.standing import COVERED_UNTIL, FIRST_END
from registerwatch.web.files.spreadsheet import csv_response, day_or_none
from registerwatch.web.injection import InjectedService, client_of, limits_of
from registerwatch.web.limits.body_limits import MAX_BODY_BYTES, declared_length
from registerwatch.web.limits.large_bodies import slot_for_body
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.security_headers import WITH_CAMERA

router = account_pages()

PATH = "/app/scan"
LIST_REGION = "scanned"
NOTHING_SENT = "Scan or type a code, or choose a photo."
NO_SYMBOL = "No code was seen in this photo."
CSV_HEADER = (
    *("Code", "UDI-DI or SRN", "Name", "Manufacturer", "State", "Market status", "Certificates", FIRST_END),
    *(COVERED_UNTIL, "Watched"),
    *("Lot", "Serial number", "Production date", "Expiry date"),
)


class Scan(msgspec.Struct, frozen=True):
    """The codes of one request: those collected before, and those just scanned."""

    collected: Sequence[str] = ()
    latest: Sequence[str] = ()
    problem: str = ""
    has_no_symbol: bool = False
    """Whether no code was found in a photo, so that the page explains how to take one."""
    status: int = 200


@router.get(PATH)
async def ask(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """The field for a hand scanner, and the button for a photo."""
    return await _page(request, service, visitor, Scan())


@router.post(PATH)
async def sent(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Show and collect the codes of a text or a photo; with `step` or `remove`, act on the list."""
    account_id = visitor.caller.account.id
    is_large = declared_length(request.scope) > MAX_BODY_BYTES or "transfer-encoding" in request.headers
    async with AsyncExitStack() as held:
        if is_large:  # before receiving any of it
            await _count_photo(request, account_id)
            photos: AccountSlots = request.app.state.photos
            request = await held.enter_async_context(slot_for_body(request, account_id, photos))
        form = await form_of(request)
        if not is_large and form.file("photo") is not None:
            await _count_photo(request, account_id)
        scan = await _scanned(request, service, visitor, form)
        is_download = form["step"] == "csv"
        forget_form(request)  # frees the photo while the register is read
        del form
    if is_download and not scan.problem:
        return await _download(request, service, visitor, scan.collected)
    return await _page(request, service, visitor, scan)


async def _count_photo(request: Request, account_id: int) -> None:
    await limits_of(request).check_party(request, Limit.SCAN, f"account {account_id}")


async def _scanned(request: Request, service: Service, visitor: Visitor, form: Form) -> Scan:
    """The codes in a form. If there is a problem, those collected before stay."""
    collected: Sequence[str] = ()
    try:
        collected = read_codes(form["codes"])
        if form["step"] == "csv":
            return Scan(collected)
        if form["step"] == "clear":
            return Scan()
        if form["remove"]:
            return Scan([code for code in collected if code != one_line(form["remove"])])
        latest = await _latest(request, service, visitor, form)
        if not latest:
            has_photo = form.file("photo") is not None
            problem, status = (NO_SYMBOL, 200) if has_photo else (NOTHING_SENT, 400)
            return Scan(collected, problem=problem, has_no_symbol=has_photo, status=status)
        return Scan(with_more(collected, latest), latest)
    except InvalidInput as error:
        return Scan(collected, problem=str(error), status=400)
    except Overloaded as error:
        return Scan(collected, problem=str(error), status=503)
    except RateLimited as error:
        return Scan(collected, problem=str(error), status=429)


async def _latest(request: Request, service: Service, visitor: Visitor, form: Form) -> list[str]:
    """The codes in the photo, else the typed ones. Raises `InvalidInput`, `Overloaded`, `RateLimited`."""
    photo = form.file("photo")
    if photo is None:
        codes = form.all("code")[:MAX_SYMBOLS]
    else:
        account_id, network = visitor.caller.account.id, client_of(request).network
        codes = codes_of(await service.photos.read(photo.content, account_id, network))
    return list(dict.fromkeys(code for code in map(one_line, codes) if code))


async def _page(request: Request, service: Service, visitor: Visitor, scan: Scan) -> Response:
    scanned = await scanned_codes(request, service, visitor, scan.collected, scan.latest)
    is_region = fragment_asked(request) == LIST_REGION
    response = app_page(
        request,
        visitor,
        "account/scan_list.html" if is_region else "account/scan.html",
        section="scan",
        status=scan.status,
        scan=scan,
        scanned=scanned,
        carried=written_codes([each.code for each in scanned.collected]),
        max_codes=MAX_CODES,
        lists=await service.lists.service.names(visitor.caller) if scanned.collected else {},
    )
    name, policy = WITH_CAMERA
    response.headers[name] = policy
    return response


async def _download(request: Request, service: Service, visitor: Visitor, collected: Sequence[str]) -> Response:
    await limits_of(request).check_party(request, Limit.DOWNLOAD, f"account {visitor.caller.account.id}")
    scanned = await scanned_codes(request, service, visitor, collected)
    is_watched = in_a_cell("yes", visitor.caller.account.ended(service.clock.now()))
    return await csv_response("scanned-codes.csv", CSV_HEADER, _csv_rows(scanned, is_watched))


def _csv_rows(scanned: ScannedCodes, is_watched: str) -> Iterator[Row]:
    return (_csv_row(each, is_watched) for each in scanned.collected)


def _csv_row(each: ScannedCode, is_watched: str) -> Row:
    known, certificates = each.line.known, each.standing.certificates
    return (
        each.code,
        each.line.subject,
        known.name,
        known.manufacturer,
        each.words,
        each.standing.status_in_file,
        each.certificates,
        day_or_none(certificates.first_end),
        day_or_none(certificates.covered_until),
        is_watched if each.is_watched else "no",
        each.said("lot"),
        each.said("serial"),
        each.said("production-date"),
        each.said("expiry"),
    )
