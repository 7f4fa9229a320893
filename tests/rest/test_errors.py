"""Errors: their codes, and what `Allow` says."""

import re
from pathlib import Path

import httpx2
import pytest

from registerwatch.app import work_app
from registerwatch.rest.routing.errors import STATUS_BY_CODE
from tests.support.harness import ERROR_FIELDS, ServiceHarness, auth_headers

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


UNKNOWN_SRN, UNKNOWN_CODE = "DE-MF-999999999", "04012345678918"


def _judge(response: httpx2.Response, asked: str) -> str:
    """The code of an error, which has what all errors have."""
    body = response.json()
    assert body.keys() >= ERROR_FIELDS, (asked, response.text)
    assert body["error"], asked
    assert body["request_id"] == response.headers["x-request-id"], asked
    assert DOCUMENTED[body["code"]] == str(response.status_code), (asked, response.text)
    assert response.headers["cache-control"] == "no-store", asked
    return str(body["code"])


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_every_error_of_every_operation_has_what_all_errors_have(whole_service: ServiceHarness) -> None:
    harness = whole_service
    owner = await harness.sign_up()
    right = auth_headers(owner.api_key)
    json_type, text = {"Content-Type": "application/json"}, {"Content-Type": "text/plain"}
    description = (await harness.get("/openapi.json")).json()
    seen: set[str] = set()
    for path, methods in description["paths"].items():
        for method in methods:
            unknown = {"udi": UNKNOWN_CODE, "srn": UNKNOWN_SRN}
            address = re.sub(r"\{(\w+)\}", lambda match: unknown.get(match[1], "999999"), path)
            wrong = re.sub(r"\{(\w+)\}", "%20", path)
            sent: list[tuple[str, str, dict[str, str], bytes]] = [
                (method, address, {}, b""),
                (method, address, {"X-API-Key": "rw_nobody"} | json_type, b"{}"),
                (method, address, right | json_type, b"{}"),
                (method, address, right | json_type, b"{"),
                (method, address, right | json_type, b"[]"),
                (method, address, right | text, b"text"),
                (method, address, right | json_type, b'{"zzyzx": "' + b"x" * 70_000 + b'"}'),
                (method, f"{address}?zzyzx=1", right | json_type, b"{}"),
                (method, wrong, right | json_type, b"{}"),
                ("put", address, right | json_type, b"{}"),
            ]
            for verb, target, headers, content in sent:
                response = await harness.client.request(verb, target, headers=headers, content=content)
                if response.status_code >= 400:
                    seen.add(_judge(response, f"{verb} {target} {content[:20]!r}"))
            assert response.status_code == 405, path
    assert seen >= {"invalid-input", "unauthenticated", "not-found", "method-not-allowed", "body-missing"}


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_an_error_that_has_more_fields_has_what_all_errors_have(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    harness.clock.move(8 * 24 * 3600)
    over = await harness.post("/v1/sync", owner.api_key)
    assert (over.status_code, _judge(over, "sync")) == (402, "period-ended")
    assert (over.json()["synced"], over.json()["events"]) == (0, [])
    for path, more in (
        (f"/v1/devices/{UNKNOWN_CODE}", {"found", "udi"}),
        (f"/v1/devices/{UNKNOWN_CODE}/history", {"found", "udi"}),
        (f"/v1/actors/{UNKNOWN_SRN}/history", {"srn"}),
        ("/v1/certificates/nothing", {"found", "id", "state", "as_of"}),
        ("/v1/certificates/nothing/documents/56fe9527-0928-40f9-8d1f-5074312e122d", {"found", "uuid"}),
    ):
        response = await harness.get(path)
        assert (response.status_code, _judge(response, path)) == (404, "not-found")
        assert set(response.json()) == ERROR_FIELDS | more


@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/v1/search", 404), ("POST", "/live", 405)])
async def test_a_process_that_serves_nobody_answers_errors_alike(
    harness: ServiceHarness, method: str, path: str, status: int
) -> None:
    transport = httpx2.ASGITransport(app=work_app(harness.service))
    async with httpx2.AsyncClient(transport=transport, base_url="http://work.test") as client:
        response = await client.request(method, path)

    assert response.status_code == status
    _judge(response, path)
