"""Whatever JSON comes, the answer is JSON-RPC: never a 5xx, never a traceback."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from registerwatch.mcp.protocol import MAX_MESSAGES
from tests.mcp.messages import TOOLS, asking, posted, using
from tests.register.builders import PROPERTY
from tests.support.harness import ServiceHarness, running_harness

CODES = {-32700, -32600, -32601, -32602}
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
IDS = st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=30)
METHODS = st.sampled_from(["tools/call", "tools/list", "initialize", "ping", "notifications/initialized"]) | st.text()
FIELDS = st.sampled_from(["q", "limit", "udi", "srn", "subject"]) | st.text(max_size=8)
ARGUMENTS = st.dictionaries(
    FIELDS, JSON_VALUES | st.sampled_from(["set", "04012345678901", "DE-MF-000000001"]), max_size=5
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON_VALUES,
        "id": IDS | JSON_VALUES,
        "method": METHODS | JSON_VALUES,
        "params": st.fixed_dictionaries(
            {}, optional={"name": st.sampled_from(TOOLS) | JSON_VALUES, "arguments": ARGUMENTS | JSON_VALUES}
        )
        | JSON_VALUES,
        "result": JSON_VALUES,
    },
)

Post = Callable[[object], Any]
"""Posts a body, with the key of an account, and gives the answers in it; None for a 202."""


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """One loop for all examples."""
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def post(
    loop: asyncio.AbstractEventLoop, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Post]:
    """Over one service for all examples, since each example changes nothing that another one looks at."""
    folder = tmp_path_factory.mktemp("any-json")
    database = folder / "registerwatch.db"
    database.write_bytes(sqlite_template.read_bytes())
    staging = running_harness(f"sqlite:///{database}", folder)
    harness = loop.run_until_complete(staging.__aenter__())
    key = loop.run_until_complete(_prepared(harness))
    yield lambda body: loop.run_until_complete(_answers(harness, body, key))
    loop.run_until_complete(staging.__aexit__(None, None, None))


async def _prepared(harness: ServiceHarness) -> str:
    await harness.fill_copy()
    return (await harness.sign_up()).api_key


async def _answers(harness: ServiceHarness, body: object, key: str) -> Any:
    response = await posted(harness, body, key)
    assert response.status_code in {200, 202}, response.text
    assert "Traceback" not in response.text
    if response.status_code == 202:
        assert response.content == b""
        return None
    assert response.headers["content-type"] == "application/json"
    answer = response.json()
    for each in answer if isinstance(answer, list) else [answer]:
        _judge(each)
    return answer


def _judge(answer: Any) -> None:
    """Look whether this is an answer by JSON-RPC."""
    assert answer["jsonrpc"] == "2.0"
    assert not isinstance(answer["id"], (list, dict, bool))
    if "error" in answer:
        assert set(answer) == {"jsonrpc", "id", "error"}
        assert set(answer["error"]) == {"code", "message"}
        assert answer["error"]["code"] in CODES
    else:
        assert set(answer) == {"jsonrpc", "id", "result"}
        assert isinstance(answer["result"], dict)


@PROPERTY
@given(JSON_VALUES)
def test_any_json_value_as_the_body_is_answered_by_json_rpc(post: Post, value: object) -> None:
    post(value)


@PROPERTY
@given(st.binary(max_size=200))
@example(b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}')
@example(b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}')
@example(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\udc00"}}')
@example(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}')
@example(b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}')
@example(b"[" * 50_000)
@example(b'{"a":' * 50_000)
@example(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_001)
def test_any_bytes_as_the_body_are_answered_by_json_rpc(post: Post, body: bytes) -> None:
    post(body)


@PROPERTY
@given(MESSAGES)
def test_anything_like_a_message_is_answered_by_json_rpc(post: Post, message: object) -> None:
    post(message)


@PROPERTY
@given(st.lists(MESSAGES | JSON_VALUES, max_size=MAX_MESSAGES + 2))
def test_any_batch_is_answered_message_by_message(post: Post, messages: list[object]) -> None:
    answers = post(messages)

    if answers is not None and 0 < len(messages) <= MAX_MESSAGES:
        assert len(answers) <= len(messages)


@PROPERTY
@given(METHODS, JSON_VALUES, IDS)
def test_any_params_of_any_method_are_answered_under_the_id(
    post: Post, method: str, params: object, call_id: object
) -> None:
    answer = post({"jsonrpc": "2.0", "id": call_id, "method": method, "params": params})

    assert json.dumps(answer["id"]) == json.dumps(call_id)


@PROPERTY
@given(JSON_VALUES, JSON_VALUES)
def test_any_name_with_any_arguments_is_answered_by_a_text(post: Post, name: object, arguments: object) -> None:
    _judge_text(post(asking("tools/call", {"name": name, "arguments": arguments})))


@PROPERTY
@pytest.mark.parametrize("tool", TOOLS)
@given(arguments=ARGUMENTS | JSON_VALUES)
def test_any_arguments_of_a_tool_are_answered_by_a_text(post: Post, tool: str, arguments: object) -> None:
    _judge_text(post(using(tool, arguments)))


def _judge_text(answer: Any) -> None:
    """Look whether a tool told an object, an error where it says so, and met no defect."""
    [content] = answer["result"]["content"]
    payload = json.loads(content["text"])
    assert isinstance(payload, dict)
    assert answer["result"]["isError"] is (payload.get("error") is not None)
    assert "Something went wrong" not in content["text"]
