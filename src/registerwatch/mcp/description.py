"""The description of the tool endpoint in `/openapi.json`, added by hand since it is not a route."""

from typing import Any

from registerwatch.mcp.endpoint import PATH
from registerwatch.mcp.protocol import MAX_MESSAGES, PROTOCOL_VERSION

_REF = "#/components/schemas/"


def describe_tools(description: dict[str, Any]) -> None:
    """Add the tool endpoint to a description."""
    description["paths"][PATH] = _PATH_ITEM
    description["components"]["schemas"].update(_SCHEMAS)


def _one_or_batch(name: str) -> dict[str, Any]:
    single = {"$ref": _REF + name}
    return {"oneOf": [single, {"type": "array", "items": single, "minItems": 1, "maxItems": MAX_MESSAGES}]}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


_PATH_ITEM: dict[str, Any] = {
    "post": {
        "tags": ["tools"],
        "summary": "Tools for assistants (MCP)",
        "description": f"JSON-RPC 2.0, Model Context Protocol {PROTOCOL_VERSION}: one message or a batch of at most"
        f" {MAX_MESSAGES}, one answer, no stream and no session. Methods: `initialize`, `notifications/initialized`,"
        " `tools/list`, `tools/call`, `ping`. A failure of a tool is told in its text, with `isError` true. The key or"
        " session goes on the HTTP request; tools of the register need none. `/docs/mcp` has the tools"
        " and how to connect assistants. Limit: 60 calls per address and minute.",
        "operationId": "call_tools",
        "security": [{"ApiKey": []}, {"Bearer": []}, {}],
        "requestBody": {"required": True, "content": _json(_one_or_batch("RpcRequest"))},
        "responses": {
            "200": {"description": "The answer, or those of a batch.", "content": _json(_one_or_batch("RpcAnswer"))},
            "202": {"description": "Nothing to answer: notifications alone."},
            "429": {"description": "Too many calls of this address.", "content": _json({"$ref": _REF + "ErrorBody"})},
            "default": {"description": "Any other error.", "content": _json({"$ref": _REF + "ErrorBody"})},
        },
    }
}

_ID = {"type": ["string", "integer", "null"], "examples": [1]}
_VERSION = {"const": "2.0", "description": "Always `2.0`.", "examples": ["2.0"]}

_SCHEMAS: dict[str, dict[str, Any]] = {
    "RpcRequest": {
        "type": "object",
        "description": "A JSON-RPC message of a client.",
        "required": ["jsonrpc", "method"],
        "properties": {
            "jsonrpc": _VERSION,
            "id": {**_ID, "description": "Returned as it was sent. Missing in a notification, which gets no answer."},
            "method": {"type": "string", "description": "What is asked.", "examples": ["tools/call"]},
            "params": {
                "type": "object",
                "description": "For `tools/call`: the tool's `name` and its `arguments`.",
                "examples": [{"name": "get_device", "arguments": {"udi": "04012345678901"}}],
            },
        },
    },
    "RpcAnswer": {
        "type": "object",
        "description": "A JSON-RPC answer: `result`, or `error`.",
        "required": ["jsonrpc", "id"],
        "properties": {
            "jsonrpc": _VERSION,
            "id": {**_ID, "description": "That of the message; null where it could not be read."},
            "result": {
                "type": "object",
                "description": "What the method gives; for `tools/call` the payload as JSON text, and `isError`.",
                "examples": [{"content": [{"type": "text", "text": "{}"}], "isError": False}],
            },
            "error": {
                "type": "object",
                "description": "`code` and `message`: -32700 no JSON, -32600 no message, -32601 unknown method.",
                "examples": [{"code": -32601, "message": "There is no method x."}],
            },
        },
    },
}
