"""Downloads of the list of watches, with the filter and the order of the page."""

from collections.abc import AsyncIterator, Sequence

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.bootstrap import Service
from registerwatch.clock import iso_utc
from registerwatch.pages.account.downloads import COUNTED_DOWNLOAD
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.spreadsheet import Row, csv_response, xlsx_response
from registerwatch.pages.account.visitor import SignedIn, Visitor
from registerwatch.pages.account.watch_query import WatchQuery
from registerwatch.pages.account.watch_rows import STATES
from registerwatch.watches.listing import ListedWatch
from registerwatch.web.injection import InjectedService
from registerwatch.web.watch_answers import WatchObject

HEADER = (
    "Kind",
    "UDI-DI or SRN",
    "Name",
    "Status",
    "Risk class",
    "Manufacturer",
    "Manufacturer SRN",
    "Certificate",
    "Certificate expiry",
    "Tags",
    "Last read (UTC)",
    "State",
    "Last error",
    "Last change (UTC)",
    "Added (UTC)",
)

router = account_pages()


@router.get("/app/watches.csv", dependencies=[COUNTED_DOWNLOAD])
async def csv_file(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """The list as CSV."""
    return await csv_response("watches.csv", HEADER, _rows(request, service, visitor))


@router.get("/app/watches.xlsx", dependencies=[COUNTED_DOWNLOAD])
async def xlsx_file(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """The list as a workbook."""
    return await xlsx_response("watches.xlsx", HEADER, _rows(request, service, visitor), title="Watches")


async def _rows(request: Request, service: Service, visitor: Visitor) -> AsyncIterator[Row]:
    query, now = WatchQuery.of_address(request.query_params), service.clock.now()
    found = service.watches.listing.all(visitor.caller, query.chosen, query.order, is_descending=query.is_descending)
    async for listed in found:
        yield _row(listed, now)


def _row(listed: ListedWatch, now: float) -> Sequence[str]:
    watch = WatchObject.of(listed.watch, now)
    return (
        "device" if watch.kind == "udi" else "actor",
        watch.subject,
        watch.label,
        watch.status,
        watch.risk_class,
        watch.manufacturer_name,
        watch.manufacturer_srn,
        watch.certificate,
        watch.cert_expiry,
        ", ".join(listed.tags),
        watch.last_sync or "",
        STATES[watch.health.state],
        watch.last_error,
        iso_utc(listed.changed_at) if listed.changed_at is not None else "",
        watch.created_at,
    )
