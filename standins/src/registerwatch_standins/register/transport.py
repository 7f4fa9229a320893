"""A transport for tests: the stand-in in the client's own process.

A `timeout` comes at once as `ReadTimeout`, a dropped connection as `ReadError`, so that no test has to wait
for either.
"""

import httpx2
from starlette.types import ASGIApp, Receive, Scope, Send

from registerwatch_standins.register.extension import mark_in_process


class InProcessTransport(httpx2.AsyncBaseTransport):
    """Carries the requests of an `httpx2.AsyncClient` to an ASGI application."""

    def __init__(self, app: ASGIApp) -> None:
        async def marked(scope: Scope, receive: Receive, send: Send) -> None:
            mark_in_process(scope)
            await app(scope, receive, send)

        self._transport = httpx2.ASGITransport(marked)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Carry one request.

        Raises `httpx2.ReadTimeout` and `httpx2.ReadError` as a network transport does.
        """
        try:
            return await self._transport.handle_async_request(request)
        except TimeoutError as silence:
            raise httpx2.ReadTimeout(str(silence), request=request) from silence
        except ConnectionResetError as drop:
            raise httpx2.ReadError(str(drop), request=request) from drop
