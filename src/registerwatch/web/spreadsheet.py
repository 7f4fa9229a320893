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
from typing import IO, TYPE_CHECKING, TypeVar

from starlette.responses import Response, StreamingResponse

from registerwatch.web.responses import NOT_CACHED

if TYPE_CHECKING:
    from registerwatch.web.xlsx_sheet import XlsxSheet

Cell = str | int | date | datetime | None
"""Instants have no zone: they are in that of the reader, whose name is in the header."""
Row = Sequence[Cell]
Rows = AsyncIterable[Row] | Iterable[Row]

CSV = "text/csv; charset=utf-8"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
BATCH_ROWS = 500
PIECE_BYTES = 65_536
BYTE_ORDER_MARK = "\ufeff"

FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
_FORMULA_BEHIND_SEPARATOR = re.compile(r"([;|][\s\"']*)(?=[=+\-@＝＋－＠])")
"""Where a comma separates decimals, Excel takes a semicolon for the end of a cell, even within quotation marks."""
NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
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
        sheet = await _in_writer(lambda: _sheet(title, header))
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
    text = _LINE_BREAKS.sub(" ", NOT_IN_XML.sub("", value))
    text = _FORMULA_BEHIND_SEPARATOR.sub(r"\1'", text)
    return f"'{text}" if FORMULA.match(text) else text


def _sheet(title: str, header: Sequence[str]) -> "XlsxSheet":
    from registerwatch.web.xlsx_sheet import XlsxSheet  # its library takes 0.2 s to load

    return XlsxSheet(title, header)


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
