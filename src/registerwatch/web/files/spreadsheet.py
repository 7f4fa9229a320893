"""Downloads of lists, as CSV and workbooks (XLSX), with texts that strangers can set.

A program that opens them runs no formula. In CSV, which has no types, a cell that could be one gets an apostrophe; in
XLSX every text is written as text, so that leading zeros of a UDI-DI stay too. Days and instants are dates there.

CSV begins with a byte order mark for Excel. Programs get the encoding from the answer's headers; they have `/v1`
anyway. Rows are read and written in batches, as in `csv_file.py`. A workbook is written to a nameless file in the data
folder, which has room; the file is gone when the process is killed.
"""

import re
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from datetime import date
from pathlib import Path
from typing import IO

import structlog
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from registerwatch.accounts.models import Caller
from registerwatch.errors import Overloaded
from registerwatch.files.tables.csv_file import Rows, batches, csv_chunks, in_writer
from registerwatch.platform.account_slots import AccountSlots, enter_within
from registerwatch.platform.disk import MIN_FREE_FOR_FILES, DiskCheck
from registerwatch.web.files.xlsx_sheet import XlsxSheet
from registerwatch.web.held_answer import PIECE_BYTES, HeldAnswer
from registerwatch.web.responses import NOT_CACHED

log = structlog.get_logger(__name__)

CSV = "text/csv; charset=utf-8"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MAX_WORKBOOKS = 4
"""Workbooks that one process makes at a time."""
WAIT_SECONDS = 30.0
"""How long a workbook waits for earlier ones, and as long for the account's last one to be sent."""
BUSY = "Many workbooks are being made at the moment. Try again in a few seconds, or take the CSV file."
BUSY_ACCOUNT = "Another workbook of this account is being made or sent. Try again when it has arrived."
NO_ROOM = "The disk of this service is nearly full, so it makes no workbooks now. Take the CSV file."
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


class Workbooks:
    """Makes workbooks, few at a time: one per account until it was sent, and for a client network half of all. Networks
    are served in a fair order.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._room = DiskCheck(folder, min_free_bytes=MIN_FREE_FOR_FILES)
        self._slots = AccountSlots(most=MAX_WORKBOOKS, most_per_account=1, most_per_network=MAX_WORKBOOKS // 2)

    async def response(
        self, caller: Caller, filename: str, header: Sequence[str], rows: Rows, *, title: str = "List"
    ) -> Response:
        """A download of a workbook with one sheet.

        Raises `Overloaded` where no slot is free in time, or the disk is full; and errors of the rows.
        """
        async with AsyncExitStack() as held:
            own = self._slots.own_slot(caller.account.id)
            await enter_within(WAIT_SECONDS, held, own, otherwise=BUSY_ACCOUNT)
            async with AsyncExitStack() as making:
                slot = self._slots.shared_slot(caller.network or caller.account.id)
                await enter_within(WAIT_SECONDS, making, slot, otherwise=BUSY)
                file = await self._made(title, header, rows)
            held.callback(file.close)
            headers = {**_headers(filename), "Content-Length": str(file.tell())}
            file.seek(0)
            return HeldAnswer(_pieces(file), held.pop_all(), headers, XLSX)

    async def _made(self, title: str, header: Sequence[str], rows: Rows) -> IO[bytes]:
        """The file of a workbook, at its end. Raises `Overloaded`."""
        try:
            return await self._written(title, header, rows)
        except OSError as error:
            log.error("a workbook cannot be written", folder=str(self._folder), error=str(error))
            raise Overloaded(NO_ROOM) from error

    async def _written(self, title: str, header: Sequence[str], rows: Rows) -> IO[bytes]:
        await self._require_room()
        file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  # closed when it is sent
        sheet = XlsxSheet(file, title, header)
        try:
            async for batch in batches(rows):
                await self._require_room()
                await in_writer(lambda batch=batch: sheet.append(batch))  # type: ignore[misc]
            await in_writer(sheet.finish)
        except BaseException:
            await in_writer(sheet.discard)
            file.close()
            raise
        return file

    async def _require_room(self) -> None:
        """Raise `Overloaded` where the disk has little room: the register's records have priority."""
        if await self._room.problem() is not None:
            raise Overloaded(NO_ROOM)


def workbooks_of(request: Request) -> Workbooks:
    """The maker of the application's workbooks."""
    workbooks: Workbooks = request.app.state.workbooks
    return workbooks


def day_or_none(iso: str) -> date | None:
    """An ISO day as a date, which files store as such; None for an empty text."""
    return date.fromisoformat(iso) if iso else None


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    while piece := await in_writer(lambda: file.read(PIECE_BYTES)):
        yield piece


def _headers(filename: str) -> dict[str, str]:
    """The headers of a download. File names never come from users."""
    assert _FILENAME.fullmatch(filename), "a file name has to be safe within a header"
    return {"Content-Disposition": f'attachment; filename="{filename}"', "Cache-Control": NOT_CACHED}
