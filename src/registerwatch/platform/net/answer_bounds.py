"""Bounds what one attempt may receive, so that no receiver of a webhook can keep the service busy with reading.

Bounds apply to bytes and reads on the wire, where TLS has its own endless messages (tickets, renegotiation), and to
what comes out of TLS: bytes, reads and interim answers (`100 Continue`). A client must accept any number of interim
answers, and each costs as much to parse as an answer.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from ssl import SSLContext
from typing import Any

import httpcore2
from anyio.abc import ByteStream
from httpcore2._backends.anyio import AnyIOStream

MAX_WIRE_BYTES, MAX_WIRE_READS = 64 * 1024, 200
MAX_ANSWER_BYTES, MAX_ANSWER_READS = 16 * 1024, 100
MAX_INTERIM_ANSWERS = 8
READ_AT_ONCE = 4 * 1024
WIRE_READ_AT_ONCE = 16 * 1024
"""A record of TLS."""

_INTERIM = re.compile(rb"(?:\A|\n\r?\n)HTTP/1\.[0-9] 1[0-9][0-9]")
_LONGEST_INTERIM = 16
"""Bytes of the pattern's longest match, so that one that comes in two parts is found."""


class AnswerTooLong(httpcore2.RemoteProtocolError):
    """The other side sent more than an answer needs."""


@dataclass(slots=True)
class _Allowance:
    """The rest of the bounds of one attempt."""

    wire_bytes: int = MAX_WIRE_BYTES
    wire_reads: int = MAX_WIRE_READS
    answer_bytes: int = MAX_ANSWER_BYTES
    answer_reads: int = MAX_ANSWER_READS
    interim_answers: int = MAX_INTERIM_ANSWERS
    end: bytes = b""
    """The last bytes that came."""

    def take_wire(self, received: int) -> None:
        """Raises `AnswerTooLong`."""
        self.wire_bytes -= received
        self.wire_reads -= 1
        if self.wire_bytes < 0 or self.wire_reads < 0:
            raise AnswerTooLong

    def take_answer(self, received: bytes) -> None:
        """Raises `AnswerTooLong`."""
        self.answer_bytes -= len(received)
        self.answer_reads -= 1
        seen = self.end + received
        self.interim_answers -= len(_INTERIM.findall(seen)) - len(_INTERIM.findall(self.end))
        self.end = seen[-_LONGEST_INTERIM:]
        if min(self.answer_bytes, self.answer_reads, self.interim_answers) < 0:
            raise AnswerTooLong


_allowance: ContextVar[_Allowance | None] = ContextVar("allowance", default=None)


@contextmanager
def one_attempt() -> Iterator[None]:
    """Count everything that this task receives inside together, over any number of connections."""
    token = _allowance.set(_Allowance())
    try:
        yield
    finally:
        _allowance.reset(token)


class BoundedBackend(httpcore2.AnyIOBackend):
    """Connects; bounds what is received on the wire."""

    async def connect_tcp(self, *arguments: Any, **named: Any) -> httpcore2.AsyncNetworkStream:
        """A connection. Raises `ConnectError`."""
        stream = await super().connect_tcp(*arguments, **named)
        assert isinstance(stream, AnyIOStream)
        stream._stream = _BoundedWire(stream._stream)  # below TLS, which the library adds later
        return stream


class _BoundedWire(ByteStream):
    """A TCP connection."""

    def __init__(self, inner: ByteStream) -> None:
        self._inner = inner
        self._known = inner.extra_attributes

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        """Attributes of the connection. The pool reads them of every idle one before each request, which is slow."""
        return self._known

    async def receive(self, max_bytes: int = WIRE_READ_AT_ONCE) -> bytes:
        received = await self._inner.receive(min(max_bytes, WIRE_READ_AT_ONCE))
        if (allowance := _allowance.get()) is not None:
            allowance.take_wire(len(received))
        return received

    async def send(self, item: bytes) -> None:
        await self._inner.send(item)

    async def send_eof(self) -> None:
        await self._inner.send_eof()

    async def aclose(self) -> None:
        await self._inner.aclose()


class BoundedAnswers(httpcore2.AsyncNetworkStream):
    """A connection as HTTP sees it: bounds what is received, with TLS and without."""

    def __init__(self, inner: httpcore2.AsyncNetworkStream) -> None:
        self._inner = inner

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109  # the library's
        """Raises `AnswerTooLong`."""
        received = await self._inner.read(min(max_bytes, READ_AT_ONCE), timeout)
        if (allowance := _allowance.get()) is not None:
            allowance.take_answer(received)
        return received

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109  # the library's
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  # the library's signature
    ) -> httpcore2.AsyncNetworkStream:
        return BoundedAnswers(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
