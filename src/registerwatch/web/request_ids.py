"""The id of each request, and the optional access log. Plain ASGI, because it is on the hot path.

The id is in the answer's header, in the body of an error, and in every log line that the request causes.
"""

import re
import secrets
import time
from collections.abc import Mapping, Sequence

import structlog
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from registerwatch.notifications.unsubscribe_tokens import PATH as UNSUBSCRIBE_PATH
from registerwatch.settings import Network
from registerwatch.web.client_address import client_address
from registerwatch.web.security_headers import NOTHING_ALLOWED, POLICY

HEADER = "X-Request-Id"
MAX_LENGTH = 128

_HEADER = HEADER.lower().encode()
_ACCEPTED = re.compile(rb"[A-Za-z0-9._~+/=-]{1,%d}" % MAX_LENGTH)
_KEY = "request_id"
_POLICY, _NOTHING_ALLOWED = POLICY.lower().encode(), (POLICY.lower().encode(), NOTHING_ALLOWED[1].encode())

access_log = structlog.get_logger("registerwatch.access")


class RequestIds:
    """Takes the id that a client or proxy sent, or makes one of 16 hexadecimal digits.

    As the outermost of all it also adds `always`, the headers of every answer, and a policy where there is none.
    """

    def __init__(self, app: ASGIApp, always: Mapping[str, str]) -> None:
        self._app = app
        self._always = [(name.lower().encode(), value.encode()) for name, value in always.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _sent_id(scope) or secrets.token_hex(8).encode()
        structlog.contextvars.bind_contextvars(**{_KEY: request_id.decode()})  # ends with the task of the request

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message["headers"], (_HEADER, request_id), *self._always]
                if not any(name == _POLICY for name, _ in headers):
                    headers.append(_NOTHING_ALLOWED)
                message["headers"] = headers
            await send(message)

        await self._app(scope, receive, send_with_id)


class AccessLog:
    """Logs one line a request: method, path, status, milliseconds, client address.

    The query is left out, because it holds what people search for, and the tokens of feeds and mailed links. What a
    path holds as a token is left out, too.
    """

    def __init__(self, app: ASGIApp, trusted_proxies: Sequence[Network]) -> None:
        self._app = app
        self._trusted_proxies = trusted_proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, started = 500, time.perf_counter()  # an exception that passes here is answered with 500

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        finally:
            access_log.info(
                "request",
                method=scope["method"],
                path=loggable_path(scope["path"]),
                status=status,
                milliseconds=round((time.perf_counter() - started) * 1000, 1),
                client=client_address(Request(scope), self._trusted_proxies),
            )


def loggable_path(path: str) -> str:
    """A path as logs show it: without the token that ends somebody's mails."""
    before, found, _ = path.partition(UNSUBSCRIBE_PATH)
    return before + found


def current_request_id() -> str | None:
    """The id of the request that is being answered; None outside of one."""
    request_id: str | None = structlog.contextvars.get_contextvars().get(_KEY)
    return request_id


def _sent_id(scope: Scope) -> bytes | None:
    sent = next((value for name, value in scope["headers"] if name == _HEADER), b"")
    return sent if _ACCEPTED.fullmatch(sent) else None
