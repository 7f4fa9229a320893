"""Receivers of webhooks that cost the sender more than they cost their owner."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest

from tests.attacks.service import AttackedService
from tests.support.long_forms import some_by_day

SIDE_BY_SIDE = 8
WATCHED = 50
"""Another device than the one that somebody else watches."""
ANSWERS = {
    "interim answers": (b"", b"HTTP/1.1 102 Processing\r\n\r\n" * 500),
    "interim answers with headers": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n" * 300),
    "a status line": (b"HTTP/1.1 200 ", b"O" * 16_000),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n" * 2_000),
    "a body": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"3e80\r\n" + b"x" * 16_000 + b"\r\n"),
    "small chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 3_000),
}
"""How an answer without an end begins, and what is sent again and again."""


@pytest.mark.parametrize("answer", some_by_day(ANSWERS, ("headers", "a body")))
def test_a_receiver_that_never_ends_its_answer_costs_little(service: AttackedService, answer: str) -> None:
    """Answers to tests, and to deliveries."""
    key = service.sign_up()
    watched = service.register.choose(WATCHED)[-1]
    assert service.request("POST", "/v1/watches", key=key, fields={"subject": watched}).status_code == 200
    with _endless(*ANSWERS[answer]) as url, service.attacked(f"eight receivers that send {answer} without an end"):
        made = [
            service.request("POST", "/v1/webhooks", key=key, fields={"url": f"{url}/{number}"}).json()["webhook"]["id"]
            for number in range(SIDE_BY_SIDE)
        ]
        paths = [f"/v1/webhooks/{each}/test" for each in made]
        for number in service.rounds():
            service.register.change(watched, f"R{number}-{answer}")
            assert service.request("POST", "/v1/sync", key=key, fields={}).status_code == 200
            with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
                answers = list(threads.map(lambda path: service.request("POST", path, key=key, fields={}), paths))
            assert {each.status_code for each in answers} <= {200, 429}, [each.text for each in answers]


@contextmanager
def _endless(begin: bytes, part: bytes) -> Iterator[str]:
    """A receiver that sends as fast as it is read; gives its address."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        threading.Thread(target=_accept, args=(server, begin, part), daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def _accept(server: socket.socket, begin: bytes, part: bytes) -> None:
    with suppress(OSError):  # closed at the end of the test
        while True:
            connection, _ = server.accept()
            threading.Thread(target=_send_for_ever, args=(connection, begin, part), daemon=True).start()


def _send_for_ever(connection: socket.socket, begin: bytes, part: bytes) -> None:
    with connection, suppress(OSError):
        connection.recv(65_536)
        connection.sendall(begin)
        while True:
            connection.sendall(part)
