"""Downloads of the list of watches, with the filter and the order of the page."""

from collections.abc import AsyncIterator, Sequence
from datetime import date, datetime
from zoneinfo import ZoneInfo

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.ended_period import EndedPeriod, in_a_cell
from registerwatch.bootstrap import Service
from registerwatch.files.tables.csv_file import Row
from registerwatch.pages.account.downloads import COUNTED_DOWNLOAD
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.visitor import SignedIn, Visitor
from registerwatch.pages.account.watches.watch_query import WatchQuery
from registerwatch.platform.clock import day_of
from registerwatch.register.certificate_states import ShownCertificate, in_order
from registerwatch.register.standing import COVERED_UNTIL, FIRST_END, NOT_READ, OTHER_RECORD
from registerwatch.watches.models import Watch
from registerwatch.watches.questions.listed_watches import ListedWatch
from registerwatch.watches.standing import certificates_of, shown_of, standing_of
from registerwatch.watches.watch_states import state_words
from registerwatch.web.answers.watch_answers import WatchObject
from registerwatch.web.files.spreadsheet import csv_response, day_or_none, workbooks_of
from registerwatch.web.injection import InjectedService

HEADER = (
    "Kind",
    "UDI-DI or SRN",
    "Name",
    "Status",
    "Risk class",
    "Manufacturer",
    "Manufacturer SRN",
    "Certificates",
    "Certificate standing",
    FIRST_END,
    COVERED_UNTIL,
    "Tags",
    "Last read ({zone})",
    "Read state",
    "Last error",
    "Last change ({zone})",
    "Added ({zone})",
)

router = account_pages()


@router.get("/app/watches.csv", dependencies=[COUNTED_DOWNLOAD])
async def csv_file(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """The list as CSV."""
    return await csv_response("watches.csv", _header(visitor), _rows(request, service, visitor))


@router.get("/app/watches.xlsx", dependencies=[COUNTED_DOWNLOAD])
async def xlsx_file(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """The list as a workbook."""
    rows = _rows(request, service, visitor)
    workbooks = workbooks_of(request)
    return await workbooks.response(visitor.caller, "watches.xlsx", _header(visitor), rows, title="Watches")


async def _rows(request: Request, service: Service, visitor: Visitor) -> AsyncIterator[Row]:
    query, now = WatchQuery.of_address(request.query_params), service.clock.now()
    found = service.watches.listing.all(visitor.caller, query.chosen, query.order, is_descending=query.is_descending)
    async for listed in found:
        yield _row(listed, now, visitor.zone, visitor.caller.account.ended(now))


def _header(visitor: Visitor) -> Sequence[str]:
    return [name.format(zone=visitor.zone.key) for name in HEADER]


def _row(listed: ListedWatch, now: float, zone: ZoneInfo, ended: EndedPeriod | None) -> Row:
    watch = WatchObject.of(listed.watch, now)
    return (
        "device" if watch.kind == "udi" else "actor",
        watch.subject,
        watch.label,
        _status(listed.watch, day_of(now, zone)),
        watch.risk_class,
        watch.manufacturer_name,
        watch.manufacturer_srn,
        *_certificates(listed.watch, day_of(now, zone)),
        ", ".join(listed.tags),
        _instant(listed.watch.last_sync, zone),
        in_a_cell(state_words(listed.watch, watch.health.state), ended),
        watch.last_error,
        _instant(listed.changed_at, zone),
        _instant(listed.watch.created_at, zone),
    )


def _status(watch: Watch, today: date) -> str:
    """The status of a watch's subject; empty where it was not read, and where the register no longer lists it."""
    if watch.snapshot is None:
        return ""
    return standing_of(watch.kind, watch.snapshot, today, is_delisted=watch.is_delisted).status_in_file


def _certificates(watch: Watch, today: date) -> tuple[str, str, date | None, date | None]:
    """All certificates of a device, or those listed once if none is listed now; the worst standing of listed ones; the
    first and last end of those that count as valid.
    """
    if watch.kind != "udi":
        return "", "", None, None
    if watch.snapshot is None or watch.snapshot.certs is None:
        return "", NOT_READ, None, None
    standing = certificates_of(watch.snapshot, today)
    earlier = in_order(shown_of(each, today) for each in watch.snapshot.unlisted_certs)
    others = (f"{_certificate_text(shown_of(each, today))}, of {OTHER_RECORD}" for each in watch.snapshot.other_certs)
    certificates = "; ".join([*map(_certificate_text, [*standing.certificates, *earlier]), *others])
    were_all_read = watch.snapshot.has_all_certs
    words = standing.in_file(are_all_read=were_all_read and not watch.last_error, were_all_read=were_all_read)
    return certificates, words, day_or_none(standing.first_end), day_or_none(standing.covered_until)


def _certificate_text(shown: ShownCertificate) -> str:
    """`Z-25-052 revision 2 (valid, end date 2031-11-21)`, `Z-25-053 (no end date)`."""
    certificate = shown.certificate
    name = f"{certificate.number or 'No number'}{f' revision {certificate.revision}' if certificate.revision else ''}"
    words = shown.words[:1].lower() + shown.words[1:]
    words += f", end date {certificate.expiry}" if shown.remaining is not None else ""
    return f"{name} ({words}{'' if certificate.confirmed else ', not confirmed by the last read'})"


def _instant(at: int | None, zone: ZoneInfo) -> datetime | None:
    """An instant in the reader's zone, whose name is in the header."""
    return None if at is None else datetime.fromtimestamp(at, zone).replace(tzinfo=None)
