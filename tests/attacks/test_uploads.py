"""Files of lists that take long to read or fill the disk, and bodies that come slowly."""

import os
import socket
import sqlite3
import time
from contextlib import ExitStack, closing, suppress
from functools import partial

import httpx2
import psycopg
import pytest

from tests.attacks.service import AttackedService
from tests.files.tables.workbooks import a_written_workbook
from tests.support.processes import until

CELLS = 10_000_000
WORKBOOKS = 3
MAX_WAIT_SECONDS = 5.0
"""For a body of somebody else, on a busy machine too: far less than the 30 seconds in which one has to arrive."""
BODY = os.urandom(10 << 20)
"""No text, and no workbook."""
LATER = {"a workbook": b"PK\x03\x04", "a text": b"GTIN\n" + b"4012345000009\n" * 10_000}
"""How files begin that turn out to be none when they are read."""
MAX_GROWTH = 224 << 20
"""What glibc, SQLite and libpq keep of bodies of 10 MiB that were received and stored, however many there were."""
SLOW = {"imports": ("/v1/import?dry_run=true", 32, 2), "files of lists": ("/v1/lists?name=Stock", 8, 1)}
"""Where bodies go that come slowly, from how many accounts, and how many of each: as many as there are places."""
SLOW_BYTES = 1_000
BETWEEN_SENDS = 0.5
OTHER_NETWORK = "203.0.113.9"
CSV = {"Content-Type": "text/csv"}
OWN_LIST = b"GTIN\n04012345000009\n" + (b" " * 999 + b"\n") * 72
"""It needs a place, too."""


@pytest.mark.nightly
def test_workbooks_of_millions_of_empty_cells_keep_no_list_of_others_waiting(service: AttackedService) -> None:
    workbook = a_written_workbook(f"<row>{'<c/>' * CELLS}</row>")
    assert len(workbook) < 64 << 10
    with service.attacked("workbooks of 10 million empty cells"):
        for _ in service.rounds():
            key = service.sign_up()  # one account has an hour's share of the processor alone
            sent = [
                _send(service, key, workbook, f"List {number}") for number in range(service.length.times(1, WORKBOOKS))
            ]
            for each in sent:
                until(partial(_has_failed, service, key, each), "the refusal of a workbook")
                assert service.request("PATCH", each, key=key, fields={}).status_code == 400, "it is read once"


def test_files_that_nobody_can_read_are_refused_when_they_are_sent(service: AttackedService) -> None:
    key = service.sign_up()
    with service.attacked("files of 10 MiB that begin as nothing that can be read", max_growth=MAX_GROWTH):
        for number in service.rounds():
            answer = _post(service, key, BODY, f"List {number}")
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid-input"), answer.text
    assert service.request("GET", "/v1/lists", key=key).json()["lists"] == []


@pytest.mark.parametrize("kind", LATER)
def test_files_that_nobody_can_read_fill_no_disk(service: AttackedService, any_database_url: str, kind: str) -> None:
    content = LATER[kind] + BODY[len(LATER[kind]) :]
    taken: list[tuple[str, str]] = []
    with service.attacked(f"files of 10 MiB that begin as {kind} and that nobody can read", max_growth=MAX_GROWTH):
        for _ in service.rounds():
            key = service.sign_up()
            for number in range(5):
                answer = _post(service, key, content, f"List {number}")
                assert answer.status_code in (202, 409), answer.text  # four have as many bytes as may be stored
                taken += [(key, _path_of(answer))] if answer.status_code == 202 else []
    for key, path in taken:
        until(partial(_has_failed, service, key, path), "the end of a file that cannot be read")
    assert _largest_file(any_database_url) < len(BODY)


@pytest.mark.parametrize("kind", SLOW)
def test_uploads_that_come_slowly_keep_no_other_network_from_sending_one(service: AttackedService, kind: str) -> None:
    path, accounts, of_account = SLOW[kind]
    keys = [service.sign_up() for _ in range(service.length.times(min(accounts, 6), accounts))]
    other = service.sign_up()
    with service.attacked(f"{kind} that come slowly"), ExitStack() as opened:
        connections = [_begun(opened.enter_context(service.connect()), path, key) for key in keys * of_account]
        for _ in service.rounds():
            for each in connections:
                with suppress(OSError):  # those that were cut off
                    each.sendall(b" " * SLOW_BYTES)
            began = time.monotonic()
            answer = service.request("POST", path, key=other, address=OTHER_NETWORK, headers=CSV, content=OWN_LIST)
            assert answer.status_code in (200, 202), answer.text
            service.length.judges(waited=time.monotonic() - began, at_most=MAX_WAIT_SECONDS)
            time.sleep(BETWEEN_SENDS)


def _begun(connection: socket.socket, path: str, key: str) -> socket.socket:
    """A connection on which so much of a body was sent that it has its place."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\nX-Forwarded-For: 198.51.100.7\r\n"
        f"Content-Type: text/csv\r\nContent-Length: 2000000\r\n\r\n"
    )
    connection.sendall(head.encode() + b" " * (80 << 10))
    return connection


def _post(service: AttackedService, key: str, content: bytes, name: str) -> httpx2.Response:
    return service.request("POST", f"/v1/lists?name={name.replace(' ', '%20')}", key=key, content=content)


def _send(service: AttackedService, key: str, content: bytes, name: str) -> str:
    """The path of the upload."""
    answer = _post(service, key, content, name)
    assert answer.status_code == 202, answer.text
    return _path_of(answer)


def _path_of(answer: httpx2.Response) -> str:
    return f"/v1/lists/{answer.json()['list_id']}/uploads/{answer.json()['upload_id']}"


def _has_failed(service: AttackedService, key: str, path: str) -> bool:
    return _upload(service, key, path)["state"] == "failed"


def _upload(service: AttackedService, key: str, path: str) -> dict[str, object]:
    upload: dict[str, object] = service.request("GET", path, key=key).json()["upload"]
    return upload


def _largest_file(database_url: str) -> int:
    """Bytes of the largest file of an upload that is stored."""
    is_file = database_url.startswith("sqlite:///")
    opened = sqlite3.connect(database_url.removeprefix("sqlite:///")) if is_file else psycopg.connect(database_url)
    with closing(opened) as connection:
        [(length,)] = connection.execute("SELECT coalesce(max(length(content)), 0) FROM list_uploads").fetchall()
        return int(length)
