"""`POST /mcp`: one HTTP request, one JSON answer, no session and no stream.

Plain ASGI before the router, since what a tool does takes less time than a web framework.
"""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from registerwatch.accounts.credentials import Credential, credential_of
from registerwatch.bootstrap import Service
from registerwatch.errors import RateLimited
from registerwatch.mcp import protocol
from registerwatch.mcp.descriptions import INSTRUCTIONS, NAME, VERSION
from registerwatch.mcp.protocol import INVALID_REQUEST, METHOD_NOT_FOUND, Call, Message, RpcError
from registerwatch.mcp.tools import ToolContext, Tools
from registerwatch.web.rate_limits import Limit, RateLimits
from registerwatch.web.responses import MAX_BODY_BYTES, error_response

PATH = "/mcp"
POST_ONLY = "The tool endpoint takes POST alone: one JSON-RPC message or a batch. There is no stream and no session."
HUGE = "The body has more than 2 MiB."
CALL = "tools/call"

_NOT_CACHED = (b"cache-control", b"no-store")
_JSON = (b"content-type", b"application/json")


class ToolEndpoint:
    """Answers `/mcp` over one service, and leaves everything else to the application behind it."""

    def __init__(self, app: ASGIApp, service: Service, limits: RateLimits) -> None:
        self._app = app
        self._tools = Tools(service)
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            if scope["method"] != "POST":
                refused = error_response(POST_ONLY, 405, {"Allow": "POST, OPTIONS"})
            else:
                await self._answer_post(request, send)
                return
        except RateLimited as error:
            refused = error_response(str(error), 429, {"Retry-After": str(error.retry_after)})
        await refused(scope, receive, send)

    async def _answer_post(self, request: Request, send: Send) -> None:
        """Raises `RateLimited` before any tool is used."""
        await self._limits.check(request, Limit.TOOLS)
        body = await _body(request)
        if body is None:
            return
        read = protocol.messages_of(body) if len(body) <= MAX_BODY_BYTES else RpcError(INVALID_REQUEST, HUGE)
        messages: Sequence[Message] = read if isinstance(read, list) else [read]
        for _ in range(sum(map(_is_call, messages)) - 1):  # the first is counted with its request
            await self._limits.check(request, Limit.TOOLS)
        context = ToolContext(lambda: _credential(request), lambda limit: self._limits.check(request, limit))
        answers = [answer for each in messages if (answer := await self._answer(each, context)) is not None]
        if answers:
            await _send(send, 200, protocol.batch(answers) if isinstance(read, list) else answers[0])
        else:
            await _send(send, 202, b"")

    async def _answer(self, message: Message, context: ToolContext) -> bytes | None:
        """The answer to one message; None where there is none to give."""
        if isinstance(message, RpcError):
            return protocol.error(message)
        if not isinstance(message, Call) or message.id is None:
            return None
        result = await self._result(message, context)
        if result is None:
            return protocol.error(RpcError(METHOD_NOT_FOUND, f"There is no method {message.method[:80]}.", message.id))
        return protocol.result(message.id, result)

    async def _result(self, call: Call, context: ToolContext) -> object | None:
        match call.method:
            case "tools/call":
                return await self._called(call, context)
            case "tools/list":
                return {"tools": self._tools.described()}
            case "initialize":
                return _initialized()
            case "ping" | "notifications/initialized":
                return {}
        return None

    async def _called(self, call: Call, context: ToolContext) -> dict[str, Any]:
        payload = await self._tools.call(call.params.get("name"), call.params.get("arguments"), context)
        return {"content": [{"type": "text", "text": payload.text.decode()}], "isError": payload.is_error}


def _initialized() -> dict[str, Any]:
    """The same whatever version the client asks for: it goes on with this one, or it leaves."""
    return {
        "protocolVersion": protocol.PROTOCOL_VERSION,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": NAME, "version": VERSION},
        "instructions": INSTRUCTIONS,
    }


def _is_call(message: Message) -> bool:
    return isinstance(message, Call) and message.method == CALL and message.id is not None


async def _body(request: Request) -> bytes | None:
    """The body, or as much of it as shows that it is too large; None when the client has gone."""
    body = b""
    while len(body) <= MAX_BODY_BYTES:
        message = await request.receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    return body


async def _send(send: Send, status: int, body: bytes) -> None:
    headers = [_NOT_CACHED, *([_JSON] if body else ()), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _credential(request: Request) -> Credential | None:
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    return credential_of(request.headers.get("x-api-key"), bearer if scheme.lower() == "bearer" else None)
