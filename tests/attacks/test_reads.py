"""Reads that take long: searches and workbooks of long lists, and answers that are taken slowly."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from urllib.parse import quote

import pytest

from tests.attacks.service import AttackedService
from tests.support.processes import until

AT_ONCE = 40
WORDS = " ".join(f"QWERT{letter}" for letter in "ABCDEFGH")
BUSY = {429, 503}


def test_searches_of_a_long_list_keep_nobody_waiting(service: AttackedService) -> None:
    key = service.sign_up()
    path = _kept_list(service, key, service.length.times(50, 1_000))
    search = f"{path}/lines?limit=1&text={quote(WORDS.lower())}"
    with service.attacked("40 searches of 9 MiB at once"), ThreadPoolExecutor(AT_ONCE) as threads:
        for _ in service.rounds():
            answers = list(threads.map(lambda _: service.request("GET", search, key=key), range(AT_ONCE)))
            assert {each.status_code for each in answers} <= {200, *BUSY}
            assert all("retry-after" in each.headers for each in answers if each.status_code in BUSY)


@pytest.mark.nightly
def test_answers_that_are_taken_slowly_are_ended_and_give_their_memory_back(service: AttackedService) -> None:
    key = service.sign_up()
    path = _kept_list(service, key, 100)
    request = f"GET {path}/lines?limit=100 HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\n\r\n".encode()
    with ExitStack() as opened, service.attacked("answers of 1 MB that are taken 4 KiB at a time"):
        left = [opened.enter_context(_unread(service, request)) for _ in range(service.length.times(3, 100))]
        until(lambda: not _taken_from(left), "the end of the connections")


@pytest.mark.nightly
def test_workbooks_of_one_account_leave_others_theirs(service: AttackedService) -> None:
    key, other = service.sign_up(), service.sign_up()
    path = _kept_list(service, key, service.length.times(50, 1_000))
    theirs = _kept_list(service, other, 1)
    with service.attacked("18 workbooks of 9 MiB at once"), ThreadPoolExecutor(18) as threads:
        for _ in service.rounds():
            made = [threads.submit(service.request, "GET", f"{path}/lines.xlsx", key=key) for _ in range(18)]
            assert service.request("GET", f"{theirs}/lines.xlsx", key=other).status_code in {200, 429}
            waiting = sum(not each.done() for each in made)
            assert waiting, "a workbook of one line is made before eighteen long ones"
            assert {each.result().status_code for each in made} <= {200, *BUSY}


def _unread(service: AttackedService, request: bytes) -> socket.socket:
    """A connection over which something was asked, which takes the beginning of the answer."""
    connection = socket.socket()
    connection.settimeout(30)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.connect(("127.0.0.1", service.port))
    connection.sendall(request)
    assert connection.recv(16) == b"HTTP/1.1 200 OK\r"
    return connection


def _taken_from(left: list[socket.socket]) -> list[socket.socket]:
    """Take a little over each connection; those that the service has not ended stay."""
    time.sleep(0.1)
    for each in list(left):
        try:
            ended = not each.recv(4_096)
        except ConnectionError:
            ended = True
        if ended:
            left.remove(each)
    return left


def _kept_list(service: AttackedService, key: str, lines: int) -> str:
    """The path of a list, every line of which has 48 long cells and the words in the last of them."""
    cells = ";".join(["X" * 199] * 47 + [WORDS])
    rows = [f"code;{';'.join(f'c{number}' for number in range(48))}"]
    rows += [f"0401{number:010};{cells}" for number in range(lines)]
    sent = service.request("POST", "/v1/lists?name=Stock&keep=true", key=key, content="\n".join(rows).encode())
    assert sent.status_code == 202, sent.text
    path = f"/v1/lists/{sent.json()['list_id']}"
    until(lambda: service.request("GET", path, key=key).json()["list"]["coverage"] is not None, "the list")
    return path
