"""A real receiver of webhooks on this machine, that behaves as badly as it is told to."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tests.support.servers import end

HOST = "127.0.0.1"

Manner = Callable[[asyncio.StreamWriter], Awaitable[None]]
"""What is done once a request has arrived."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it arrived. Names of headers are in lower case; `raw` is everything to the byte."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    raw: bytes
    connection: int
    """Number of the connection that it came by, from 1 on."""

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return msgspec.json.decode(self.body)


def answer(status: int = 200, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Manner:
    """A whole answer at once."""

    async def manner(writer: asyncio.StreamWriter) -> None:
        writer.write(_head(status, {"Content-Length": str(len(body)), **(headers or {})}) + body)
        await writer.drain()

    return manner


def stop_after(sent: bytes, *, closes: bool = True) -> Manner:
    """These bytes instead of an answer, then the end of the connection or nothing more."""

    async def manner(writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        await writer.drain()
        if closes:
            writer.close()

    return manner


def drip(head: bytes, part: bytes) -> Manner:
    """An answer that never ends, a little at a time: no single read takes long."""

    async def manner(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0.01)

    return manner


async def silence(_writer: asyncio.StreamWriter) -> None:
    """No answer ever."""
    await asyncio.Event().wait()


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


_CHUNKED = _head(200, {"Transfer-Encoding": "chunked"})

hang_up = stop_after(b"")
break_off = stop_after(b"HTTP/1.1 200 OK\r\nContent-")
break_off_body = stop_after(_head(200, {"Content-Length": "5000"}) + b"some")
no_http = stop_after(b"220 mail.example.org ESMTP\r\n\r\n", closes=False)
drip_head = drip(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n")
drip_body = drip(_CHUNKED, b"1\r\nx\r\n")


@dataclass
class Flood:
    """A body without an end, as fast as it is taken. `sent` counts its bytes."""

    sent: int = 0

    async def __call__(self, writer: asyncio.StreamWriter) -> None:
        writer.write(_CHUNKED)
        block = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        while True:
            writer.write(block)
            await writer.drain()
            self.sent += 0x10000


@dataclass
class Receiver:
    """What arrived, and where to send more. `script` is done first, one manner a request, then `manner` each time."""

    url: str = ""
    port: int = 0
    manner: Manner = field(default_factory=answer)
    script: list[Manner] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def wait_for(self, count: int, seconds: float = 10.0) -> list[Request]:
        """All requests, once there are so many."""
        async with asyncio.timeout(seconds), self.arrived:
            await self.arrived.wait_for(lambda: len(self.requests) >= count)
        return list(self.requests)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: requests one after the other, until either side ends it."""
        self.connections += 1
        number = self.connections
        try:
            while (request := await _read(reader, number)) is not None and not writer.is_closing():
                async with self.arrived:
                    self.requests.append(request)
                    self.arrived.notify_all()
                await (self.script.pop(0) if self.script else self.manner)(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def receiver(*, tls: ssl.SSLContext | None = None, host: str = HOST) -> AsyncIterator[Receiver]:
    """A receiver that accepts everything, unless it is told otherwise."""
    box, connections = Receiver(), dict[asyncio.Task[None], asyncio.BaseTransport]()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(box.serve(reader, writer))
        connections[task] = writer.transport
        task.add_done_callback(connections.pop)

    server = await asyncio.start_server(accept, host, 0, ssl=tls)
    box.port = server.sockets[0].getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    box.url = f"{'https' if tls else 'http'}://{shown}:{box.port}/hook"
    try:
        yield box
    finally:
        await end(server, connections.values())
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


async def _read(reader: asyncio.StreamReader, connection: int) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, path, headers, body, head + body, connection)
