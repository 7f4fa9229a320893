"""Lists to download, as CSV and XLSX, of texts that strangers can set.

No program that opens them runs a formula. In CSV, which has no types, a cell that could be one gets an apostrophe; in
XLSX every text is written as text, so that leading zeros of a UDI-DI stay too. Days and instants are dates there.

CSV is UTF-8 with a byte order mark: without it Excel takes the file for the code page of the computer, and "Dräger" is
not readable. Programs that read the file are told its encoding by the answer; they have `/v1` anyway.

Rows are read a batch at a time, and one thread of the process writes all of these files, so that neither the memory nor
the time of others depends on how long a list is.
"""

import asyncio
import csv
import io
import re
import tempfile
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date, datetime
from typing import IO, Any, TypeVar

from openpyxl import Workbook
from openpyxl.cell import Cell as SheetCell
from openpyxl.cell import WriteOnlyCell
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter
from starlette.responses import Response, StreamingResponse

from registerwatch.web.responses import NOT_CACHED

Cell = str | int | date | datetime | None
"""Instants have no zone: they are in that of the reader, whose name is in the header."""
Row = Sequence[Cell]
Rows = AsyncIterable[Row] | Iterable[Row]

CSV = "text/csv; charset=utf-8"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
BATCH_ROWS = 500
PIECE_BYTES = 65_536
MAX_CELL_LENGTH = 32_767
"""What Excel takes."""
FIRST_YEAR = 1900
"""Dates before it are text: Excel has no others."""
DAY_FORMAT, INSTANT_FORMAT = "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"
MAX_WIDTH, MIN_WIDTH = 60, 8
"""Of a column, in characters."""
BYTE_ORDER_MARK = "\ufeff"

_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
_FORMULA_BEHIND_SEPARATOR = re.compile(r"([;|][\s\"']*)(?=[=+\-@＝＋－＠])")
"""Where a comma separates decimals, Excel takes a semicolon for the end of a cell, even within quotation marks."""
_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_LINE_BREAKS = re.compile(r"[\t\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")
_FILENAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,80}", re.ASCII)
_WRITER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spreadsheets")

T = TypeVar("T")


async def csv_response(filename: str, header: Sequence[str], rows: Rows) -> Response:
    """A download of a CSV file, sent while it is read. Errors of the first rows are raised before anything is sent."""
    batches = _batches(rows)
    first: Sequence[Row] = await anext(batches, [])

    async def text() -> AsyncIterator[bytes]:
        yield (BYTE_ORDER_MARK + await _in_writer(lambda: csv_text([header, *first]))).encode()
        async for batch in batches:
            yield (await _in_writer(lambda batch=batch: csv_text(batch))).encode()  # type: ignore[misc]

    return StreamingResponse(text(), headers=_headers(filename), media_type=CSV)


async def xlsx_response(filename: str, header: Sequence[str], rows: Rows, *, title: str = "List") -> Response:
    """A download of an XLSX file with one sheet. It is written to a temporary file, which no name leads to."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  # closed when it is sent
    try:
        sheet = _Sheet(title, header)
        try:
            async for batch in _batches(rows):
                await _in_writer(lambda batch=batch: sheet.append(batch))  # type: ignore[misc]
        except BaseException:
            await _in_writer(sheet.discard)
            raise
        size = await _in_writer(lambda: sheet.save(file))
    except BaseException:
        file.close()
        raise
    headers = {**_headers(filename), "Content-Length": str(size)}
    return StreamingResponse(_pieces(file), headers=headers, media_type=XLSX)


def csv_text(rows: Iterable[Row]) -> str:
    """Rows as lines of CSV in which no cell is a formula."""
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_MINIMAL).writerows([csv_cell(cell) for cell in row] for row in rows)
    return written.getvalue()


def csv_cell(value: Cell) -> str:
    """A value as text that no program takes for a formula, in one line."""
    if not isinstance(value, str):
        return "" if value is None else str(value)
    text = _LINE_BREAKS.sub(" ", _NOT_IN_XML.sub("", value))
    text = _FORMULA_BEHIND_SEPARATOR.sub(r"\1'", text)
    return f"'{text}" if _FORMULA.match(text) else text


class _Sheet:
    """A workbook with one sheet, of which only the row that is being written is in memory."""

    def __init__(self, title: str, header: Sequence[str]) -> None:
        self._workbook = Workbook(write_only=True)
        self._sheet: Any = self._workbook.create_sheet(title)  # its stubs lack the filter and the widths of columns
        self._columns = len(header)
        self._rows = 1
        self._header = header
        self._is_begun = False

    def append(self, rows: Sequence[Row]) -> None:
        """Write rows. The first ones tell how wide the columns are."""
        if not self._is_begun:
            self._begin(rows)
        for row in rows:
            self._sheet.append([self._cell(value) for value in row])
        self._rows += len(rows)

    def save(self, file: IO[bytes]) -> int:
        """Write the file; its size in bytes."""
        self.append([])
        self._sheet.auto_filter.ref = f"A1:{get_column_letter(self._columns)}{self._rows}"
        self._workbook.save(file)
        size = file.tell()
        file.seek(0)
        return size

    def discard(self) -> None:
        """Let the library remove its own temporary file, which it does when it saves."""
        with tempfile.TemporaryFile() as nowhere:
            self._workbook.save(nowhere)

    def _begin(self, rows: Sequence[Row]) -> None:
        self._is_begun = True
        self._sheet.freeze_panes = "A2"
        for place, name in enumerate(self._header):
            longest = max((len(str(row[place] or "")) for row in rows), default=0)
            width = min(MAX_WIDTH, max(MIN_WIDTH, len(name), longest) + 2)
            self._sheet.column_dimensions[get_column_letter(place + 1)].width = width
        cells = [self._cell(name) for name in self._header]
        for cell in cells:
            cell.font = Font(bold=True)
        self._sheet.append(cells)

    def _cell(self, value: Cell) -> SheetCell:
        """A cell whose text stays text, also when somebody edits it."""
        cell = WriteOnlyCell(self._sheet)
        if isinstance(value, str):
            text = _NOT_IN_XML.sub("", value)[:MAX_CELL_LENGTH]
            cell.value = text
            cell.data_type = "s"
            if _FORMULA.match(text):
                cell.quotePrefix = True
        elif isinstance(value, date) and value.year < FIRST_YEAR:
            cell.value = str(value)
        elif value is not None:
            cell.value = value
        if cell.is_date:
            cell.number_format = INSTANT_FORMAT if isinstance(value, datetime) else DAY_FORMAT
        return cell


async def _batches(rows: Rows) -> AsyncIterator[Sequence[Row]]:
    batch: list[Row] = []
    async for row in _one_by_one(rows):
        batch.append(row)
        if len(batch) == BATCH_ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


async def _one_by_one(rows: Rows) -> AsyncIterator[Row]:
    if isinstance(rows, AsyncIterable):
        async for row in rows:
            yield row
    else:
        for row in rows:
            yield row


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        while piece := await _in_writer(lambda: file.read(PIECE_BYTES)):
            yield piece


async def _in_writer(work: Callable[[], T]) -> T:
    """What `work` gives in the thread that writes. Whoever is cancelled waits for it: it uses what they give back."""
    future = asyncio.get_running_loop().run_in_executor(_WRITER, work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        with suppress(Exception):
            await future
        raise


def _headers(filename: str) -> dict[str, str]:
    """The headers of a download. File names are ours, never a user's."""
    assert _FILENAME.fullmatch(filename), "a file name has to be safe within a header"
    return {"Content-Disposition": f'attachment; filename="{filename}"', "Cache-Control": NOT_CACHED}
