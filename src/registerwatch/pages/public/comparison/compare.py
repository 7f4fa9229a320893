"""The comparison of devices, or of one device at two dates, as a page and as a file."""

import asyncio
from collections.abc import Sequence
from datetime import date

import msgspec
from fastapi import APIRouter, Request
from starlette.datastructures import QueryParams
from starlette.responses import Response

from registerwatch.bootstrap import Service
from registerwatch.errors import InvalidInput
from registerwatch.files.tables.csv_file import Row
from registerwatch.lookup.devices import DeviceAnswer, NoDevice
from registerwatch.lookup.history_service import AsOf, as_of
from registerwatch.pages.addresses import compare_address, with_query
from registerwatch.pages.public.comparison.comparison import Absence, Column, Comparison
from registerwatch.pages.public.comparison.history import device_view_then, today_of
from registerwatch.pages.public.device import DeviceView, is_gone, served_device
from registerwatch.pages.public.summaries import PageSummary, origin_of
from registerwatch.pages.rendering import unindexed_page
from registerwatch.platform.structs import replace
from registerwatch.register.identifiers import MAX_CODE_LENGTH
from registerwatch.web.files.spreadsheet import csv_response
from registerwatch.web.injection import InjectedService, limits_of
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.register_reads import device_for

MAX_DEVICES, MAX_DATES = 4, 2

NUMBERS = ("First", "Second", "Third", "Fourth")
NOTHING_TO_COMPARE = "There are no two records to compare."

router = APIRouter()


class Asked(msgspec.Struct, frozen=True):
    """What to compare, as typed: codes of devices, or one code and dates."""

    codes: Sequence[str]
    dates: Sequence[str]
    only_differences: bool = False

    @classmethod
    def of(cls, parameters: QueryParams) -> "Asked":
        """Read a query; forms send empty fields too."""
        codes, dates = ([each.strip() for each in parameters.getlist(name) if each.strip()] for name in ("d", "at"))
        return cls(codes, dates, parameters.get("only") == "differences")

    @property
    def is_whole(self) -> bool:
        """Whether it is enough for a comparison."""
        return len(self.codes) > 1 or bool(self.codes and self.dates)

    @property
    def code_fields(self) -> list[tuple[str, str]]:
        """The fields for codes: title and value."""
        codes = [*self.codes, "", "", "", ""]
        return list(zip(NUMBERS, codes, strict=False))

    @property
    def date_fields(self) -> list[str]:
        """The values of both date fields; an instant is not a date."""
        return [*(each if _is_date(each) else "" for each in self.dates), "", ""][:MAX_DATES]

    def check(self) -> None:
        """Raise `InvalidInput` if these cannot be compared, whether or not they exist."""
        if len(self.codes) > MAX_DEVICES:
            raise InvalidInput(f"{len(self.codes)} devices are too many: {MAX_DEVICES} can be compared at most.")
        if self.dates and len(self.codes) != 1:
            raise InvalidInput("Dates compare one device with itself. Leave out the dates, or the other devices.")
        if len(self.dates) > MAX_DATES:
            raise InvalidInput(f"{len(self.dates)} dates are too many: {MAX_DATES} can be compared at most.")


@router.get("/compare")
async def compare(request: Request, service: InjectedService) -> Response:
    """The comparison, or the form for it."""
    asked = Asked.of(request.query_params)
    found = await _compared(request, service, asked)
    if isinstance(found, Response):
        return found
    codes, dates = [each.udi for each in found.columns][: len(asked.codes)], asked.dates
    file = with_query("/compare.csv", [*(("d", each) for each in codes), *(("at", each) for each in dates)])
    return _page(
        request,
        service,
        200,
        asked,
        found,
        file=file,
        everything=compare_address(codes, dates),
        differences=compare_address(codes, dates, only_differences=True),
    )


@router.get("/compare.csv")
async def compare_csv(request: Request, service: InjectedService) -> Response:
    """The comparison as a file; if there is none, the page that says why."""
    found = await _compared(request, service, Asked.of(request.query_params))
    return found if isinstance(found, Response) else await csv_response("comparison.csv", *_file(found))


async def _compared(request: Request, service: Service, asked: Asked) -> Comparison | Response:
    """The comparison, or the page that says why there is none."""
    await limits_of(request).check(request, Limit.PAGES)
    try:
        asked.check()
        if not asked.is_whole:
            return _page(request, service, 200, asked)
        columns = await (_dates if asked.dates else _devices)(request, service, asked)
    except InvalidInput as error:
        return _page(request, service, 400, asked, problem=str(error))
    found = Comparison.of(columns)
    return found if found.is_possible else _page(request, service, 404, asked, found, problem=NOTHING_TO_COMPARE)


def _page(
    request: Request,
    service: Service,
    status: int,
    asked: Asked,
    found: Comparison | None = None,
    *,
    problem: str = "",
    file: str = "",
    everything: str = "",
    differences: str = "",
) -> Response:
    text = "Two to four devices of the register side by side, or one device at two dates."
    origin = origin_of(service.settings)
    shown = differences if asked.only_differences else everything
    address = origin.public_url + (shown or "/compare")
    return unindexed_page(
        request,
        "compare.html",
        status,
        asked=asked,
        found=found,
        rows=(found.not_same if asked.only_differences else found.rows) if found and not problem else [],
        problem=problem,
        file=file,
        everything=everything,
        differences=differences,
        today=today_of(service),
        max_length=MAX_CODE_LENGTH,
        summary=PageSummary("Compare devices", text, address, origin, is_canonical=False),
    )


async def _subject(service: Service, code: str) -> str:
    try:
        return await service.codes.subject(code)
    except InvalidInput as error:
        raise InvalidInput(f"“{code[:MAX_CODE_LENGTH]}”: {error}") from None


async def _devices(request: Request, service: Service, asked: Asked) -> list[Column]:
    """A column for each device. Each counts as a page, since it costs as much."""
    udis = [await _subject(service, each) for each in asked.codes]
    twice = next((each for each in udis if udis.count(each) > 1), None)
    if twice is not None:
        raise InvalidInput(f"The device {twice} is named twice. Dates compare a device with itself.")
    for _ in udis[1:]:
        await limits_of(request).check(request, Limit.PAGES)
    answers = await asyncio.gather(*(device_for(request, service, each) for each in udis), return_exceptions=True)
    columns = []
    for udi, answer in zip(udis, answers, strict=True):
        if isinstance(answer, BaseException):
            raise answer
        columns.append(await _column(service, udi, answer))
    return columns


async def _dates(request: Request, service: Service, asked: Asked) -> list[Column]:
    """A column for each date, the earlier one first; with one date, that and now."""
    udi = await _subject(service, asked.codes[0])
    instants = sorted(service.history.instant(each) for each in asked.dates)
    if len(instants) > len(set(instants)):
        raise InvalidInput("Both dates are the same. Choose two that differ, or leave one out to compare with now.")
    answer = await device_for(request, service, udi)
    now = await _column(service, udi, answer)
    if isinstance(answer, NoDevice):
        return [now]
    history = (await service.history.device(udi, limit=1)).history
    columns = [await _column_then(service, udi, as_of(history, each)) for each in instants]
    if len(columns) < MAX_DATES:
        columns.append(now)
    return [replace(each, is_of_dates=True) for each in columns]


async def _column_then(service: Service, udi: str, past: AsOf) -> Column:
    view = await device_view_then(service, past)
    if view is None:
        return Column(udi, instant=past.instant, absence=Absence.UNKNOWN_THEN, reason=past.note or "")
    return Column(udi, view, past.instant)


async def _column(service: Service, udi: str, answer: DeviceAnswer | NoDevice) -> Column:
    if isinstance(answer, NoDevice):
        absence = Absence.UNREADABLE if answer.is_unreadable else Absence.NOT_IN_COPY
        return Column(udi, absence=absence, reason=answer.reason)
    served = served_device(answer)
    is_maker_gone = await is_gone(service, served.manufacturer_srn)
    view = DeviceView(
        served,
        today_of(service),
        is_listed=answer.is_listed,
        is_maker_gone=is_maker_gone,
        of_other_records=await service.records.other_certificates(served.udi),
    )
    return Column(udi, view)


def _file(found: Comparison) -> tuple[list[str], list[Row]]:
    """The header and the rows of the file."""
    columns = found.columns
    header = ["Field", "Comparison", *(_heading(each) for each in columns)]
    of_columns: list[Row] = [
        ["How much was read", "", *(" ".join(filter(None, (each.completeness, each.problem))) for each in columns)],
        ["Read from the register, or later", "", *(each.read_at for each in columns)],
    ]
    rows: list[Row] = [
        [
            f"{row.title} {row.code}".strip(),
            row.state.words,
            *(
                cell.text if cell else (column.absence.value if column.absence else "")
                for column, cell in zip(columns, row.cells, strict=True)
            ),
        ]
        for row in found.rows
    ]
    return header, [*of_columns, *rows]


def _heading(column: Column) -> str:
    """`UDI-DI 04012345678901, 1 Jun 2026, 23:59 UTC`."""
    return f"UDI-DI {column.udi}" + (f", {column.label}" if column.is_of_dates else "")


def _is_date(text: str) -> bool:
    """Whether a text is a value of a date field."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
