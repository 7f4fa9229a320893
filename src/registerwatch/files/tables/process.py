"""Reading files in a separate process, which has bounds of time and memory and none of the service's secrets.

A content is a line of JSON with the choices, then the file; the output is the table as MessagePack.
"""

import asyncio

import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.encodings import load_encodings
from registerwatch.files.tables.file_kinds import check_beginning
from registerwatch.files.tables.table import MAX_FILE_BYTES, ReadChoices, Table
from registerwatch.files.tables.table_reader import read_table
from registerwatch.platform.bounded_process import (
    BoundedProcesses,
    ProcessBounds,
    ProcessFailed,
    ProcessorBudget,
    Work,
    answer_contents,
)
from registerwatch.register.identifiers.gs1_fields import load_fields

MAX_AT_A_TIME, MAX_OF_ACCOUNT = 2, 1
WAIT_SECONDS = 20.0
"""How long a file waits for those before it."""
BOUNDS = ProcessBounds(cpu_seconds=30, wall_seconds=120, memory_bytes=1024 * 1024 * 1024)
"""50,000 rows of 10 columns take 2.5 seconds of processor time and 125 MiB; on a busy machine they wait for it."""

TOO_MUCH_WORK = (
    "This file takes too long or too much memory to read. Save the columns that you need alone, as .xlsx or CSV."
)
TOO_LARGE = f"The file has more than {MAX_FILE_BYTES // 1024**2} MiB. Split it, or save fewer columns."
BUSY = "Other files are being read at the moment. Send yours again in a few seconds."

_table_decoder = msgspec.msgpack.Decoder(Table)
_choices_decoder = msgspec.json.Decoder(ReadChoices)


def table_processes(
    bounds: ProcessBounds = BOUNDS,
    wait_seconds: float = WAIT_SECONDS,
    budget: ProcessorBudget | None = None,
    *,
    most_per_network: int | None = None,
) -> BoundedProcesses:
    """Processes that read files."""
    return BoundedProcesses(
        __name__,
        bounds,
        most=MAX_AT_A_TIME,
        most_per_account=MAX_OF_ACCOUNT,
        most_per_network=most_per_network,
        wait_seconds=wait_seconds,
        busy=BUSY,
        budget=budget,
    )


class TooMuchWork(InvalidInput):
    """The file reached a limit of the process. It must not be read again."""


class TableReader:
    """Reads files of users, few at a time."""

    def __init__(self, processes: BoundedProcesses | None = None) -> None:
        self._processes = processes or table_processes()

    async def read(self, content: bytes, account_id: int, choices: ReadChoices, network: str | None = None) -> Table:
        """The table in a file. `network` is the sender's, if any. Raises `InvalidInput`, also as `TooMuchWork`;
        `RateLimited`; and `Overloaded` if too many are being read.
        """
        if len(content) > MAX_FILE_BYTES:
            raise InvalidInput(TOO_LARGE)
        check_beginning(content, choices.encoding)  # so that no process is started for another file
        try:
            output = await self._processes.run(msgspec.json.encode(choices) + b"\n" + content, account_id, network)
        except ProcessFailed:
            raise TooMuchWork(TOO_MUCH_WORK) from None
        return await asyncio.to_thread(_table_decoder.decode, output)


def _read(content: bytes) -> bytes:
    choices, _, file = content.partition(b"\n")
    return msgspec.msgpack.encode(read_table(file, _choices_decoder.decode(choices)))


def _prepared() -> Work:
    load_encodings()
    load_fields()
    return _read


if __name__ == "__main__":
    answer_contents(_prepared, BOUNDS)
