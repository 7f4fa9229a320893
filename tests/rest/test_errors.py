"""Errors: their codes, and what `Allow` says."""

import re
from pathlib import Path

import pytest

from registerwatch.rest.errors import STATUS_BY_CODE
from tests.support.harness import ServiceHarness

DOCUMENTED = dict(
    re.findall(
        r"^\| `([a-z-]+)` \| (\d{3}) \|",
        (Path(__file__).parents[2] / "docs" / "errors.md").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
)


def test_every_code_of_a_refusal_is_documented_with_its_status() -> None:
    assert {code: DOCUMENTED.get(code) for code in STATUS_BY_CODE} == {
        code: str(status) for code, status in STATUS_BY_CODE.items()
    }


@pytest.mark.anyio
@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/search", 400, "invalid-input"),
        ("GET", "/v1/search?page=x", 400, "invalid-input"),
        ("GET", "/v1/nothing", 404, "not-found"),
        ("GET", "/v1/me", 401, "unauthenticated"),
        ("POST", "/v1/sync", 403, "body-missing"),
        ("DELETE", "/mcp", 405, "method-not-allowed"),
        ("GET", "/ready", 503, "index-unavailable"),
    ],
)
async def test_an_error_says_its_kind(harness: ServiceHarness, method: str, path: str, status: int, code: str) -> None:
    answer = await harness.client.request(method, path)

    assert (answer.status_code, answer.json()["code"], DOCUMENTED[code]) == (status, code, str(status))


@pytest.mark.anyio
@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/v1/watches", "GET, HEAD, OPTIONS, POST"),
        ("/v1/watches/7", "DELETE, OPTIONS, PATCH"),
        ("/v1/sync", "OPTIONS, POST"),
        ("/v1/devices/04012345678901", "GET, HEAD, OPTIONS"),
        ("/v1/webhooks/1/test", "OPTIONS, POST"),
        ("/mcp", "POST, OPTIONS"),
        ("/health", "GET, HEAD"),
        ("/password/forgot", "GET, HEAD, POST"),
    ],
)
async def test_a_405_lists_every_method_that_the_address_takes(
    harness: ServiceHarness, path: str, allowed: str
) -> None:
    answer = await harness.client.put(path, json={})

    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
