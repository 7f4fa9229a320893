"""Workbooks are read in a process of their own, which has bounds of time and memory and none of the service's secrets.

    python -I -m registerwatch.watches.imports.import_process < list.xlsx

writes the list as JSON. Exit code 3: the file is none, and the output says why.
"""

import sys
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.encodings import load_encodings
from registerwatch.files.tables.file_kinds import is_workbook
from registerwatch.platform.bounded_process import (
    BoundedProcesses,
    ProcessBounds,
    ProcessFailed,
    Work,
    answer_from_input,
)
from registerwatch.register.identifiers.gs1_fields import load_fields
from registerwatch.watches.imports.import_file import text_file_lines, text_lines
from registerwatch.watches.imports.import_table import ParsedList

if TYPE_CHECKING:
    from registerwatch.accounts.limits.work_budget import WorkBudget  # a process has no use for the database's library

MAX_AT_A_TIME, MAX_OF_ACCOUNT, MAX_OF_NETWORK = 2, 1, 1
WAIT_SECONDS = 10.0
"""So long a file waits for those before it."""
BOUNDS = ProcessBounds(cpu_seconds=10, wall_seconds=20, memory_bytes=1024 * 1024 * 1024)

TOO_MUCH_WORK = "This workbook takes too long to read. Save the column of identifiers alone, as .xlsx or CSV."
BUSY = "Other lists are being read at the moment. Send yours again in a few seconds."


def workbook_processes(bounds: ProcessBounds = BOUNDS, budget: "WorkBudget | None" = None) -> BoundedProcesses:
    """The processes that read workbooks."""
    return BoundedProcesses(
        __name__,
        bounds,
        most=MAX_AT_A_TIME,
        most_per_account=MAX_OF_ACCOUNT,
        most_per_network=MAX_OF_NETWORK,
        wait_seconds=WAIT_SECONDS,
        busy=BUSY,
        budget=budget,
    )


class ListFileReader:
    """Reads files, few workbooks at a time."""

    def __init__(self, budget: "WorkBudget", workbooks: BoundedProcesses | None = None) -> None:
        self._budget = budget
        self._workbooks = workbooks or workbook_processes(budget=budget)

    async def read_text(self, text: str, account_id: int) -> ParsedList:
        """The list in what was pasted. Raises `InvalidInput`, and `RateLimited` where the account's share of the
        processor is used.
        """
        return await self._budget.run(account_id, partial(text_lines, text))

    async def read(self, content: bytes, account_id: int, network: str | None = None) -> ParsedList:
        """The list in a file, which came from a network. Raises `InvalidInput`, `Overloaded` where too many are being
        read, and `RateLimited`.
        """
        if not is_workbook(content):
            return await self._budget.run(account_id, partial(text_file_lines, content))
        try:
            output = await self._workbooks.run(content, account_id, network)
        except ProcessFailed:
            raise InvalidInput(TOO_MUCH_WORK) from None
        return msgspec.json.decode(output, type=ParsedList)


def _prepared() -> Work:
    from registerwatch.watches.imports.import_xlsx import workbook_lines  # the service itself never loads its library

    load_encodings()
    load_fields()
    return lambda content: msgspec.json.encode(workbook_lines(content))


if __name__ == "__main__":
    sys.exit(answer_from_input(_prepared, BOUNDS))
