"""Lists to watch, from a file or pasted text: both are read as tables (`files/tables`), in bounded processes."""

from registerwatch.files.tables.encodings import UTF_8
from registerwatch.files.tables.process import BOUNDS, TableReader, table_processes
from registerwatch.files.tables.table import ReadChoices
from registerwatch.platform.bounded_process import BoundedProcesses, ProcessorBudget
from registerwatch.platform.structs import replace
from registerwatch.watches.imports.import_table import ParsedList, list_of

MAX_OF_NETWORK = 1
WAIT_SECONDS, WALL_SECONDS = 10.0, 20.0
"""A person waits for the page."""


def import_processes(budget: ProcessorBudget | None = None) -> BoundedProcesses:
    """The processes that read lists to watch, apart from those that read saved lists."""
    bounds = replace(BOUNDS, wall_seconds=WALL_SECONDS)
    return table_processes(bounds, WAIT_SECONDS, budget, most_per_network=MAX_OF_NETWORK)


class ListFileReader:
    """Reads lists to watch. Raises `InvalidInput`, `Overloaded` if too many are being read, and `RateLimited` if the
    account's share of the processor is used.
    """

    def __init__(self, tables: TableReader) -> None:
        self._tables = tables

    async def read_text(self, text: str, account_id: int, network: str | None = None) -> ParsedList:
        """The list in a pasted text. `network` is that of the client."""
        content = text.encode("utf-8", "replace")
        return list_of(await self._tables.read(content, account_id, ReadChoices(encoding=UTF_8), network))

    async def read(self, content: bytes, account_id: int, network: str | None = None) -> ParsedList:
        """The list in a file. `network` is that of the client."""
        return list_of(await self._tables.read(content, account_id, ReadChoices(), network))
