"""Servers of tests that end: whoever is connected by then learns it, however far the connection was accepted."""

import asyncio
import socket

import pytest

from tests.support.mailbox import mailbox
from tests.support.receiver import receiver

STEPS = range(7)
"""How many the loop goes between a client's connecting and the end; one that is let in is known after four."""


def is_over(client: socket.socket) -> bool:
    """Whether the other side has ended it, one way or the other."""
    client.settimeout(5)
    try:
        while client.recv(1000):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize("steps", STEPS)
async def test_a_receiver_that_ends_leaves_nobody_waiting(steps: int) -> None:
    async with receiver() as box:
        client = socket.create_connection(("127.0.0.1", box.port))
        for _ in range(steps):
            await asyncio.sleep(0)
    with client:
        assert is_over(client)


@pytest.mark.parametrize("sent", [b"", b"EHLO me\r\n", b"EHLO me\r\nSTARTTLS\r\n", b"QUIT\r\n"])
def test_a_mailbox_that_ends_leaves_nobody_waiting(sent: bytes) -> None:
    with mailbox() as box:
        client = socket.create_connection(("127.0.0.1", int(box.address.rpartition(":")[2])))
        client.sendall(sent)
    with client:
        assert is_over(client)
