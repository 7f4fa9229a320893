"""CSV files, written a batch of rows at a time.

CSV is UTF-8 with a byte order mark: without it Excel decodes the file with the computer's code page, and "Dräger" is
not readable.

Rows are read a batch at a time, and one thread of the process writes all files, so that a long list takes neither much
memory nor the time of others.
"""

import asyncio
import csv
import io
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date, datetime
from itertools import islice
from typing import TypeVar

from registerwatch.files.tables.formula_guard import guarded

Cell = str | int | float | date | datetime | None
"""Instants have no zone: they are in the reader's zone, which the header names."""
Row = Sequence[Cell]
Rows = AsyncIterable[Row] | Iterable[Row]

BATCH_ROWS = 500
BYTE_ORDER_MARK = "\ufeff"

_WRITER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spreadsheets")

T = TypeVar("T")


async def csv_chunks(headings: Sequence[str], rows: Rows) -> AsyncIterator[bytes]:
    """A CSV file in chunks. The first one has the heading and the first rows, and raises their errors."""
    read = batches(rows)
    first: Sequence[Row] = await anext(read, [])
    yield (BYTE_ORDER_MARK + await in_writer(lambda: csv_text([headings, *first]))).encode()
    async for batch in read:
        yield (await in_writer(lambda batch=batch: csv_text(batch))).encode()  # type: ignore[misc]


def csv_text(rows: Iterable[Row]) -> str:
    """Rows as lines of CSV in which no cell is a formula."""
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_MINIMAL).writerows([csv_cell(cell) for cell in row] for row in rows)
    return written.getvalue()


def csv_cell(value: Cell) -> str:
    """A value as text in one line that no program reads as a formula."""
    if not isinstance(value, str):
        return "" if value is None else str(value)
    return guarded(value)


async def batches(rows: Rows) -> AsyncIterator[Sequence[Row]]:
    """The rows in batches of `BATCH_ROWS`."""
    if not isinstance(rows, AsyncIterable):
        left = iter(rows)
        while read := await in_writer(lambda: list(islice(left, BATCH_ROWS))):
            yield read
        return
    batch: list[Row] = []
    async for row in rows:
        batch.append(row)
        if len(batch) == BATCH_ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


async def in_writer(work: Callable[[], T]) -> T:
    """Do `work` in the writing thread. A cancelled caller waits for its end, since it uses what the caller releases."""
    future = asyncio.get_running_loop().run_in_executor(_WRITER, work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        with suppress(Exception):
            await future
        raise
