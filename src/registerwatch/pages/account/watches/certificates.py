"""The page of certificates of watched devices: by end, manufacturer or device, and devices without known ones."""

import asyncio
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.ended_period import EndedPeriod, in_a_cell
from registerwatch.files.tables.csv_file import Row
from registerwatch.pages.account.downloads import COUNTED_DOWNLOAD
from registerwatch.pages.account.rendering import app_page, fragment_asked
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.visitor import SignedIn, Visitor
from registerwatch.pages.account.watches.certificate_chart import CertificateChart
from registerwatch.pages.addresses import page_parameter, with_query
from registerwatch.pages.page_position import PagePosition, page_number
from registerwatch.platform.structs import replace
from registerwatch.register.certificate_states import NO_END_DATE
from registerwatch.register.standing import EARLIER_UNLISTED, NOT_IN_REGISTER, OTHER_RECORD
from registerwatch.watches.questions.certificates import (
    MAX_TEXT_LENGTH,
    CertificateFilter,
    CertificateGroup,
    CertificateOverview,
    CertifiedDevice,
    ReadState,
    by_manufacturer,
    group_of,
)
from registerwatch.web.files.spreadsheet import csv_response
from registerwatch.web.injection import InjectedService

router = account_pages()

PATH = "/app/certificates"
REGION = "certificates"
SIX_MONTHS = "six-months"
"""In addresses: the three groups of certificates that end within 180 days."""
PAGE_ROWS = 50

GROUP_NAMES = {
    CertificateGroup.ENDED: "Ended",
    CertificateGroup.WITHIN_30: "Within 30 days",
    CertificateGroup.WITHIN_90: "31 to 90 days",
    CertificateGroup.WITHIN_180: "91 to 180 days",
    CertificateGroup.LATER: "Later",
    CertificateGroup.UNDATED: NO_END_DATE,
}
STATE_NAMES = {
    ReadState.COMPLETE: "read",
    ReadState.OUTDATED: "may be outdated",
    ReadState.DELISTED: "read before the device was no longer listed",
    ReadState.UNKNOWN: NOT_IN_REGISTER[0].lower(),
    ReadState.PARTIAL: "may miss some",
    ReadState.UNREAD: "not looked yet",
    ReadState.FAILED: "could not be read",
}
CSV_HEADER = (
    *("Device", "UDI-DI", "Manufacturer", "SRN", "Certificate", "Revision", "Notified body", "Ends", "When"),
    *("Status", "Standing today", "In the register", "Certificates of the device"),
)


class View(StrEnum):
    """The kind of rows on the page."""

    CERTIFICATES = "certificates"
    MANUFACTURERS = "manufacturers"
    DEVICES = "devices"
    MONTHS = "months"
    GAPS = "gaps"


class Shown(msgspec.Struct, frozen=True):
    """The query in the address. Invalid values are ignored."""

    chosen: CertificateFilter
    view: View
    page: int

    @classmethod
    def of(cls, request: Request) -> "Shown":
        """Read the query of a request."""
        query = request.query_params
        group, view, page = query.get("group", ""), query.get("view", ""), query.get("page", "")
        chosen = CertificateFilter(
            " ".join(query.get("q", "").split())[:MAX_TEXT_LENGTH],
            query.get("manufacturer", "")[:MAX_TEXT_LENGTH],
            CertificateGroup(group) if group in set(CertificateGroup) else None,
            in_six_months=group == SIX_MONTHS,
        )
        return cls(chosen, View(view) if view in set(View) else View.CERTIFICATES, page_number(page))

    def address(self, path: str = PATH, **changes: Any) -> str:
        """The address with changes; another filter or view begins with its first page."""
        chosen, view, page = self.chosen, changes.pop("view", self.view), changes.pop("page", 1)
        if "group" in changes:
            changes["in_six_months"] = changes["group"] == SIX_MONTHS
            changes["group"] = None if changes["in_six_months"] else changes["group"]
        chosen = replace(chosen, **changes)
        parameters = (
            ("q", chosen.text),
            ("manufacturer", chosen.manufacturer),
            ("group", SIX_MONTHS if chosen.in_six_months else chosen.group or ""),
            ("view", "" if view is View.CERTIFICATES else view),
            ("page", page_parameter(page)),
        )
        return with_query(path, parameters)

    def address_of(self, page: int) -> str:
        """The address of another page."""
        return self.address(page=page)


@router.get(PATH)
async def certificates(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """The matching certificates in a view."""
    shown = Shown.of(request)
    found = await service.watches.certificates.overview(visitor.caller, shown.chosen, zone=visitor.zone)
    return await asyncio.to_thread(_page, request, visitor, shown, found)


def _page(request: Request, visitor: Visitor, shown: Shown, found: CertificateOverview) -> Response:
    chart = CertificateChart(found.certificates, found.today)
    rows = chart.months if shown.view is View.MONTHS else _rows(found, shown.view)
    paging = PagePosition(shown.page, PAGE_ROWS, len(rows))
    if paging.is_beyond:
        paging = replace(paging, page=paging.pages)
    return app_page(
        request,
        visitor,
        "account/certificates_region.html" if fragment_asked(request) == REGION else "account/certificates.html",
        section="certificates",
        found=found,
        shown=shown,
        rows=rows[paging.first_row - 1 : paging.last_row],
        paging=paging,
        chart=chart,
        groups=GROUP_NAMES,
        six_months=SIX_MONTHS,
        views=View,
        states=ReadState,
        earlier_unlisted=EARLIER_UNLISTED[0],
        csv_address=shown.address(f"{PATH}.csv", view=View.CERTIFICATES),
    )


@router.get(f"{PATH}.csv", dependencies=[COUNTED_DOWNLOAD])
async def certificates_csv(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """The certificates as a file: a row for each device and certificate; without a filter also devices without one."""
    shown = Shown.of(request)
    found = await service.watches.certificates.overview(visitor.caller, shown.chosen, zone=visitor.zone)
    ended = visitor.caller.account.ended(service.clock.now())
    return await csv_response("certificates.csv", CSV_HEADER, _csv_rows(found, ended))


def _rows(found: CertificateOverview, view: View) -> Sequence[object]:
    if view is View.MANUFACTURERS:
        return by_manufacturer(found.matching)
    if view is View.DEVICES:
        return found.of_devices
    return found.gaps if view is View.GAPS else found.matching


def _csv_rows(found: CertificateOverview, ended: EndedPeriod | None) -> Iterator[Row]:
    for _, listed in found.of_devices:
        seen, shown = listed.seen, listed.shown(found.today)
        listing = "no longer listed" if seen.is_gone else "not confirmed" if listed.is_unconfirmed else "listed"
        listing = f"of {OTHER_RECORD}" if listed.other_as_of else listing
        listing = "device no longer listed" if listed.device.is_delisted else listing
        dated = seen.ends, GROUP_NAMES[group_of(shown.remaining)]
        number = seen.number, seen.revision, seen.notified_body
        stands = shown.register_word, shown.words
        state = in_a_cell(STATE_NAMES[listed.device.state], ended)
        yield *_csv_device(listed.device), *number, *dated, *stands, listing, state
    chosen = found.chosen
    if chosen.text or chosen.group is not None or chosen.in_six_months:
        return
    for device in found.gaps:
        if not device.certs and chosen.manufacturer in ("", device.manufacturer_srn or device.manufacturer_name):
            state = "none listed" if device.state is ReadState.COMPLETE else STATE_NAMES[device.state]
            yield *_csv_device(device), *[""] * 8, in_a_cell(state, ended)


def _csv_device(device: CertifiedDevice) -> Row:
    return device.label, device.subject, device.manufacturer_name, device.manufacturer_srn
