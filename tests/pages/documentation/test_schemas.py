"""JSON schemas as people read them, and lines for curl."""

import json
import shlex
from typing import Any

import pytest

from registerwatch.pages.documentation.curl import curl_line, path_with
from registerwatch.pages.documentation.operations import access_of
from registerwatch.pages.documentation.schemas import Schemas, TypeName

DESCRIPTION: dict[str, Any] = {
    "components": {
        "schemas": {
            "Kind": {"type": "string", "enum": ["a", "b"]},
            "Inner": {"type": "object", "properties": {"n": {"type": "integer", "examples": [7]}}, "required": ["n"]},
            "Outer": {
                "type": "object",
                "required": ["rows", "kind", "error"],
                "properties": {
                    "rows": {"type": "array", "items": {"$ref": "#/components/schemas/Inner"}, "description": "All."},
                    "kind": {"$ref": "#/components/schemas/Kind"},
                    "error": {"anyOf": [{"type": "string"}, {"type": "null"}], "examples": ["went wrong"]},
                    "first": {"$ref": "#/components/schemas/Inner"},
                    "second": {"$ref": "#/components/schemas/Inner"},
                },
            },
        }
    }
}
SCHEMAS = Schemas(DESCRIPTION)
OUTER = {"$ref": "#/components/schemas/Outer"}


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"type": "string"}, TypeName("text")),
        ({"type": "string", "format": "date-time"}, TypeName("time")),
        ({"type": ["string", "null"]}, TypeName("text or null")),
        ({"anyOf": [OUTER, {"type": "null"}]}, TypeName("", "Outer", " or null")),
        ({"type": "array", "items": OUTER}, TypeName("list of ", "Outer")),
        ({"$ref": "#/components/schemas/Kind"}, TypeName("text")),
        ({}, TypeName("any value")),
    ],
)
def test_types_have_names_in_words(schema: dict[str, Any], name: TypeName) -> None:
    assert SCHEMAS.type_name(schema) == name


def test_fields_tell_values_bounds_and_defaults() -> None:
    rows, kind, *_ = SCHEMAS.fields(OUTER)
    limit = SCHEMAS.field("limit", {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}, required=False)
    after = SCHEMAS.field(
        "after", {"anyOf": [{"type": "integer", "maximum": 2**63 - 1}, {"type": "null"}]}, required=False
    )

    assert (rows.text, rows.required, kind.values) == ("All.", True, ("a", "b"))
    assert (limit.bounds, limit.default, after.bounds) == ("from 1 to 1,000", "100", "")


def test_an_example_is_of_an_answer_in_which_nothing_went_wrong() -> None:
    assert SCHEMAS.example(OUTER) == {"rows": [{"n": 7}], "kind": "a", "error": None, "first": {"n": 7}}
    assert list(SCHEMAS.objects_of(OUTER)) == ["Outer", "Inner"]


def test_a_line_for_curl_survives_a_shell() -> None:
    body = {"name": "it's $HOME `x`"}
    line = curl_line("PATCH", "https://reg.example/v1/x", {}, needs_key=True, body=body, media_type="application/json")
    words = shlex.split(line)

    assert words[:3] == ["curl", "-H", "X-API-Key: $KEY"]
    assert json.loads(words[words.index("--json") + 1]) == body
    assert words[-3:] == ["-X", "PATCH", "https://reg.example/v1/x"]


def test_what_only_the_reader_knows_is_a_variable_of_the_shell() -> None:
    path = path_with("/v1/{id}/{delivery}", {"id": "a/b", "delivery": "whd_…"})

    assert path == "/v1/a%2Fb/$DELIVERY"
    assert curl_line("GET", "https://r.example" + path, {"q": "a b"}, needs_key=False) == (
        'curl "https://r.example/v1/a%2Fb/$DELIVERY?q=a%20b"'
    )


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ({}, "Anybody"),
        ({"security": [{"ApiKey": []}, {}]}, "Anybody; a key"),
        ({"parameters": [{"name": "token"}]}, "Whoever has the token"),
        ({"parameters": [{"name": "Payment-Signature"}]}, "Whoever signs"),
        ({"security": [{}, {"ApiKey": []}], "x-access": {"scope": "read", "owners_only": False}}, "Anybody; a key"),
        (
            {"security": [{"ApiKey": []}], "x-access": {"scope": "watch", "owners_only": False}},
            "An API key with the scope `watch` or",
        ),
        (
            {"security": [{"ApiKey": []}], "x-access": {"scope": "manage", "owners_only": True}},
            "An API key with the scope `manage`, or the session of an owner",
        ),
    ],
)
def test_who_may_call_is_said_in_words(operation: dict[str, Any], words: str) -> None:
    assert access_of({"responses": {}, **operation}).startswith(words)
