"""Files of lists that take long to read, or fill the disk."""

import os
import sqlite3
import time
from contextlib import closing
from functools import partial

import httpx2
import psycopg

from tests.attacks.service import AttackedService
from tests.support.processes import until
from tests.tables.workbooks import a_written_workbook

CELLS = 10_000_000
WORKBOOKS = 3
MAX_WAIT_SECONDS = 10.0
"""From a list of one line to its match, on a busy machine: reading such a workbook took half a minute each."""
BODY = os.urandom(10 << 20)
"""No text, and no workbook."""


def test_workbooks_of_millions_of_empty_cells_keep_no_list_of_others_waiting(service: AttackedService) -> None:
    workbook = a_written_workbook(f"<row>{'<c/>' * CELLS}</row>")
    assert len(workbook) < 64 << 10
    key, other = service.sign_up(), service.sign_up()
    sent = [_send(service, key, workbook, f"List {number}") for number in range(WORKBOOKS)]
    began = time.monotonic()

    theirs = _send(service, other, b"GTIN\n04012345000009\n", "Stock")
    until(lambda: _upload(service, other, theirs)["state"] == "ready", "the list of somebody else")

    assert time.monotonic() - began < MAX_WAIT_SECONDS
    for each in sent:
        until(partial(lambda path: _upload(service, key, path)["state"] == "failed", each), "the refusal of a workbook")
        assert service.request("PATCH", each, key=key, fields={}).status_code == 400, "it is read once"


def test_files_that_nobody_can_read_fill_no_disk(service: AttackedService, any_database_url: str) -> None:
    key, rounds = service.sign_up(), service.length.times(1, 3)
    for number in range(5 * rounds):
        answer = _post(service, key, BODY, f"List {number % 5}")
        assert answer.status_code in (202, 409), answer.text

    until(lambda: _largest_file(any_database_url) < len(BODY), "the end of what cannot be read")


def _post(service: AttackedService, key: str, content: bytes, name: str) -> httpx2.Response:
    return service.request("POST", f"/v1/lists?name={name.replace(' ', '%20')}", key=key, content=content)


def _send(service: AttackedService, key: str, content: bytes, name: str) -> str:
    """The path of the upload."""
    answer = _post(service, key, content, name)
    assert answer.status_code == 202, answer.text
    return f"/v1/lists/{answer.json()['list_id']}/uploads/{answer.json()['upload_id']}"


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
