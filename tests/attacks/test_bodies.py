"""Bodies that are too large, too deep, too many or unasked for."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import repeat

import httpx2
import pytest

from tests.attacks.service import AttackedService

MEGABYTE = 1 << 20
BLOCK = b"a" * (64 << 10)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND")
ADDRESSES = ("/v1/watches/1", "/v1/login", "/mcp", "/v1/billing/webhook", "/password/reset")
SLOW_CODES = b"\n".join(b"+A99" + b"+$9" * 160 + b"%d" % number for number in range(499))
"""At every third character of each another code may begin."""
DEEP = b"[" * 30_000 + b"]" * 30_000
"""Under 64 KiB."""
LISTS = {
    "newlines": b"\n" * (2 * MEGABYTE - 9_000),
    "carriage returns": b"\r" * (2 * MEGABYTE - 9_000),
    "spaces in lines": b" \n" * (MEGABYTE - 9_000),
    "header words": b"udi\n" * (MEGABYTE // 2 - 9_000),
    "quotes": b'"' * (2 * MEGABYTE - 9_000),
    "separators": b";\t,\n" * (MEGABYTE // 2 - 9_000),
}
"""Lists that hold nothing, as long as an import may be."""


@pytest.mark.nightly
def test_a_body_without_an_end_fills_no_memory_whatever_the_method(service: AttackedService) -> None:
    blocks, key = service.length.times(40, 400) * MEGABYTE // len(BLOCK), service.sign_up()
    with service.attacked("bodies of 400 MB by every method"):
        for _ in service.rounds():
            for method in METHODS:
                _send(service, method, "/v1/watches/1", BLOCK, blocks, key=key)
            for path in ADDRESSES:
                _send(service, "POST", path, BLOCK, blocks)


def test_lists_of_codes_that_are_made_to_be_slow_keep_nobody_waiting(service: AttackedService) -> None:
    keys = [service.sign_up() for _ in range(2)]
    with service.attacked("imports of 499 slow codes over two connections"), ThreadPoolExecutor(2) as threads:
        for _ in service.rounds():
            sent = [threads.submit(_import, service, key, SLOW_CODES) for key in keys]
            assert {each.result() for each in sent} <= {200, 429}


def _import(service: AttackedService, key: str, content: bytes) -> int:
    headers = {"Content-Type": "text/csv"}
    return service.request("POST", "/v1/import?dry_run=true", key=key, headers=headers, content=content).status_code


def test_a_huge_json_object_is_not_parsed_for_anybody(service: AttackedService) -> None:
    fields = json.dumps({f"field {number}": [number] * 20 for number in range(service.length.times(40_000, 250_000))})
    key = service.sign_up()
    with service.attacked("40 MB of JSON, with a key and without"):
        for _ in service.rounds():
            for path in (*ADDRESSES, "/v1/watches", "/v1/import", "/v1/users"):
                _send(service, "POST", path, fields.encode(), 1)
                _send(service, "POST", path, fields.encode(), 1, key=key)
            _send(service, "PATCH", "/v1/watches/1", fields.encode(), 1, key=key)


def test_a_small_body_of_deep_json_costs_little(service: AttackedService) -> None:
    key = service.sign_up()
    with service.attacked("deeply nested JSON of 60 KB"):
        for _ in service.rounds():
            for path in ("/v1/watches", "/v1/login", "/mcp", "/v1/import"):
                answer = service.request("POST", path, content=DEEP, headers=JSON, key=key)
                assert answer.status_code in (200, 400, 413, 429), answer.text


@pytest.mark.parametrize("lines", LISTS)
def test_an_import_of_lines_that_hold_nothing_is_refused_and_costs_little(service: AttackedService, lines: str) -> None:
    key, content = service.sign_up(), LISTS[lines]
    with service.attacked(f"imports of 2 MiB of {lines}"):
        for _ in service.rounds():
            for charset in ("utf-8", "utf-7", "punycode"):
                kind = {"Content-Type": f"text/csv; charset={charset}"}
                answer = service.request("POST", "/v1/import", content=content, headers=kind, key=key)
                assert answer.status_code in (400, 413), answer.text[:200]
            answer = service.request("POST", "/v1/import", fields={"csv": content.decode()}, key=key)
            assert answer.status_code in (400, 413), answer.text[:200]


def test_slow_bodies_over_many_connections_keep_nobody_waiting(service: AttackedService) -> None:
    with ExitStack() as opened:
        connections = [opened.enter_context(service.connect()) for _ in range(service.length.times(100, 900))]
        with service.attacked("slow bodies over 900 connections"):
            for each in connections:
                each.sendall(SLOW_HEAD + b"{")
            for _ in service.rounds():
                for each in connections:
                    with suppress(OSError):  # those that were cut off
                        each.sendall(b" ")
                    time.sleep(0.001)


SLOW_HEAD = b"POST /v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n"
JSON = {"Content-Type": "application/json"}


def _send(service: AttackedService, method: str, path: str, block: bytes, blocks: int, key: str = "") -> None:
    """Send a body in chunks until it ends, or the service has enough of it; any answer but a success will do."""
    with suppress(httpx2.TransportError):
        answer = service.request(method, path, key=key, headers=JSON, content=repeat(block, blocks))
        assert answer.status_code >= 400 or method in ("GET", "OPTIONS", "DELETE") or path == "/mcp", (
            method,
            path,
            answer.text,
        )
