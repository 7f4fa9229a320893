"""A name server on this machine: it knows some names, and keeps silent about those that hang."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

A, NO_SUCH_NAME = 1, 3
HANGS = "hangs"
"""The first part of names that are never answered."""


@dataclass
class NameServer(asyncio.DatagramProtocol):
    """`names` are known, with their IPv4 addresses. `asked` are the names of all questions."""

    names: Mapping[str, str]
    port: int = 0
    asked: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        """As a resolver takes it."""
        return f"127.0.0.1:{self.port}"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)  # uvloop's is no subclass
        self.port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, addr: tuple[str | int, int]) -> None:
        name, end = _name_of(data)
        self.asked.append(name)
        if name.startswith(HANGS):
            return
        (kind,) = struct.unpack(">H", data[end : end + 2])
        known = self.names.get(name)
        records = b""
        if known is not None and kind == A:
            records = b"\xc0\x0c" + struct.pack(">HHIH", A, 1, 60, 4) + socket.inet_aton(known)
        code = 0 if known is not None else NO_SUCH_NAME
        counts = struct.pack(">HHHH", 1, 1 if records else 0, 0, 0)
        self._transport.sendto(data[:2] + bytes([0x81, 0x80 | code]) + counts + data[12 : end + 4] + records, addr)


@asynccontextmanager
async def name_server(names: Mapping[str, str]) -> AsyncIterator[NameServer]:
    """A name server that answers while the block lasts."""
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(lambda: NameServer(names), local_addr=("127.0.0.1", 0))
    try:
        yield server
    finally:
        transport.close()


def _name_of(question: bytes) -> tuple[str, int]:
    """The name that is asked for, and where it ends."""
    labels, at = [], 12
    while length := question[at]:
        labels.append(question[at + 1 : at + 1 + length].decode())
        at += length + 1
    return ".".join(labels).lower(), at + 1
