"""Reading the codes of lists in a separate process, which has bounds of time and memory: codes can be made to be slow,
and the service answers nobody while it reads one.

A content is a `CodesToRead`, the output a list with what was read of each code, both as MessagePack.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.platform.bounded_process import (
    BoundedProcesses,
    ProcessBounds,
    ProcessFailed,
    ProcessorBudget,
    RunProcess,
    Work,
    answer_contents,
)
from registerwatch.register.identifiers import ParsedCode, parse
from registerwatch.register.identifiers.gs1_fields import load_fields
from registerwatch.watches.imports.list_codes import CodeOfList

AT_ONCE = 1_000
"""Codes that one process reads. In between others may come first."""
MAX_AT_A_TIME, MAX_OF_ACCOUNT, MAX_OF_NETWORK = 2, 1, 1
WAIT_SECONDS = 10.0
"""How long codes wait for those before them."""
BOUNDS = ProcessBounds(cpu_seconds=10, wall_seconds=30, memory_bytes=256 * 1024 * 1024)
"""1,000 codes that are made to be slow take 0.6 seconds of processor time."""

TOO_MUCH_WORK = "Reading these codes takes too long. Send fewer of them, or the identifiers in them alone."
BUSY = "Other lists are being read at the moment. Send yours again in a few seconds."

ReadCode = CodeOfList | str
"""The meanings of a code, or why it is none."""

_HALF_OF_PAIR, UNPRINTABLE = re.compile("[\ud800-\udfff]"), "\ue000"
"""MessagePack has no halves of surrogate pairs; no code has this character either."""


class CodesToRead(msgspec.Struct, frozen=True, array_like=True):
    """Codes whose meanings are asked for, or, if `this_year` decides the century of dates, all that they say."""

    texts: Sequence[str]
    this_year: int | None = None


_content_decoder = msgspec.msgpack.Decoder(CodesToRead)
_meanings_decoder = msgspec.msgpack.Decoder(list[ReadCode])
_parsed_decoder = msgspec.msgpack.Decoder(list[ParsedCode])


def code_processes(
    budget: ProcessorBudget | None = None, bounds: ProcessBounds = BOUNDS, run: RunProcess | None = None
) -> BoundedProcesses:
    """Processes that read codes."""
    return BoundedProcesses(
        __name__,
        bounds,
        most=MAX_AT_A_TIME,
        most_per_account=MAX_OF_ACCOUNT,
        most_per_network=MAX_OF_NETWORK,
        wait_seconds=WAIT_SECONDS,
        busy=BUSY,
        budget=budget,
        run=run,
    )


class CodeReader:
    """Reads codes, few lists at a time."""

    def __init__(self, processes: BoundedProcesses | None = None) -> None:
        self._processes = processes or code_processes()

    async def read(self, codes: Sequence[str], account_id: int, network: str | None = None) -> list[ReadCode]:
        """The meanings of each code, or why it is none. `network` is the sender's, if any. Raises `InvalidInput` if
        reading takes too long, `RateLimited`, and `Overloaded` if too many lists are being read.
        """
        read: list[ReadCode] = []
        for some in _parts(codes):
            read += _meanings_decoder.decode(await self._run(CodesToRead(some), account_id, network))
        return read

    async def parse(
        self, codes: Sequence[str], this_year: int, account_id: int, network: str | None = None
    ) -> list[ParsedCode]:
        """All that each code says. Raises as `read`."""
        parsed: list[ParsedCode] = []
        for some in _parts(codes):
            parsed += _parsed_decoder.decode(await self._run(CodesToRead(some, this_year), account_id, network))
        return parsed

    async def _run(self, content: CodesToRead, account_id: int, network: str | None) -> bytes:
        try:
            return await self._processes.run(msgspec.msgpack.encode(content), account_id, network)
        except ProcessFailed:
            raise InvalidInput(TOO_MUCH_WORK) from None


def _parts(codes: Sequence[str]) -> Iterator[list[str]]:
    """Parts for one process each, without what MessagePack cannot hold."""
    for start in range(0, len(codes), AT_ONCE):
        yield [_HALF_OF_PAIR.sub(UNPRINTABLE, code) for code in codes[start : start + AT_ONCE]]


def _read_codes(content: bytes) -> bytes:
    codes = _content_decoder.decode(content)
    if codes.this_year is None:
        return msgspec.msgpack.encode([code_of(text) for text in codes.texts])
    return msgspec.msgpack.encode([parse(text, codes.this_year) for text in codes.texts])


def code_of(text: str) -> ReadCode:
    """The meanings of one code, or why it is none."""
    try:
        return CodeOfList.of(text)
    except InvalidInput as error:
        return str(error)


def _prepared() -> Work:
    load_fields()
    return _read_codes


if __name__ == "__main__":
    answer_contents(_prepared, BOUNDS)
