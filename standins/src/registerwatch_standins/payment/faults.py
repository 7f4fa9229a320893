"""What can go wrong between a client and Stripe."""

from typing import Literal

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from registerwatch_standins.payment.errors import ApiError
from registerwatch_standins.register.transport import drop_connection, never_answer

Mode = Literal["http-429", "http-500", "http-503", "silence", "hang-up", "lost-answer"]
"""`silence` never answers, `hang-up` drops the connection, `lost-answer` does so after the request was carried out."""

_ERRORS: dict[str, ApiError] = {
    "http-429": ApiError(429, "Too many requests hit the API too quickly."),
    "http-500": ApiError(500, "An unknown error occurred.", kind="api_error"),
    "http-503": ApiError(503, "The service is not available.", kind="api_error"),
}


class Faults:
    """The faults in force, oldest first: the mode, and how many requests it still concerns (None: all)."""

    def __init__(self) -> None:
        self._faults: list[tuple[Mode, int | None]] = []

    def fail(self, mode: Mode, times: int | None = None) -> None:
        """Let the next requests under `/v1/` fail, so many or until the faults are cleared."""
        self._faults.append((mode, times))

    def clear(self) -> None:
        """Work again."""
        self._faults.clear()

    def take(self, path: str) -> Mode | None:
        """The fault of a request, used up once."""
        if not self._faults or not path.startswith("/v1/"):
            return None
        mode, times = self._faults[0]
        if times is not None:
            self._faults[:1] = [(mode, times - 1)] if times > 1 else []
        return mode


class FaultLayer:
    """Shows faults instead of answers."""

    def __init__(self, app: ASGIApp, faults: Faults) -> None:
        self._app = app
        self._faults = faults

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request or fail."""
        mode = self._faults.take(scope["path"]) if scope["type"] == "http" else None
        if mode is None:
            await self._app(scope, receive, send)
        elif error := _ERRORS.get(mode):
            body = msgspec.json.encode(error.body())
            await Response(body, error.status, media_type="application/json")(scope, receive, send)
        elif mode == "silence":
            await never_answer(scope, receive)
        else:
            if mode == "lost-answer":
                await self._app(scope, receive, _discard)
            await drop_connection(scope, send, b"{")


async def _discard(_message: Message) -> None:
    """Lose a part of an answer."""
