"""How connections fail, with and without a socket, and a transport for tests: the stand-in in the client's own process.

Without a socket a connection can neither be dropped nor be left silent. There `never_answer` comes at once as
`httpx2.ReadTimeout` and a dropped connection as `httpx2.ReadError`, so that no test has to wait for either.
"""

import httpx2
from starlette.types import ASGIApp, Receive, Scope, Send

_IN_PROCESS = "registerwatch.in-process"


class InProcessTransport(httpx2.AsyncBaseTransport):
    """Carries the requests of an `httpx2.AsyncClient` to an ASGI application."""

    def __init__(self, app: ASGIApp) -> None:
        async def marked(scope: Scope, receive: Receive, send: Send) -> None:
            scope.setdefault("extensions", {})[_IN_PROCESS] = {}
            await app(scope, receive, send)

        self._transport = httpx2.ASGITransport(marked)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Raises `httpx2.ReadTimeout` and `httpx2.ReadError` as a network transport does."""
        try:
            return await self._transport.handle_async_request(request)
        except TimeoutError as error:
            raise httpx2.ReadTimeout(str(error), request=request) from error
        except ConnectionResetError as error:
            raise httpx2.ReadError(str(error), request=request) from error


def _is_in_process(scope: Scope) -> bool:
    return _IN_PROCESS in scope.get("extensions", {})


async def never_answer(scope: Scope, receive: Receive) -> None:
    """Be silent until the client gives up."""
    if _is_in_process(scope):
        raise TimeoutError("the stand-in does not answer")
    while (await receive())["type"] != "http.disconnect":
        pass


async def begin_answer(scope: Scope, send: Send, beginning: bytes) -> None:
    """Send the headers and the first bytes of a long JSON body, where there is a socket."""
    if _is_in_process(scope):
        return
    headers = [(b"content-type", b"application/json"), (b"content-length", b"100000")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": beginning, "more_body": True})


async def drop_connection(scope: Scope, send: Send, beginning: bytes) -> None:
    """End the connection in the midst of a body: a server closes it when the application returns too early."""
    if _is_in_process(scope):
        raise ConnectionResetError("the stand-in drops this connection")
    await begin_answer(scope, send, beginning)
