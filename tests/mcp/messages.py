"""What tests say to the tool endpoint, and what it must never say."""

import json
from dataclasses import dataclass
from typing import Any

import httpx2

from registerwatch.mcp import tools
from tests.support.harness import ServiceHarness, auth_headers

TOOLS = (
    "search_devices",
    "lookup_udi",
    "get_device",
    "get_actor",
    "list_watches",
    "add_watch",
    "sync_watches",
    "list_changes",
)
OF_ACCOUNTS = tuple(each.description.name for each in tools.TOOLS if each.scope is not None)
"""Those that need a key."""
JSON_TYPE = "application/json"


def arguments_of_tools(udi: str, srn: str) -> dict[str, dict[str, object]]:
    """Arguments with which each tool does something about a device or an actor; other tools need none."""
    return {
        "search_devices": {"q": udi},
        "lookup_udi": {"udi": udi},
        "get_device": {"udi": udi},
        "get_actor": {"srn": srn},
        "add_watch": {"subject": udi},
    }


@dataclass(frozen=True, slots=True)
class Said:
    """What a tool said."""

    payload: Any
    is_error: bool


def asking(method: str, params: object = None, *, id: object = 1) -> dict[str, Any]:  # noqa: A002
    """A message that wants an answer."""
    return {"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})}


def telling(method: str, params: object = None) -> dict[str, Any]:
    """A notification."""
    message = asking(method, params)
    del message["id"]
    return message


def using(tool: object, arguments: object = None, *, id: object = 1) -> dict[str, Any]:  # noqa: A002
    """A message that uses a tool."""
    return asking("tools/call", {"name": tool, **({} if arguments is None else {"arguments": arguments})}, id=id)


async def posted(harness: ServiceHarness, body: object, credential: str = "") -> httpx2.Response:
    """The endpoint's answer to a body: bytes as they are, anything else as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": JSON_TYPE, "Accept": "application/json, text/event-stream", **auth_headers(credential)}
    return await harness.client.post("/mcp", content=content, headers=headers)


async def answered(harness: ServiceHarness, body: object, credential: str = "") -> Any:
    """The JSON that the endpoint answers with 200."""
    response = await posted(harness, body, credential)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == JSON_TYPE
    assert response.headers["cache-control"] == "no-store"
    return response.json()


async def used(harness: ServiceHarness, tool: str, credential: str = "", /, **arguments: object) -> Said:
    """What a tool says."""
    return said(await answered(harness, using(tool, arguments), credential))


def said(answer: Any) -> Said:
    """What a tool said in an answer, whose form is looked at on the way."""
    result = answer["result"]
    assert answer == {"jsonrpc": "2.0", "id": answer["id"], "result": result}
    [content] = result["content"]
    assert result == {"content": [content], "isError": result["isError"]}
    assert content == {"type": "text", "text": content["text"]}
    payload = json.loads(content["text"])
    assert result["isError"] is (payload.get("error") is not None)
    return Said(payload, result["isError"])


def without_code(answer: dict[str, Any]) -> dict[str, Any]:
    """An error of REST as a tool gives it: the contract's payload has no code and no number of a request."""
    return {name: value for name, value in answer.items() if name not in ("code", "request_id")}
