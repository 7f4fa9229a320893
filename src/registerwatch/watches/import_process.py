"""Workbooks are read in a process of their own, which has bounds of time and memory and none of the service's secrets.

    python -I -m registerwatch.watches.import_process < list.xlsx

writes the list as JSON. Exit code 3: the file is none, and the output says why.
"""

import asyncio
import resource
import subprocess
import sys
from contextlib import AsyncExitStack

import msgspec

from registerwatch.errors import InvalidInput, Overloaded
from registerwatch.net.account_places import AccountPlaces
from registerwatch.watches.import_file import is_workbook, text_file_lines, text_lines
from registerwatch.watches.import_table import ParsedList

MAX_AT_A_TIME, MAX_OF_ACCOUNT = 2, 1
"""Else one account that sends slow workbooks would let no others in."""
WAIT_SECONDS = 10.0
"""So long a file waits for those before it."""
CPU_SECONDS, WALL_SECONDS = 10, 20
MAX_MEMORY_BYTES = 1024 * 1024 * 1024
REFUSED = 3

TOO_MUCH_WORK = "This workbook takes too long to read. Save the column of identifiers alone, as .xlsx or CSV."
BUSY = "Other lists are being read at the moment. Send yours again in a few seconds."


class ListFileReader:
    """Reads files, few workbooks at a time."""

    def __init__(self) -> None:
        self._places = AccountPlaces(most=MAX_AT_A_TIME, most_per_account=MAX_OF_ACCOUNT)

    async def read_text(self, text: str) -> ParsedList:
        """The list in what was pasted. Raises `InvalidInput`."""
        return await asyncio.to_thread(text_lines, text)

    async def read(self, content: bytes, account_id: int) -> ParsedList:
        """The list in a file. Raises `InvalidInput`, and `Overloaded` where too many are being read."""
        if not is_workbook(content):
            return await asyncio.to_thread(text_file_lines, content)
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await held.enter_async_context(self._places.place(account_id))
            except TimeoutError:
                raise Overloaded(BUSY) from None
            return await asyncio.to_thread(_read_in_process, content)


def _read_in_process(content: bytes) -> ParsedList:
    command = [sys.executable, "-I", "-m", __name__]
    try:
        done = subprocess.run(  # noqa: S603  # our own module
            command, input=content, capture_output=True, timeout=WALL_SECONDS, check=False, env={}
        )
    except subprocess.TimeoutExpired:
        raise InvalidInput(TOO_MUCH_WORK) from None
    if done.returncode == REFUSED:
        raise InvalidInput(done.stdout.decode())
    if done.returncode:
        raise InvalidInput(TOO_MUCH_WORK)
    return msgspec.json.decode(done.stdout, type=ParsedList)


def main() -> int:
    """Read a workbook from standard input."""
    from registerwatch.watches.import_xlsx import workbook_lines  # the service itself never loads its library

    _limit(resource.RLIMIT_CPU, CPU_SECONDS)
    _limit(resource.RLIMIT_AS, MAX_MEMORY_BYTES)
    try:
        output, code = msgspec.json.encode(workbook_lines(sys.stdin.buffer.read())), 0
    except InvalidInput as error:
        output, code = str(error).encode(), REFUSED
    sys.stdout.buffer.write(output)
    return code


def _limit(what: int, most: int) -> None:
    """Lower a limit of this process; one that is lower already stays."""
    _, hard = resource.getrlimit(what)
    lowest = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (lowest, lowest))


if __name__ == "__main__":
    sys.exit(main())
