"""JSON-RPC 2.0 for the tool endpoint: reading messages, writing answers. Pure.

An id is returned exactly as it was sent, to the byte. Source: the JSON-RPC 2.0 specification; the Model
Context Protocol, version 2024-11-05.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

PROTOCOL_VERSION = "2024-11-05"
MAX_MESSAGES = 20

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602

NO_ID = b"null"

NOT_JSON = "The body is no JSON."
NOT_A_MESSAGE = 'A message is an object with `"jsonrpc": "2.0"` and a `method`.'
NO_OBJECT_PARAMS = "`params` is an object."
EMPTY_BATCH = "The batch is empty."
LONG_BATCH = f"A batch has at most {MAX_MESSAGES} messages."

_NUMBER = frozenset(b"-0123456789")


class _Envelope(msgspec.Struct):
    """A message before it is checked."""

    jsonrpc: Any = None
    method: Any = msgspec.UNSET
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    params: Any = None
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class Call(msgspec.Struct, frozen=True):
    """A valid request. `id` is its JSON text, None for a notification, which is never answered."""

    method: str
    params: Mapping[str, Any]
    id: bytes | None


class RpcError(msgspec.Struct, frozen=True):
    """The error of a message or of a whole body."""

    code: int
    message: str
    id: bytes = NO_ID


class ClientResponse(msgspec.Struct, frozen=True):
    """A client's response to a server. It gets no answer, since this server sends no requests."""


Message = Call | RpcError | ClientResponse

_raw_list = msgspec.json.Decoder(list[msgspec.Raw])
_envelope = msgspec.json.Decoder(_Envelope)
_any = msgspec.json.Decoder()
_encode = msgspec.json.Encoder().encode


def messages_of(body: bytes) -> Message | list[Message]:
    """The message of a body, or the messages of a batch, or an error."""
    stripped = body.lstrip(b" \t\r\n")
    try:
        if not stripped.startswith(b"["):
            return _message(stripped)
        each = _raw_list.decode(stripped)
        if not each:
            return RpcError(INVALID_REQUEST, EMPTY_BATCH)
        if len(each) > MAX_MESSAGES:
            return RpcError(INVALID_REQUEST, LONG_BATCH)
        return [_message(raw) for raw in each]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return RpcError(PARSE_ERROR, NOT_JSON)


def result(call_id: bytes, content: object) -> bytes:
    """An answer with a result."""
    return _encode({"jsonrpc": "2.0", "id": msgspec.Raw(call_id), "result": content})


def error(rpc_error: RpcError) -> bytes:
    """An answer with an error."""
    content = {"code": rpc_error.code, "message": rpc_error.message}
    return _encode({"jsonrpc": "2.0", "id": msgspec.Raw(rpc_error.id), "error": content})


def batch(answers: Sequence[bytes]) -> bytes:
    """The answers to a batch."""
    return b"[" + b",".join(answers) + b"]"


def _message(text: bytes | msgspec.Raw) -> Message:
    """Raises `msgspec.DecodeError` if it is not JSON."""
    try:
        envelope = _envelope.decode(text)
    except msgspec.ValidationError:
        _any.decode(text)  # JSON, but not an object
        return RpcError(INVALID_REQUEST, NOT_A_MESSAGE)
    call_id = None if isinstance(envelope.id, msgspec.UnsetType) else bytes(envelope.id)
    if call_id is not None and not _is_id(call_id):
        return RpcError(INVALID_REQUEST, NOT_A_MESSAGE)
    if envelope.jsonrpc == "2.0" and envelope.method is msgspec.UNSET and _is_response(envelope):
        return ClientResponse()
    if envelope.jsonrpc != "2.0" or not isinstance(envelope.method, str):
        return RpcError(INVALID_REQUEST, NOT_A_MESSAGE, call_id or NO_ID)
    params = {} if envelope.params is None else envelope.params
    if isinstance(params, dict):
        return Call(envelope.method, params, call_id)
    return ClientResponse() if call_id is None else RpcError(INVALID_PARAMS, NO_OBJECT_PARAMS, call_id)


def _is_response(envelope: _Envelope) -> bool:
    return envelope.result is not msgspec.UNSET or envelope.error is not msgspec.UNSET


def _is_id(text: bytes) -> bool:
    """Whether a JSON text may be an id: a string, a number or null."""
    return text[:1] == b'"' or text[0] in _NUMBER or text == b"null"
