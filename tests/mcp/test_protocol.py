"""JSON-RPC: which bodies are messages, what the others are told, and ids that come back as they came."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.mcp import protocol
from registerwatch.mcp.protocol import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    Call,
    ClientResponse,
    RpcError,
    messages_of,
)

PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "text",
    ['"a"', '""', '"é\\u00e9\\n"', "0", "-1", "7.0", "1e3", "123456789012345678901234567890", "1e400", "null"],
)
def test_an_id_comes_back_as_it_came(text: str) -> None:
    call = messages_of(f'{{"jsonrpc": "2.0", "id": {text}, "method": "ping"}}'.encode())

    assert isinstance(call, Call)
    assert call.id is not None
    assert protocol.result(call.id, {}) == f'{{"jsonrpc":"2.0","id":{text},"result":{{}}}}'.encode()


@pytest.mark.parametrize("text", ["true", "false", "[]", "{}", "[1]", '{"a":1}'])
def test_what_no_id_can_be_is_refused_without_it(text: str) -> None:
    refusal = messages_of(f'{{"jsonrpc":"2.0","id":{text},"method":"ping"}}'.encode())

    assert isinstance(refusal, RpcError)
    assert (refusal.code, refusal.id) == (INVALID_REQUEST, b"null")


@pytest.mark.parametrize(
    "body",
    [b"", b" ", b"nonsense", b"{", b"[", b'{"a":1}x', b"\xff\xfe", b"\x00", b'{"a":NaN}', b"[" * 100_000, b'["\xff"]'],
)
def test_what_is_no_json_is_told_as_such(body: bytes) -> None:
    refusal = messages_of(body)

    assert isinstance(refusal, RpcError)
    assert (refusal.code, refusal.id) == (PARSE_ERROR, b"null")


@pytest.mark.parametrize("body", ["1", '"text"', "null", "true", "{}", '{"jsonrpc":"2.0"}', '{"jsonrpc":"1.0","id":1}'])
def test_json_that_is_no_message_is_an_invalid_request(body: str) -> None:
    refusal = messages_of(body.encode())

    assert isinstance(refusal, RpcError)
    assert refusal.code == INVALID_REQUEST


@pytest.mark.parametrize(
    "fields",
    [{"method": "ping"}, {"jsonrpc": "2.0"}, {"jsonrpc": "2.0", "method": 7}, {"jsonrpc": 2.0, "method": "ping"}],
)
def test_a_wrong_message_keeps_the_id_that_it_has(fields: dict[str, object]) -> None:
    refusal = messages_of(json.dumps({"id": "mine", **fields}).encode())

    assert isinstance(refusal, RpcError)
    assert refusal.id == b'"mine"'


def test_a_message_without_an_id_is_a_notification() -> None:
    call = messages_of(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    assert isinstance(call, Call)
    assert call.id is None


@pytest.mark.parametrize("said", ['"result": {}', '"error": {"code": 1, "message": ""}', '"result": null'])
def test_what_a_client_answers_needs_no_answer(said: str) -> None:
    assert isinstance(messages_of(f'{{"jsonrpc":"2.0","id":1,{said}}}'.encode()), ClientResponse)


@pytest.mark.parametrize("params", ["[]", '"text"', "7", "true"])
def test_params_that_are_no_object_are_refused_and_in_a_notification_ignored(params: str) -> None:
    refusal = messages_of(f'{{"jsonrpc":"2.0","id":1,"method":"ping","params":{params}}}'.encode())
    assert isinstance(refusal, RpcError)
    assert refusal.code == INVALID_PARAMS
    assert isinstance(messages_of(f'{{"jsonrpc":"2.0","method":"ping","params":{params}}}'.encode()), ClientResponse)


@pytest.mark.parametrize("params", ["", ',"params":null', ',"params":{}'])
def test_no_params_are_an_empty_object(params: str) -> None:
    call = messages_of(f'{{"jsonrpc":"2.0","id":1,"method":"ping"{params}}}'.encode())

    assert isinstance(call, Call)
    assert call.params == {}


def test_a_wrong_message_of_a_batch_is_refused_alone() -> None:
    read = messages_of(f'[1, {PING}, [], {{"jsonrpc":"2.0","method":"x"}}]'.encode())

    assert isinstance(read, list)
    assert [type(each) for each in read] == [RpcError, Call, RpcError, Call]


@given(JSON_VALUES)
def test_any_json_value_is_read_and_never_taken_for_no_json(value: object) -> None:
    read = messages_of(json.dumps(value).encode())

    assert not (isinstance(read, RpcError) and read.code == PARSE_ERROR)
    for each in read if isinstance(read, list) else [read]:
        assert isinstance(each, (Call, RpcError, ClientResponse))


@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_refused(body: bytes) -> None:
    read = messages_of(body)

    if isinstance(read, RpcError) and read.code == PARSE_ERROR:
        with pytest.raises((msgspec.DecodeError, UnicodeDecodeError)):
            msgspec.json.decode(body)
