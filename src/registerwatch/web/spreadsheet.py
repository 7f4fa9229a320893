"""Lists to download, as CSV and XLSX, of texts that strangers can set.

No program that opens them runs a formula. In CSV, which has no types, a cell that could be one gets an apostrophe; in
XLSX every text is written as text, so that leading zeros of a UDI-DI stay too. Days and instants are dates there.

CSV begins with a byte order mark for Excel. Programs that read the file are told its encoding by the answer; they have
`/v1` anyway. Rows are read and written a batch at a time, as `tables/csv_file.py` says.
"""

import re
import tempfile
from collections.abc import AsyncIterator, Sequence
from datetime import date
from typing import IO, TYPE_CHECKING

from starlette.responses import Response, StreamingResponse

from registerwatch.tables.csv_file import Rows, batches, csv_chunks, in_writer
from registerwatch.web.responses import NOT_CACHED

if TYPE_CHECKING:
    from registerwatch.web.xlsx_sheet import XlsxSheet

CSV = "text/csv; charset=utf-8"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PIECE_BYTES = 65_536
_FILENAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,80}", re.ASCII)


async def csv_response(filename: str, header: Sequence[str], rows: Rows) -> Response:
    """A download of a CSV file, sent while it is read. Errors of the first rows are raised before anything is sent."""
    chunks = csv_chunks(header, rows)
    first = await anext(chunks)

    async def content() -> AsyncIterator[bytes]:
        yield first
        async for chunk in chunks:
            yield chunk

    return StreamingResponse(content(), headers=_headers(filename), media_type=CSV)


async def xlsx_response(filename: str, header: Sequence[str], rows: Rows, *, title: str = "List") -> Response:
    """A download of an XLSX file with one sheet. It is written to a temporary file, which no name leads to."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  # closed when it is sent
    try:
        sheet = await in_writer(lambda: _sheet(title, header))
        try:
            async for batch in batches(rows):
                await in_writer(lambda batch=batch: sheet.append(batch))  # type: ignore[misc]
        except BaseException:
            await in_writer(sheet.discard)
            raise
        size = await in_writer(lambda: sheet.save(file))
    except BaseException:
        file.close()
        raise
    headers = {**_headers(filename), "Content-Length": str(size)}
    return StreamingResponse(_pieces(file), headers=headers, media_type=XLSX)


def day_or_none(iso: str) -> date | None:
    """A day of which files keep that it is one; None of an empty text."""
    return date.fromisoformat(iso) if iso else None


def _sheet(title: str, header: Sequence[str]) -> "XlsxSheet":
    from registerwatch.web.xlsx_sheet import XlsxSheet  # its library takes 0.2 s to load

    return XlsxSheet(title, header)


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        while piece := await in_writer(lambda: file.read(PIECE_BYTES)):
            yield piece


def _headers(filename: str) -> dict[str, str]:
    """The headers of a download. File names are ours, never a user's."""
    assert _FILENAME.fullmatch(filename), "a file name has to be safe within a header"
    return {"Content-Disposition": f'attachment; filename="{filename}"', "Cache-Control": NOT_CACHED}
