"""Fields of JSON bodies that a route does not have."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.mcp.messages import TOOLS, used
from tests.rest.answers import refused
from tests.support.harness import ServiceHarness, auth_headers

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

SURPRISE = "zzyzx"
FORMS_OF_OTHERS = {"POST /v1/billing/webhook", "POST /v1/mail/bounces"}
"""Their bodies are as the payment provider and the mail provider write them."""
ALWAYS_OK = "POST /v1/logout"
TOOL_ENDPOINT = "POST /mcp"


def _json_operations(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Operations that take JSON, with the schema of their body."""
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if body is not None:
                yield f"{method.upper()} {path}", _resolved(description, body["schema"])


def _resolved(description: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """A schema itself, where it is a reference or may be null."""
    if "$ref" in schema:
        found: dict[str, Any] = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return found
    return next((_resolved(description, each) for each in schema.get("anyOf", ()) if "$ref" in each), schema)


async def test_every_json_body_refuses_a_field_that_its_route_does_not_have(whole_service: ServiceHarness) -> None:
    harness = whole_service
    description = (await harness.get("/openapi.json")).json()
    owner = await harness.sign_up()
    operations = dict(_json_operations(description))
    labels = set(operations) - FORMS_OF_OTHERS - {ALWAYS_OK, TOOL_ENDPOINT}
    assert len(labels) > 30
    before = harness.all_rows()
    for label in sorted(labels):
        method, _, path = label.partition(" ")
        address, schema = re.sub(r"\{\w+\}", "1", path), operations[label]
        nested = {
            name: _resolved(description, about)
            for name, about in schema.get("properties", {}).items()
            if "properties" in _resolved(description, about)
        }
        assert schema["additionalProperties"] is False, label
        for body in ({SURPRISE: 1}, *({name: {SURPRISE: 1}} for name in nested)):
            response = await harness.client.request(method, address, json=body, headers=auth_headers(owner.session))
            assert f"There is no field `{SURPRISE}` here." in refused(response, 400), (label, body)
    assert harness.all_rows() == before


@pytest.mark.parametrize(
    ("path", "body", "nearest"),
    [
        ("/v1/keys", {"scoep": "read"}, "scope"),
        ("/v1/lists/1/watch", {"coverge": "found"}, "coverage"),
        ("/v1/trial", {"E-Mail": "a@acme.example"}, "email"),
        ("/v1/import", {"csv": "A1", "dryRun": True}, "dry_run"),
        ("/v1/import", {"csv": "A1," * 30_000, "dryRun": [{}] * 30_000}, "dry_run"),
        ("/v1/channels", {"channel": "webhook", "choice": {"frequncy": "daily"}}, "frequency"),
    ],
)
async def test_a_misspelt_field_is_refused_with_the_nearest_one(
    harness: ServiceHarness, path: str, body: dict[str, Any], nearest: str
) -> None:
    owner = await harness.sign_up()
    before = harness.all_rows()
    assert f"Did you mean `{nearest}`?" in refused(await harness.post(path, owner.session, **body), 400)
    assert harness.all_rows() == before


async def test_fields_of_a_sign_out_are_named_as_ignored_since_it_always_answers_ok(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    response = await harness.post("/v1/logout", owner.session, everywhere=True)

    assert (response.status_code, response.json()) == (200, {"ok": True, "ignored": ["everywhere"]})
    assert (await harness.post("/v1/logout")).json() == {"ok": True}
    assert (await harness.client.get("/v1/me", headers=auth_headers(owner.session))).status_code == 401


async def test_a_field_name_that_cannot_be_repeated_is_refused_all_the_same(harness: ServiceHarness) -> None:
    for name in ("\ud800", "x" * 60_000, "`", ""):
        body = json.dumps({name: 1}).encode()
        response = await harness.client.post("/v1/login", content=body, headers={"Content-Type": "application/json"})
        assert "There is no field" in refused(response, 400)
        assert len(response.text) < 500


@pytest.mark.parametrize("tool", TOOLS)
async def test_every_tool_refuses_an_argument_that_it_does_not_have(harness: ServiceHarness, tool: str) -> None:
    said = await used(harness, tool, (await harness.sign_up()).api_key, **{SURPRISE: 1})

    assert said.is_error
    assert f"There is no argument `{SURPRISE}` here." in said.payload["error"]


async def test_a_filter_that_was_misspelt_is_not_reported_as_applied(harness: ServiceHarness) -> None:
    said = await used(harness, "list_changes", (await harness.sign_up()).api_key, severty=["high"])

    assert said.is_error
    assert "Did you mean `severity`?" in said.payload["error"]


async def test_a_misspelt_parameter_is_refused_with_the_nearest_one(harness: ServiceHarness) -> None:
    refusal = refused(await harness.get("/v1/search", q="titan", manufacter="DE-MF-000000001"), 400)

    assert "There is no parameter `manufacter` here. Did you mean `manufacturer`?" in refusal
