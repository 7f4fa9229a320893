"""Requests and answers over one connection on an event loop: as little as a load generator needs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from bench.connection import Refused

IN_CHUNKS = -1
"""The length of an answer that tells none."""
LAST_CHUNK = b"\r\n0\r\n\r\n"


class Exchange(asyncio.Protocol):
    """One connection that is kept alive: sends a request, notices when its whole answer is there."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._expected: int | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one without being derived from it

    def send(self, request: bytes) -> None:
        """Send a request. The former one has been answered."""
        self._received.clear()
        self._expected = None
        self._transport.write(request)

    def answered(self, status: int) -> None:
        """The whole answer is there."""
        raise NotImplementedError

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._expected is None:
            self._expected = self._length_of_answer()
        if self._expected == IN_CHUNKS:
            if self._received.endswith(LAST_CHUNK):
                self.answered(self._status)
        elif self._expected is not None and len(self._received) >= self._expected:
            self.answered(self._status)

    @property
    def _status(self) -> int:
        return int(self._received[9:12])

    def _length_of_answer(self) -> int | None:
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = bytes(self._received[:end]).lower()
        if b"\r\ntransfer-encoding: chunked" in head:
            return IN_CHUNKS
        _, _, rest = head.partition(b"\r\ncontent-length:")
        return end + 4 + (int(rest.partition(b"\r\n")[0]) if rest and self._status != 304 else 0)


class Line(Exchange):
    """A connection whose answers are awaited one by one."""

    _answer: asyncio.Future[int] | None = None

    @property
    def body(self) -> bytes:
        """The body of the answer that came last."""
        return bytes(self._received).partition(b"\r\n\r\n")[2]

    async def ask(self, request: bytes) -> int:
        """The status of the answer, once all of it is there. Raises `Refused` when the server hangs up."""
        self._answer = asyncio.get_running_loop().create_future()
        self.send(request)
        return await self._answer

    def hang_up(self) -> None:
        """Close the connection."""
        self._transport.abort()

    def answered(self, status: int) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(status)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(Refused(f"The server hung up: {exc}"))


@asynccontextmanager
async def line(port: int) -> AsyncIterator[Line]:
    """A line to a server on the loopback, until the end of the block."""
    transport, opened = await asyncio.get_running_loop().create_connection(Line, "127.0.0.1", port)
    try:
        yield opened
    finally:
        transport.abort()
