"""Servers of tests that end: whoever is connected by then learns it at once."""

import asyncio
import socket

import pytest

from tests.support.closing_server import Noted, end
from tests.support.mailbox import mailbox
from tests.support.receiver import receiver

STEPS = range(7)
"""How many the loop goes between a visitor's connecting and the end; one that is let in is known after four."""


class Silent(Noted, asyncio.Protocol):
    """Says nothing."""


def is_over(visitor: socket.socket) -> bool:
    """Whether the other side has ended it, one way or the other."""
    visitor.settimeout(5)
    try:
        while visitor.recv(1000):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


@pytest.mark.anyio
@pytest.mark.parametrize("steps", STEPS)
async def test_a_visitor_is_not_left_waiting_however_far_it_was_let_in(steps: int) -> None:
    connections: list[asyncio.BaseTransport] = []
    server = await asyncio.get_running_loop().create_server(lambda: Silent(connections), "127.0.0.1", 0)
    with socket.create_connection(server.sockets[0].getsockname()) as visitor:
        for _ in range(steps):
            await asyncio.sleep(0)
        await end(server, connections)
        assert is_over(visitor)


@pytest.mark.anyio
@pytest.mark.parametrize("steps", STEPS)
async def test_a_receiver_that_ends_leaves_nobody_waiting(steps: int) -> None:
    async with receiver() as box:
        visitor = socket.create_connection(("127.0.0.1", box.port))
        for _ in range(steps):
            await asyncio.sleep(0)
    with visitor:
        assert is_over(visitor)


@pytest.mark.parametrize("spoken", [b"", b"EHLO me\r\n", b"EHLO me\r\nSTARTTLS\r\n", b"QUIT\r\n"])
def test_a_mailbox_that_ends_leaves_nobody_waiting(spoken: bytes) -> None:
    with mailbox() as box:
        visitor = socket.create_connection(("127.0.0.1", int(box.address.rpartition(":")[2])))
        visitor.sendall(spoken)
    with visitor:
        assert is_over(visitor)
